/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "memory.h"

#define INLINE_BYTES 8 /* that lie in the attribute itself */

int soft_call_read(struct soft_call *call, uint64_t user)
{
	struct ib_uverbs_ioctl_hdr header;

	if (!soft_user_read(&header, user, sizeof(header)))
		return EFAULT;
	if (header.reserved1 || header.reserved2)
		return EPROTONOSUPPORT;
	if (header.length != sizeof(header) + header.num_attrs * sizeof(struct ib_uverbs_attr))
		return EINVAL;
	if (header.num_attrs > SOFT_MAX_ATTRS)
		return E2BIG;
	if (!soft_user_read(call->attr, user + sizeof(header),
			    header.num_attrs * sizeof(struct ib_uverbs_attr)))
		return EFAULT;
	call->user = user;
	call->object = header.object_id;
	call->method = header.method_id;
	call->num = header.num_attrs;
	for (uint32_t i = 0; i < call->num; i++)
		for (uint32_t k = 0; k < i; k++)
			if (call->attr[k].attr_id == call->attr[i].attr_id)
				return EINVAL;
	return 0;
}

const struct ib_uverbs_attr *soft_attr(const struct soft_call *call, uint16_t id)
{
	for (uint32_t i = 0; i < call->num; i++)
		if (call->attr[i].attr_id == id)
			return &call->attr[i];
	return NULL;
}

/* Whether all bytes of the attribute from AT on are zero. */
static int rest_is_zero(const struct ib_uverbs_attr *attr, size_t at)
{
	uint8_t part[64];

	while (at < attr->len) {
		size_t n = attr->len - at < sizeof(part) ? attr->len - at : sizeof(part);

		if (!soft_user_read(part, attr->data + at, n))
			return EFAULT;
		for (size_t i = 0; i < n; i++)
			if (part[i])
				return EOPNOTSUPP;
		at += n;
	}
	return 0;
}

int soft_in(const struct soft_call *call, uint16_t id, void *to, size_t size, size_t min)
{
	const struct ib_uverbs_attr *attr = soft_attr(call, id);
	size_t n;

	memset(to, 0, size);
	if (!attr)
		return min ? EINVAL : 0;
	if (attr->len < min)
		return EINVAL;
	n = attr->len < size ? attr->len : size;
	if (attr->len <= INLINE_BYTES) {
		memcpy(to, &attr->data, n);
		return 0;
	}
	if (!soft_user_read(to, attr->data, n))
		return EFAULT;
	return rest_is_zero(attr, size);
}

uint64_t soft_in_number(const struct soft_call *call, uint16_t id)
{
	const struct ib_uverbs_attr *attr = soft_attr(call, id);

	return attr ? attr->data : UINT64_MAX;
}

/* Where attribute ATTR lies in the program's memory. */
static uint64_t attr_address(const struct soft_call *call, const struct ib_uverbs_attr *attr)
{
	return call->user + sizeof(struct ib_uverbs_ioctl_hdr) +
	       (uint64_t)(attr - call->attr) * sizeof(*attr);
}

int soft_out(struct soft_call *call, uint16_t id, const void *from, size_t size)
{
	const struct ib_uverbs_attr *attr = soft_attr(call, id);
	uint16_t flags;

	if (!attr)
		return 0;
	if (!soft_user_write(attr->data, from, attr->len < size ? attr->len : size))
		return EFAULT;
	flags = attr->flags | UVERBS_ATTR_F_VALID_OUTPUT;
	return soft_user_write(attr_address(call, attr) + offsetof(struct ib_uverbs_attr, flags),
			       &flags, sizeof(flags))
		       ? 0
		       : EFAULT;
}

int soft_out_number(struct soft_call *call, uint16_t id, uint64_t value)
{
	const struct ib_uverbs_attr *attr = soft_attr(call, id);

	if (!attr)
		return EINVAL;
	return soft_user_write(attr_address(call, attr) + offsetof(struct ib_uverbs_attr, data),
			       &value, sizeof(value))
		       ? 0
		       : EFAULT;
}
