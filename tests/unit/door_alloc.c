/* SPDX-License-Identifier: MIT */
/* The mock without memory: every allocation fails once, and nothing is left behind. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include <srdlab/profile.h>

#include "verbs/alloc.h"
#include "verbs/backend.h"

#define RIGHTS (SRD_ACCESS_LOCAL_WRITE | SRD_ACCESS_REMOTE_WRITE)

/* One of each object. False where one could not be made; errno says why. */
static bool make_all(struct srd_verbs *v, uint64_t seed)
{
	struct srd_ah_attr to = {.is_global = 1, .port_num = 1};
	struct srd_efa_qp_init_attr efa = {.flags = 0};
	struct srd_context *context = v->open_device(v, 0, NULL);
	struct srd_pd *pd = context ? v->alloc_pd(v, context) : NULL;
	struct srd_cq *cq = pd ? v->create_cq(v, context, 16) : NULL;
	struct srd_qp_init_attr_ex attr = {
		.pd = pd,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = SRD_QPT_DRIVER,
		.comp_mask = SRD_QP_INIT_ATTR_PD,
	};
	struct srd_qp *qp = cq ? v->create_qp_ex(v, context, &attr, &efa) : NULL;
	struct srd_buffer *buffer = qp ? v->alloc_buffer(v, context, 100, SRD_BUFFER_REAL) : NULL;

	if (!buffer || !v->reg_mr(v, pd, buffer->addr, 100, RIGHTS))
		return false;
	v->query_gid(v, context, 1, 0, &to.dgid);
	return v->create_ah(v, pd, &to);
}

static int attempt(uint64_t fail_at)
{
	struct srd_backend_options options = {.seed = 1};
	struct srd_error error = {.code = 0};
	struct srd_verbs *v;
	bool whole;
	int err;

	srd_alloc_fail_at(fail_at);
	err = srd_backend_find("mock")->open(&options, &v, &error);
	if (err) {
		assert_int_equal(err, -ENOMEM);
		assert_int_equal(error.code, -ENOMEM);
		assert_non_null(strstr(error.message, "out of memory"));
		return err;
	}
	errno = 0;
	whole = make_all(v, fail_at);
	if (!whole)
		assert_int_equal(errno, ENOMEM);
	v->close(v);
	return whole ? 0 : -ENOMEM;
}

static void every_allocation_fails_once(void **state)
{
	int64_t before = srd_alloc_live();
	uint64_t n = 0, failed = 0;
	int err;

	do {
		err = attempt(++n);
		failed += err != 0;
		assert_int_equal(srd_alloc_live(), before);
	} while (srd_alloc_count() >= n);
	srd_alloc_fail_at(0);
	assert_int_equal(err, 0);
	assert_in_range(failed, 12, n - 1);
}

static size_t refuse_mapping = SIZE_MAX; /* of more bytes than these */

/* In place of the C library's, for the model's arena. */
void *mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	if (length > refuse_mapping) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, addr, length, prot, flags, fd, offset);
}

/* Runs first: an arena is kept from one model to the next. */
static void no_room_for_the_arena(void **state)
{
	struct srd_backend_options options = {.seed = 1};
	struct srd_verbs *v;
	int err;

	refuse_mapping = 0;
	err = srd_backend_find("mock")->open(&options, &v, NULL);
	refuse_mapping = SIZE_MAX;
	assert_int_equal(err, -ENOMEM);

	/* With room for something smaller it makes do. */
	refuse_mapping = (size_t)4 << 30;
	assert_int_equal(srd_backend_find("mock")->open(&options, &v, NULL), 0);
	refuse_mapping = SIZE_MAX;
	assert_true(make_all(v, 1));
	v->close(v);
}

/* A model with another profile cannot take over the arena; a big one is not kept. */
static void arenas_are_kept_only_where_they_fit(void **state)
{
	static const char *const names[] = {"efa1", "small", "huge", "efa1", "efa1"};
	struct srd_backend_options options = {.seed = 1};
	struct srd_verbs *v, *w;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		options.profile = srd_profile_find(names[i]);
		assert_int_equal(srd_backend_find("mock")->open(&options, &v, NULL), 0);
		assert_int_equal(srd_backend_find("mock")->open(&options, &w, NULL), 0);
		assert_true(make_all(v, 1));
		assert_true(make_all(w, 1));
		v->close(v);
		assert_true(make_all(w, 1));
		w->close(w);
	}
	options.profile = srd_profile_find("huge");
	assert_int_equal(srd_backend_find("mock")->open(&options, &v, NULL), 0);
	for (int i = 0; i < 4; i++) {
		struct srd_context *context = v->open_device(v, 0, NULL);

		assert_non_null(v->create_cq(v, context, 1 << 20));
	}
	v->close(v);
	assert_int_equal(srd_backend_find("mock")->open(&options, &v, NULL), 0);
	assert_true(make_all(v, 1));
	v->close(v);
}

/* The rings of all queues together have a limit too. */
static void no_room_for_rings(void **state)
{
	struct srd_backend_options options = {.profile = srd_profile_find("huge"), .seed = 1};
	struct srd_context *context;
	struct srd_verbs *v;
	struct srd_cq *cq, *last = NULL;
	int n;

	assert_int_equal(srd_backend_find("mock")->open(&options, &v, NULL), 0);
	context = v->open_device(v, 0, NULL);
	for (n = 0; (cq = v->create_cq(v, context, 1 << 20)); n++)
		last = cq;
	assert_int_equal(errno, ENOMEM);
	assert_true(n > 100);
	/* What is given back can be had again. */
	assert_int_equal(v->destroy_cq(v, last), 0);
	assert_non_null(v->create_cq(v, context, 1 << 20));
	v->close(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_room_for_the_arena),
		cmocka_unit_test(every_allocation_fails_once),
		cmocka_unit_test(arenas_are_kept_only_where_they_fit),
		cmocka_unit_test(no_room_for_rings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
