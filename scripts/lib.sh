# shellcheck shell=sh
# What quickstart.sh and test.sh share: packages and the build.

top=$(cd "$(dirname "$0")/.." && pwd)

say() {
	printf '%s\n' "== $*"
}

# The names in packages.txt of the given kinds that are not installed yet.
missing_packages() {
	for kind in "$@"; do
		sed -n "s/^$kind //p" "$top/scripts/packages.txt"
	done | while read -r name; do
		plain=${name%\?}
		dpkg-query -W -f='${Status}' "$plain" 2>/dev/null | grep -q 'install ok installed' ||
			printf '%s\n' "$name"
	done
}

# install_packages KIND...: install what is missing with apt, as root or through sudo.
install_packages() {
	if ! command -v apt-get >/dev/null 2>&1; then
		say "no apt-get here: install the packages named in scripts/packages.txt by hand"
		return 0
	fi
	missing=$(missing_packages "$@")
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -eq 0 ]; then
		sudo=
	elif command -v sudo >/dev/null 2>&1; then
		sudo=sudo
	else
		echo "$0: these packages are missing, and you are neither root nor have sudo:" >&2
		printf '  %s\n' "$missing" >&2
		return 1
	fi
	$sudo apt-get update -qq || return 1
	wanted=
	for name in $missing; do
		plain=${name%\?}
		if [ "$plain" = "$name" ] || apt-cache show "$plain" >/dev/null 2>&1; then
			wanted="$wanted $plain"
		fi
	done
	[ -n "$wanted" ] || return 0
	say "installing:$wanted"
	# shellcheck disable=SC2086
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
		$wanted >/dev/null
}

# build_in DIR [MESON ARGUMENTS]: configure DIR once and build $target there, or all.
build_in() {
	dir=$1
	shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" "$top" "$@" >/dev/null || return 1
	if [ -t 1 ]; then
		ninja -C "$dir" "${target:-all}"
		return
	fi
	ninja -C "$dir" "${target:-all}" >"$dir/build.log" 2>&1 || {
		tail -n 40 "$dir/build.log" >&2
		return 1
	}
}
