/* SPDX-License-Identifier: MIT */
/*
 * Devices, protection domains, memory regions and address handles. The checks and their
 * order are those of the Linux RDMA core and of amzn-drivers kernel/linux/efa.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

#define PAGE_SIZE 4096
/* ib_uverbs_access_flags: rights that a driver without them may ignore */
#define ACCESS_OPTIONAL_RANGE 0x3ff00000u

/* A link-local address in the form that EFA devices have, with the host's number at its end. */
static const uint8_t gid_prefix[14] = {0xfe, 0x80, 0,    0,    0,    0,    0,
				       0,    0x02, 0xef, 0xa0, 0xff, 0xfe, 0};

void srd_model_gid(uint32_t host, union srd_gid *gid)
{
	memcpy(gid->raw, gid_prefix, sizeof(gid_prefix));
	gid->raw[14] = (uint8_t)(host >> 8);
	gid->raw[15] = (uint8_t)host;
}

bool srd_gid_host(const union srd_gid *gid, uint32_t *host)
{
	*host = (uint32_t)gid->raw[14] << 8 | gid->raw[15];
	return !memcmp(gid->raw, gid_prefix, sizeof(gid_prefix)) && *host < SRD_MODEL_MAX_HOSTS;
}

int srd_model_device_open(struct srd_model *m, uint32_t host)
{
	struct srd_model_state *state = m->state;

	if (host >= SRD_MODEL_MAX_HOSTS)
		return EINVAL;
	for (; state->num_hosts <= host; state->num_hosts++) {
		memset(&m->device[state->num_hosts], 0, sizeof(m->device[0]));
		memset(&m->link[state->num_hosts], 0, sizeof(m->link[0]));
	}
	m->device[host].present = true;
	return 0;
}

int srd_model_pd_alloc(struct srd_model *m, uint32_t host, uint32_t owner, uint32_t *out)
{
	struct srd_model_device *device = &m->device[host];
	uint32_t pd;

	if (device->num_pd == srd_profile_of(m)->max_pd)
		return ENOMEM;
	pd = srd_pool_get(m, SRD_POOL_PD);
	if (!pd)
		return ENOMEM;
	device->num_pd++;
	m->pd[pd] = (struct srd_model_pd){.host = host, .owner = owner};
	*out = pd;
	return 0;
}

int srd_model_pd_dealloc(struct srd_model *m, uint32_t pd)
{
	if (m->pd[pd].users)
		return EBUSY;
	m->device[m->pd[pd].host].num_pd--;
	srd_pool_put(m, SRD_POOL_PD, pd);
	return 0;
}

void srd_model_pd_own(struct srd_model *m, uint32_t pd, uint32_t owner)
{
	m->pd[pd].owner = owner;
}

void srd_model_qp_own(struct srd_model *m, uint32_t qp, uint32_t owner)
{
	m->qp[qp].owner = owner;
}

static int mr_check(const struct srd_model *m, const struct srd_mr_init *init)
{
	const struct srd_profile *p = srd_profile_of(m);
	uint32_t access = init->access & ~ACCESS_OPTIONAL_RANGE;
	uint32_t supported = SRD_ACCESS_LOCAL_WRITE;
	uint64_t pages, looked_at = init->length;

	if (p->cap_rdma_read)
		supported |= SRD_ACCESS_REMOTE_READ;
	if (p->cap_rdma_write)
		supported |= SRD_ACCESS_REMOTE_WRITE;
	if (access & (SRD_ACCESS_REMOTE_WRITE | SRD_ACCESS_REMOTE_ATOMIC) &&
	    !(access & SRD_ACCESS_LOCAL_WRITE))
		return EINVAL;
	if (access & ~supported)
		return EOPNOTSUPP;
	if (init->addr + init->length < init->addr)
		return EINVAL;
	pages = ((init->addr & (PAGE_SIZE - 1)) + init->length + PAGE_SIZE - 1) / PAGE_SIZE;
	if (!pages)
		return EINVAL;
	/* As the kernel, which pins first; but to look at any number of pages takes as long. */
	if (pages > p->max_mr_pages)
		looked_at = p->max_mr_pages * PAGE_SIZE;
	if (!m->memory.present(m->memory.context, m->pd[init->pd].owner, init->addr + init->shift,
			       looked_at))
		return EFAULT;
	return pages > p->max_mr_pages ? EINVAL : 0;
}

int srd_model_mr_reg(struct srd_model *m, const struct srd_mr_init *init, uint32_t *out,
		     uint32_t *key)
{
	uint32_t host = m->pd[init->pd].host, index, generation;
	int err = mr_check(m, init);

	if (err)
		return err;
	if (m->device[host].num_mr == srd_profile_of(m)->max_mr)
		return ENOMEM;
	index = srd_pool_get(m, SRD_POOL_MR);
	if (!index)
		return ENOMEM;

	/* A key that was given back comes again only after all its generations. */
	generation = m->mr[index].generation + 1;
	m->mr[index] = (struct srd_model_mr){
		.generation = generation,
		.key = (index | generation << m->state->key_shift) & 0xffffff,
		.pd = init->pd,
		.host = host,
		.owner = m->pd[init->pd].owner,
		.access = init->access,
		.tag = init->tag,
		.addr = init->addr,
		.length = init->length,
		.shift = init->shift,
	};
	m->pd[init->pd].users++;
	m->device[host].num_mr++;
	*out = index;
	*key = m->mr[index].key;
	return 0;
}

uint32_t srd_model_mr_key(const struct srd_model *m, uint32_t mr)
{
	return m->mr[mr].key;
}

uint32_t srd_model_key_owner(const struct srd_model *m, uint32_t key)
{
	uint32_t index = key & ((1u << m->state->key_shift) - 1);

	return index && index <= m->state->pool[SRD_POOL_MR].high && m->mr[index].key == key
		       ? m->mr[index].owner
		       : 0;
}

bool srd_model_mr_meets(const struct srd_model *m, uint32_t mr, uint64_t addr, uint64_t length)
{
	const struct srd_model_mr *region = &m->mr[mr];
	uint64_t from = region->addr + region->shift;

	return from < addr + length && addr < from + region->length;
}

/* Whether a request that is under way uses the region on its own side. */
static bool request_uses(const struct srd_request *r, uint32_t key)
{
	if (r->is_inline || r->phase == SRD_PHASE_LOST)
		return false;
	for (int i = 0; i < r->num_sge; i++)
		if ((r->sge[i].lkey & 0xffffff) == key && r->sge[i].length)
			return true;
	return false;
}

/*
 * The device ends requests that use the region at once, without waiting for the peer; their
 * bytes may have arrived (libfabric commit 0576e73d0). The status is a guess.
 */
static void mr_abort_requests(struct srd_model *m, const struct srd_model_mr *mr)
{
	uint32_t qp, index, next;
	bool held = false;

	for (qp = m->device[mr->host].first_qp; qp; qp = m->qp[qp].next_qp) {
		if (m->qp[qp].pd != mr->pd)
			continue;
		for (index = m->qp[qp].first_request; index; index = next) {
			next = m->request[index].next;
			if (!request_uses(&m->request[index], mr->key))
				continue;
			/* In its turn, as all of a connection. */
			if (m->qp[qp].rc)
				srd_rc_withdraw(m, &m->request[index],
						SRD_EFA_LOCAL_ERROR_INVALID_LKEY);
			else
				held |= srd_request_abort(m, &m->request[index],
							  SRD_EFA_LOCAL_ERROR_INVALID_LKEY,
							  SRD_FLUSH_REPORT);
		}
	}
	if (held)
		srd_fabric_free_links(m);
}

int srd_model_mr_dereg(struct srd_model *m, uint32_t index)
{
	struct srd_model_mr *mr = &m->mr[index];

	if (mr->key) {
		mr_abort_requests(m, mr);
		m->device[mr->host].num_mr--;
	}
	m->pd[mr->pd].users--;
	mr->key = 0;
	srd_pool_put(m, SRD_POOL_MR, index);
	return 0;
}

uint16_t srd_ah_find(const struct srd_model *m, uint32_t pd, uint32_t host)
{
	uint32_t ah;

	for (ah = m->pd[pd].first_ah; ah; ah = m->ah[ah].next_ah)
		if (m->ah[ah].dest_host == host && m->ah[ah].valid)
			return (uint16_t)ah;
	return 0xffff;
}

static struct srd_model_ah *ah_shared(struct srd_model *m, uint32_t pd, uint32_t dest_host)
{
	uint16_t number;

	if (srd_profile_of(m)->ah_tokens == SRD_PROFILE_AH_TOKENS_UNIQUE)
		return NULL;
	number = srd_ah_find(m, pd, dest_host);
	return number == 0xffff ? NULL : &m->ah[number];
}

int srd_model_ah_create(struct srd_model *m, uint32_t pd, const struct srd_ah_attr *attr,
			uint16_t *number)
{
	uint32_t host = m->pd[pd].host, dest_host, index;
	struct srd_model_device *device = &m->device[host];
	struct srd_model_ah *ah;

	if (attr->port_num != 1 || !attr->is_global || attr->sgid_index != 0)
		return EINVAL;
	if (!srd_gid_host(&attr->dgid, &dest_host))
		return EINVAL;
	if (device->num_ah == srd_profile_of(m)->max_ah)
		return ENOMEM;
	ah = ah_shared(m, pd, dest_host);
	if (!ah) {
		index = srd_pool_get(m, SRD_POOL_AH);
		if (!index)
			return ENOMEM;
		ah = &m->ah[index];
		*ah = (struct srd_model_ah){.pd = pd,
					    .host = host,
					    .dest_host = dest_host,
					    .valid = true,
					    .next_ah = m->pd[pd].first_ah};
		m->pd[pd].first_ah = index;
	}
	ah->users++;
	device->num_ah++;
	device->peers[dest_host]++;
	m->pd[pd].users++;
	*number = (uint16_t)(ah - m->ah);
	return 0;
}

/* Destroying an address handle aborts the requests that go through it [efa_io_defs.h]. */
static void ah_abort_requests(struct srd_model *m, uint16_t number)
{
	uint32_t qp, index, next;
	bool held = false;

	if (!srd_profile_of(m)->flush_on_ah_destroy)
		return;
	for (qp = m->device[m->ah[number].host].first_qp; qp; qp = m->qp[qp].next_qp) {
		for (index = m->qp[qp].first_request; index; index = next) {
			next = m->request[index].next;
			if (m->request[index].ah == number)
				held |= srd_request_abort(m, &m->request[index], SRD_EFA_FLUSHED,
							  SRD_FLUSH_REPORT);
		}
	}
	if (held)
		srd_fabric_free_links(m);
}

static void ah_release(struct srd_model *m, uint16_t number)
{
	uint32_t *at = &m->pd[m->ah[number].pd].first_ah;

	while (*at != number)
		at = &m->ah[*at].next_ah;
	*at = m->ah[number].next_ah;
	srd_pool_put(m, SRD_POOL_AH, number);
}

int srd_model_ah_destroy(struct srd_model *m, uint16_t number)
{
	struct srd_model_ah *ah = &m->ah[number];
	bool last = !--ah->users;

	m->pd[ah->pd].users--;
	if (ah->valid) {
		m->device[ah->host].num_ah--;
		m->device[ah->host].peers[ah->dest_host]--;
	}
	if (ah->valid &&
	    (last || srd_profile_of(m)->ah_tokens == SRD_PROFILE_AH_TOKENS_SHARED_FIRST)) {
		ah_abort_requests(m, number);
		ah->valid = false;
		/* Its other users, if any, are gone with it. */
		m->device[ah->host].num_ah -= ah->users;
		m->device[ah->host].peers[ah->dest_host] -= ah->users;
	}
	if (last)
		ah_release(m, number);
	return 0;
}

/*
 * A host that comes back has no memory of what it had: its objects are left only as
 * handles for the door to give back.
 */
void srd_device_forget(struct srd_model *m, uint32_t host)
{
	struct srd_model_device *device = &m->device[host];
	struct srd_model_state *state = m->state;
	uint32_t i;

	for (i = 1; i <= state->pool[SRD_POOL_MR].high; i++)
		if (m->mr[i].key && m->mr[i].host == host)
			m->mr[i].key = 0;
	device->num_mr = 0;
	for (i = 1; i <= state->pool[SRD_POOL_AH].high; i++)
		if (m->ah[i].users && m->ah[i].host == host)
			m->ah[i].valid = false;
	device->num_ah = 0;
	memset(device->peers, 0, sizeof(device->peers));
	memset(device->answered, 0, sizeof(device->answered));
	device->link_free = state->now;
	device->last_arrival = 0;
}
