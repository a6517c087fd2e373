/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reach.h"

/* As execvp does; -1: there is none that can be read. */
static int open_program(const char *name)
{
	const char *at = getenv("PATH"), *end;
	char path[PATH_MAX];

	if (strchr(name, '/'))
		return open(name, O_RDONLY | O_CLOEXEC);
	for (; at; at = *end ? end + 1 : NULL) {
		end = strchrnul(at, ':');
		if (snprintf(path, sizeof(path), "%.*s/%s", (int)(end - at), at, name) <
			    (int)sizeof(path) &&
		    !access(path, X_OK))
			return open(path, O_RDONLY | O_CLOEXEC);
	}
	return -1;
}

/* ld.so(8): then it takes nothing from its environment. */
static bool gains_rights(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
				   (st.st_mode & S_ISGID && st.st_gid != getegid()));
}

/* Who loads libraries is named by a program header; what is no ELF file has its own loader. */
static bool loads_nothing(int fd)
{
	ElfW(Ehdr) head;
	ElfW(Phdr) part;

	if (pread(fd, &head, sizeof(head), 0) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
		return false;
	for (int i = 0; i < head.e_phnum; i++) {
		off_t at = (off_t)head.e_phoff + (off_t)i * head.e_phentsize;

		if (pread(fd, &part, sizeof(part), at) != sizeof(part) || part.p_type == PT_INTERP)
			return false;
	}
	return true;
}

enum srd_launch_met soft_reach(const char *name)
{
	int fd = open_program(name);
	enum srd_launch_met reach = SRD_LAUNCH_UNUSED;

	if (fd < 0)
		return reach;
	if (gains_rights(fd))
		reach = SRD_LAUNCH_SETUID;
	else if (loads_nothing(fd))
		reach = SRD_LAUNCH_STATIC;
	close(fd);
	return reach;
}
