#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `lazyfault report` as a program: standard input and output, pipes whose reader
# goes away, full disks, exit statuses.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=${LAZYFAULT:-build/lazyfault}
capture=tests/captures/linux-7.3.jsonl
[[ -x $program ]] || die "$program is not there: run make first, or name it by LAZYFAULT"

# run ARG...: sets status, output and errors
run() {
	try timeout 60 "$program" report "$@"
	output=$(<"$scratch/out")
	errors=$(<"$scratch/err")
}

run "$capture"
[[ $status == 0 && -z $errors && $output == *Verdict* ]] && true
result $? 'a capture is reported' "status $status: $errors"
whole=$output
"$program" report - <"$capture" >"$scratch/out" 2>"$scratch/err" &&
	cmp -s "$scratch/out" <(printf '%s\n' "$whole") && true
result $? 'from standard input too' "$(<"$scratch/err")"
run -o "$scratch/file" "$capture"
[[ $status == 0 && -z $output && $(<"$scratch/file") == "$whole" ]] && true
result $? 'and into a file' "status $status: $errors"
run -j "$capture"
[[ $status == 0 ]] && cmp -s "$scratch/out" "$capture" && true
result $? 'as JSON it is the capture itself' "status $status: $errors"
run -q "$capture"
[[ $status == 0 && $output != *Tracing* && $output == *Verdict* ]] && true
result $? 'without the header' "status $status: $errors"
run -n 1 -s time "$capture"
[[ $status == 0 && $output == *'... and 11 more VMAs'* ]] && true
result $? 'with the first VMA only' "status $status: $output"

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
result $? 'an interval is printed when it has come' "$(<"$scratch/out")"
exec 3>&-
wait "$pid" && true
result $? 'and the end of a pipe is an end'

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
result $? 'an event is printed when it has come' "$(<"$scratch/out")"
exec 3>&-
wait "$pid" || true

# Far more output than any buffer, and a reader of one line.
{
	head -n 1 "$capture"
	grep -m 1 '"span":"total"' "$capture" |
		awk '{ for (row = 1; row <= 15000; row++) { sub(/"row":[0-9]+/, "\"row\":" row); print } }'
} >"$scratch/long"
for format in '' --json --html --openmetrics="$scratch/m.prom"; do
	name=${format%%=*}
	status=0
	{
		# shellcheck disable=SC2086
		"$program" report -q $format "$scratch/long" 2>"$scratch/err" || status=$?
		printf '%d\n' "$status" >"$scratch/status"
	} | head -n 1 >/dev/null
	[[ $(<"$scratch/status") == 0 && -z $(<"$scratch/err") ]] && true
	result $? "${name:-text}: a reader that goes away ends it quietly" \
		"status $(<"$scratch/status"): $(<"$scratch/err")"
	status=0
	# shellcheck disable=SC2086
	"$program" report -q $format "$scratch/long" >/dev/full 2>"$scratch/err" || status=$?
	[[ $status == 1 && $(<"$scratch/err") == *'cannot write to standard output: '@('No space left'|'Input/output')* ]] && true
	result $? "${name:-text}: a full disk is a failure" "$(<"$scratch/err")"
done

# A capture that is cut off, damaged or newer: read as far as it goes, and said so.
head -c -700 "$capture" >"$scratch/cut"
last=$(grep -c '' "$scratch/cut")
for format in '' --json --html --openmetrics="$scratch/m.prom"; do
	name=${format%%=*}
	# shellcheck disable=SC2086
	run $format "$scratch/cut"
	[[ $status == 0 && $errors == *"cut: it is cut off in line $last"$'\n'*'there is no summary'* ]] && true
	result $? "${name:-text}: a capture that is cut off is read, and it is said where" \
		"status $status: $errors"
done
run -q "$scratch/cut"
[[ $status == 0 && -z $errors && $(tr -s ' \n' ' ' <<<"$output") == *'Verdict The capture ends early; '* ]] && true
result $? 'and the verdict says so, with -q too' "status $status: $errors"
{
	head -n 5 "$capture"
	printf 'garbage \377\n{"type":"tomorrow","of":[1]}\n'
	tail -n +6 "$capture"
} >"$scratch/damaged"
run "$scratch/damaged"
[[ $status == 0 && $output == "$whole" && $errors == *'line 6'* && $errors == *'line 7'* ]] && true
result $? 'lines that are damaged or of a newer version are named, and all else is read' \
	"status $status: $errors"

# Memory that runs out while a line is read is no fault of the line. Each of these takes far more
# than its bytes: that of many objects, of many arrays, and of one object with many keys.
for items in '{},' '[],' keys; do
	awk -v items="$items" 'BEGIN {
		printf "{\"type\":\"later\",\"is\":["
		for (i = 0; i < 60000; i++)
			printf items == "keys" ? "%s\"%x\":0" : items, i ? "," : "{", i
		print items == "keys" ? "}]}" : "0]}"
	}' >"$scratch/line"
	sed "2r $scratch/line" "$capture" >"$scratch/large"
	told=
	for kilobytes in 8000 12000 16000 24000 32000 48000 400000; do
		status=0
		(ulimit -v "$kilobytes" && exec "$program" report "$scratch/large") \
			>"$scratch/out" 2>"$scratch/err" || status=$?
		told+="$kilobytes: status $status: $(<"$scratch/err")"$'\n'
	done
	[[ $told == *'8000: status 1: lazyfault: '*': Cannot allocate memory'* ]] &&
		[[ $told == *'400000: status 0: '*'1 record of types'* && $told != *'line 3 is'* ]] && true
	result $? "memory that runs out in a line of many $items is told as that" "$told"
done

# On a terminal the bars are of blocks, but nothing is coloured, whatever is asked for.
for colour in NO_COLOR CLICOLOR_FORCE; do
	try env "$colour=1" TERM=xterm-256color LC_ALL=C.UTF-8 \
		script -qec "$(printf '%q report %q' "$program" "$capture")" /dev/null
	[[ $status == 0 && $(<"$scratch/out") == *█*Verdict* ]] && ! grep -q $'\e' "$scratch/out" && true
	result $? "on a terminal, with $colour: no colours" "status $status: $(grep -a $'\e' "$scratch/out" | cat -v)"
done

# Rows of intervals end in names, for which a terminal has the room that it has.
{
	head -n 1 "$capture"
	grep -m 1 '"span":"total".*"raced":0' "$capture" | sed 's/"span":"total"/"span":"interval"/
		s/"comm":"[^"]*"/"comm":"connection_pool"/; s/"name":"[^"]*"/"name":"conntrack_table"/'
} >"$scratch/rows"
printf '{"type":"interval","seconds":1.0,"faults":%s,"installed_pages":%s,"lost":%s}\n' \
	"$(tail -n 1 "$scratch/rows" | jq .faults.total)" \
	"$(tail -n 1 "$scratch/rows" | jq .installed_pages)" \
	'{"ring_full":0,"vma_table_full":0,"recursion":0}' >>"$scratch/rows"
for columns in 80 120; do
	names=$([[ $columns == 80 ]] && echo 'con.. con.. (gone)' || echo 'connection_pool conntrack_table (gone)')
	try script -qec "stty cols $columns; $(printf '%q report -q %q' "$program" "$scratch/rows")" /dev/null
	[[ $status == 0 && $(<"$scratch/out") == *"  $names"* ]] && true
	result $? "a terminal of $columns columns has both names" "status $status: $(<"$scratch/out")"
done
run "$scratch/rows"
[[ $output == *'  connection_pool conntrack_table (gone)'* ]] && true
result $? 'and a file has them in full' "$output"

run "$scratch/none"
[[ $status == 1 && $errors == *"$scratch/none: No such file"* ]] && true
result $? 'a file that is not there' "status $status: $errors"
: >"$scratch/empty"
run "$scratch/empty"
[[ $status == 1 && $errors == *'it is empty'* ]] && true
result $? 'an empty file' "status $status: $errors"

# What becomes of captures on their way, and the remedy that is named works.
declare -A forms=(
	[gzip]='gzip -c' [xz]='xz -c' [bzip2]='bzip2 -c' [array]='jq -s .' ['array in a line']='jq -sc .'
	['several lines']='jq .' [mark]="sed 1s/^/\\xef\\xbb\\xbf/" [UTF-16]='iconv -f UTF-8 -t UTF-16'
)
for form in "${!forms[@]}"; do
	read -ra tool <<<"${forms[$form]}"
	if ! command -v "${tool[0]}" >/dev/null; then
		skip "${tool[0]} is not there" "$form: it is said what it is"
		continue
	fi
	"${tool[@]}" <"$capture" >"$scratch/form"
	run "$scratch/form"
	remedy=$(sed -n 's/.*`\(.*\) FILE | lazyfault report -`.*/\1/p' <<<"$errors")
	[[ $status == 1 && -z $output && $(wc -l <<<"$errors") == 1 && -n $remedy ]] && true
	result $? "$form: it is said what it is" "status $status: ${errors:0:300}"
	eval "$remedy \$scratch/form" | "$program" report - 2>&1 |
		cmp - <(printf '%s\n' "$whole") >"$scratch/differ" 2>&1
	result $? "$form: and the remedy is one" "$remedy: $(<"$scratch/differ")"
done

run -o "$scratch" "$capture"
[[ $status == 1 && $errors == *"--output=$scratch"* ]] && true
result $? 'a directory for the output' "status $status: $errors"
run -o /sys/kernel/uevent_seqnum "$capture"
[[ $status == 1 && $errors == *"--output=/sys/kernel/uevent_seqnum: is in a filesystem of the kernel's own"* ]] && true
result $? 'a file of the kernel for the output' "status $status: $errors"
run --openmetrics=/dev/null "$capture"
[[ $status == 1 && $errors == *'--openmetrics=/dev/null: is not a plain file'* && -c /dev/null ]] && true
result $? 'a device for the metrics' "status $status: $errors"
run "$program"
[[ $status == 1 && $errors == *'no record that can be used'* ]] && true
result $? 'a file that is something else' "status $status: ${errors:0:300}"

done_testing
