/* SPDX-License-Identifier: MIT */
/*
 * A peer that is killed: reads from it succeed, then fail as from a queue pair that is gone,
 * and what it had can be had again.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "end.h"

#define BAD_DEST_QPN 9
#define PEERS        300 /* more than queue pairs fit on the device at a time */

static struct end_name *shared;
static struct end end;
static char buffer[4096];

/* A peer that waits until it is killed. */
static pid_t start_peer(void)
{
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	if (!pid) {
		strcpy(buffer, "from the peer");
		end_open(&end, buffer, sizeof(buffer));
		end_name(&end, shared);
		pause();
	}
	for (int i = 0; i < 20000 && !shared->ready; i++)
		usleep(1000);
	must(shared->ready);
	return pid;
}

static void kill_peer(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	uint32_t status = 0;
	pid_t peer;

	shared = end_common(sizeof(*shared));
	peer = start_peer();
	end_open(&end, buffer, sizeof(buffer));
	must(end_read(&end, shared, 0, 64) == 0 && !strcmp(buffer, "from the peer"));
	kill_peer(peer);
	/* At first its memory is gone, and soon its queue pair too. */
	for (int i = 0; i < 5000 && status != BAD_DEST_QPN; i++) {
		status = end_read(&end, shared, 0, 64);
		must(status != 0);
		usleep(1000);
	}
	printf("status of a read from the dead: %u\n", status);
	must(status == BAD_DEST_QPN);
	for (int i = 0; i < PEERS; i++)
		kill_peer(start_peer());
	printf("%d more came and went\n", PEERS);
	return 0;
}
