#!/bin/sh
# An MPI program (mpi_ring.c) over Open MPI, libfabric and its efa provider on the software
# device, shared memory off in all of them; the device's own counters say how many bytes it moved.
# usage: mpi.sh SRDLAB RANKS...      exit 77: it is not here
set -eu
srdlab=$1
here=$(cd "$(dirname "$0")" && pwd)
shift
for tool in mpicc mpirun; do
	command -v $tool >/dev/null || {
		echo "$tool is not installed (openmpi-bin, libopenmpi-dev)"
		exit 77
	}
done
mpicc -O1 -o mpi_ring "$here/mpi_ring.c"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_pml=cm OMPI_MCA_mtl=ofi OMPI_MCA_mtl_ofi_provider_include=efa
export FI_EFA_ENABLE_SHM_TRANSFER=0
# shellcheck disable=SC2016
exec "$srdlab" exec -- sh -c '
	moved() {
		of=$SYSFS_PATH/class/infiniband/efa_0/ports/1/hw_counters
		echo $(($(cat "$of/send_bytes") + $(cat "$of/rdma_read_bytes")))
	}
	for ranks; do
		before=$(moved)
		mpirun --oversubscribe -n "$ranks" ./mpi_ring
		echo "$ranks ranks: bytes of the device $(($(moved) - before))"
	done' sh "$@"
