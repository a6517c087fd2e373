/* SPDX-License-Identifier: MIT */
#include <string.h>
#include <ucontext.h>

#include "store.h"

#define REX       0x40
#define REX_W     0x08 /* 64 bits */
#define REX_R     0x04 /* of the register in ModRM */
#define MOV_REG   0x89
#define MOV_VALUE 0xc7
#define XCHG      0x87 /* what a store of sequential consistency is made of */
#define ESCAPE    0x0f
#define MOVNTI    0xc3 /* behind ESCAPE */
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

struct soft_store soft_store_x86(const uint8_t *code)
{
	uint8_t rex = (code[0] & 0xf0) == REX ? code[0] : 0;
	const uint8_t *at = code + !!rex;
	bool escaped = at[0] == ESCAPE && at[1] == MOVNTI;
	uint8_t opcode = at[escaped];
	struct soft_store store = {.reg = -1, .swaps = opcode == XCHG};
	size_t operand;

	if (rex & REX_W || (!escaped && opcode != MOV_REG && opcode != MOV_VALUE && opcode != XCHG))
		return store;
	at += escaped + 1;
	operand = operand_size(at);
	if (!operand || (opcode == MOV_VALUE && at[0] >> 3 & 7))
		return store;
	store.size = (size_t)(at - code) + operand;
	if (opcode == MOV_VALUE) {
		memcpy(&store.value, at + operand, sizeof(store.value));
		store.size += sizeof(store.value);
	} else {
		store.reg = (at[0] >> 3 & 7) | (rex & REX_R ? 8 : 0);
	}
	return store;
}

/* STR and STUR of a W register, without write-back, and STLR and STLUR. */
struct soft_store soft_store_arm(uint32_t code)
{
	bool known = (code & 0xffc00000) == 0xb9000000 || /* [Xn, #imm] */
		     (code & 0xffe00c00) == 0xb8000000 || /* STUR [Xn, #simm] */
		     (code & 0xffe00c00) == 0xb8200800 || /* [Xn, Xm] */
		     (code & 0xfffffc00) == 0x889ffc00 || /* STLR [Xn] */
		     (code & 0xffe00c00) == 0x99000000;   /* STLUR [Xn, #simm] */

	return (struct soft_store){.size = known ? sizeof(code) : 0, .reg = (int)(code & 31)};
}

#if defined(__x86_64__)

bool soft_store_known(void)
{
	return true;
}

bool soft_store_skip(void *context, uint32_t old, uint32_t *value)
{
	/* In the order of their numbers in instructions. */
	static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
					  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
					  REG_R12, REG_R13, REG_R14, REG_R15};
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	struct soft_store store = soft_store_x86((const uint8_t *)regs[REG_RIP]);

	if (!store.size)
		return false;
	*value = store.reg < 0 ? store.value : (uint32_t)regs[registers[store.reg]];
	if (store.swaps)
		regs[registers[store.reg]] = old;
	regs[REG_RIP] += (greg_t)store.size;
	return true;
}

#elif defined(__aarch64__)

bool soft_store_known(void)
{
	return true;
}

bool soft_store_skip(void *context, uint32_t old, uint32_t *value)
{
	mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	struct soft_store store = soft_store_arm(*(const uint32_t *)m->pc);

	if (!store.size)
		return false;
	*value = store.reg == 31 ? 0 : (uint32_t)m->regs[store.reg];
	m->pc += store.size;
	return true;
}

#else

bool soft_store_known(void)
{
	return false;
}

bool soft_store_skip(void *context, uint32_t old, uint32_t *value)
{
	return false;
}

#endif
