/* SPDX-License-Identifier: MIT */
/* The shared memory of other processes, mapped here once somebody wants it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "group.h"
#include "share.h"

struct view {
	uint64_t start, end; /* as its owner has it */
	uint8_t *at;
	uint32_t generation; /* of the owner; 0: it is none */
};

static struct view views[SOFT_MAX_PROCESSES][SOFT_MAX_RANGES];

static bool view_make(struct view *view, uint32_t owner, uint64_t start, uint64_t end)
{
	char path[192];
	void *at;
	int fd;

	if (view->generation)
		munmap(view->at, view->end - view->start);
	view->generation = 0;
	soft_share_path(owner, path);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return false;
	at = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
		  (off_t)start);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	*view = (struct view){start, end, at, soft.group->process[owner].generation};
	return true;
}

void *soft_view(uint32_t owner, uint64_t addr, uint64_t length)
{
	const struct soft_process *process = &soft.group->process[owner];
	int i = soft_ranges_find(&process->shared, addr, addr + length), saved = errno;
	struct view *view;

	if (i < 0 || !(process->kept || soft_process_lives(owner) || soft_process_stays(owner)))
		return NULL;
	view = &views[owner][i];
	if (view->generation != process->generation || view->start != process->shared.at[i].start ||
	    view->end != process->shared.at[i].end)
		if (!view_make(view, owner, process->shared.at[i].start, process->shared.at[i].end))
			view = NULL;
	errno = saved;
	return view ? view->at + (addr - view->start) : NULL;
}
