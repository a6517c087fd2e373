/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/xattr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "reach.h"

#define MAX_INTERPRETERS 5 /* of each other's, and then the kernel refuses */

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
static bool gains_ids(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && ((st.st_mode & S_ISUID && st.st_uid != geteuid()) ||
				   (st.st_mode & S_ISGID && st.st_gid != getegid()));
}

/* As that, capabilities(7): root has them all, and gains none. */
static bool gains_capabilities(int fd)
{
	struct vfs_cap_data data = {0};

	return getuid() && fgetxattr(fd, XATTR_NAME_CAPS, &data, sizeof(data)) > 0 &&
	       (data.data[0].permitted || data.data[1].permitted);
}

/* Who loads libraries is named by a program header. */
static bool loads_nothing(int fd, const ElfW(Ehdr) * head)
{
	ElfW(Phdr) part;

	for (int i = 0; i < head->e_phnum; i++) {
		off_t at = (off_t)head->e_phoff + (off_t)i * head->e_phentsize;

		if (pread(fd, &part, sizeof(part), at) != sizeof(part) || part.p_type == PT_INTERP)
			return false;
	}
	return true;
}

static enum srd_launch_met look(int fd)
{
	ElfW(Ehdr) head;
	bool known = pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
		     !memcmp(head.e_ident, ELFMAG, SELFMAG);

	if (known && head.e_ident[EI_CLASS] == ELFCLASS32)
		return SRD_LAUNCH_32BIT;
	if (known && loads_nothing(fd, &head))
		return SRD_LAUNCH_STATIC;
	if (gains_ids(fd))
		return SRD_LAUNCH_SETUID;
	return gains_capabilities(fd) ? SRD_LAUNCH_CAPABLE : SRD_LAUNCH_UNUSED;
}

/* The interpreter that the first line of a script names; false: it is no script. */
static bool find_interpreter(int fd, char *interpreter, size_t size)
{
	char line[256];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	size_t from, length;

	if (n < 2 || memcmp(line, "#!", 2) != 0)
		return false;
	line[n] = '\0';
	from = 2 + strspn(line + 2, " \t");
	length = strcspn(line + from, " \t\n");
	return length && snprintf(interpreter, size, "%.*s", (int)length, line + from) < (int)size;
}

void soft_reach(const char *name, struct srd_launch_reach *reach)
{
	int fd = open_program(name);

	*reach = (struct srd_launch_reach){.met = SRD_LAUNCH_UNUSED};
	for (int i = 0; fd >= 0 && i < MAX_INTERPRETERS; i++) {
		if (!find_interpreter(fd, reach->interpreter, sizeof(reach->interpreter))) {
			reach->met = look(fd);
			break;
		}
		close(fd);
		fd = open(reach->interpreter, O_RDONLY | O_CLOEXEC);
	}
	if (fd >= 0)
		close(fd);
}
