-- transitions.h: the SRD state machine as a table [from][to].
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

h:put(lib.banner)
h:put "#ifndef SRDLAB_TRANSITIONS_H\n#define SRDLAB_TRANSITIONS_H\n\n#include <srdlab/enums.h>\n\n"
h:put("#define SRD_MODIFY_SUPPORTED_MASK 0x%xu\n", spec.supported_modify_mask)
h:put("#define SRD_QUERY_SUPPORTED_MASK 0x%xu\n\n", spec.supported_query_mask)
h:put [[
struct srd_transition {
	uint32_t valid;
	uint32_t required; /* besides STATE: enum srd_qp_attr_mask */
	uint32_t optional;
};

]]
h:put("static const struct srd_transition srd_transitions[%d][%d] = {\n",
	#enums.qp_state.values - 1, #enums.qp_state.values - 1)
for _, p in ipairs(spec.pairs) do
	h:put("\t[SRD_QPS_%s][SRD_QPS_%s] = { 1, %s, %s },\n", p[1], p[2], mask(p.required), mask(p.optional))
end
h:put "};\n\n#endif\n"
h:write(arg[2])
