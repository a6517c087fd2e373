/* SPDX-License-Identifier: MIT */
/*
 * The folder of a group. Everyone who runs programs in it holds it, and so do the programs
 * (hold.h), lest they lose it where `srdlab exec` is killed. The last who runs some removes
 * it, and whoever makes a new one removes those that nobody holds any more.
 */
#ifndef SRD_SOFTEFA_FOLDER_H
#define SRD_SOFTEFA_FOLDER_H

#include <stdbool.h>

#include <srdlab/error.h>

struct soft_folder {
	char path[96];
	int base; /* held while folders are made or removed; -1 */
	int lock;
	bool fresh; /* it was made just now, and is empty */
};

/*
 * Make or find the folder of GROUP, or one of its own where that is NULL. The caller fills a
 * fresh one before soft_folder_ready. 0 or a negative errno with *error.
 */
int soft_folder_enter(const char *group, struct soft_folder *folder, struct srd_error *error);
void soft_folder_ready(struct soft_folder *folder);
/* ANYWAY: programs that hold it still are to lose it. */
void soft_folder_leave(struct soft_folder *folder, bool anyway);

/* Remove PATH and what is in it. */
void soft_folder_remove(const char *path);

#endif
