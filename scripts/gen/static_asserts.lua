-- static_asserts.c: every value of scripts/spec that rdma-core has too is the same there.
-- usage: lua static_asserts.lua SPEC_DIR SOURCE
--        lua static_asserts.lua SPEC_DIR --newer   the constants that older headers lack
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local newer = arg[2] == "--newer"
local c = lib.out()

c:put(lib.banner)
c:put [[
#include <infiniband/efadv.h>
#include <infiniband/verbs.h>

#include <srdlab/enums.h>
#include "hw_config.h"

]]
for _, e in ipairs(lib.spec "enums") do
	for _, v in ipairs(e.prefix:match "^SRD_" and {} or e.values) do
		local theirs = e.prefix .. v[1]
		if newer and v.since then
			print(theirs)
		end
		c:put("%s", v.since and ("#if HAVE_%s\n"):format(theirs) or "")
		c:put("_Static_assert((int)%s == (int)%s, \"%s\");\n", lib.c_name(e, v), theirs, theirs)
		c:put("%s", v.since and "#endif\n" or "")
	end
end
if not newer then
	c:write(arg[2])
end
