-- The README's scenarios, run as it says, print what it shows, line for line. A line that
-- ends in " ..." is cut there; lines of other events may stand between those that it shows.
-- usage: lua readme.lua PROGRAM README
local program, readme = arg[1], arg[2]

local function capture(command)
	local f = assert(io.popen(command))
	local text = f:read "a"
	f:close()
	return text
end

-- The indented blocks of the page.
local function blocks()
	local all, now = {}, nil
	for line in io.lines(readme) do
		local code = line:match "^    (.*)"
		if code then
			now = now or {}
			now[#now + 1] = code
		elseif line ~= "" and now then
			all[#all + 1], now = now, nil
		elseif now then
			now[#now + 1] = ""
		end
	end
	return all
end

-- The script that begins a block, the name that it is run by, and what that prints.
local function sample(block)
	local script, wanted, name = {}, {}, nil
	for _, line in ipairs(block) do
		if name then
			wanted[#wanted + 1] = line ~= "" and line or nil
		else
			name = line:match "^%$ build/srdlab run (%S+)$"
			script[#script + 1] = not name and line or nil
		end
	end
	return table.concat(script, "\n"), wanted, name
end

local function shown(want, line)
	local start = want:match "^(.*) %.%.%.$"
	return start and line:sub(1, #start) == start or line == want
end

local dir, samples = capture("mktemp -d"):gsub("\n", ""), 0
for _, block in ipairs(blocks()) do
	local script, wanted, name = sample(block)
	if name and script:find "srd%.scenario" then
		local f = assert(io.open(dir .. "/" .. name, "w"))
		f:write(script, "\n")
		f:close()
		local out = capture(("cd %s && %s run %s 2>&1"):format(dir, program, name))
			:gsub("repeat: %S+", "repeat: build/srdlab")
		local next_line = out:gmatch "([^\n]*)\n"
		for _, want in ipairs(wanted) do
			local line
			repeat
				line = next_line()
				assert(line, ("%s: the README shows a line that never comes:\n%s\n%s"):format(name, want, out))
			until shown(want, line)
		end
		samples = samples + 1
	end
end
os.execute("rm -r " .. dir)
assert(samples == 2, "the README has " .. samples .. " scenarios with their output")
