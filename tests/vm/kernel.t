#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/vm/kernel and tools/vm/suite against a pretended mirror: what is fetched, what is reused,
# and what is said when the mirror has moved on. Needs no network and boots nothing.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
kernel=$top/tools/vm/kernel

export XDG_CACHE_HOME=$scratch/cache MIRROR=$scratch/mirror
kernels=$XDG_CACHE_HOME/lazyfault/kernels
mkdir "$scratch/bin" "$MIRROR"

# The mirror is a directory of suites; a suite has the files meta-FLAVOUR (the release that Debian's
# metapackage depends on) and packages (name and version).
cat > "$scratch/bin/apt-get" <<-'EOF'
	#!/bin/bash
	[[ $1 == -c ]] && { conf=$2; shift 2; }
	echo "$*" >> "$MIRROR/log"
	[[ $1 != indextargets ]] || {
		echo 'Packages|main|bookworm-updates|Debian|http://updates.invalid/debian/'
		echo 'Sources|main|bookworm|Debian|http://sources.invalid/debian/'
		echo 'Packages|main|bookworm|Debian|http://mirror.invalid/debian/'
		exit 0
	}
	suite=$(sed -n 's/^deb .* \([a-z-]*\) main$/\1/p' "$(dirname "$conf")/sources.list")
	[[ -d $MIRROR/$suite ]] || { echo "E: no Release file" >&2; exit 100; }
	[[ $1 != update ]] || exit 0
	sleep "$(cat "$MIRROR/delay" 2> /dev/null || echo 0)"
	package=${*: -1}
	version=$(sed -n "s/^$package //p" "$MIRROR/$suite/packages")
	release=$(sed -E 's/^linux-(binary-unsigned|binary|image|base)-//; s/-unsigned$//' <<< "$package")
	mkdir -p deb/DEBIAN deb/boot "deb/usr/lib/modules/$release"
	printf 'Package: p\nVersion: 1\nArchitecture: all\nMaintainer: x\nDescription: x\n' \
		> deb/DEBIAN/control
	case $package in
	linux-base-*) echo "config of $release" > "deb/usr/lib/modules/$release/config" ;;
	linux-binary-*) echo "$package $version" > "deb/usr/lib/modules/$release/vmlinuz.unsigned" ;;
	*) echo "$package $version" > "deb/boot/vmlinuz-$release"
	   echo "config of $release" > "deb/boot/config-$release" ;;
	esac
	dpkg-deb -b deb p.deb
	rm -rf deb
EOF
cat > "$scratch/bin/apt-cache" <<-'EOF'
	#!/bin/bash
	[[ $1 == -c ]] && { conf=$2; shift 2; }
	suite=$(sed -n 's/^deb .* \([a-z-]*\) main$/\1/p' "$(dirname "$conf")/sources.list")
	case $1 in
	depends)
		release=$(cat "$MIRROR/$suite/meta-${2#linux-image-}") || exit 100
		printf '%s\n  Depends: linux-base-cloud\n  Depends: linux-image-%s\n' "$2" "$release" ;;
	show)
		version=$(sed -n "s/^$2 //p" "$MIRROR/$suite/packages")
		[[ -n $version ]] || exit 100
		printf 'Package: %s\nVersion: %s\n' "$2" "$version" ;;
	esac
EOF
chmod +x "$scratch/bin"/*
export PATH=$scratch/bin:$PATH

# offer SUITE FLAVOUR RELEASE VERSION PACKAGE...
offer()
{
	local suite=$1 flavour=$2 release=$3 version=$4 package

	shift 4
	mkdir -p "$MIRROR/$suite"
	echo "$release" > "$MIRROR/$suite/meta-$flavour"
	for package in "$@"; do
		echo "$package-$release $version" >> "$MIRROR/$suite/packages"
	done
}

fetches()
{
	grep -c '^download' "$MIRROR/log" || true
}

try "$kernel" 5.10
is "an unknown name fails" "$status" 1
has "and is named" "$scratch/err" '5\.10'
try "$kernel"
is "no name is wrong usage" "$status" 64
try "$kernel" --frobnicate 7.3
is "an unknown option is wrong usage" "$status" 64
echo image > "$scratch/own"
try "$kernel" "$scratch/own"
is "a path is passed through" "$(< "$scratch/out")" "$scratch/own"
try "$kernel" fault-around
is "the kernel that is built here and is not there fails" "$status" 1
has "and it is said how to build it" "$scratch/err" 'tools/kernel/build'
try "$kernel" fault-around-debug
is "so does the one with lockdep" "$status" 1
has "and it is said how to build that" "$scratch/err" 'tools/kernel/build --debug'

try "$kernel" 7.3
is "a suite that the mirror lacks fails" "$status" 1
has "and is named" "$scratch/err" 'trixie-backports.*none is cached'
offer trixie-backports cloud-amd64 7.3.4+deb13-cloud-amd64 7.3.4-1 linux-binary-unsigned linux-base
rm "$MIRROR/trixie-backports/meta-cloud-amd64"
try "$kernel" 7.3
is "a suite without such a kernel fails" "$status" 1
has "and is named" "$scratch/err" 'trixie-backports has no linux-image-cloud-amd64'

echo 7.3.4+deb13-cloud-amd64 > "$MIRROR/trixie-backports/meta-cloud-amd64"
try "$kernel" 7.3
is "a kernel is fetched" "$status" 0
is "its path is all that is printed" "$(< "$scratch/out")" "$kernels/7.3/bzImage"
is "the image" "$(< "$kernels/7.3/bzImage")" \
	"linux-binary-unsigned-7.3.4+deb13-cloud-amd64 7.3.4-1"
is "its configuration, of another package" "$(< "$kernels/7.3/config")" \
	"config of 7.3.4+deb13-cloud-amd64"
is "its version" "$(< "$kernels/7.3/version")" "7.3.4+deb13-cloud-amd64 7.3.4-1"
has "the archive is the machine's own" \
	"$XDG_CACHE_HOME/lazyfault/apt/trixie-backports/sources.list" \
	'http://mirror.invalid/debian/ trixie-backports main$'

: > "$MIRROR/log"
offer trixie-backports cloud-amd64 7.3.5+deb13-cloud-amd64 7.3.5-1 linux-binary linux-base
try "$kernel" 7.3
is "a cached kernel is reused" "$(< "$kernels/7.3/version")" "7.3.4+deb13-cloud-amd64 7.3.4-1"
is "without a question to the mirror" "$(< "$MIRROR/log")" ""
try "$kernel" --update 7.3
is "--update takes the newer one" "$(< "$kernels/7.3/bzImage")" \
	"linux-binary-7.3.5+deb13-cloud-amd64 7.3.5-1"
is "of the old one nothing is left, nor of the work" \
	"$(find "$kernels" -mindepth 1 -maxdepth 1 ! -name '.*.lock' | wc -l)" 2
before=$(fetches)
try "$kernel" --update 7.3
is "--update fetches nothing when there is nothing newer" "$(fetches)" "$before"

offer trixie-backports cloud-amd64 7.4.1+deb13-cloud-amd64 7.4.1-1 linux-binary
try "$kernel" --update 7.3
is "a suite that moved on fails" "$status" 1
has "what it has now is named, and the cached one" "$scratch/err" \
	'has 7\.4\.1\+deb13-cloud-amd64 now.*cached one is 7\.3\.5.*kernels/7\.3/bzImage'
try "$kernel" 7.3
is "the cached one can still be had" "$status" 0

offer bookworm-backports rt-amd64 6.12.9+deb12-rt-amd64 6.12.9-1 linux-image
echo 1 > "$MIRROR/delay"
: > "$MIRROR/log"
"$kernel" 6.12-rt > "$scratch/one" 2>&1 &
try "$kernel" 6.12-rt
wait
is "two at once both get it" "$(tail -n 1 "$scratch/one") $(< "$scratch/out")" \
	"$kernels/6.12-rt/bzImage $kernels/6.12-rt/bzImage"
is "by one fetch" "$(fetches)" 1
is "the rt flavour, from a package of the older kind" "$(< "$kernels/6.12-rt/bzImage")" \
	"linux-image-6.12.9+deb12-rt-amd64 6.12.9-1"
try "$kernel" --list
has "--list shows what is cached" "$scratch/out" '^7\.3 .*7\.3\.5\+deb13-cloud-amd64'
has "--list shows what is not" "$scratch/out" '^6\.1 .*not fetched'

done_testing
