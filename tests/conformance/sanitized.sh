#!/bin/sh
# Programs with AddressSanitizer in them, by each compiler that is here: they run, laws that they
# break are told of, and what the device does to memory that they gave back is theirs.
# usage: sanitized.sh SRDLAB FOLDER, that of the programs' sources
set -u
srdlab=$1 sources=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck source=tests/conformance/want.sh
. "$(dirname "$0")/want.sh"

# build NAME SOURCE...
build() {
	name=$1
	shift
	"$compiler" -fsanitize=address -O1 -g -D_GNU_SOURCE -o "$folder/$name" "$@" -lefa -libverbs 2>"$folder/error"
}

for compiler in gcc clang; do
	if ! build plain "$sources/steered.c"; then
		echo "$compiler does not build programs with AddressSanitizer here: they are left out"
		tail -n 3 "$folder/error"
		continue
	fi
	want "reads ($compiler)" "1 0,2 0,3 0," "$("$srdlab" exec --order in_order -- "$folder/plain" reads 3 100000000 2>&1 | tr '\n' ',')"
	want "behind a shell ($compiler)" "1 0," "$(ASAN_OPTIONS=detect_leaks=1 "$srdlab" exec --rules law -- \
		sh -c "\"\$0\" reads 1 100000000" "$folder/plain" 2>"$folder/error" | tr '\n' ',')"
	want "its leaks ($compiler)" 1 "$(grep -c 'law lifetime.leak.*' "$folder/error" | sed 's/[1-9][0-9]*/1/')"
	build dereg "$sources/misuse/dereg_in_flight.c" "$sources/misuse/rig.c"
	"$(dirname "$0")/misuse.sh" "$srdlab" "$folder/dereg" memory.dereg || want "a law ($compiler)" 0 1
	build freed "$sources/misuse/buffer_freed.c" "$sources/misuse/rig.c"
	want "memory that was given back ($compiler)" 1 "$("$srdlab" exec --devices 2 -- "$folder/freed" 2>&1 |
		grep -c 'ERROR: AddressSanitizer: heap-use-after-free')"
done
exit $((failures > 0))
