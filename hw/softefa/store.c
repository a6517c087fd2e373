/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <ucontext.h>

#include "store.h"

#define REX       0x40
#define REX_W     0x08 /* 64 bits */
#define REX_R     0x04 /* of the register in ModRM */
#define MOV_REG   0x89
#define MOV_VALUE 0xc7
#define NO_BASE   5
#define HAS_SIB   4

/* Bytes of ModRM and what it says that follows; 0: the operand is no memory. */
static size_t operand_size(const uint8_t *at)
{
	unsigned int mode = at[0] >> 6, place = at[0] & 7;
	size_t size = 1;

	if (mode == 3)
		return 0;
	if (place == HAS_SIB) {
		size++;
		if (mode == 0 && (at[1] & 7) == NO_BASE)
			size += 4;
	} else if (mode == 0 && place == NO_BASE) {
		size += 4; /* relative to the instruction */
	}
	return size + (mode == 1 ? 1 : mode == 2 ? 4 : 0);
}

size_t soft_store_x86(const uint8_t *code, int *reg, uint32_t *value)
{
	uint8_t rex = (code[0] & 0xf0) == REX ? code[0] : 0;
	const uint8_t *at = code + !!rex;
	size_t operand;

	if (rex & REX_W || (*at != MOV_REG && *at != MOV_VALUE))
		return 0;
	operand = operand_size(at + 1);
	if (!operand)
		return 0;
	if (*at == MOV_REG) {
		*reg = (at[1] >> 3 & 7) | (rex & REX_R ? 8 : 0);
		return (size_t)(at - code) + 1 + operand;
	}
	if (at[1] >> 3 & 7)
		return 0;
	*reg = -1;
	memcpy(value, at + 1 + operand, sizeof(*value));
	return (size_t)(at - code) + 1 + operand + sizeof(*value);
}

/* STR and STUR of a W register, without write-back, and STLR. */
bool soft_store_arm(uint32_t code, int *reg)
{
	*reg = (int)(code & 31);
	return (code & 0xffc00000) == 0xb9000000 || /* [Xn, #imm] */
	       (code & 0xffe00c00) == 0xb8000000 || /* STUR [Xn, #simm] */
	       (code & 0xffe00c00) == 0xb8200800 || /* [Xn, Xm] */
	       (code & 0xfffffc00) == 0x889ffc00;   /* STLR [Xn] */
}

#if defined(__x86_64__)

bool soft_store_known(void)
{
	return true;
}

bool soft_store_skip(void *context, uint32_t *value)
{
	/* In the order of their numbers in instructions. */
	static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
					  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
					  REG_R12, REG_R13, REG_R14, REG_R15};
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	int reg;
	size_t size = soft_store_x86((const uint8_t *)regs[REG_RIP], &reg, value);

	if (!size)
		return false;
	if (reg >= 0)
		*value = (uint32_t)regs[registers[reg]];
	regs[REG_RIP] += (greg_t)size;
	return true;
}

#elif defined(__aarch64__)

bool soft_store_known(void)
{
	return true;
}

bool soft_store_skip(void *context, uint32_t *value)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	int reg;

	if (!soft_store_arm(*(const uint32_t *)m->pc, &reg))
		return false;
	*value = reg == 31 ? 0 : (uint32_t)m->regs[reg];
	m->pc += 4;
	return true;
}

#else

bool soft_store_known(void)
{
	return false;
}

bool soft_store_skip(void *context, uint32_t *value)
{
	return false;
}

#endif
