/* SPDX-License-Identifier: MIT */
/* Commands that register memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>

#include "command.h"
#include "share.h"

/* A region as IN says, of the protection domain that it names; ENOMEM, or the model's errno. */
static int mr_new(struct soft_call *call, const struct ib_uverbs_reg_mr *in,
		  struct soft_object **out, uint32_t *key)
{
	struct soft_object *pd = soft_object_find(in->pd_handle, SOFT_PD, call->file);
	struct soft_object *mr = pd ? soft_object_new(SOFT_MR, call->file) : NULL;
	struct srd_mr_init init = {
		.access = in->access_flags,
		.addr = in->hca_va,
		.length = in->length,
		.shift = in->start - in->hca_va,
	};
	int err;

	if (!mr)
		return pd ? ENOMEM : EINVAL;
	init.pd = pd->model;
	init.tag = soft_handle(mr);
	srd_model_pd_own(&soft.model, init.pd, soft.process);
	err = srd_model_mr_reg(&soft.model, &init, &mr->model, key);
	if (err) {
		soft_object_free(mr);
		return err;
	}
	soft_share(in->start, in->length);
	mr->pd = soft_handle(pd);
	pd->users++;
	*out = mr;
	return 0;
}

int soft_reg_mr(struct soft_call *call)
{
	struct ib_uverbs_reg_mr_resp r;
	struct ib_uverbs_reg_mr in;
	struct soft_object *mr;
	uint32_t key;
	int err = soft_in(call, UVERBS_ATTR_CORE_IN, &in, sizeof(in), sizeof(in));

	if (!err && (in.start ^ in.hca_va) & (SOFT_PAGE - 1))
		err = EINVAL;
	if (!err)
		err = mr_new(call, &in, &mr, &key);
	if (err)
		return err;
	r = (struct ib_uverbs_reg_mr_resp){.mr_handle = soft_handle(mr), .lkey = key, .rkey = key};
	err = soft_out(call, UVERBS_ATTR_CORE_OUT, &r, sizeof(r));
	if (err)
		soft_object_destroy(mr);
	return err;
}

/* A dma-buf, or a memfd that is named as one, for machines that have nothing to export any. */
static bool is_dmabuf(int fd)
{
	char path[64], name[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name) - 1) > 0 &&
	       (!strncmp(name, "/dmabuf", 7) || !strncmp(name, "/memfd:dmabuf", 13));
}

int soft_dmabuf_map(int fd, uint64_t offset, uint64_t length, struct soft_dmabuf *to)
{
	uint64_t inside = offset & (SOFT_PAGE - 1);
	off_t end;
	void *at;

	if (fcntl(fd, F_GETFD) < 0)
		return EBADF;
	end = is_dmabuf(fd) ? lseek(fd, 0, SEEK_END) : -1;
	if (end < 0 || offset > (uint64_t)end || length > (uint64_t)end - offset)
		return EINVAL;
	at = mmap(NULL, length + inside, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		  (off_t)(offset - inside));
	if (at == MAP_FAILED)
		return errno;
	*to = (struct soft_dmabuf){
		.mapped = (uintptr_t)at,
		.mapped_length = length + inside,
		.start = (uintptr_t)at + inside,
	};
	return 0;
}

static int dmabuf_input(struct soft_call *call, struct ib_uverbs_reg_mr *in, uint64_t *offset,
			int *fd)
{
	uint32_t access;
	int err = soft_in(call, UVERBS_ATTR_REG_DMABUF_MR_OFFSET, offset, 8, 8);

	*in = (struct ib_uverbs_reg_mr){
		.pd_handle = (uint32_t)soft_in_number(call, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE)};
	if (!err)
		err = soft_in(call, UVERBS_ATTR_REG_DMABUF_MR_LENGTH, &in->length, 8, 8);
	if (!err)
		err = soft_in(call, UVERBS_ATTR_REG_DMABUF_MR_IOVA, &in->hca_va, 8, 8);
	if (!err)
		err = soft_in(call, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS, &access, 4, 4);
	if (err)
		return err;
	in->access_flags = access;
	*fd = (int)soft_in_number(call, UVERBS_ATTR_REG_DMABUF_MR_FD);
	if ((*offset ^ in->hca_va) & (SOFT_PAGE - 1))
		return EINVAL;
	return in->length && soft_object_find(in->pd_handle, SOFT_PD, call->file) ? 0 : EINVAL;
}

int soft_reg_dmabuf_mr(struct soft_call *call)
{
	struct ib_uverbs_reg_mr in;
	struct soft_dmabuf mapped;
	struct soft_object *mr;
	uint64_t offset;
	uint32_t key;
	int fd, err = dmabuf_input(call, &in, &offset, &fd);

	if (!err)
		err = soft_dmabuf_map(fd, offset, in.length, &mapped);
	if (err)
		return err;
	in.start = mapped.start;
	err = mr_new(call, &in, &mr, &key);
	if (err) {
		munmap((void *)(uintptr_t)mapped.mapped, mapped.mapped_length);
		return err;
	}
	mr->mr = mapped;
	err = soft_out(call, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, &key, sizeof(key));
	if (!err)
		err = soft_out(call, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, &key, sizeof(key));
	if (!err)
		err = soft_out_number(call, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, soft_handle(mr));
	if (err)
		soft_object_destroy(mr);
	return err;
}

/* The interconnects that a region goes over: none is known, as on most instances. */
int soft_efa_query_mr(struct soft_call *call)
{
	uint16_t nothing = 0;
	int err = 0;

	if (!soft_object_find(soft_in_number(call, 0x1000), SOFT_MR, call->file))
		return EINVAL;
	for (uint16_t id = 0x1001; id <= 0x1004 && !err; id++)
		err = soft_out(call, id, &nothing, sizeof(nothing));
	return err;
}
