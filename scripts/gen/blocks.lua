-- The Lua of a page as one script, each line where it stands in the page, so that a message
-- about it names the page's line. usage: lua blocks.lua PAGE SCRIPT
local out, inside, count = {}, false, 0

for line in io.lines(arg[1]) do
	if line == "```lua" then
		inside, count, line = true, count + 1, "do"
	elseif inside and line == "```" then
		inside, line = false, "end"
	elseif not inside then
		line = ""
	end
	out[#out + 1] = line
end
assert(count > 0, arg[1] .. ": it has no Lua")
local file = assert(io.open(arg[2], "w"))
file:write(table.concat(out, "\n"), "\n")
file:close()
