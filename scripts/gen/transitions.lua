-- transitions.h: each state machine of a queue pair as a table [from][to].
-- usage: lua transitions.lua SPEC_DIR HEADER
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local spec, enums = lib.spec "transitions", lib.enums()
local h = lib.out()

local function mask(names)
	local bits = {}
	for _, n in ipairs(names or {}) do
		bits[#bits + 1] = "SRD_QP_" .. n
	end
	return #bits > 0 and table.concat(bits, " | ") or "0"
end

local num_states = #enums.qp_state.values - 1 -- UNKNOWN is none

h:put(lib.banner)
h:put "#ifndef SRDLAB_TRANSITIONS_H\n#define SRDLAB_TRANSITIONS_H\n\n#include <srdlab/enums.h>\n\n"
h:put([[
struct srd_transition {
	uint32_t valid;
	uint32_t required; /* besides STATE: enum srd_qp_attr_mask */
	uint32_t optional;
};

struct srd_state_machine {
	uint32_t modify_mask; /* what modify takes at all */
	uint32_t query_mask;
	struct srd_transition pair[%d][%d]; /* by enum srd_qp_state: from, to */
};

]], num_states, num_states)
for _, kind in ipairs { "srd", "rc" } do
	h:put("static const struct srd_state_machine srd_state_machine_of_%s = {\n", kind)
	h:put("\t.modify_mask = 0x%x,\n\t.query_mask = 0x%x,\n", spec[kind].modify_mask, spec[kind].query_mask)
	h:put "\t.pair = {\n"
	for _, p in ipairs(spec[kind].pairs) do
		h:put("\t\t[SRD_QPS_%s][SRD_QPS_%s] = { 1, %s, %s },\n", p[1], p[2], mask(p.required), mask(p.optional))
	end
	h:put "\t},\n};\n\n"
end
h:put [[
/* That of a queue pair of TYPE; datagrams have SRD's but for RNR_RETRY. */
static inline const struct srd_state_machine *srd_state_machine(uint32_t type)
{
	return type == SRD_QPT_RC ? &srd_state_machine_of_rc : &srd_state_machine_of_srd;
}

#endif
]]
h:write(arg[2])
