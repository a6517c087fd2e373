-- Expectations: t:expect(value):equals(...) and the like, with messages that show what
-- differs. Called with the table that C offers.
local core = ...
local expect = {}

-- A script may do to its globals what it likes.
local type, pairs, tostring, pcall, rawget, setmetatable = type, pairs, tostring, pcall, rawget, setmetatable
local format, gsub, byte, sub = string.format, string.gsub, string.byte, string.sub
local match, find = string.match, string.find
local concat, integer, min = table.concat, math.type, math.min

local MAX_SHOWN = 400 -- characters of a value in a message
local MAX_TEXT = 16384 -- of one that a script asks for
local MAX_DEPTH = 6 -- tables in one another

local function key_text(k)
	if type(k) == "string" and match(k, "^[%a_][%w_]*$") then
		return k
	end
	return "[" .. (type(k) == "string" and format("%q", k) or tostring(k)) .. "]"
end

local function escape(c)
	return c == '"' and '\\"' or c == "\\" and "\\\\" or c == "\n" and "\\n" or format("\\x%02x", byte(c))
end

local put -- a value, in pieces, into OUT, which counts its characters and may have enough

local function put_text(out, text)
	out[#out + 1] = text
	out.left = out.left - #text
end

local function put_table(out, value, depth)
	local n, any = #value, false
	for k, v in pairs(value) do
		if out.left < 0 then
			return
		end
		put_text(out, any and ", " or "{ ")
		any = true
		if integer(k) ~= "integer" or k < 1 or k > n then
			put_text(out, key_text(k) .. " = ")
		end
		put(out, v, depth + 1)
	end
	put_text(out, any and " }" or "{}")
end

function put(out, value, depth)
	if out.left < 0 then
		return
	end
	if type(value) == "string" then
		local text = #value > out.left and sub(value, 1, out.left + 1) or value
		put_text(out, '"' .. gsub(text, "[%c\"\\\x80-\xff]", escape) .. '"')
	elseif type(value) ~= "table" then
		put_text(out, tostring(value))
	elseif depth > MAX_DEPTH then
		put_text(out, "{ ... }")
	else
		put_table(out, value, depth)
	end
end

--- A value as a script would write it; the same text in every run. What is longer than LIMIT
--- characters ends in "...": tables may be wide, and hold themselves.
function expect.show(value, limit)
	local out = { left = limit or MAX_TEXT }
	put(out, value, 0)
	local text = concat(out)
	return out.left < 0 and sub(text, 1, limit or MAX_TEXT) .. " ..." or text
end

local function show(value)
	return expect.show(value, MAX_SHOWN)
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

local function fail(text, ...)
	core.raise(format(text, ...))
end

--- The value is equal to EXPECTED; tables by what they hold.
function Expectation:equals(expected)
	local at, got, want = difference(self.value, expected)
	if not at then
		return self
	end
	if at == "" then
		fail("expected %s, got %s", show(want), show(got))
	end
	fail("not equal at %s: expected %s, got %s\n  expected %s\n       got %s", gsub(at, "^%.", ""),
		show(want), show(got), show(expected), show(self.value))
end

function Expectation:differs_from(other)
	if not difference(self.value, other) then
		fail("expected anything but %s", show(other))
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
		show(got), why)
end

local function hex(bytes)
	local text = gsub(bytes, ".", function(c)
		return format("%02x ", byte(c))
	end)
	return sub(text, 1, -2)
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
		fail("expected the bytes %s, got %s", show(other), show(got))
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
	local n = min(8, value.size - at)
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
		if find(value, what, 1, true) then
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
	fail("expected %s in %s", show(what), show(value))
end

function Expectation:matches(pattern)
	if type(self.value) ~= "string" or not find(self.value, pattern) then
		fail("expected a match of %s, got %s", expect.show(pattern), show(self.value))
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
	if text and not find(message, text, 1, true) then
		fail("expected an error with %s, got %s", expect.show(text), show(message))
	end
	return self
end

local function ordered(name, test)
	Expectation[name] = function(self, bound)
		if type(self.value) ~= "number" then
			fail("%s: a number is expected, got %s", name, show(self.value))
		elseif type(bound) ~= "number" then
			fail("%s: the bound is a number, not %s", name, type(bound))
		elseif not test(self.value, bound) then
			fail("expected %s %s, got %s", gsub(name, "_", " "), expect.show(bound), expect.show(self.value))
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
			names[#names + 1] = type(v) == "function" and sub(k, 1, 2) ~= "__" and k or nil
		end
		fail("there is no expectation %s; there are %s", expect.show(name), concat(names, ", "))
	end
	return method
end

expect.class = Expectation

--- t:expect(value)
function core.classes.scenario.expect(_, value)
	return setmetatable({ value = value }, Expectation)
end

return expect
