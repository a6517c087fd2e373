/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group.h"
#include "names.h"
#include "sysfs.h"

/* What is being written, and the first error. */
struct tree {
	char root[96];
	int err;
};

static void path_of(const struct tree *t, const char *name, char path[320])
{
	snprintf(path, 320, "%s/%s", t->root, name);
}

/* The folder NAME with all above it. */
static void make_folder(struct tree *t, const char *name)
{
	char path[320];
	size_t skip = strlen(t->root) + 1;

	path_of(t, name, path);
	for (char *at = path + skip; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0755) && errno != EEXIST)
			t->err = t->err ? t->err : -errno;
		*at = '/';
	}
	if (mkdir(path, 0755) && errno != EEXIST)
		t->err = t->err ? t->err : -errno;
}

__attribute__((format(printf, 4, 5))) static void put(struct tree *t, const char *folder,
						      const char *name, const char *format, ...)
{
	char path[320], below[192];
	va_list args;
	FILE *file;

	snprintf(below, sizeof(below), "%s/%s", folder, name);
	path_of(t, below, path);
	file = fopen(path, "w");
	if (!file) {
		t->err = t->err ? t->err : -errno;
		return;
	}
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	if (fclose(file))
		t->err = t->err ? t->err : -errno;
}

static void put_link(struct tree *t, const char *folder, const char *name, const char *to)
{
	char path[320], below[192];

	snprintf(below, sizeof(below), "%s/%s", folder, name);
	path_of(t, below, path);
	if (symlink(to, path))
		t->err = t->err ? t->err : -errno;
}

static void put_verbs(struct tree *t, uint32_t i)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "class/infiniband_verbs/uverbs%u", i);
	make_folder(t, folder);
	put(t, folder, "ibdev", SOFT_DEVICE_NAME "%u\n", i);
	put(t, folder, "dev", "%u:%u\n", SOFT_DEVICE_MAJOR, SOFT_DEVICE_MINOR + i);
	put(t, folder, "abi_version", "1\n");
}

/* libfabric reads the address from the end of the real path of the device. */
static void put_pci(struct tree *t, uint32_t i, uint32_t part)
{
	char folder[64];

	snprintf(folder, sizeof(folder), "devices/pci0000:%02x/0000:%02x:%02x.0", i / 32, i / 32,
		 i % 32);
	make_folder(t, folder);
	put(t, folder, "modalias", "pci:v00001D0Fd%08Xsv00001D0Fsd%08Xbc02sc00i00\n", part, part);
	put(t, folder, "vendor", "0x1d0f\n");
	put(t, folder, "device", "0x%04x\n", part);
	put(t, folder, "numa_node", "-1\n");
	put_link(t, folder, "driver", "../../../bus/pci/drivers/efa");
}

static void put_gid(struct tree *t, const char *port, uint32_t host)
{
	char folder[128], text[40] = "";
	union srd_gid gid;
	int used = 0;

	srd_model_gid(host, &gid);
	for (int i = 0; i < 16; i += 2)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%02x%02x",
				 i ? ":" : "", gid.raw[i], gid.raw[i + 1]);
	snprintf(folder, sizeof(folder), "%s/gids", port);
	make_folder(t, folder);
	put(t, folder, "0", "%s\n", text);
	snprintf(folder, sizeof(folder), "%s/gid_attrs/types", port);
	make_folder(t, folder);
	put(t, folder, "0", "IB/RoCE v1\n");
	snprintf(folder, sizeof(folder), "%s/pkeys", port);
	make_folder(t, folder);
	put(t, folder, "0", "0xffff\n");
}

static void put_port(struct tree *t, const char *device, uint32_t host)
{
	char port[96], folder[128];
	const char *name;

	snprintf(port, sizeof(port), "%s/ports/1", device);
	make_folder(t, port);
	put(t, port, "state", "4: ACTIVE\n");
	put(t, port, "phys_state", "5: LinkUp\n");
	put(t, port, "link_layer", "Unspecified\n");
	put(t, port, "rate", "100 Gb/sec (4X EDR)\n");
	put(t, port, "lid", "0x0\n");
	put(t, port, "cap_mask", "0x00000000\n");
	put_gid(t, port, host);
	snprintf(folder, sizeof(folder), "%s/hw_counters", port);
	make_folder(t, folder);
	for (uint32_t i = 0; (name = srd_model_counter_name(i)); i++)
		put(t, folder, name, "0\n");
}

static void put_device(struct tree *t, uint32_t i, uint32_t host, uint32_t part)
{
	char folder[64], to[96];

	snprintf(folder, sizeof(folder), "class/infiniband/" SOFT_DEVICE_NAME "%u", i);
	make_folder(t, folder);
	put(t, folder, "node_type", "7: <unspecified>\n");
	put(t, folder, "node_guid", "02ef:a000:0000:%04x\n", host + 1);
	put(t, folder, "sys_image_guid", "02ef:a000:0000:%04x\n", host + 1);
	put(t, folder, "fw_ver", "0.0.0.0\n");
	put_pci(t, i, part);
	snprintf(to, sizeof(to), "../../../devices/pci0000:%02x/0000:%02x:%02x.0", i / 32, i / 32,
		 i % 32);
	put_link(t, folder, "device", to);
	put_port(t, folder, host);
}

int soft_sysfs_write(const char *root, uint32_t first, uint32_t count, struct srd_error *error)
{
	uint32_t part = srd_model_profile(&soft.model)->vendor_part_id;
	struct tree t = {0};

	snprintf(t.root, sizeof(t.root), "%s", root);
	if (mkdir(root, 0755))
		t.err = -errno;
	make_folder(&t, "class/infiniband_verbs");
	make_folder(&t, "bus/pci/drivers/efa");
	put(&t, "class/infiniband_verbs", "abi_version", "6\n");
	for (uint32_t i = 0; i < count; i++) {
		put_verbs(&t, i);
		put_device(&t, i, first + i, part);
	}
	if (!t.err)
		return 0;
	return srd_error_set(error, t.err, "the device's entries in %s cannot be written: %s", root,
			     strerror(-t.err));
}
