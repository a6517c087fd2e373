#!/bin/sh
# The same run in two environments that differ in all that should not matter: addresses, the
# size of the environment, locale, time zone, what is in fresh memory, other scenarios in the
# same process, several processes. Every trace hash has to be the same, and every byte of
# the traces.
# usage: worlds.sh SRDLAB SCENARIOS [OPTION OF srdlab run]...
set -eu
srdlab=$1 scenarios=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# hashes NAME COMMAND...: what it reports of each scenario but wall time, sorted.
hashes() {
	name=$1
	shift
	"$@" --json "$dir/$name.json" --replay-dir '' >/dev/null 2>"$dir/$name.err" ||
		{ cat "$dir/$name.err" && false; }
	sed -n 's/^\({"file":.*\),"wall_time":[0-9]*,\(.*}\),*$/\1 \2/p' "$dir/$name.json" |
		sort >"$dir/$name"
	[ -s "$dir/$name" ] || { echo "worlds.sh: $name reported nothing" && false; }
}

# plain COMMAND...: next to no environment, and addresses that stay where they are.
plain() {
	if setarch -R true 2>/dev/null; then
		env -i LC_ALL=C TZ=UTC setarch -R "$@"
	else
		env -i LC_ALL=C TZ=UTC "$@"
	fi
}

# strange COMMAND...
strange() {
	PADDING=$(head -c 50000 /dev/zero | tr '\0' x) LC_ALL=C.UTF-8 LANG=tr_TR.UTF-8 TZ=Asia/Kolkata \
		MALLOC_PERTURB_=85 MALLOC_ARENA_MAX=1 MALLOC_MMAP_THRESHOLD_=4096 "$@"
}

same() {
	cmp "$dir/$1" "$dir/$2" ||
		{ diff "$dir/$1" "$dir/$2" | cut -c1-300 | head -n 20 && false; }
}

hashes plain plain "$srdlab" run "$@" "$scenarios"
hashes strange strange "$srdlab" run --jobs 3 "$@" "$scenarios"
same plain strange

# Scenarios in the other order, each file in a process of its own.
for file in $(find "$scenarios" -name '*.lua' | sort -r); do
	hashes one strange "$srdlab" run "$@" "$file"
	cat "$dir/one" >>"$dir/each.all"
done
sort "$dir/each.all" >"$dir/each"
same plain each

# The bytes; without those whose traces are large.
plain "$srdlab" run --filter '!tag:scale' --trace "$dir/plain.trace" "$@" "$scenarios" >/dev/null
strange "$srdlab" run --filter '!tag:scale' --trace "$dir/strange.trace" "$@" "$scenarios" >/dev/null
cmp "$dir/plain.trace" "$dir/strange.trace"
echo "$(wc -l <"$dir/plain") scenarios, $(wc -c <"$dir/plain.trace") bytes of traces: the same"
