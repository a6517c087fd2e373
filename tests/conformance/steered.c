/* SPDX-License-Identifier: MIT */
/*
 * What a script over it makes of a program: it reads from itself so many times, one doorbell
 * each, or sends, one after the other; polls until nothing more comes, and prints each
 * completion: the number of its request, and the vendor's status.
 * usage: steered reads|sends|ends|across|peers|naps|batches COUNT [EMPTY_POLLS]
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "end.h"

static struct end end;
static struct ibv_cq_ex *extended;
static uint64_t received;

static void post_send(const struct end_name *to, uint64_t id)
{
	struct ibv_sge sge = {(uintptr_t)end.memory, 8, end.mr->lkey};
	struct ibv_recv_wr receive = {.wr_id = 0, .sg_list = &sge, .num_sge = 1}, *bad_receive;
	struct ibv_send_wr wr = {
		.wr_id = id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = {.ah = end.ah, .remote_qpn = to->qpn, .remote_qkey = END_QKEY},
	};
	static uint64_t receives;
	struct ibv_send_wr *bad;

	if (receives == received)
		must(++receives && !ibv_post_recv(&end.qp->qp_base, &receive, &bad_receive));
	must(!ibv_post_send(&end.qp->qp_base, &wr, &bad));
}

static void post_read(const struct end_name *to, uint64_t id)
{
	ibv_wr_start(end.qp);
	end.qp->wr_id = id;
	end.qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_read(end.qp, to->rkey, to->addr);
	ibv_wr_set_sge(end.qp, end.mr->lkey, (uintptr_t)end.memory + 64, 8);
	ibv_wr_set_ud_addr(end.qp, end.ah, to->qpn, END_QKEY);
	must(!ibv_wr_complete(end.qp));
}

/* The completions of COUNT requests. */
static void reap(int count, int patience)
{
	int empty = 0;

	while (count && empty < patience) {
		struct ibv_wc wc;
		int n = ibv_poll_cq(end.cq, 1, &wc);

		must(n >= 0);
		if (!n) {
			empty++;
			continue;
		}
		empty = 0;
		if (!wc.status && wc.opcode & IBV_WC_RECV) {
			received++;
			continue;
		}
		printf("%d %u\n", (int)wc.wr_id, wc.status ? wc.vendor_err : 0);
		count--;
	}
	if (count)
		printf("%d missing\n", count);
}

static int poll_plain(void)
{
	struct ibv_wc wc[4];
	int n = ibv_poll_cq(end.cq, 4, wc);

	must(n >= 0);
	for (int i = 0; i < n; i++)
		printf("%d,%u;", (int)wc[i].wr_id, wc[i].status ? wc[i].vendor_err : 0);
	return n;
}

static int poll_extended(void)
{
	struct ibv_poll_cq_attr attr = {0};
	int n = 0, err = ibv_start_poll(extended, &attr);

	if (err == ENOENT)
		return 0;
	for (; !err; err = ibv_next_poll(extended), n++) {
		printf("%d,%u;", (int)extended->wr_id, extended->status);
		if (n % 3 == 0)
			usleep(200);
	}
	must(err == ENOENT);
	ibv_end_poll(extended);
	return n;
}

/* Bursts of reads, naps of any length, and all that each poll finds. */
static void nap(const struct end_name *to, int count)
{
	int posted = 0, got = 0;
	struct timespec t;

	while (got < count) {
		int n = extended ? poll_extended() : poll_plain();

		printf(":");
		got += n;
		for (int i = 0; i <= n && posted < count && posted - got < 16; i++)
			post_read(to, (uint64_t)++posted);
		clock_gettime(CLOCK_MONOTONIC, &t);
		if (t.tv_nsec / 64 % 3 == 0)
			usleep((unsigned int)(t.tv_nsec / 64 % 1500));
	}
	printf("\n");
}

/* Another end, on the second device, is what is read from. */
static void cross(struct end_name *name)
{
	struct ibv_ah_attr to = {.is_global = 1, .port_num = 1};
	static uint8_t memory[4096];
	static struct end peer;

	end_device = 1;
	end_open(&peer, memory, sizeof(memory));
	end_name(&peer, name);
	must(!ibv_query_gid(peer.context, 1, 0, &to.grh.dgid));
	end.ah = ibv_create_ah(end.pd, &to);
	/* It answers whom it knows. */
	must(end.ah && !ibv_query_gid(end.context, 1, 0, &to.grh.dgid));
	must(ibv_create_ah(peer.pd, &to));
}

/* The queue pair goes, and the device moves on for another one. */
static void outlive(void)
{
	struct ibv_wc wc;

	must(!ibv_poll_cq(end.cq, 1, &wc));
	must(!ibv_destroy_qp(&end.qp->qp_base));
	for (int i = 0; i < 4; i++)
		must(!ibv_poll_cq(end.cq, 1, &wc));
}

int main(int argc, char **argv)
{
	int count = atoi(argv[2]), patience = argc > 3 ? atoi(argv[3]) : 1000;
	bool sends = !strcmp(argv[1], "sends");
	static uint8_t memory[4096];
	struct end_name name;

	if (!strcmp(argv[1], "batches"))
		end_extended = &extended;
	if (getenv("STEERED_COUNT"))
		count = atoi(getenv("STEERED_COUNT"));
	end_open(&end, memory, sizeof(memory));
	end_name(&end, &name);
	if (!strcmp(argv[1], "across"))
		cross(&name);
	if (!strcmp(argv[1], "naps") || extended) {
		nap(&name, count);
		return 0;
	}
	for (int i = 1; i <= count; i++) {
		if (!sends) {
			post_read(&name, (uint64_t)i);
			continue;
		}
		post_send(&name, (uint64_t)i);
		reap(1, patience);
	}
	if (!sends)
		reap(count, patience);
	if (!strcmp(argv[1], "ends"))
		outlive();
	/* Two processes: the child begins anew, on the same device. */
	if (!strcmp(argv[1], "peers")) {
		int status;
		pid_t pid;

		fflush(stdout);
		argv[1] = (char *)"reads";
		pid = fork();
		if (!pid)
			execv(argv[0], argv);
		must(waitpid(pid, &status, 0) == pid);
		return WEXITSTATUS(status);
	}
	return 0;
}
