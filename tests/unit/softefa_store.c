/* SPDX-License-Identifier: MIT */
/*
 * Stores to a doorbell, as assemblers write them, and what looks like one and is none. The
 * one of this processor is also met for real.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "softefa/store.h"

static void x86(void **state)
{
	static const struct {
		uint8_t code[12];
		size_t size; /* 0: it is none of ours */
		int reg;
		uint32_t value;
		bool swaps;
	} cases[] = {
		{{0x89, 0x02}, 2, 0, 0},                    /* mov %eax,(%rdx) */
		{{0x89, 0x4a, 0x08}, 3, 1, 0},              /* mov %ecx,8(%rdx) */
		{{0x89, 0xb7, 0, 1, 0, 0}, 6, 6, 0},        /* mov %esi,256(%rdi) */
		{{0x44, 0x89, 0x3c, 0x24}, 4, 15, 0},       /* mov %r15d,(%rsp) */
		{{0x41, 0x89, 0x14, 0x84}, 4, 2, 0},        /* mov %edx,(%r12,%rax,4) */
		{{0x42, 0x89, 0x44, 0xbd, 0x10}, 5, 0, 0},  /* mov %eax,16(%rbp,%r15,4) */
		{{0x89, 0x04, 0x25, 0, 16, 0, 0}, 7, 0, 0}, /* mov %eax,4096 */
		{{0x89, 0x05, 1, 2, 3, 4}, 6, 0, 0},        /* mov %eax,...(%rip) */
		{{0xc7, 0x00, 0x78, 0x56, 0x34, 0x12}, 6, -1, 0x12345678},
		{{0xc7, 0x40, 0x40, 1, 0, 0, 0}, 7, -1, 1}, /* movl $1,64(%rax) */
		{{0x41, 0xc7, 0x07, 2, 0, 0, 0}, 7, -1, 2}, /* movl $2,(%r15) */
		{{0x48, 0x89, 0x02}, 0, 0, 0},              /* mov %rax,(%rdx) */
		{{0x66, 0x89, 0x02}, 0, 0, 0},              /* mov %ax,(%rdx) */
		{{0x88, 0x02}, 0, 0, 0},                    /* mov %al,(%rdx) */
		{{0x89, 0xc2}, 0, 0, 0},                    /* mov %eax,%edx */
		{{0x8b, 0x02}, 0, 0, 0},                    /* mov (%rdx),%eax */
		{{0x0f, 0xc3, 0x02}, 3, 0, 0},              /* movnti %eax,(%rdx) */
		{{0x44, 0x0f, 0xc3, 0x4a, 4}, 5, 9, 0},     /* movnti %r9d,4(%rdx) */
		{{0x87, 0x02}, 2, 0, 0, true},              /* xchg %eax,(%rdx) */
		{{0x45, 0x87, 0x70, 8}, 4, 14, 0, true},    /* xchg %r14d,8(%r8) */
		{{0x87, 0xc2}, 0, 0, 0},                    /* xchg %eax,%edx */
		{{0x48, 0x87, 0x02}, 0, 0, 0},              /* xchg %rax,(%rdx) */
		{{0x48, 0x0f, 0xc3, 0x02}, 0, 0, 0},        /* movnti %rax,(%rdx) */
		{{0x0f, 0xc1, 0x02}, 0, 0, 0},              /* xadd %eax,(%rdx) */
		{{0x0f, 0x11, 0x02}, 0, 0, 0},              /* movups %xmm0,(%rdx) */
		{{0xc3}, 0, 0, 0},                          /* ret */
		{{0xc7, 0xf8, 0, 0, 0, 0}, 0, 0, 0},        /* xbegin */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct soft_store store = soft_store_x86(cases[i].code);

		assert_int_equal(store.size, cases[i].size);
		if (!cases[i].size)
			continue;
		assert_int_equal(store.reg, cases[i].reg);
		assert_int_equal(store.value, cases[i].value);
		assert_int_equal(store.swaps, cases[i].swaps);
	}
}

static void arm(void **state)
{
	static const struct {
		uint32_t code;
		int reg; /* -1: it is none of ours */
	} cases[] = {
		{0xb9000041, 1},  /* str w1, [x2] */
		{0xb9004fff, 31}, /* str wzr, [sp, #76] */
		{0xb81fc043, 3},  /* stur w3, [x2, #-4] */
		{0xb8236844, 4},  /* str w4, [x2, x3] */
		{0xb8237844, 4},  /* str w4, [x2, x3, lsl #2] */
		{0xb8236851, 17}, /* str w17, [x2, x3] */
		{0xb8235844, 4},  /* str w4, [x2, w3, uxtw #2] */
		{0xb823c844, 4},  /* str w4, [x2, w3, sxtw] */
		{0x889ffc45, 5},  /* stlr w5, [x2] */
		{0x99008046, 6},  /* stlur w6, [x2, #8] */
		{0x991fc05f, 31}, /* stlur wzr, [x2, #-4] */
		{0xd9008046, -1}, /* stlur x6, [x2, #8] */
		{0x99408046, -1}, /* ldapur w6, [x2, #8] */
		{0xc89ffc45, -1}, /* stlr x5, [x2] */
		{0x88dffc45, -1}, /* ldar w5, [x2] */
		{0x88037c45, -1}, /* stxr w3, w5, [x2] */
		{0xb8238044, -1}, /* swp w3, w4, [x2] */
		{0x29000c41, -1}, /* stp w1, w3, [x2] */
		{0xb8636844, -1}, /* ldr w4, [x2, x3] */
		{0x78236844, -1}, /* strh w4, [x2, x3] */
		{0xf9000041, -1}, /* str x1, [x2] */
		{0xb9400041, -1}, /* ldr w1, [x2] */
		{0xb8004c41, -1}, /* str w1, [x2, #4]! */
		{0xb8004441, -1}, /* str w1, [x2], #4 */
		{0x39000041, -1}, /* strb w1, [x2] */
		{0xbd000041, -1}, /* str s1, [x2] */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct soft_store store = soft_store_arm(cases[i].code);

		assert_int_equal(store.size, cases[i].reg >= 0 ? 4 : 0);
		if (store.size)
			assert_int_equal(store.reg, cases[i].reg);
	}
}

static volatile uint32_t *page;
static uint32_t stored[3];
static int count;

static void on_fault(int signal, siginfo_t *info, void *context)
{
	if ((uint32_t *)info->si_addr == &page[4] && count < 3 &&
	    soft_store_skip(context, 55, &stored[count])) {
		count++;
		return;
	}
	/* Once more, and then for good. */
	mprotect((void *)(uintptr_t)page, 4096, PROT_READ | PROT_WRITE);
}

static void on_this_processor(void **state)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
	volatile uint32_t value = 0xabcdef01;

	if (!soft_store_known())
		skip();
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(page != MAP_FAILED);
	sigaction(SIGSEGV, &action, &before);
	page[4] = value;
	page[4] = 77;
	__atomic_store_n(&page[4], value + 1, __ATOMIC_SEQ_CST);
	sigaction(SIGSEGV, &before, NULL);
	assert_int_equal(count, 3);
	assert_int_equal(stored[0], 0xabcdef01);
	assert_int_equal(stored[1], 77);
	assert_int_equal(stored[2], 0xabcdef02);
	assert_int_equal(page[4], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86),
		cmocka_unit_test(arm),
		cmocka_unit_test(on_this_processor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
