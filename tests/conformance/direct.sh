#!/bin/sh
# Programs that ask libefa for their rings and use them by themselves: on the device, whatever way
# it learns of doorbells by, and judged. That takes an rdma-core that tells.
# usage: direct.sh SRDLAB FOLDER     FOLDER/direct.c; exit 77: it is not to be had, and why
set -eu
srdlab=$1 folder=$2
libraries=$("$(dirname "$0")/../../scripts/rdma-core.sh" 65.0) # exit 77 with the reason
export LD_LIBRARY_PATH="$libraries/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
compile() {
	"${CC:-cc}" -std=gnu11 -O1 -g -D_GNU_SOURCE -I"$libraries/include" \
		-I"$libraries/../source/providers/efa" "$@" -L"$libraries/lib" -libverbs -lefa
}
compile -o "$scratch/direct" "$folder/direct.c"

fail() {
	echo "$1"
	cat "$scratch/out"
	exit 1
}
# run WHAT COMMAND...: it ends well, and *out* is what it said
run() {
	what=$1
	shift
	"$@" >"$scratch/out" 2>&1 || fail "$what: status $?"
}
says() {
	grep -q "$1" "$scratch/out" || fail "$what does not say: $1"
}
says_not() {
	! grep -q "$1" "$scratch/out" || fail "$what says: $1"
}
unknown="instruction that is not known"

for option in --doorbell=auto --doorbell=trapped --doorbell=watched --memory=copied; do
	for mode in one two polled seq_cst silent external external_two external_libefa; do
		run "$mode $option" "$srdlab" exec "$option" -- "$scratch/direct" $mode
		says_not "$unknown"
	done
done
# With ids of 64 bits, which libefa too then leaves to the device.
for mode in one two polled libefa; do
	run "$mode wide" "$srdlab" exec --profile id64 -- "$scratch/direct" $mode wide
	run "$mode wide judged" "$srdlab" exec --profile id64 --rules law --error-exitcode 99 -- \
		"$scratch/direct" $mode wide
done
run "external_refused" "$srdlab" exec -- "$scratch/direct" external_refused
run "libefa" "$srdlab" exec -- "$scratch/direct" libefa

# Watched from then on, as they are where that is asked for.
run "unknown" "$srdlab" exec -- "$scratch/direct" unknown
says "$unknown"
run "unknown, watched" "$srdlab" exec --doorbell watched -- "$scratch/direct" unknown
says_not "$unknown"

# Nobody sees its posts but the device, which is enough for most rules.
for mode in one two polled silent external external_two external_libefa; do
	run "$mode judged" "$srdlab" exec --rules law --error-exitcode 99 -- "$scratch/direct" $mode
	[ $mode = external_libefa ] || says "not judged.* session.open"
	says_not "srdlab: law"
done
# ... and nothing is mistaken where libefa goes on after it was asked, whoever was told of before.
for mode in asks asks_late; do
	for option in --doorbell=auto --doorbell=trapped --doorbell=watched; do
		run "$mode $option judged" "$srdlab" exec --rules law,contract "$option" \
			--error-exitcode 99 -- "$scratch/direct" $mode
		says "^srdlab: 0 violations"
	done
	run "$mode traced" "$srdlab" exec --rules law --trace "$scratch/trace" --error-exitcode 99 -- \
		"$scratch/direct" $mode
	says "^srdlab: 0 violations"
done
"$srdlab" exec --rules law --error-exitcode 99 -- "$scratch/direct" wrong_rkey \
	>"$scratch/out" 2>&1 && fail "wrong_rkey passes"
what=wrong_rkey
says "law memory.rkey"

# libefa is where only who asked for it finds it.
compile -shared -fPIC -Dmain=direct_main -o "$scratch/direct.so" "$folder/direct.c"
cat >"$scratch/loads.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char *argv[])
{
	void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	int (*run)(int, char **) = library ? (int (*)(int, char **))dlsym(library, "direct_main") : 0;

	return run ? run(argc - 1, argv + 1) : (puts(dlerror()), 1);
}
END
"${CC:-cc}" -o "$scratch/loads" "$scratch/loads.c" -ldl
run "loaded" "$srdlab" exec -- "$scratch/loads" "$scratch/direct.so" one
