# shellcheck shell=sh
# What the scripts share that build other people's programs beside the machine's own: where
# they go, and Debian's source packages, from whichever newer Debian release has the version,
# by the apt sources of this machine but with lists of its own: nothing of the system changes.

# shellcheck disable=SC2034
cache=${SRDLAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/srdlab}
suites="trixie forky sid"

# skip REASON: it cannot be had here; $what says what. A test that calls the script skips too.
skip() {
	echo "$(basename "$0"): ${what:?} cannot be built here: $*" >&2
	exit 77
}

# need_tools COMMAND..., need_libraries NAME_OF_PKG_CONFIG...
need_tools() {
	missing=
	for tool in "$@"; do
		command -v "$tool" >/dev/null || missing="$missing $tool"
	done
	[ -z "$missing" ] || skip "missing:$missing"
}
need_libraries() {
	missing=
	for lib in "$@"; do
		pkg-config --exists "$lib" || missing="$missing $lib"
	done
	[ -z "$missing" ] || skip "missing development packages:$missing"
}

# once DIR: go on only where nobody has built DIR, alone; else print its build and end.
once() {
	mkdir -p "$1"
	exec 9>"$1/lock"
	flock 9
	[ ! -e "$1/built" ] || {
		echo "$1/build"
		exit 0
	}
}

# apt with lists of its own in DIR/apt.
private() {
	tool=$1
	shift
	"$tool" -q -o Dir::Etc::SourceList="$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$apt/lists" -o Dir::Cache="$apt/cache" \
		-o APT::Sandbox::User="$(id -un)" -o Acquire::Languages=none \
		-o APT::Update::Post-Invoke-Success::= -o APT::Update::Post-Invoke::= "$@"
}

# Into DIR, from the first release that has the version.
fetch() {
	for suite in $suites; do
		echo "deb-src [signed-by=$keyring] $archive $suite main" >"$apt/sources.list"
		private apt-get update >"$apt/log" 2>&1 || continue
		full=$(private apt-cache showsrc "$2" |
			awk -v v="$3" '$1 == "Version:" && index($2, v "-") == 1 { print $2; exit }')
		[ -n "$full" ] || continue
		(cd "$1" && private apt-get source --download-only --tar-only "$2=$full") \
			>"$apt/log" 2>&1 && return 0
	done
	return 1
}

# debian_source DIR PACKAGE VERSION: upstream's source of this version in DIR/source.
debian_source() {
	apt=$1/apt
	# The archive that this machine takes Debian from.
	# shellcheck disable=SC2016
	archive=$(apt-get indextargets 'Created-By: Packages' --format '$(ORIGIN)|$(LABEL)|$(REPO_URI)' |
		sed -n 's/^Debian|Debian|//p' | head -n 1)
	[ -n "$archive" ] || skip "apt knows no Debian archive (is 'apt-get update' needed?)"
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -e $keyring ] || skip "no $keyring"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	fetch "$@" || skip "no Debian release among '$suites' offers it to this machine"
	rm -rf "$1/source" "$apt"
	mkdir "$1/source"
	tar -xf "$1/$2_$3.orig.tar."* -C "$1/source" --strip-components=1
}

# building LOG COMMAND...: what it says goes to LOG; where it fails, the end of that is shown.
building() {
	log=$1
	shift
	"$@" >"$log" 2>&1 || {
		tail -n 20 "$log" >&2
		skip "the build failed: $log"
	}
}
