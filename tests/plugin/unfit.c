/* SPDX-License-Identifier: MIT */
/* Libraries that are no plug-in, or not one for this srdlab: which, -DUNFIT_... says. */
#include <stdlib.h>
#include <string.h>

#include <srdlab/plugin.h>

#ifdef UNFIT_ABI
const struct srd_queue_pair_ops *srdlab_queue_pair_v1(void)
{
	static const struct srd_queue_pair_ops ops = {.abi = 77, .name = "of another time"};

	return &ops;
}
#endif

#ifdef UNFIT_NULL
const struct srd_queue_pair_ops *srdlab_queue_pair_v1(void)
{
	return NULL;
}
#endif

#ifdef UNFIT_PART
const struct srd_queue_pair_ops *srdlab_queue_pair_v1(void)
{
	static const struct srd_queue_pair_ops ops = {.abi = SRD_QUEUE_PAIR_ABI, .name = "empty"};

	return &ops;
}
#endif

#ifdef UNFIT_PEERS
/* Something in each place, of which nothing is called. */
const struct srd_queue_pair_ops *srdlab_queue_pair_v1(void)
{
	static struct srd_queue_pair_ops ops;

	memset(&ops, 1, sizeof(ops));
	ops.abi = SRD_QUEUE_PAIR_ABI;
	ops.name = "half";
	ops.put_to = NULL;
	return &ops;
}
#endif

#ifdef UNFIT_LOAD
__attribute__((constructor)) static void fail(void)
{
	abort();
}
#endif
