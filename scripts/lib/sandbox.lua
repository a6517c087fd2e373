-- The parts of the sandbox that are written in Lua. Called with the table that C offers.
local sandbox = {}
local min, move, error = math.min, table.move, error

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
			local middle, stop = min(j, n + 1), min(start + 2 * width, n + 1)
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
		move(from, 1, n, 1, list)
	end
end

table.sort = sandbox.sort -- luacheck: ignore 122

local create, resume, close = coroutine.create, coroutine.resume, coroutine.close

local function results(co, ok, ...)
	if ok then
		return ...
	end
	local closed, message = close(co) -- which calls what its <close> variables ask for
	error(closed and (...) or message, 0)
end

-- Over our own resume, through which a wait inside the coroutine finds its way.
coroutine.wrap = function(body) -- luacheck: ignore 122
	local co = create(body)
	return function(...)
		return results(co, resume(co, ...))
	end
end

return sandbox
