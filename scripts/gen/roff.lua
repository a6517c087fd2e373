-- Writing manual pages in mdoc.
local lib = require "lib"
local roff = {}

--- TEXT so that roff takes each of its characters as it is.
function roff.escape(text)
	return (text:gsub("\\", "\\e"):gsub("^([.'])", "\\&%1"))
end

--- A page: out:text(...) adds a paragraph's sentences, out:macro(...) a line of macros.
function roff.page(title, section, date, name, what)
	local page = lib.out()

	function page.macro(self, format, ...)
		self:put("." .. format .. "\n", ...)
	end

	-- Each sentence begins a line of the source, as mdoc likes it.
	function page.sentences(self, text)
		local spaced = text:gsub("([.:]) (%u)", "%1\n%2")
		for sentence in spaced:gmatch "[^\n]+" do
			for line in (lib.wrap(sentence, "", 76) .. "\n"):gmatch "([^\n]*)\n" do
				self:put("%s\n", roff.escape(line))
			end
		end
	end

	function page.paragraphs(self, list)
		for i, text in ipairs(list) do
			if i > 1 then
				self:macro "Pp"
			end
			self:sentences(text)
		end
	end

	page:put ".\\\" Generated from scripts/spec; do not edit.\n"
	page:macro("Dd %s", date)
	page:macro("Dt %s %d", title:upper(), section)
	page:macro "Os"
	page:macro "Sh NAME"
	page:macro("Nm %s", name)
	page:macro("Nd %s", what)
	return page
end

return roff
