#!/bin/sh
# coverage.sh BUILD: lcov over what the tests of BUILD ran, as HTML and tracefile, and the
# gate: lines and branches over src/, sim/, hw/ and library/, generated code left out.
# Works with lcov 1.16 and 2.x, which needs to be told what 1.16 ignored.
set -eu
. "$(dirname "$0")/lib.sh"
build=$top/$1
want_lines=${SRDLAB_COVERAGE_LINES:-95}
want_branches=${SRDLAB_COVERAGE_BRANCHES:-85}
out=$build/coverage
mkdir -p "$out"

options='--rc lcov_branch_coverage=1'
case $(lcov --version) in
*"version 1."*) ;;
*) options='--rc branch_coverage=1 --ignore-errors mismatch,inconsistent,unused,negative,gcov' ;;
esac

# shellcheck disable=SC2086
{
	lcov $options --quiet --capture --directory "$build" --base-directory "$build" \
		--output-file "$out/all.info" 2>"$out/lcov.log"
	lcov $options --quiet --extract "$out/all.info" "$top/src/*" "$top/sim/*" "$top/hw/*" \
		"$top/library/*" --output-file "$out/srdlab.info" 2>>"$out/lcov.log"
	genhtml $options --quiet --prefix "$top" --title srdlab --output-directory "$out/html" \
		"$out/srdlab.info" >>"$out/lcov.log" 2>&1
}

# The files with most to gain, then the sum.
awk -F: '
	$1 == "SF" { file = $2 } $1 == "LF" { lf = $2 } $1 == "LH" { lh = $2 }
	$1 == "BRF" { bf = $2 } $1 == "BRH" { bh = $2 }
	$1 == "end_of_record" { print lf - lh, bf - bh, file; lf = lh = bf = bh = 0 }
' "$out/srdlab.info" | sort -rn | head -n "${SRDLAB_COVERAGE_FILES:-10}" |
	sed "s|$top/||; s|^\([0-9]*\) \([0-9]*\)|not covered: \1 lines, \2 branches of|"

awk -F: -v want_lines="$want_lines" -v want_branches="$want_branches" '
	$1 == "LF" { lines += $2 } $1 == "LH" { lines_hit += $2; }
	$1 == "BRF" { branches += $2 } $1 == "BRH" { branches_hit += $2 }
	END {
		l = lines ? 100 * lines_hit / lines : 0
		b = branches ? 100 * branches_hit / branches : 0
		printf "coverage: %.1f %% of %d lines (want %d), %.1f %% of %d branches (want %d)\n",
			l, lines, want_lines, b, branches, want_branches
		exit l < want_lines || b < want_branches
	}' "$out/srdlab.info"
