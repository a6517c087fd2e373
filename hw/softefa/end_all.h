/* SPDX-License-Identifier: MIT */
#ifndef SRD_SOFTEFA_END_ALL_H
#define SRD_SOFTEFA_END_ALL_H

/* Send SIGNAL to each process below this one, and to the others of the group. */
void soft_signal_all(int signal);

#endif
