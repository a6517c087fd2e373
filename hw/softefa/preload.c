/* SPDX-License-Identifier: MIT */
/*
 * The calls of the C library through which a program meets a device. Libraries open files
 * before any constructor of ours runs, so the real functions are looked up when they are
 * first needed.
 */
/* Or open and open64 would be one name here. */
#undef _FILE_OFFSET_BITS

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <linux/netlink.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "files.h"
#include "guard.h"
#include "group.h"
#include "trap.h"
#include "wrap.h"

#define EXPORT __attribute__((visibility("default")))

#define REAL(name)                                                         \
	({                                                                 \
		static __typeof__(&name) real;                             \
		if (!real)                                                 \
			real = (__typeof__(&name))dlsym(RTLD_NEXT, #name); \
		real;                                                      \
	})

#ifndef NETLINK_RDMA
#define NETLINK_RDMA 20
#endif

/* -2: it is not ours. */
static int open_ours(int folder, const char *path)
{
	int number = path ? soft_device_of_path(path) : -1;

	if (number >= 0)
		return soft_device_open(number);
	if (path)
		soft_counter_refresh(folder, path);
	return -2;
}

static mode_t mode_of(int flags, va_list args)
{
	return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(args, mode_t) : 0;
}

#define OPEN(name)                                        \
	EXPORT int name(const char *path, int flags, ...) \
	{                                                 \
		int fd = open_ours(AT_FDCWD, path);       \
		va_list args;                             \
		mode_t mode;                              \
                                                          \
		if (fd != -2)                             \
			return fd;                        \
		va_start(args, flags);                    \
		mode = mode_of(flags, args);              \
		va_end(args);                             \
		return REAL(name)(path, flags, mode);     \
	}
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                  \
	EXPORT int name(int folder, const char *path, int flags, ...) \
	{                                                             \
		int fd = open_ours(folder, path);                     \
		va_list args;                                         \
		mode_t mode;                                          \
                                                                      \
		if (fd != -2)                                         \
			return fd;                                    \
		va_start(args, flags);                                \
		mode = mode_of(flags, args);                          \
		va_end(args);                                         \
		return REAL(name)(folder, path, flags, mode);         \
	}
OPENAT(openat)
OPENAT(openat64)

/* What a compiler makes of them where it checks that no mode is wanted. */
#define OPEN_2(name)                                            \
	int name(const char *path, int flags);                  \
	EXPORT int name(const char *path, int flags)            \
	{                                                       \
		int fd = open_ours(AT_FDCWD, path);             \
                                                                \
		return fd != -2 ? fd : REAL(name)(path, flags); \
	}
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(name)                                                  \
	int name(int folder, const char *path, int flags);              \
	EXPORT int name(int folder, const char *path, int flags)        \
	{                                                               \
		int fd = open_ours(folder, path);                       \
                                                                        \
		return fd != -2 ? fd : REAL(name)(folder, path, flags); \
	}
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

/* Nobody opens a device by these, but counters. */
#define FOPEN(name)                                                             \
	EXPORT FILE *name(const char *restrict path, const char *restrict mode) \
	{                                                                       \
		soft_counter_refresh(AT_FDCWD, path);                           \
		return REAL(name)(path, mode);                                  \
	}
FOPEN(fopen)
FOPEN(fopen64)

/* struct stat and struct stat64 are one on the 64-bit systems that this builds for. */
#define STAT_PATH(name, type)                                                \
	EXPORT int name(const char *restrict path, struct type *restrict st) \
	{                                                                    \
		int number = soft_device_of_path(path);                      \
                                                                             \
		if (number < 0)                                              \
			return REAL(name)(path, st);                         \
		soft_device_stat(number, (struct stat *)st);                 \
		return 0;                                                    \
	}
STAT_PATH(stat, stat)
STAT_PATH(stat64, stat64)
STAT_PATH(lstat, stat)
STAT_PATH(lstat64, stat64)

#define STAT_FD(name, type)                                  \
	EXPORT int name(int fd, struct type *st)             \
	{                                                    \
		int number = soft_device_of_fd(fd);          \
                                                             \
		if (number < 0)                              \
			return REAL(name)(fd, st);           \
		soft_device_stat(number, (struct stat *)st); \
		return 0;                                    \
	}
STAT_FD(fstat, stat)
STAT_FD(fstat64, stat64)

/* What programs built against an older C library call. */
int __xstat(int version, const char *path, struct stat *st);
int __xstat64(int version, const char *path, struct stat64 *st);
int __fxstat(int version, int fd, struct stat *st);
int __fxstat64(int version, int fd, struct stat64 *st);

#define XSTAT_PATH(name, type)                                          \
	EXPORT int name(int version, const char *path, struct type *st) \
	{                                                               \
		int number = soft_device_of_path(path);                 \
                                                                        \
		if (number < 0)                                         \
			return REAL(name)(version, path, st);           \
		soft_device_stat(number, (struct stat *)st);            \
		return 0;                                               \
	}
XSTAT_PATH(__xstat, stat)
XSTAT_PATH(__xstat64, stat64)

#define XSTAT_FD(name, type)                                  \
	EXPORT int name(int version, int fd, struct type *st) \
	{                                                     \
		int number = soft_device_of_fd(fd);           \
                                                              \
		if (number < 0)                               \
			return REAL(name)(version, fd, st);   \
		soft_device_stat(number, (struct stat *)st);  \
		return 0;                                     \
	}
XSTAT_FD(__fxstat, stat)
XSTAT_FD(__fxstat64, stat64)

EXPORT int access(const char *path, int mode)
{
	return soft_device_of_path(path) >= 0 ? 0 : REAL(access)(path, mode);
}

int soft_real_fstat(int fd, struct stat *st)
{
	return REAL(fstat)(fd, st);
}

static int copied(int from, int to)
{
	if (to >= 0)
		soft_fd_copy(from, to);
	return to;
}

EXPORT int dup(int fd)
{
	return copied(fd, REAL(dup)(fd));
}

EXPORT int dup2(int fd, int to)
{
	return copied(fd, REAL(dup2)(fd, to));
}

EXPORT int dup3(int fd, int to, int flags)
{
	return copied(fd, REAL(dup3)(fd, to, flags));
}

#define FCNTL(name)                                                                          \
	EXPORT int name(int fd, int command, ...)                                            \
	{                                                                                    \
		va_list args;                                                                \
		void *argument;                                                              \
		int result;                                                                  \
                                                                                             \
		va_start(args, command);                                                     \
		argument = va_arg(args, void *);                                             \
		va_end(args);                                                                \
		result = REAL(name)(fd, command, argument);                                  \
		return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? copied(fd, result) \
									: result;            \
	}
FCNTL(fcntl)
FCNTL(fcntl64)

EXPORT int close(int fd)
{
	soft_fd_close(fd);
	return REAL(close)(fd);
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *argument;

	va_start(args, request);
	argument = va_arg(args, void *);
	va_end(args);
	if (request == RDMA_VERBS_IOCTL && soft_device_of_fd(fd) >= 0)
		return soft_ioctl(fd, argument);
	return REAL(ioctl)(fd, request, argument);
}

#define MMAP(name, type)                                                                     \
	EXPORT void *name(void *at, size_t length, int prot, int flags, int fd, type offset) \
	{                                                                                    \
		void *mapped = REAL(name)(at, length, prot, flags, fd, offset);              \
                                                                                             \
		if (mapped != MAP_FAILED && fd >= 0 && soft_file_of_fd(fd))                  \
			soft_trap_note(soft_file_of_fd(fd), (uint64_t)offset, mapped, prot); \
		return mapped;                                                               \
	}
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

/*
 * rdma-core 65: what a program does with the rings that it is told of, no function pointer
 * tells of. Its libefa may be loaded beside the global names, and may be one without these.
 */
static void *in_libefa(const char *name)
{
	void *library = dlopen("libefa.so.1", RTLD_LAZY | RTLD_NOLOAD);
	void *found = library ? dlsym(library, name) : NULL;

	if (library)
		dlclose(library);
	return found;
}

int efadv_query_qp_wqs(struct ibv_qp *qp, void *sq_attr, void *rq_attr, uint32_t length);
EXPORT int efadv_query_qp_wqs(struct ibv_qp *qp, void *sq_attr, void *rq_attr, uint32_t length)
{
	__typeof__(&efadv_query_qp_wqs) real = in_libefa("efadv_query_qp_wqs");
	int err = real ? real(qp, sq_attr, rq_attr, length) : EOPNOTSUPP;

	if (!err)
		soft_rings_exposed(soft_file_of_fd(qp->context->cmd_fd), qp->handle);
	return err;
}

int efadv_query_cq(struct ibv_cq *cq, void *attr, uint32_t length);
EXPORT int efadv_query_cq(struct ibv_cq *cq, void *attr, uint32_t length)
{
	__typeof__(&efadv_query_cq) real = in_libefa("efadv_query_cq");
	int err = real ? real(cq, attr, length) : EOPNOTSUPP;

	if (!err)
		soft_cq_exposed(soft_file_of_fd(cq->context->cmd_fd), cq->handle);
	return err;
}

/* A fault that is blocked would end the program and not come to our handler. */
static const sigset_t *without_faults(const sigset_t *set, int how, sigset_t *copy)
{
	if (!set || how == SIG_UNBLOCK)
		return set;
	*copy = *set;
	sigdelset(copy, SIGSEGV);
	sigdelset(copy, SIGBUS);
	return copy;
}

EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	sigset_t copy;

	return REAL(sigprocmask)(how, without_faults(set, how, &copy), old);
}

EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
	sigset_t copy;

	return REAL(pthread_sigmask)(how, without_faults(set, how, &copy), old);
}

/* Handlers of faults stand behind ours. */
EXPORT int sigaction(int sig, const struct sigaction *restrict action,
		     struct sigaction *restrict old)
{
	return soft_guard_sigaction(sig, action, old) ? 0 : soft_real_sigaction(sig, action, old);
}

/* The two meanings of signal(): a program gets the second where it asks for strict C or X/Open. */
#define SIGNAL(name, flags)                                                                \
	EXPORT sighandler_t name(int sig, sighandler_t handler)                            \
	{                                                                                  \
		struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old; \
                                                                                           \
		if (!soft_guard_sigaction(sig, &action, &old))                             \
			return REAL(name)(sig, handler);                                   \
		return old.sa_handler;                                                     \
	}
sighandler_t __sysv_signal(int sig, sighandler_t handler);
SIGNAL(signal, SA_RESTART)
SIGNAL(__sysv_signal, (int)SA_RESETHAND | SA_NODEFER)

/*
 * libibverbs asks the kernel for devices over netlink, and looks into sysfs only where there
 * is no such socket.
 */
EXPORT int socket(int domain, int type, int protocol)
{
	if (domain == AF_NETLINK && protocol == NETLINK_RDMA) {
		soft_tell_lost();
		errno = EPROTONOSUPPORT;
		return -1;
	}
	return REAL(socket)(domain, type, protocol);
}
