-- The parts of the sandbox that are written in Lua. Called with the table that C offers.
local sandbox = {}

--- A stable merge sort. Lua's own is not stable and picks pivots from the clock.
function sandbox.sort(list, before)
	local n = #list
	local from, to = list, {}
	before = before or function(a, b)
		return a < b
	end
	local width = 1
	while width < n do
		for start = 1, n, 2 * width do
			local i, j = start, start + width
			local middle, stop = math.min(j, n + 1), math.min(start + 2 * width, n + 1)
			for k = start, stop - 1 do
				if i < middle and (j >= stop or not before(from[j], from[i])) then
					to[k], i = from[i], i + 1
				else
					to[k], j = from[j], j + 1
				end
			end
		end
		from, to = to, from
		width = 2 * width
	end
	if from ~= list then
		table.move(from, 1, n, 1, list)
	end
end

table.sort = sandbox.sort -- luacheck: ignore 122

local resume = coroutine.resume

local function results(ok, ...)
	if not ok then
		error((...), 0)
	end
	return ...
end

-- Over our own resume, through which a wait inside the coroutine finds its way.
coroutine.wrap = function(body) -- luacheck: ignore 122
	local co = coroutine.create(body)
	return function(...)
		return results(resume(co, ...))
	end
end

return sandbox
