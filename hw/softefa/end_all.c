/* SPDX-License-Identifier: MIT */
/* The processes of a program whose script has failed are ended, also those that no device was in. */
#include "end_all.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group.h"

#define MAX_DEPTH 64

/* 0: it is gone. */
static pid_t parent_of(pid_t pid)
{
	char path[32], text[512];
	const char *end;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 0;
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	/* Its name may hold anything. Behind it: the state, then the parent. */
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static bool is_below(pid_t pid, pid_t top)
{
	for (int i = 0; i < MAX_DEPTH && pid > 1; i++) {
		pid = parent_of(pid);
		if (pid == top)
			return true;
	}
	return false;
}

static void signal_group(int signal)
{
	for (uint32_t i = 1; i < SOFT_MAX_PROCESSES; i++) {
		const struct soft_process *p = &soft.group->process[i];
		pid_t pid = __atomic_load_n(&p->pid, __ATOMIC_ACQUIRE);

		if (pid > 0 && pid != getpid() && p->namespace == soft.namespace)
			kill(pid, signal);
	}
}

void soft_signal_all(int signal)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 1 && is_below(pid, getpid()))
			kill(pid, signal);
	}
	if (folder)
		closedir(folder);
	signal_group(signal); /* after the parents of some, who might go on with the next */
}
