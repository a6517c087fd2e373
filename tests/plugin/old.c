/* SPDX-License-Identifier: MIT */
/*
 * The examples as if they had been built for ABI 1, whose tables are shorter: nothing is
 * behind what they had. OLD_SCHEDULER: the scheduler; else the queue pair.
 */
#include <stddef.h>
#include <string.h>

#ifdef OLD_SCHEDULER
#define srdlab_scheduler_v1 of_today
#include "../../examples/scheduler_c/scheduler.c"
#undef srdlab_scheduler_v1
#define WAY_IN srdlab_scheduler_v1
#define FIRST  peers
typedef struct srd_scheduler_ops table;
#else
#define srdlab_queue_pair_v1 of_today
#include "../../examples/queue_pair_c/queue_pair.c"
#undef srdlab_queue_pair_v1
#define WAY_IN srdlab_queue_pair_v1
#define FIRST  add_peer
typedef struct srd_queue_pair_ops table;
#endif

SRDLAB_EXPORT const table *WAY_IN(void);

const table *WAY_IN(void)
{
	_Alignas(table) static char old[offsetof(table, FIRST)];

	memcpy(old, of_today(), sizeof(old));
	memcpy(old, &(uint32_t){1}, sizeof(uint32_t));
	return (const table *)old;
}
