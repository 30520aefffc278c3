#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/setup against a pretended dpkg and apt-get: what it installs, when it updates apt's lists,
# and that it leaves a machine alone that lacks nothing. tools/vm/suite: which archive it picks.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
setup=$top/tools/setup

export FAKE=$scratch/fake
mkdir "$scratch/bin" "$FAKE"
cat > "$scratch/bin/dpkg-query" <<-'EOF'
	#!/bin/bash
	sed 's/^/installed /' "$FAKE/installed"
	exit 1
EOF
cat > "$scratch/bin/apt-cache" <<-'EOF'
	#!/bin/bash
	[[ -e $FAKE/lists ]] || exit 0
	grep -qx "$2" "$FAKE/unknown" || printf '%s:\n  Candidate: 1\n' "$2"
EOF
cat > "$scratch/bin/apt-get" <<-'EOF'
	#!/bin/bash
	while [[ $1 == -* ]]; do [[ $1 == -o ]] && shift; shift; done
	echo "$DEBIAN_FRONTEND $*" >> "$FAKE/log"
	case $1 in
	update) [[ ! -e $FAKE/offline ]] || { echo "E: offline" >&2; exit 100; }; touch "$FAKE/lists" ;;
	install)
		[[ -e $FAKE/lists ]] || { echo "E: Unable to locate package" >&2; exit 100; }
		shift
		for package; do
			! grep -qx -- "$package" "$FAKE/unknown" || { echo "E: no $package" >&2; exit 100; }
			[[ $package == -* ]] || echo "$package" >> "$FAKE/installed"
		done ;;
	esac
EOF
printf '#!/bin/bash\nexec "$@"\n' > "$scratch/bin/sudo"
chmod +x "$scratch/bin"/*

# fresh PACKAGE...: a machine without lists that has these packages.
fresh()
{
	rm -rf "$FAKE"
	mkdir "$FAKE"
	: > "$FAKE/log"
	: > "$FAKE/unknown"
	printf '%s\n' "$@" > "$FAKE/installed"
}

try_setup()
{
	try env PATH="$scratch/bin:$PATH" "$setup" "$@"
}

fresh base-files
try_setup bench
is "what is missing is installed" "$status $(tail -n 2 "$FAKE/installed" | xargs)" \
	"0 bpftrace libbpf-tools"
is "after one update of lists that are absent, without recommended packages or questions" \
	"$(< "$FAKE/log")" "noninteractive install --no-install-recommends bpftrace libbpf-tools
noninteractive update
noninteractive install --no-install-recommends bpftrace libbpf-tools"
has "and named" "$scratch/err" 'installing bpftrace libbpf-tools$'
: > "$FAKE/log"
try_setup bench
is "nothing is done when nothing is missing" "$(< "$FAKE/log")" ""
is "and nothing said" "$status$(cat "$scratch/out" "$scratch/err")" 0

fresh bpftrace
touch "$FAKE/lists"
try_setup bench
is "good lists are not updated" "$(< "$FAKE/log")" \
	"noninteractive install --no-install-recommends libbpf-tools"

# all of the group but libclang-rt, whatever else is in it
fresh base-files
touch "$FAKE/lists"
try_setup check
mapfile -t others < <(grep -v '^libclang-rt' "$FAKE/installed")
fresh "${others[@]}"
touch "$FAKE/lists"
echo libclang-rt-dev > "$FAKE/unknown"
try_setup check
is "where the first name is unknown the second is taken" "$status $(tail -n 1 "$FAKE/installed")" \
	"0 libclang-rt-14-dev"
fresh "${others[@]}" libclang-rt-14-dev
try_setup check
is "an installed alternative will do" "$status$(< "$FAKE/log")" 0

fresh bpftrace
touch "$FAKE/offline"
try_setup bench
is "no mirror: failure" "$status" 1
has "with apt's words" "$scratch/err" 'E: offline'
fresh bpftrace
echo libbpf-tools > "$FAKE/unknown"
try_setup bench
is "a package that is not to be had: failure" "$status" 1
has "with its name" "$scratch/err" 'could not install: libbpf-tools'

try_setup kitchen
is "an unknown group is wrong usage" "$status" 64
has "and is named" "$scratch/err" "'kitchen'"
mkdir "$scratch/elsewhere"
for program in bash cat sort env; do
	ln -s "$(command -v "$program")" "$scratch/elsewhere"
done
try env PATH="$scratch/elsewhere" "$setup" bench
is "not Debian: failure" "$status" 1
has "with what is needed" "$scratch/err" 'bpftrace libbpf-tools'

# archive SOURCES: the archive that tools/vm/suite would use where these are the machine's sources.
archive()
{
	mkdir -p "$scratch/machine/lists/partial" "$scratch/machine/sources.d"
	rm -f "$scratch/machine/sources.d"/*
	printf '%s\n' "$2" > "$scratch/machine/sources.d/machine.$1"
	cat > "$scratch/machine/apt.conf" <<-EOF
		Dir::State::Lists "$scratch/machine/lists";
		Dir::Etc::sourcelist "/dev/null";
		Dir::Etc::sourceparts "$scratch/machine/sources.d";
	EOF
	rm -rf "$scratch/cache"
	APT_CONFIG=$scratch/machine/apt.conf XDG_CACHE_HOME=$scratch/cache \
		"$top/tools/vm/suite" sid apt-get indextargets \
		--no-release-info --format "$format" 2>&1 |
		sed -n 's/^Packages //p' | sort -u
}

# shellcheck disable=SC2016
format='$(CREATED_BY) $(REPO_URI) $(RELEASE)'
# shellcheck disable=SC1091
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
is "sources of one line each, without lists" "$(archive list "
deb http://security.invalid/debian-security $codename-security main
deb [arch=amd64] https://mirror.invalid/debian $codename-updates main
deb-src https://source.invalid/debian $codename main
deb https://mirror.invalid/debian $codename main contrib
deb https://elsewhere.invalid/tools stable main")" "https://mirror.invalid/debian/ sid"
is "sources in deb822 form" "$(archive sources "Types: deb
URIs: http://mirror.invalid/debian
Suites: $codename $codename-updates
Components: main

Types: deb
URIs: http://security.invalid/debian-security
Suites: $codename-security
Components: main")" "http://mirror.invalid/debian/ sid"
is "no archive" "$(archive list "
deb http://security.invalid/debian-security $codename-security main
deb cdrom:[Debian]/ $codename main")" ""

done_testing
