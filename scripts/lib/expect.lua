-- Expectations: t:expect(value):equals(...) and the like, with messages that show what
-- differs. Called with the table that C offers.
local core = ...
local expect = {}

local MAX_SHOWN = 400 -- characters of a value in a message

local function key_text(k)
	if type(k) == "string" and k:match "^[%a_][%w_]*$" then
		return k
	end
	return "[" .. (type(k) == "string" and ("%q"):format(k) or tostring(k)) .. "]"
end

--- A value as a script would write it; the same text in every run.
function expect.show(value, depth)
	depth = depth or 0
	if type(value) == "string" then
		return '"' .. value:gsub("[%c\"\\\x80-\xff]", function(c)
			return c == '"' and '\\"' or c == "\\" and "\\\\" or c == "\n" and "\\n" or ("\\x%02x"):format(c:byte())
		end) .. '"'
	elseif type(value) ~= "table" then
		return tostring(value)
	elseif depth > 6 then
		return "{ ... }"
	end
	local parts, n = {}, #value
	for k, v in pairs(value) do
		local text = expect.show(v, depth + 1)
		local in_list = math.type(k) == "integer" and k >= 1 and k <= n
		parts[#parts + 1] = in_list and text or key_text(k) .. " = " .. text
	end
	return #parts == 0 and "{}" or "{ " .. table.concat(parts, ", ") .. " }"
end

local function cut(text)
	return #text > MAX_SHOWN and text:sub(1, MAX_SHOWN) .. " ..." or text
end

local function step(k)
	return (type(k) == "string" and "." or "") .. key_text(k)
end

--- Where A and B differ first: a path and the two values there; nil where they are equal.
--- SEEN has the pairs that are compared already: tables may hold themselves.
local function difference(a, b, seen)
	if type(a) ~= "table" or type(b) ~= "table" then
		if a == b or (a ~= a and b ~= b) then
			return nil
		end
		return "", a, b
	end
	seen = seen or {}
	seen[a] = seen[a] or {}
	if seen[a][b] then
		return nil
	end
	seen[a][b] = true
	for k, v in pairs(a) do
		local at, x, y = difference(v, b[k], seen)
		if at then
			return step(k) .. at, x, y
		end
	end
	for k, v in pairs(b) do
		if a[k] == nil then
			return step(k), nil, v
		end
	end
	return nil
end

local Expectation = {}
Expectation.__index = Expectation

local function fail(format, ...)
	core.raise(format:format(...))
end

--- The value is equal to EXPECTED; tables by what they hold.
function Expectation:equals(expected)
	local at, got, want = difference(self.value, expected)
	if not at then
		return self
	end
	if at == "" then
		fail("expected %s, got %s", cut(expect.show(want)), cut(expect.show(got)))
	end
	fail("not equal at %s: expected %s, got %s\n  expected %s\n       got %s", at:gsub("^%.", ""),
		cut(expect.show(want)), cut(expect.show(got)), cut(expect.show(expected)), cut(expect.show(self.value)))
end

function Expectation:differs_from(other)
	if not difference(self.value, other) then
		fail("expected anything but %s", cut(expect.show(other)))
	end
	return self
end

--- An op has the status, a queue pair the state; any other value is the same.
function Expectation:is(expected)
	local kind = core.kind(self.value)
	local got = self.value
	if kind == "op" then
		got = self.value:status()
	elseif kind == "queue pair" then
		got = self.value:state()
	end
	if got == expected then
		return self
	end
	local why = kind == "op" and got == "failed" and ": " .. self.value:error() or ""
	fail("expected %s%s, got %s%s", kind and "the " .. kind .. " to be " or "", expect.show(expected),
		cut(expect.show(got)), why)
end

local function hex(bytes)
	return (bytes:gsub(".", function(c)
		return ("%02x "):format(c:byte())
	end):sub(1, -2))
end

--- Memory holds the same bytes as other memory, or as a string.
function Expectation:same_content(other)
	local value = self.value
	if core.kind(value) ~= "memory" then
		fail("same_content: memory is expected, not %s", type(value))
	end
	if type(other) == "string" then
		local got = value:bytes()
		if got == other then
			return self
		end
		fail("expected the bytes %s, got %s", cut(expect.show(other)), cut(expect.show(got)))
	end
	if core.kind(other) ~= "memory" then
		fail("same_content: memory or a string is expected to compare with, not %s", type(other))
	end
	if value.size ~= other.size then
		fail("expected the same content, but the sizes differ: %d and %d bytes", value.size, other.size)
	end
	local at = value:first_difference(other)
	if not at then
		return self
	end
	local n = math.min(8, value.size - at)
	fail("expected the same content, but it differs from byte %d of %d on\n  this:  %s\n  other: %s", at,
		value.size, hex(value:bytes(at, n)), hex(other:bytes(at, n)))
end

--- A string has TEXT in it, or a list has an entry that equals it.
function Expectation:contains(what)
	local value = self.value
	if type(value) == "string" then
		if type(what) ~= "string" then
			fail("contains: a string contains strings, not %s", type(what))
		end
		if value:find(what, 1, true) then
			return self
		end
	elseif type(value) == "table" then
		for _, v in pairs(value) do
			if not difference(v, what) then
				return self
			end
		end
	else
		fail("contains: a string or a table is expected, not %s", type(value))
	end
	fail("expected %s in %s", cut(expect.show(what)), cut(expect.show(value)))
end

function Expectation:matches(pattern)
	if type(self.value) ~= "string" or not self.value:find(pattern) then
		fail("expected a match of %s, got %s", expect.show(pattern), cut(expect.show(self.value)))
	end
	return self
end

--- A function raises an error, with TEXT in its message if that is given.
function Expectation:raises(text)
	if type(self.value) ~= "function" then
		fail("raises: a function is expected, not %s", type(self.value))
	end
	local ok, message = pcall(self.value)
	if ok then
		fail("expected an error%s, but there was none", text and " with " .. expect.show(text) or "")
	end
	message = tostring(message)
	if text and not message:find(text, 1, true) then
		fail("expected an error with %s, got %s", expect.show(text), cut(expect.show(message)))
	end
	return self
end

local function ordered(name, test)
	Expectation[name] = function(self, bound)
		if type(self.value) ~= "number" then
			fail("%s: a number is expected, got %s", name, cut(expect.show(self.value)))
		elseif type(bound) ~= "number" then
			fail("%s: the bound is a number, not %s", name, type(bound))
		elseif not test(self.value, bound) then
			fail("expected %s %s, got %s", name:gsub("_", " "), expect.show(bound), expect.show(self.value))
		end
		return self
	end
end

ordered("at_least", function(a, b)
	return a >= b
end)
ordered("at_most", function(a, b)
	return a <= b
end)

Expectation.__index = function(_, name)
	local method = rawget(Expectation, name)
	if not method and name ~= "value" then -- a value that is nil is no field at all
		local names = {}
		for k, v in pairs(Expectation) do
			names[#names + 1] = type(v) == "function" and k:sub(1, 2) ~= "__" and k or nil
		end
		fail("there is no expectation %s; there are %s", expect.show(name), table.concat(names, ", "))
	end
	return method
end

expect.class = Expectation

--- t:expect(value)
function core.classes.scenario.expect(_, value)
	return setmetatable({ value = value }, Expectation)
end

return expect
