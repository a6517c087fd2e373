#!/bin/sh
# All tests: what CI runs. Each stage that fails is named; the others still run.
#   sh scripts/test.sh           everything
#   sh scripts/test.sh STAGE...  only these stages (see the list at the end of this file)
set -u
. "$(dirname "$0")/lib.sh"
cd "$top" || exit 99

passed=0 failed=0 skipped=0 failures=

# count FILE: add up the cases of a JUnit report that meson wrote.
count() {
	[ -f "$1" ] || return 0
	tests=$(xmllint --xpath 'count(//testcase)' "$1")
	bad=$(xmllint --xpath 'count(//testcase[failure or error])' "$1")
	out=$(xmllint --xpath 'count(//testcase[skipped])' "$1")
	passed=$((passed + tests - bad - out))
	failed=$((failed + bad))
	skipped=$((skipped + out))
}

# one NAME COMMAND...: a check that is one case of its own.
one() {
	name=$1
	shift
	if "$@"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		failures="$failures $name"
		say "FAILED: $name"
	fi
}

skip() {
	skipped=$((skipped + 1))
	say "skipped: $1: $2"
}

# suite DIR [MESON TEST ARGUMENTS]: run meson's tests in DIR. Their time limits are for a machine
# that has nothing else to do.
suite() {
	dir=$1
	shift
	if ! meson test -C "$dir" --no-rebuild -t 4 --print-errorlogs "$@" >"$dir/test.log" 2>&1; then
		grep -vE '^ *[0-9]+/[0-9]+ .* (OK|SKIP) ' "$dir/test.log" | tail -n 200
		failures="$failures $dir"
	fi
	tail -n 12 "$dir/test.log" | grep -E '^(Ok|Fail|Skipped|Timeout)'
	count "$dir/meson-logs/testlog.junit.xml"
}

# build NAME DIR ARGUMENTS: one case; warnings are errors.
build() {
	name=$1
	shift
	one "$name" build_in "$@" --werror
}

# hashes DIR: every scenario has the trace in DIR that it has in the first build so asked.
first=
hashes() {
	sh scripts/hashes.sh "$1" --filter '!tag:scale' >"$1/hashes"
	first=${first:-$1/hashes}
	one "traces of $1" cmp "$first" "$1/hashes"
	one "traces of $1, how many" test "$(wc -l <"$1/hashes")" -gt 200
}

stage_lint() {
	files=$(git ls-files '*.c' '*.h' '*.cc' | grep -v '^tests/.*/foreign/')
	version=$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')
	if [ "$version" = 14 ]; then
		# shellcheck disable=SC2086
		one clang-format clang-format --dry-run -Werror $files
	else
		skip clang-format "the style is that of version 14, this is version $version"
	fi
	one luacheck luacheck --quiet scripts tests
	# shellcheck disable=SC2046
	one shellcheck shellcheck -x -P scripts $(git ls-files '*.sh') .ci/run
}

# The README's first command. With what the tests need installed, as here, it must work too.
stage_quickstart() {
	one quickstart sh scripts/quickstart.sh
}

stage_coverage() {
	build gcc-coverage build-coverage -Db_coverage=true --buildtype=debug
	[ -f build-coverage/build.ninja ] || return
	find build-coverage -name '*.gcda' -delete
	suite build-coverage
	hashes build-coverage
	one coverage sh scripts/coverage.sh build-coverage
}

stage_release() {
	build gcc-release build-release --buildtype=release -Dplants=false
	suite build-release --suite determinism
	hashes build-release
}

stage_clang() {
	CC=clang build clang build-clang --buildtype=debugoptimized -Dplants=false
	suite build-clang --suite determinism
	hashes build-clang
}

stage_asan() {
	build asan build-asan -Db_sanitize=address,undefined --buildtype=debugoptimized \
		-Db_lundef=false
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
		suite build-asan --no-suite bench --no-suite determinism --no-suite slow --no-suite seeds \
		--no-suite conformance
	hashes build-asan
}

stage_tsan() {
	build tsan build-tsan -Db_sanitize=thread --buildtype=debugoptimized -Db_lundef=false
	suite build-tsan --suite threads --suite unit
}

stage_valgrind() {
	[ -f build-release/build.ninja ] || build gcc-release build-release --buildtype=release -Dplants=false
	suite build-release --suite unit -t 10 --wrap \
		"valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite --suppressions=$top/tests/valgrind.supp"
}

stage_fuzz() {
	CC=clang build fuzz build-fuzz -Dfuzz=true --buildtype=debugoptimized
	suite build-fuzz --suite fuzz
}

# The last word: does a tree that was built and tested hold only what git knows?
stage_clean() {
	one tree-clean test -z "$(git status --porcelain)"
}

install_packages build test || exit 99
stages=${*:-lint quickstart coverage release clang asan tsan valgrind fuzz}
for stage in $stages; do
	say "$stage ($(date +%H:%M:%S))"
	"stage_$stage"
done

[ -z "$failures" ] || say "failed:$failures"
if [ "$passed" -eq 0 ]; then
	say "nothing ran"
	failed=$((failed + 1))
fi
if [ -n "$failures" ] && [ "$failed" -eq 0 ]; then
	failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
