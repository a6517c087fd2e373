/* SPDX-License-Identifier: MIT */
/* What processes of the software device share: memory, a lock, and the end of one of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "softefa/guard.h"
#include "softefa/memory.h"
#include "softefa_world.h"

static void addresses_that_are_not_there(void **state)
{
	uint8_t *gone =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t there = FUZZ_MEMORY, not_there = (uintptr_t)gone;
	uint32_t me = soft.process;

	munmap(gone, 8192);
	soft_guard_install(); /* cmocka has set handlers of its own */
	assert_true(soft_memory_present(NULL, me, there, 10000));
	assert_false(soft_memory_present(NULL, me, not_there, 10));
	assert_int_equal(soft_memory_copy(NULL, me, not_there, me, there, 64),
			 SRD_MEMORY_NO_TARGET);
	assert_int_equal(soft_memory_copy(NULL, me, there, me, not_there, 64),
			 SRD_MEMORY_NO_SOURCE);
	assert_int_equal(soft_memory_store(NULL, me, not_there, "x", 1), SRD_MEMORY_NO_TARGET);
	assert_int_equal(soft_memory_store(NULL, me, there, "x", 1), SRD_MEMORY_OK);
}

/* A child that waits, in a slot of its own. */
static pid_t start_peer(uint32_t slot, int *stop)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		byte = (char)read(fds[0], &byte, 1);
		_exit(*(char *)FUZZ_MEMORY);
	}
	close(fds[0]);
	*stop = fds[1];
	soft.group->process[slot].pid = pid;
	soft.group->process[slot].namespace = soft.namespace;
	return pid;
}

static void memory_of_others(void **state)
{
	static uint8_t here[100000];
	int stop_a, stop_b, status;
	pid_t a = start_peer(200, &stop_a), b = start_peer(201, &stop_b);
	uint32_t me = soft.process;

	memset(here, 'x', sizeof(here));
	assert_int_equal(soft_memory_copy(NULL, 200, FUZZ_MEMORY, me, (uintptr_t)here, 5),
			 SRD_MEMORY_OK);
	assert_int_equal(soft_memory_copy(NULL, 201, FUZZ_MEMORY, 200, FUZZ_MEMORY, 5),
			 SRD_MEMORY_OK);
	here[0] = 0;
	assert_int_equal(soft_memory_copy(NULL, me, (uintptr_t)here, 201, FUZZ_MEMORY, 5),
			 SRD_MEMORY_OK);
	assert_int_equal(here[0], 'x');
	assert_int_equal(soft_memory_copy(NULL, 201, FUZZ_MEMORY, 200, 4096, 5),
			 SRD_MEMORY_NO_SOURCE);
	assert_int_equal(soft_memory_store(NULL, 201, FUZZ_MEMORY, "yy", 2), SRD_MEMORY_OK);
	close(stop_a);
	close(stop_b);
	waitpid(a, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 'x');
	waitpid(b, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 'y');
	soft.group->process[200].pid = 0;
	soft.group->process[201].pid = 0;
}

static void the_dead_leave_nothing(void **state)
{
	uint32_t me = soft.process;

	make_world(IB_UVERBS_QPT_DRIVER, -1);
	soft_process_leave(me);
	assert_int_equal(soft_object(w.qp)->kind, SOFT_FREE);
	assert_int_equal(soft_object(w.pd)->kind, SOFT_FREE);
	assert_int_equal(soft_process_enter(), 0);
	assert_int_equal(soft.process, me);
}

static void locks_of_the_dead(void **state)
{
	pid_t pid;

	assert_int_equal(soft_lock(), EIO); /* by the thread that has it */
	soft_unlock();
	pid = fork();
	if (!pid) {
		soft_lock();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	assert_int_equal(soft_trylock(), 0); /* it left the model whole */
	soft.group->broken = 1;
	soft_unlock();
	assert_int_equal(soft_lock(), EIO);
	soft.group->broken = 0;
	assert_int_equal(soft_lock(), 0);
}

static void groups_that_are_none(void **state)
{
	struct srd_error error = {0};
	struct soft_view before = soft;

	assert_int_equal(soft_group_attach("/nowhere"), -ENOENT);
	assert_int_equal(soft_group_create("/nowhere", srd_profile_find("small"), 1,
					   SOFT_CLOCK_AUTO, &error),
			 -ENOENT);
	assert_non_null(strstr(error.message, "/nowhere"));
	soft = before;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(addresses_that_are_not_there), TEST(memory_of_others),
		TEST(the_dead_leave_nothing),       TEST(locks_of_the_dead),
		TEST(groups_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
