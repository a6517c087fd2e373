/* SPDX-License-Identifier: MIT */
/* What the launcher and the preloaded library agree on. */
#ifndef SRD_SOFTEFA_NAMES_H
#define SRD_SOFTEFA_NAMES_H

#define SOFT_LIBRARY  "libsrdlab-softefa.so"
#define SOFT_OBSERVER "libsrdlab-observer.so"

/* The environment of a program that runs on the device. */
#define SOFT_ENV_FOLDER     "SRDLAB_DEVICE_FOLDER" /* of the group */
#define SOFT_ENV_DEVICES    "SRDLAB_DEVICE_COUNT"
#define SOFT_ENV_FIRST_HOST "SRDLAB_DEVICE_FIRST" /* host of the model behind device 0 */

#define SOFT_DEVICE_NAME  "efa_"                   /* and a number, in sysfs */
#define SOFT_DEVICE_PATH  "/dev/infiniband/uverbs" /* and a number */
#define SOFT_DEVICE_MAJOR 231
#define SOFT_DEVICE_MINOR 192

#endif
