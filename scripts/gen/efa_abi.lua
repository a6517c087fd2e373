-- efa_abi.h: the descriptors of EFA's queues and its driver's private data, for the software
-- device. usage: lua efa_abi.lua SPEC_DIR HEADER
package.path = arg[0]:match "^(.*)/" .. "/?.lua;" .. package.path
local lib = require "lib"
local spec = lib.spec "efa_abi"
local h = lib.out()
local c_type = { u8 = "uint8_t", u16 = "uint16_t", u32 = "uint32_t", u64 = "uint64_t" }

h:put(lib.banner)
h:put "#ifndef SRDLAB_EFA_ABI_H\n#define SRDLAB_EFA_ABI_H\n\n#include <assert.h>\n#include <stdint.h>\n\n"
for _, m in ipairs(spec.masks) do
	local mask = ((1 << (m[3] - m[2] + 1)) - 1) << m[2]
	h:put("#define %s_MASK 0x%xu\n#define %s_SHIFT %d\n", m[1], mask, m[1], m[2])
end
h:put "\n"
for _, v in ipairs(spec.values) do
	h:put("#define %s %du\n", v[1], v[2])
end
for _, s in ipairs(spec.structs) do
	h:put("\nstruct %s {\n", s.name)
	for _, f in ipairs(s.fields) do
		local t = c_type[f[2]] or "struct " .. f[2]
		h:put("\t%s %s%s;\n", t, f[1], f[3] and ("[%d]"):format(f[3]) or "")
	end
	h:put("};\nstatic_assert(sizeof(struct %s) == %d, \"the size of %s\");\n", s.name, s.bytes, s.name)
end
h:put "\n#endif\n"
h:write(arg[2])
