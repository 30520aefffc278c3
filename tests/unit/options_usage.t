#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Wrong usage and wrong targets of the whole program: exit status, a message
# that names what was wrong, nothing on stdout. Needs no privilege.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=${LAZYFAULT:-build/lazyfault}
[[ -x $program ]] || die "$program is not there: run make first, or name it by LAZYFAULT"

# run ARG...: sets status, output and errors.
run() {
	try timeout 20 "$program" "$@"
	output=$(<"$scratch/out")
	errors=$(<"$scratch/err")
}

# fails STATUS PATTERN ARG...: ends with this status, and says on stderr what
# matches the pattern (a bash regular expression), and nothing on stdout.
fails() {
	local expected=$1 pattern=$2

	shift 2
	run "$@"
	[[ $status == "$expected" && $errors =~ $pattern && -z $output ]] && true
	result $? "lazyfault ${*@Q} fails with $expected" "status $status, stderr: $errors, stdout: $output"
}

# succeeds PATTERN ARG...: ends with 0, and prints what matches, on stdout only.
succeeds() {
	local pattern=$1

	shift
	run "$@"
	[[ $status == 0 && $output =~ $pattern && -z $errors ]] && true
	result $? "lazyfault ${*@Q} succeeds" "status $status, stderr: $errors, stdout: $output"
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
fails 64 "^lazyfault: 'repor' is no command.*did you mean 'report'" repor x
fails 64 "^lazyfault: 'report' is a command.*before all options" --html report x
fails 64 "COUNT '0'" 1 0
fails 64 "no key 'foo'.*faults" -s foo
fails 64 "unrecognized option '--foo'" --foo
fails 64 "'--': a COMMAND must follow" --
fails 64 '-p/--pid and -- COMMAND' -p 1 -- true
fails 64 "check takes no arguments" check 1

# What is asked for is written, or it is said that it is not.
for option in --version --help --usage check 'check -j'; do
	status=0
	# shellcheck disable=SC2086
	timeout 20 "$program" $option >/dev/full 2>"$scratch/err" || status=$?
	[[ $status == 1 && $(<"$scratch/err") == *'cannot write to standard output: No space left on device' ]] && true
	result $? "$option: a full disk is a failure" "status $status: $(<"$scratch/err")"
done

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

done_testing
