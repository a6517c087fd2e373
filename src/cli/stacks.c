/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/stacks.h"
#include "verbs/alloc.h"

extern char **environ;

int srd_cli_stacks_add(struct srd_cli_stacks *stacks, uint32_t number, const char *text,
		       size_t length)
{
	uint32_t size = stacks->size ? stacks->size : 64;
	char **list = stacks->text;

	while (size <= number)
		size *= 2;
	if (size > stacks->size) {
		list = srd_reallocarray(list, size, sizeof(*list));
		if (!list)
			return -ENOMEM;
		memset(list + stacks->size, 0, (size - stacks->size) * sizeof(*list));
		stacks->text = list;
		stacks->size = size;
	}
	srd_free(list[number]);
	list[number] = srd_calloc(1, length + 1);
	if (!list[number])
		return -ENOMEM;
	memcpy(list[number], text, length);
	return 0;
}

void srd_cli_stacks_release(struct srd_cli_stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->size; i++)
		srd_free(stacks->text[i]);
	srd_free(stacks->text);
	*stacks = (struct srd_cli_stacks){0};
}

/* What was preloaded into the program is not for others. */
static char **plain_environment(char **list, size_t size)
{
	size_t n = 0;

	for (char **at = environ; *at && n + 1 < size; at++)
		if (strncmp(*at, "LD_PRELOAD=", 11))
			list[n++] = *at;
	list[n] = NULL;
	return list;
}

/* What addr2line says of ADDRESS in FILE into TEXT, "" where it says nothing. */
static void run_addr2line(const char *file, const char *address, char *text, size_t size)
{
	const char *argv[] = {"addr2line", "-C", "-f", "-i", "-s", "-e", file, address, NULL};
	posix_spawn_file_actions_t actions;
	char *env[256];
	int pipe_fd[2];
	size_t at = 0;
	ssize_t n;
	pid_t pid;

	*text = '\0';
	if (pipe2(pipe_fd, O_CLOEXEC))
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv,
			 plain_environment(env, 256)))
		pid = -1;
	posix_spawn_file_actions_destroy(&actions);
	close(pipe_fd[1]);
	while (pid > 0 && (n = read(pipe_fd[0], text + at, size - 1 - at)) > 0)
		at += (size_t)n;
	close(pipe_fd[0]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	text[at] = '\0';
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Where every stack of a program begins: what is before it says nothing. */
static bool is_start(const char *function)
{
	return !strcmp(function, "main") || !strcmp(function, "_start") ||
	       !strcmp(function, "__libc_start_call_main") || !strcmp(function, "start_thread");
}

/*
 * Pairs of lines: a function, "??" where it is not known, and its place; functions that are
 * inlined come before the one that they are in. False: that was the first of the program.
 */
static bool put_places(char *text, const char *function, uint32_t *i, FILE *out)
{
	char *rest, *name = strtok_r(text, "\n", &rest), *place;
	bool more = true;

	for (; more && name; name = strtok_r(NULL, "\n", &rest)) {
		place = strtok_r(NULL, "\n", &rest);
		if (*name != '?')
			function = name;
		more = !is_start(function);
		if (!more && strcmp(function, "main"))
			break;
		fprintf(out, "      #%u %s", (*i)++, *function ? function : "?");
		if (place && *place != '?')
			fprintf(out, " at %.*s", (int)strcspn(place, " "), place);
		fputc('\n', out);
	}
	return more;
}

/* FRAME is "file, tab, address, tab, function"; it is taken apart. */
static bool put_frame(char *frame, uint32_t *i, FILE *out)
{
	char *file = frame, *address = strchr(frame, '\t'), *function, text[2048];

	function = address ? strchr(address + 1, '\t') : NULL;
	if (!function)
		return false;
	*address++ = '\0';
	*function++ = '\0';
	run_addr2line(file, address, text, sizeof(text));
	if (*text && !strstr(text, "??:"))
		return put_places(text, function, i, out);
	if (is_start(function) && strcmp(function, "main"))
		return false;
	fprintf(out, "      #%u %s (%s+%s)\n", (*i)++, *function ? function : "?", base_name(file),
		address);
	return !is_start(function);
}

void srd_cli_stacks_put(const struct srd_cli_stacks *stacks, uint32_t number, FILE *out)
{
	char *copy, *at, *rest;
	uint32_t i = 0;

	if (!number || number >= stacks->size || !stacks->text[number])
		return;
	copy = srd_strdup(stacks->text[number]);
	for (at = copy ? strtok_r(copy, "\n", &rest) : NULL; at; at = strtok_r(NULL, "\n", &rest))
		if (!put_frame(at, &i, out))
			break;
	srd_free(copy);
}
