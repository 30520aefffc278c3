#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Wrong usage and wrong targets of the whole program: exit status, a message
# that names what was wrong, nothing on stdout. Needs no privilege.
# Run it by prove from the top of the source.
set -euo pipefail

program=${LAZYFAULT:-build/lazyfault}
if [[ ! -x $program ]]; then
	printf 'Bail out! %s is not there: run make first, or name it by LAZYFAULT\n' "$program"
	exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

count=0

# result NAME DETAIL, right after the condition: its status is the test's.
result() {
	local status=$?

	count=$((count + 1))
	if ((status == 0)); then
		printf 'ok %d - %s\n' "$count" "$1"
	else
		printf 'not ok %d - %s\n' "$count" "$1"
		sed 's/^/# /' <<<"$2"
	fi
}

# run ARG...: sets got, output and errors.
run() {
	got=0
	timeout 20 "$program" "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || got=$?
	output=$(<"$scratch/out")
	errors=$(<"$scratch/err")
}

# fails STATUS PATTERN ARG...: ends with this status, and says on stderr what
# matches the pattern (a bash regular expression), and nothing on stdout.
fails() {
	local status=$1 pattern=$2
	shift 2

	run "$@"
	[[ $got == "$status" && $errors =~ $pattern && -z $output ]] && true
	result "lazyfault ${*@Q} fails with $status" "status $got, stderr: $errors, stdout: $output"
}

# succeeds PATTERN ARG...: ends with 0, and prints what matches, on stdout only.
succeeds() {
	local pattern=$1
	shift

	run "$@"
	[[ $got == 0 && $output =~ $pattern && -z $errors ]] && true
	result "lazyfault ${*@Q} succeeds" "status $got, stderr: $errors, stdout: $output"
}

for value in haha '' 0 -1 1x 2147483648 9223372036854775808; do
	fails 64 "^lazyfault: -p/--pid=$value: '$value'.*4194304" -p "$value"
	fails 64 "^lazyfault: -d/--duration=$value: '$value'" -d "$value"
	fails 64 "^lazyfault: -n/--top=$value: '$value'" -n "$value"
	fails 64 "^lazyfault: -m/--map=$value: '$value'" -m "$value"
	fails 64 "^lazyfault: --max-vmas=$value: '$value'" --max-vmas "$value"
	fails 64 "^lazyfault: --ring-size=$value: '$value'" --ring-size "$value"
done
fails 64 "INTERVAL 'haha'" haha
fails 64 "COUNT '0'" 1 0
fails 64 "no key 'foo'.*faults" -s foo
fails 64 "unrecognized option '--foo'" --foo
fails 64 "'--': a COMMAND must follow" --
fails 64 '-p/--pid and -- COMMAND' -p 1 -- true
fails 64 "check takes no arguments" check 1

# What is well formed but not there is found before anything is traced.
fails 1 '^lazyfault: .*no such process' -p 4194304
fails 1 "^lazyfault: .*$scratch/none" -m "pinned $scratch/none"
touch "$scratch/plain"
fails 1 "^lazyfault: .*$scratch/plain.*ordinary file" -m pinned "$scratch/plain"
fails 1 "^lazyfault: .*$scratch.*cgroup v2" -c "$scratch"
fails 1 "^lazyfault: .*$scratch/none" -c "$scratch/none"

succeeds '^Usage: lazyfault ' --help
succeeds '^Usage: lazyfault check ' check --help
succeeds '^Usage: lazyfault ' --usage
succeeds '^lazyfault [0-9]+\.[0-9]+\.[0-9]+$' --version

printf '1..%d\n' "$count"
