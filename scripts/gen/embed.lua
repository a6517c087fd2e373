-- lua_lib.c: the text of scripts/lib inside the program, in the order of the arguments. The
-- last one is for scripts over a program only.
-- usage: lua embed.lua SPEC_DIR SOURCE FILE...
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local c = lib.out()

c:put(lib.banner)
c:put "#include \"lua/state.h\"\n\n"
for i = 3, #arg do
	local f = assert(io.open(arg[i], "rb"))
	local text = f:read "a"
	f:close()
	c:put("static const char text_%d[] = {\n", i)
	for at = 1, #text, 24 do
		local line = { text:byte(at, at + 23) }
		c:put("\t%s,\n", table.concat(line, ","))
	end
	c:put "\t0\n};\n\n"
end
local function chunk(i)
	return ("{ \"%s\", text_%d, sizeof(text_%d) - 1 }"):format(arg[i]:match "([^/]+)%.lua$", i, i)
end
c:put "const struct srd_lua_chunk srd_lua_lib[] = {\n"
for i = 3, #arg do
	c:put("\t%s,\n", chunk(i))
end
c:put("};\n\nconst int srd_num_lua_lib = %d;\n", #arg - 3)
c:write(arg[2])
