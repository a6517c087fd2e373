#!/bin/sh
# The completion of zsh or fish, loaded into the shell itself: each line offers what it should.
# usage: complete.sh SHELL FILE: the generated completion. Status 77 where there is no such shell.
set -eu
shell=$1
file=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
command -v "$shell" >/dev/null || exit 77

# What the shell makes of each of the lines that are its arguments, a line each.
complete_all() {
	if [ "$shell" = zsh ]; then
		# A machine that is busy loads the functions of zsh slowly.
		timeout 600 zsh -f "$here/complete.zsh" "$(dirname "$file")" "$@"
		return
	fi
	for line in "$@"; do
		# shellcheck disable=SC2016 # fish expands them
		HOME=/nonexistent fish --no-config --command 'source $argv[1]; complete -C $argv[2]' "$file" "$line" |
			sed "s/\t.*//; s|^|${line% *} |"
	done
}

cd "$here"
complete_all "srdlab repl" "srdlab run --fil" "srdlab run --profile sm" "srdlab run -b e" \
	"srdlab show -e qp_cr" "srdlab rules chunk.cov" "srdlab run scripts/pass" |
	sed 's/[ =]*$//' >"${TMPDIR:-/tmp}/complete.$$"
status=0
diff - "${TMPDIR:-/tmp}/complete.$$" <<END || status=$?
srdlab replay
srdlab run --filter
srdlab run --profile small
srdlab run -b efa
srdlab show -e qp_create
srdlab rules chunk.cover
srdlab run scripts/pass.lua
END
rm -f "${TMPDIR:-/tmp}/complete.$$"
exit $status
