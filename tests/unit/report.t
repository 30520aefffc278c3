#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `lazyfault report` as a program: standard input and output, pipes whose reader
# goes away, full disks, exit statuses. Run it by prove from the top of the source.
set -euo pipefail

program=${LAZYFAULT:-build/lazyfault}
capture=tests/captures/linux-7.3.jsonl
if [[ ! -x $program || ! -r $capture ]]; then
	printf 'Bail out! %s or %s is not there: run make first, from the top of the source\n' \
		"$program" "$capture"
	exit 1
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0

# result NAME DETAIL, right after the condition: its status is the test's. DETAIL can be
# @FILE; a command substitution there would put its own status in the place of the condition's.
result() {
	local status=$? detail=${2:-}

	count=$((count + 1))
	if ((status == 0)); then
		printf 'ok %d - %s\n' "$count" "$1"
	else
		printf 'not ok %d - %s\n' "$count" "$1"
		[[ $detail == @* ]] && detail=$(<"${detail#@}")
		sed 's/^/# /' <<<"$detail"
	fi
}

# run ARG...: sets got, output and errors
run() {
	got=0
	timeout 60 "$program" report "$@" >"$scratch/out" 2>"$scratch/err" </dev/null || got=$?
	output=$(<"$scratch/out")
	errors=$(<"$scratch/err")
}

run "$capture"
[[ $got == 0 && -z $errors && $output == *Verdict* ]] && true
result 'a capture is reported' "status $got: $errors"
whole=$output
"$program" report - <"$capture" >"$scratch/out" 2>"$scratch/err" && cmp -s "$scratch/out" <(printf '%s\n' "$whole")
result 'from standard input too' @"$scratch/err"
run -o "$scratch/file" "$capture"
[[ $got == 0 && -z $output && $(<"$scratch/file") == "$whole" ]] && true
result 'and into a file' "status $got: $errors"
run -j "$capture"
[[ $got == 0 ]] && cmp -s "$scratch/out" "$capture"
result 'as JSON it is the capture itself' "status $got: $errors"
run -q "$capture"
[[ $got == 0 && $output != *Tracing* && $output == *Verdict* ]] && true
result 'without the header' "status $got: $errors"
run -n 1 -s time "$capture"
[[ $got == 0 && $output == *'... and 11 more VMAs'* ]] && true
result 'with the first VMA only' "status $got: $output"

# Intervals are printed as they come, not at the end.
mkfifo "$scratch/pipe"
"$program" report - <"$scratch/pipe" >"$scratch/out" 2>/dev/null &
pid=$!
exec 3>"$scratch/pipe"
sed '/"type":"interval"/q' "$capture" >&3
for _ in {1..100}; do
	grep -q 'pages installed' "$scratch/out" && break
	sleep 0.1
done
grep -q 'pages installed' "$scratch/out" && true
result 'an interval is printed when it has come' @"$scratch/out"
exec 3>&-
wait "$pid" && true
result 'and the end of a pipe is an end' "status $?"

# And so are events.
"$program" report - <"$scratch/pipe" >"$scratch/out" 2>/dev/null &
pid=$!
exec 3>"$scratch/pipe"
sed -n '1,/"type":"event"/p' tests/fuzz/corpus/capture/events >&3
for _ in {1..100}; do
	grep -q 'worker counters' "$scratch/out" && break
	sleep 0.1
done
grep -q 'worker counters' "$scratch/out" && true
result 'an event is printed when it has come' @"$scratch/out"
exec 3>&-
wait "$pid" || true

# Far more output than any buffer, and a reader of one line.
{
	head -n 1 "$capture"
	for _ in {1..5000}; do
		sed -n 2,4p "$capture"
	done
} >"$scratch/long"
for format in '' --json --html --openmetrics="$scratch/m.prom"; do
	got=0
	{
		# shellcheck disable=SC2086
		"$program" report -q $format "$scratch/long" 2>"$scratch/err" || got=$?
		printf '%d\n' "$got" >"$scratch/status"
	} | head -n 1 >/dev/null
	[[ $(<"$scratch/status") == 0 && -z $(<"$scratch/err") ]] && true
	result "${format:-text}: a reader that goes away ends it quietly" \
		"status $(<"$scratch/status"): $(<"$scratch/err")"
	got=0
	# shellcheck disable=SC2086
	"$program" report -q $format "$scratch/long" >/dev/full 2>"$scratch/err" || got=$?
	[[ $got == 1 && $(<"$scratch/err") == *@('No space left'|'Input/output')* ]] && true
	result "${format:-text}: a full disk is a failure" @"$scratch/err"
done

run "$scratch/none"
[[ $got == 1 && $errors == *"$scratch/none: No such file"* ]] && true
result 'a file that is not there' "status $got: $errors"
: >"$scratch/empty"
run "$scratch/empty"
[[ $got == 1 && $errors == *'it is empty'* ]] && true
result 'an empty file' "status $got: $errors"
run -o "$scratch" "$capture"
[[ $got == 1 && $errors == *"--output=$scratch"* ]] && true
result 'a directory for the output' "status $got: $errors"
run --openmetrics=/dev/null "$capture"
[[ $got == 1 && $errors == *'--openmetrics=/dev/null: is not a plain file'* && -c /dev/null ]] && true
result 'a device for the metrics' "status $got: $errors"
run "$program"
[[ $got == 1 && $errors == *'no record that can be used'* ]] && true
result 'a file that is something else' "status $got: ${errors:0:300}"

printf '1..%d\n' "$count"
