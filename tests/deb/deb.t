#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian package: lintian has no error to report; in a fresh system without a
# compiler it installs, starts, and goes again. The system is made by debootstrap
# from the mirror of this machine's apt, and kept in the cache for a week.
# Needs root.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
[[ -x packaging/build-deb ]] || die 'packaging/build-deb is not there'
((EUID == 0)) || die 'only root can make and enter a chroot'
for tool in debootstrap lintian dpkg-buildpackage; do
	command -v "$tool" >/dev/null || die "$tool is missing: tools/setup deb"
done

root=$scratch/root
clean_up() {
	umount "$root/proc" 2>/dev/null || true
	rm -rf --one-file-system "$scratch"
}
trap clean_up EXIT

# run COMMAND...: sets status and said
run() {
	status=0
	said=$("$@" 2>&1 </dev/null) || status=$?
}

# ---- the package ----

version=$(sed -n 's/^VERSION := //p' Makefile)
run env VERSION="$version" packaging/build-deb "$scratch/deb"
((status == 0)) && true
result $? 'it builds' "$said"
package=$(find "$scratch/deb" -name 'lazyfault_*.deb' 2>/dev/null)
[[ -n $package ]] || die 'there is no package to try'
run lintian --allow-root --fail-on error --tag-display-limit 0 "$package"
((status == 0)) && true
result $? 'lintian has no error' "$said"
[[ -z $said ]] || printf '# %s\n' "$said"
depends=$(dpkg-deb -f "$package" Depends)
[[ $depends == *libbpf* && $depends != *clang* && $depends != *llvm* ]] && true
result $? 'it asks for libraries, and for no compiler' "$depends"
dpkg-deb -x "$package" "$scratch/unpacked"
make -s install DESTDIR="$scratch/installed" prefix=/usr >"$scratch/make.log" 2>&1 ||
	die "make install failed: $(<"$scratch/make.log")"
installed=$(cd "$scratch/installed" && find . -type f | sort)
run diff <(printf '%s\n' "$installed") \
	<(cd "$scratch/unpacked" && find . -type f | grep -v ./usr/share/doc/ | sed 's/\.8\.gz$/.8/' | sort)
((status == 0)) && true
result $? 'it has what make install installs' "$said"
run make -s install DESTDIR="$scratch/installed" prefix=/usr
((status == 0)) && true
result $? 'make install can be repeated' "$said"
make -s uninstall DESTDIR="$scratch/installed" prefix=/usr >"$scratch/make.log" 2>&1
left=$(find "$scratch/installed" -type f)
[[ -z $left ]] && true
result $? 'make uninstall leaves nothing' "$left"
run make -s uninstall DESTDIR="$scratch/installed" prefix=/usr
((status == 0)) && true
result $? 'make uninstall can be repeated' "$said"

# ---- a fresh system ----

suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' |
	awk -v suite="$suite" '$2 == suite { print $1; exit }')
[[ -n $mirror ]] || die "apt has no lists of $suite: apt-get update"
proxy=$(apt-config dump --format '%v%n' Acquire::http::Proxy 2>/dev/null | head -n 1)
[[ -z $proxy || $proxy == DIRECT ]] || export http_proxy=$proxy
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lazyfault/debootstrap
base=$cache/$suite-$(dpkg --print-architecture).tar
mkdir -p "$cache" "$root"

if [[ -z $(find "$base" -mtime -7 2>/dev/null) ]]; then
	run debootstrap --variant=minbase "$suite" "$root" "$mirror"
	((status == 0)) || die "debootstrap: $(tail -n 20 <<<"$said"; tail -n 20 "$root/debootstrap/debootstrap.log" 2>/dev/null)"
	tar -C "$root" -cf "$base.$$" .
	mv "$base.$$" "$base"
else
	tar -C "$root" -xf "$base"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp "$package" "$root/lazyfault.deb"
mount -t proc proc "$root/proc" 2>/dev/null || true
within() {
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		${http_proxy:+http_proxy="$http_proxy"} chroot "$root" "$@"
}

run within sh -c 'command -v clang || command -v cc || command -v lazyfault'
((status != 0)) && true
result $? 'the fresh system has no compiler and no lazyfault' "$said"
run within apt-get -q -y update
((status == 0)) || die "apt-get update within: $said"
run within apt-get -q -y install --no-install-recommends /lazyfault.deb
((status == 0)) && true
result $? 'it installs' "$said"
run within lazyfault --version
[[ $status == 0 && $said == "lazyfault $version" ]] && true
result $? 'it says its version' "status $status: $said"
run within sh -c 'command -v clang || command -v cc'
((status != 0)) && true
result $? 'it brought no compiler' "$said"
run within lazyfault check
[[ $status == 0 || ($status == 1 && -n $said && $said != *'error while loading'*) ]] && true
result $? 'it can look at the kernel, or say why not' "status $status: $said"
cp tests/captures/linux-7.3.jsonl "$root/run.jsonl"
run within lazyfault report /run.jsonl
[[ $status == 0 && $said == *Verdict* ]] && true
result $? 'it reports a capture' "status $status: $said"
run within bash -c '. /usr/share/bash-completion/completions/lazyfault
	COMP_WORDS=(lazyfault rep) COMP_CWORD=1; _lazyfault; echo "${COMPREPLY[@]}"'
[[ $said == report ]] && true
result $? 'its completion works' "$said"
run within apt-get -q -y purge lazyfault
left=$(find "$root" -xdev -name '*lazyfault*' ! -name lazyfault.deb ! -path '*/var/log/*' ! -path '*/proc/*')
[[ $status == 0 && -z $left ]] && true
result $? 'purged, it leaves nothing' "$left $said"

done_testing
