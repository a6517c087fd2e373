/* SPDX-License-Identifier: MIT */
#ifndef SRD_SOFTEFA_SYSFS_H
#define SRD_SOFTEFA_SYSFS_H

#include <stdint.h>

#include <srdlab/error.h>

/*
 * Write what the kernel's sysfs would show of COUNT devices, those of the model's hosts from
 * FIRST on, into the folder ROOT, which is made. 0 or a negative errno with *error.
 */
int soft_sysfs_write(const char *root, uint32_t first, uint32_t count, struct srd_error *error);

#endif
