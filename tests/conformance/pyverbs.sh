#!/bin/sh
# rdma-core's own Python tests on the software device: those of EFA must pass, every one, and
# of all the others none may fail.
# usage: pyverbs.sh SRDLAB VERSION      exit 77: pyverbs is not here
set -eu
srdlab=$1 version=$2
top=$(cd "$(dirname "$0")/../.." && pwd)

python=$("$top/scripts/pyverbs.sh" "$version")
source=$(cd "$python/../../source" && pwd)
# The tests look for network devices with this; there are none.
mkdir -p bin
printf '#!/bin/sh\necho "[]"\n' >bin/rdma
chmod +x bin/rdma

# Its tests draw attributes by chance, of which libefa takes some: with a seed always the same.
seeded='import random, runpy, sys
random.seed(2)
sys.argv = sys.argv[1:]
sys.path[0] = "tests"
runpy.run_path(sys.argv[0], run_name="__main__")'

# run NAME [TEST]...: the tests, their report in NAME.log.
run() {
	log=$PWD/pyverbs-$1.log
	shift
	(cd "$source" && PATH=$path PYTHONPATH=$python \
		"$srdlab" exec -- /usr/bin/python3 -c "$seeded" tests/run_tests.py -v "$@") >"$log" 2>&1 || {
		grep -E '^(ERROR|FAIL|Ran|FAILED)' "$log" || tail -n 20 "$log"
		exit 1
	}
	grep -E '^(Ran|OK)' "$log"
}
path=$PWD/bin:$PATH
case $srdlab in /*) ;; *) srdlab=$PWD/$srdlab ;; esac

run efa tests.test_efadv tests.test_efa_srd
if grep 'skipped' "$PWD/pyverbs-efa.log"; then
	exit 1
fi
run all
