-- docs/status.md: from the status of a completion to its cause. The page is in the tree, to be
-- read there; a test compares it with what this makes.
-- usage: lua status_page.lua [--check] SPEC_DIR PAGE
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local check = table.remove(arg, arg[1] == "--check" and 1 or #arg + 1)
local lib = require "lib"
local md = lib.out()

md:put [[
# From a status to its cause

`wc.vendor_err` of an EFA completion is the device's own status, and says more than
`wc.status`: log both. `srdlab explain 9` prints one of these entries, and
`srdlab explain IBV_WC_REM_INV_RD_REQ_ERR` those that become this status.

*RC* is what a reliable-connected queue pair says for the same cause, where its connection
ends. The rules are those of `srdlab rules` that see the cause before the device does.

| vendor_err | EFA_IO_COMP_STATUS_ | IBV_WC_ | found by | RC: IBV_WC_ |
|---|---|---|---|---|
]]
local statuses = lib.spec "statuses"
for _, s in ipairs(statuses) do
	md:put("| [%d](#%d) | %s | %s | %s | %s |\n", s[1], s[1], s[2], s[3],
		s[1] == 0 and "-" or s[4] == "local" and "initiator" or "responder", s[5])
end
md:put [[
| others | not defined | GENERAL_ERR | - | - |

Source: rdma-core providers/efa/efa_io_defs.h and to_ibv_status in providers/efa/verbs.c.
What to look at is experience and, where no source says so, a guess.

]]
for _, s in ipairs(statuses) do
	md:put("## %d\n\n**%s**, `IBV_WC_%s`: %s.\n\nLook at %s.\n\n", s[1], s[2], s[3], s[6], s.look)
	if #s.rules > 0 then
		md:put("Rules: `%s`.\n\n", table.concat(s.rules, "`, `"))
	end
end
md:finish(arg[2], check)
