/* SPDX-License-Identifier: MIT */
/* The descriptors of this process that are devices of the group, or its event channels. */
#ifndef SRD_SOFTEFA_FILES_H
#define SRD_SOFTEFA_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct stat;

/* The number of the device that PATH names, -1 where it is none of ours. */
int soft_device_of_path(const char *path);
/* Fill in what stat says of device NUMBER. */
void soft_device_stat(int number, struct stat *st);

/* A descriptor for device NUMBER, or -1 with errno. */
int soft_device_open(int number);
/* From now on a device that is opened is that of HOST, as the model counts from this group's
 * first one; 0: as its number says. */
void soft_device_next(uint32_t host);
/* The device behind FD, -1: it is none; and its file, 0: it has none. */
int soft_device_of_fd(int fd);
uint32_t soft_file_of_fd(int fd);
/* The host of the model that the device FD is on. */
uint32_t soft_host_of_fd(int fd);
/* FD is about to be closed; TO is what FROM is, from now on. */
void soft_fd_close(int fd);
void soft_fd_copy(int from, int to);
/* preload.c: fstat, as it was. */
int soft_real_fstat(int fd, struct stat *st);
/* RDMA_VERBS_IOCTL on a device: 0, or -1 with errno. */
int soft_ioctl(int fd, void *argument);
/* Whether this process has a descriptor of FILE, its own or from fork. */
bool soft_file_is_ours(uint32_t file);
/* A child of fork uses what it has from its parent: it is in the group from now on. */
void soft_join(void);
/* The program looks for devices: where there are none any more, say why, once. */
void soft_tell_lost(void);

/* Map the group, once, and take a slot in it. 0 or a positive errno. */
int soft_attach(void);
/* The host of the model that device 0 is on. */
uint32_t soft_first_host(void);

/*
 * counters.c: what openat(FOLDER, PATH) is about to open may be a counter in the group's sysfs.
 * Counters are written when somebody is about to read them.
 */
void soft_counter_refresh(int folder, const char *path);

#endif
