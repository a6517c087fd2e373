/* SPDX-License-Identifier: MIT */
/*
 * Which device to use, and where there is none, why. A device is an EFA device if
 * efadv_query_device answers for it; srdlab needs RDMA read and write of it. Any other has
 * connected queue pairs, and is taken if it is asked for by its name.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hw_config.h"
#include "efa.h"

enum verdict {
	NOT_EFA,
	CANNOT_OPEN,
	NO_RDMA,
	USABLE,
};

struct probe {
	enum verdict verdict;
	int err;                     /* positive errno of what failed */
	struct ibv_context *context; /* open only where it is USABLE, or another vendor's */
	struct efadv_device_attr attr;
};

#define NEEDED_CAPS (SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ | SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE)

/* The constants are srdlab's own: older headers lack that of RDMA write, and the answer of
 * a newer library at run time has the bit all the same. */
static bool has_rdma(const struct efadv_device_attr *attr)
{
	return (attr->device_caps & NEEDED_CAPS) == NEEDED_CAPS && attr->max_rdma_size;
}

static struct probe probe_device(struct ibv_device *device)
{
	struct probe probe = {.context = ibv_open_device(device)};

	if (!probe.context) {
		probe.verdict = CANNOT_OPEN;
		probe.err = errno;
		return probe;
	}
	probe.err = efadv_query_device(probe.context, &probe.attr, sizeof(probe.attr));
	if (probe.err)
		probe.verdict = NOT_EFA;
	else
		probe.verdict = has_rdma(&probe.attr) ? USABLE : NO_RDMA;
	return probe;
}

static void probe_close(struct probe *probe)
{
	if (probe->context)
		ibv_close_device(probe->context);
	probe->context = NULL;
}

/* "efa_0, mlx5_1" */
static void list_names(struct ibv_device **devices, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; devices[i] && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 ibv_get_device_name(devices[i]));
}

static int no_devices(int err, struct srd_error *error)
{
	if (err)
		return srd_error_set(error, -ENODEV,
				     "no EFA device was found: this machine has no RDMA devices "
				     "(ibv_get_device_list: %s)",
				     strerror(err));
	return srd_error_set(error, -ENODEV,
			     "no EFA device was found: this machine has no RDMA devices");
}

/* libefa 44 answers with capabilities that have no RDMA write, whatever the device can. */
static int lacks_rdma(const char *name, const struct efadv_device_attr *attr,
		      struct srd_error *error)
{
	bool read = attr->device_caps & SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_READ;
	bool write = attr->device_caps & SRD_EFADV_DEVICE_ATTR_CAPS_RDMA_WRITE;
	char version[32];

	hw_libefa_version(version, sizeof(version));
	if (read && write)
		return srd_error_set(
			error, -ENODEV,
			"the EFA device %s cannot be used: its largest RDMA transfer is "
			"0 bytes",
			name);
	if (!write && !hw_version_has_rdma_write(version))
		return srd_error_set(
			error, -ENODEV,
			"the EFA device %s cannot be used: RDMA write came with rdma-core "
			"46.0, and the libefa that runs is of %s (srdlab was built with "
			"%s; the capabilities are 0x%x)",
			name, version, SRD_RDMA_CORE_VERSION, attr->device_caps);
	return srd_error_set(error, -ENODEV,
			     "the EFA device %s cannot be used: of RDMA read and write its "
			     "capabilities 0x%x lack %s (libefa of rdma-core %s; srdlab was built "
			     "with %s)",
			     name, attr->device_caps,
			     write  ? "read"
			     : read ? "write"
				    : "read and write",
			     version, SRD_RDMA_CORE_VERSION);
}

/* Why the device that came nearest to being usable is not. */
static int explain(struct ibv_device **devices, struct ibv_device *device,
		   const struct probe *probe, struct srd_error *error)
{
	const char *name = ibv_get_device_name(device);
	char names[256];

	switch (probe->verdict) {
	case NOT_EFA:
		list_names(devices, names, sizeof(names));
		return srd_error_set(
			error, -ENODEV,
			"no EFA device was found: the RDMA devices of this machine are "
			"not EFA: %s (efadv_query_device: %s); one that is named is used "
			"with its reliable-connected queue pairs",
			names, strerror(probe->err));
	case CANNOT_OPEN:
		return srd_error_set(
			error, -ENODEV,
			"no EFA device was found: the RDMA device %s cannot be opened: "
			"ibv_open_device: %s (may this user read and write "
			"/dev/infiniband/%s?)",
			name, strerror(probe->err), device->dev_name);
	case NO_RDMA:
		return lacks_rdma(name, &probe->attr, error);
	case USABLE:
		break;
	}
	return 0;
}

/* Open the first usable device of that name, or of any name where NAME is NULL. */
static int choose(struct ibv_device **devices, const char *name, struct ibv_context **out,
		  bool *is_efa, struct srd_error *error)
{
	struct ibv_device *nearest = NULL;
	struct probe best = {0};
	char names[256];

	for (int i = 0; devices[i] && best.verdict != USABLE; i++) {
		struct probe probe;

		if (name && strcmp(name, ibv_get_device_name(devices[i])))
			continue;
		probe = probe_device(devices[i]);
		if (name && probe.verdict == NOT_EFA) {
			*out = probe.context;
			*is_efa = false;
			return 0;
		}
		if (probe.verdict != USABLE)
			probe_close(&probe);
		if (nearest && probe.verdict <= best.verdict)
			continue;
		nearest = devices[i];
		best = probe;
	}
	if (!nearest) {
		list_names(devices, names, sizeof(names));
		return srd_error_set(
			error, -ENODEV,
			"no EFA device was found: there is no RDMA device \"%s\", only %s", name,
			names);
	}
	*out = best.context;
	*is_efa = true;
	return explain(devices, nearest, &best, error);
}

int hw_discover(const char *name, struct ibv_context **out, bool *is_efa, struct srd_error *error)
{
	struct ibv_device **devices;
	int n = 0, err;

	errno = 0;
	devices = ibv_get_device_list(&n);
	if (!devices)
		return no_devices(errno, error);
	err = n ? choose(devices, name, out, is_efa, error) : no_devices(0, error);
	ibv_free_device_list(devices);
	return err;
}

static void describe(const struct probe *probe, struct srd_device_info *info)
{
	struct ibv_device_attr attr = {0};

	snprintf(info->name, sizeof(info->name), "%s", ibv_get_device_name(probe->context->device));
	if (ibv_query_device(probe->context, &attr))
		attr.vendor_part_id = 0;
	snprintf(info->detail, sizeof(info->detail),
		 "EFA 0x%x, capabilities 0x%x, RDMA up to %u bytes, %u sends and %u receives a "
		 "queue pair",
		 attr.vendor_part_id, probe->attr.device_caps, probe->attr.max_rdma_size,
		 probe->attr.max_sq_wr, probe->attr.max_rq_wr);
}

int hw_devices(struct srd_device_info *list, int max, struct srd_error *error)
{
	struct ibv_context *context = NULL;
	struct ibv_device **devices;
	bool is_efa;
	int found = 0;

	devices = ibv_get_device_list(NULL);
	for (int i = 0; devices && devices[i]; i++) {
		struct probe probe = probe_device(devices[i]);

		if (probe.verdict == USABLE) {
			if (found < max)
				describe(&probe, &list[found]);
			found++;
		}
		probe_close(&probe);
	}
	if (devices)
		ibv_free_device_list(devices);
	/* There is none: discovery says why. */
	if (!found && !hw_discover(NULL, &context, &is_efa, error))
		ibv_close_device(context);
	return found;
}
