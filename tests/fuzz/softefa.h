/* SPDX-License-Identifier: MIT */
/* A group of the software device in this process, for the targets that fuzz its door. */
#ifndef SRD_FUZZ_SOFTEFA_H
#define SRD_FUZZ_SOFTEFA_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <srdlab/profile.h>

#include "softefa/call.h"
#include "softefa/engine.h"
#include "softefa/group.h"

/* Memory that a program registers, at an address that inputs can name, between two fences. */
#define FUZZ_MEMORY 0x20000000ull
#define FUZZ_BYTES  65536u
#define FUZZ_FENCE  4096u
#define FUZZ_FILE   1

static char fuzz_folder[] = "/tmp/srdlab-fuzz-XXXXXX";

static inline void fuzz_folder_remove(void)
{
	rmdir(fuzz_folder);
}

static inline void fuzz_device_open(void)
{
	struct srd_error error = {0};
	uint8_t *memory = (uint8_t *)FUZZ_MEMORY - FUZZ_FENCE;
	char path[64];

	if (soft.group)
		return;
	if (!mkdtemp(fuzz_folder) ||
	    soft_group_create(fuzz_folder, srd_profile_find("small"), 1, SOFT_CLOCK_CALLED, &error))
		abort();
	snprintf(path, sizeof(path), "%s/model", fuzz_folder);
	unlink(path);
	snprintf(path, sizeof(path), "%s/rings", fuzz_folder);
	unlink(path);
	atexit(fuzz_folder_remove);
	if (mmap(memory, FUZZ_BYTES + 2 * FUZZ_FENCE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != memory)
		abort();
	if (soft_lock() || soft_process_enter() || srd_model_device_open(&soft.model, 0))
		abort();
	soft_unlock();
}

/* The model is whole. */
static inline void fuzz_model_check(void)
{
	char text[256];

	if (srd_model_audit(&soft.model, text, sizeof(text)))
		abort();
}

/* And nothing was written beside what was registered. */
static inline void fuzz_device_check(void)
{
	/* The compiler must not think that it knows how large it is. */
	const volatile uint8_t *memory = (const uint8_t *)FUZZ_MEMORY - FUZZ_FENCE;

	fuzz_model_check();
	for (uint32_t i = 0; i < FUZZ_FENCE; i++)
		if (memory[i] || memory[FUZZ_FENCE + FUZZ_BYTES + i])
			abort();
}

/* What the preloaded library does with descriptors and pointers of its program. */
struct soft_object *soft_channel_of(int fd);
void soft_channel_note(int fd, struct soft_object *channel);
void soft_wrap_qp(struct soft_object *qp);
void soft_unwrap_qp(uint32_t handle);

#endif
