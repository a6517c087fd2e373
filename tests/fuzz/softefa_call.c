/* SPDX-License-Identifier: MIT */
/*
 * Uverbs calls of any content and in any order. An input is a sequence of calls: object,
 * method, number of attributes, and for each its id (two bytes), length, kind and what it
 * holds: bytes of its own, a pointer to the bytes that follow, or a bad pointer.
 */
#include <stddef.h>
#include <string.h>

#include "softefa.h"

#define MAX_CALLS 64
#define MAX_BYTES 192 /* of one attribute */
#define DMABUF_FD 100

struct input {
	const uint8_t *at;
	size_t left;
};

static struct soft_object *last_channel;

struct soft_object *soft_channel_of(int fd)
{
	return last_channel && last_channel->kind == SOFT_CHANNEL ? last_channel : NULL;
}

void soft_channel_note(int fd, struct soft_object *channel)
{
	last_channel = channel;
	close(fd);
}

void soft_wrap_qp(struct soft_object *qp)
{
}

void soft_unwrap_qp(uint32_t handle)
{
}

static void take(struct input *in, void *to, size_t n)
{
	size_t have = n < in->left ? n : in->left;

	memset(to, 0, n);
	memcpy(to, in->at, have);
	in->at += have;
	in->left -= have;
}

static uint8_t byte(struct input *in)
{
	uint8_t b;

	take(in, &b, 1);
	return b;
}

/*
 * An answer goes where the program wants it, and the fuzzer learns addresses of this process
 * from what it compares: what would be somewhere else than in the memory for it is nowhere.
 */
static uint64_t harmless(uint64_t data)
{
	bool ours = data >= FUZZ_MEMORY - FUZZ_FENCE && data < FUZZ_MEMORY + FUZZ_BYTES;

	return ours || data < 65536 ? data : data | 1ull << 63;
}

/* One attribute; BYTES is where it may point to. */
static void attribute(struct input *in, struct ib_uverbs_attr *attr, uint8_t *bytes)
{
	uint8_t what;

	memset(attr, 0, sizeof(*attr));
	take(in, &attr->attr_id, 2);
	attr->len = byte(in);
	what = byte(in);
	attr->flags = what & 4 ? UVERBS_ATTR_F_MANDATORY : 0;
	if (attr->len > MAX_BYTES)
		attr->len = MAX_BYTES;
	if (what & 1) {
		attr->data = (uintptr_t)bytes;
	} else {
		take(in, &attr->data, 8);
		attr->data = harmless(attr->data);
	}
	take(in, bytes, what & 2 ? attr->len : 0);
}

static void one_call(struct input *in)
{
	uint64_t words[(sizeof(struct ib_uverbs_ioctl_hdr) +
			SOFT_MAX_ATTRS * sizeof(struct ib_uverbs_attr)) /
		       8] = {0};
	struct ib_uverbs_ioctl_hdr *header = (struct ib_uverbs_ioctl_hdr *)words;
	static uint8_t bytes[SOFT_MAX_ATTRS][MAX_BYTES];
	struct soft_call call = {.file = FUZZ_FILE};
	uint8_t num;

	header->object_id = byte(in);
	take(in, &header->method_id, 2);
	num = byte(in) % SOFT_MAX_ATTRS;
	header->num_attrs = num;
	header->length = (uint16_t)(sizeof(*header) + num * sizeof(struct ib_uverbs_attr));
	for (uint8_t i = 0; i < num; i++)
		attribute(in, &header->attrs[i], bytes[i]);
	if (!soft_call_read(&call, (uintptr_t)header))
		soft_command(&call);
}

/* A dma-buf, under a number that inputs can name. */
static void dmabuf_open(void)
{
	static bool opened;
	int fd;

	if (opened)
		return;
	opened = true;
	fd = memfd_create("dmabuf", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, FUZZ_BYTES) || dup2(fd, DMABUF_FD) < 0)
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};

	fuzz_device_open();
	dmabuf_open();
	if (soft_lock())
		abort();
	last_channel = NULL;
	for (int i = 0; i < MAX_CALLS && in.left; i++)
		one_call(&in);
	soft_run(NULL);
	/* An answer may have been wanted beside the memory that is registered. */
	fuzz_model_check();
	soft_file_release(FUZZ_FILE);
	fuzz_model_check();
	soft_unlock();
	return 0;
}
