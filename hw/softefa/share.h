/* SPDX-License-Identifier: MIT */
/*
 * Registered memory that the other processes of the group can map. The private pages of a
 * region are replaced by pages of a file of the process, at the offset that is their own
 * address; what they hold stays. Then another process moves bytes to and from them without a
 * system call, and also where the system forbids process_vm_writev.
 *
 * It is done only where nobody can notice: to private anonymous memory, while the process has
 * one thread (a second could write to a page between its copy and its replacement), while
 * there is room for it. All other memory is copied by the kernel, as before. A child of fork
 * gets private pages again before fork returns in its parent.
 */
#ifndef SRD_SOFTEFA_SHARE_H
#define SRD_SOFTEFA_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* Memory of ours is being registered: share it where that can be. With the lock held. */
void soft_share(uint64_t addr, uint64_t length);
/* Around fork: the parent waits in "parent" until the child is done with "child". */
void soft_share_fork_prepare(void);
void soft_share_fork_parent(void);
void soft_share_fork_child(void);
/* Whether a child of fork has a copy of the page at ADDR, not the page itself. */
bool soft_share_is_private(uint64_t addr);

/*
 * Where LENGTH bytes at ADDR of the process OWNER, which is not ours, lie in our memory;
 * NULL: they are not shared, or it has ended. With the lock held. Valid until it is released.
 */
void *soft_view(uint32_t owner, uint64_t addr, uint64_t length);

#endif
