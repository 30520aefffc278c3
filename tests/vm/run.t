#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tools/vm/run with real guests: what goes in, what comes out, and that no failure passes for
# success.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
run=$top/tools/vm/run

wrong_usage()
{
	try "$run" "$@"
	is "exit 64: $*" "$status" 64
	has "the value is named: $*" "$scratch/err" "${named:-$1}"
}

named='no command' wrong_usage --smp 2 --
wrong_usage --smp 0 -- true
named='1G' wrong_usage --memory 1G -- true
named='soon' wrong_usage --timeout soon -- true
named='FROM:TO' wrong_usage --fetch /etc/passwd -- true
wrong_usage --no-such-option -- true
try env ACCEL=fast "$run" -- true
is "exit 64: ACCEL=fast" "$status" 64
try env ACCEL=kvm "$run" --icount -- true
is "exit 64: --icount needs emulation" "$status" 64
try "$run" --kernel 5.10 -- true
is "a kernel that is not to be had is a failure of the ground" "$status" 125
try "$run" --add "$scratch/nothing" -- true
is "a file to add that is not there is a failure of the ground" "$status" 125
try "$run" --add "$0:/../x" -- true
is "and so is one that would go out of the guest" "$status" 125

printf '#!/bin/sh\necho "added who"\n' > "$scratch/who"
chmod +x "$scratch/who"
try "$run" --add "$scratch/who:/usr/bin/" -- who
is "a program called like an applet is refused" "$status" 125
has "and told why" "$scratch/err" 'applet'

# A guest with a bit of everything.
head -c 100000 /dev/urandom > "$scratch/blob"
cp "$scratch/who" "$scratch/whoever"
mkdir "$scratch/tree"
echo "a program of this name is an applet too" > "$scratch/tree/file"
cat > "$scratch/everything" <<-'EOF'
	printf 'clean\n\t\004\021\000\n'
	echo "to stderr" >&2
	[ "$*" = "a b  c'\"\$ " ] && echo "arguments kept"
	[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo "no terminal"
	[ "$(echo '{"a":[1,2]}' | jq -c '.a')" = "[1,2]" ] && echo "jq"
	[ "$(whoever)" = "added who" ] && echo "script on PATH"
	cmp -s tree/file /srv/tree/file && echo "directory"
	ping -c 1 -w 3 127.0.0.1 > /dev/null && echo "loopback"
	[ "$(hostname) $HOME $PWD $(nproc)" = "guest /root /root 3" ] && echo "names"
	for at in proc sysfs devtmpfs bpf tracefs debugfs cgroup2 securityfs tmpfs; do
		grep -q " $at " /proc/mounts || echo "$at is not mounted"
	done
	(trap '' HUP TERM; sleep 1000) &
	exit 3
EOF
SECONDS=0
try "$run" --smp 3 --add "$scratch/blob:/srv/" \
	--add "$scratch/tree" --add "$scratch/tree:/srv/tree" \
	--add "$scratch/whoever:/usr/bin" --add "$scratch/everything" \
	--fetch "/srv/blob:$scratch/blob.back" --fetch "/proc/version:$scratch/version" \
	--console "$scratch/console" -- sh everything "a b " "c'\"\$ "
echo "# the guest took $SECONDS s" >&2
is "the command's exit status" "$status" 3
printf 'clean\n\t\004\021\000\n' > "$scratch/expected"
printf '%s\n' "arguments kept" "no terminal" jq "script on PATH" directory loopback names \
	>> "$scratch/expected"
ok "its output, byte for byte" cmp "$scratch/expected" "$scratch/out"
is "its errors and nothing else" "$(< "$scratch/err")" "to stderr"
ok "a binary file comes back as it went in" cmp "$scratch/blob" "$scratch/blob.back"
has "a file of unknown size comes out" "$scratch/version" '^Linux version '
ok "the console is kept" test -s "$scratch/console"

try "$run" --fetch "/no/file:$scratch/none" -- \
	sh -c 'echo before; sleep 2; echo c > /proc/sysrq-trigger; sleep 100; exit 0'
is "a guest that panics is a failure of the ground" "$status" 125
has "its console is shown" "$scratch/err" 'sysrq triggered crash'
has "what it said before is not lost" "$scratch/out" '^before$'

try "$run" --timeout 15 -- sh -c 'echo started; sleep 1000'
is "a guest that does not end is ended" "$status" 124
has "that is said" "$scratch/err" 'not done after 15 s'

try "$run" --fetch "/no/file:$scratch/none" -- \
	sh -c 'echo "<4>WARNING: CPU: 0 at a test" > /dev/kmsg; exit 3'
is "a warning of the kernel is a failure of the ground" "$status" 125
has "the warning is shown" "$scratch/err" '^\[.*WARNING: CPU: 0 at a test'
has "a file that could not be fetched is named" "$scratch/err" '/no/file'

# shellcheck disable=SC2016
try "$run" --icount --allow-splat --append "a.test=1" -- sh -c '
	echo "<4>WARNING: CPU: 0 at a test" > /dev/kmsg
	[ "$(nproc)" = 1 ] || echo "more than one CPU"
	[ "$(cut -d . -f 1 /proc/uptime)" -ge 10 ] || echo "did not idle"
	grep -qw "mitigations=off a.test=1" /proc/cmdline || echo "words lost: $(cat /proc/cmdline)"'
is "--allow-splat lets it pass" "$status" 0
is "--icount" "$(< "$scratch/out")" ""

done_testing
