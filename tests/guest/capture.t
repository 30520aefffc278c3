# SPDX-License-Identifier: GPL-2.0-or-later
# What tracing leaves for others: a capture of which `report` prints, byte for
# byte, what tracing printed; while it comes and afterwards; and the metrics
# file of a real run.
# vm: smp=2 memory=1024 timeout=1200
. ./lib.sh

metric() { # the sum of a metric's series
	awk -v name="$1" '{ split($1, part, "{") } part[1] == name { sum += $2 } END { printf "%d\n", sum }' \
		"$work/textfile/run.prom"
}

mkdir "$work/textfile"
umask 077
traced --openmetrics="$work/textfile/run.prom" 0.5 -- --pages 700 --rounds 6 --pause 200 --access mixed
is $? 0 "traced with intervals and metrics"
agrees "with intervals and metrics"
is "$(jq -s "$intervals" "$work/run.jsonl")" true "intervals add up to totals"

is "$(metric lazyfault_faults_total)" "$(summary .faults)" "metrics: faults are the summary's"
is "$(metric lazyfault_installed_pages_total)" "$(summary .installed_pages)" "metrics: pages are the summary's"
is "$(metric lazyfault_fault_duration_seconds_count)" \
	"$(jq -s 'map(select(.span == "total").fault_ns.count) | add // 0' "$work/run.jsonl")" \
	"metrics: the histogram has all timed faults"
is "$(grep -c 'access="unknown"' "$work/textfile/run.prom")" 0 "metrics: each access is known"
is "$(stat -c %a "$work/textfile/run.prom")" 644 "metrics: for all to read, whatever the umask"
is "$(ls -A "$work/textfile")" run.prom "metrics: nothing else is left there"
lazyfault report -q -o "$work/text" --openmetrics="$work/again.prom" "$work/run.jsonl"
is $? 0 "report: reads the capture"
is "$(cmp "$work/again.prom" "$work/textfile/run.prom" 2>&1)" "" "report: the same metrics again"
like "$(cat "$work/text")" "^Totals .* $(summary .faults) faults" "report: the same totals"
lazyfault report -j -o "$work/again.jsonl" "$work/run.jsonl"
is "$(cmp "$work/again.jsonl" "$work/run.jsonl" 2>&1)" "" "report: the same JSON again"
lazyfault report --html -o "$work/page.html" "$work/run.jsonl"
like "$(cat "$work/page.html")" "<p class=\"verdict\">" "report: a page"

# the text of a run, and of its capture: both come of one run by --save
same() { # same DESCRIPTION COMMAND PRINTING [INTERVAL] -- PROGRAM...
	description=$1 command=$2 printing=$3
	shift 3
	# shellcheck disable=SC2086
	lazyfault $command $printing -o "$work/live" --save="$work/saved.jsonl" "$@" \
		>/dev/null 2>"$work/stderr"
	# with -v there are libbpf's log and what was given up
	is "$? $(grep -v -e '^libbpf: ' -e '^lazyfault: capabilities' "$work/stderr")" "0 " "$description: traced"
	# -e is of tracing: a capture has its events
	# shellcheck disable=SC2086
	lazyfault report ${printing#-e} "$work/saved.jsonl" >"$work/again" 2>"$work/stderr"
	is "$? $(cat "$work/stderr")" "0 " "$description: reported"
	like "$(cat "$work/live")" '^Verdict' "$description: the text is whole"
	is "$(cmp "$work/again" "$work/live" 2>&1)" "" "$description: report prints what tracing printed"
}

mixed="workload --pages 700 --rounds 3 --pause 300 --access mixed --threads 2"
# shellcheck disable=SC2086
{
	same "totals" faults "" -- $mixed
	same "intervals" faults "" 0.3 -- $mixed
	same "-T -v -n 2 -s time" faults "-T -v -n 2 -s time" 0.3 -- $mixed
	same "-q" faults "-q" 0.3 -- $mixed
	same "--light" "faults --light" "" -- $mixed
	same "--no-time" "faults --no-time" "" -- $mixed
	same "events" faults "-e" 0.3 -- $mixed
	same "hostile names" faults "-v" -- workload --pages 20 --vmas 3 --comm 'q"\\\n\x01\xff'
}
if array_is_lazy; then
	like "$(cat "$work/live")" '3 VMAs, 60 faults' "hostile names: three VMAs"
	is "$(grep -c '"type":"vma"' "$work/saved.jsonl")" 3 "hostile names: and three records"
fi
same "updates" updates "" 0.3 -- mapinmap-update -n 200
is "$(stat -c %a "$work/saved.jsonl")" 600 "a saved capture is private"
lazyfault -d 0.1 --save="$work/one" -o "$work/one" 2>"$work/stderr"
is $? 1 "--save into the report itself: status 1"
like "$(cat "$work/stderr")" "--save=$work/one: the report goes there" "--save into the report itself: said so"
ln -s /dev/null "$work/link"
lazyfault -d 0.1 --save="$work/link" 2>"$work/stderr"
is $? 1 "--save into a link: status 1"
like "$(cat "$work/stderr")" "--save=$work/link: " "--save into a link: it is named"
lazyfault -d 0.1 -j --save="$work/saved.jsonl" -o "$work/run.jsonl"
is "$(cmp "$work/saved.jsonl" "$work/run.jsonl" 2>&1)" "" "--save beside -j: the same lines"

# live, through a pipe
lazyfault -j 0.3 3 2>"$work/stderr" | lazyfault report - >"$work/piped" 2>>"$work/stderr"
is $? 0 "through a pipe"
is "$(cat "$work/stderr")" "" "through a pipe: without complaints"
is "$(grep -c 'pages installed$' "$work/piped")" 3 "through a pipe: three intervals"
like "$(cat "$work/piped")" "^Verdict" "through a pipe: and the end"

# killed: the capture is what it was by then
lazyfault -j -o "$work/killed.jsonl" 0.3 2>"$work/stderr" &
tracer=$!
await grep -q '"type":"start"' "$work/killed.jsonl"
workload --pages 300 >/dev/null
if array_is_lazy; then
	await grep -q '"faults":[1-9]' "$work/killed.jsonl"
fi
await grep -q '"type":"interval"' "$work/killed.jsonl"
kill -KILL $tracer
wait $tracer 2>/dev/null
lazyfault report "$work/killed.jsonl" >"$work/killed" 2>"$work/stderr"
is $? 0 "killed: its capture is reported"
like "$(cat "$work/stderr")" "there is no summary" "killed: and that it has no end is said"
if array_is_lazy; then
	like "$(cat "$work/killed")" "^Totals .* 300 faults" "killed: the intervals add up to totals"
fi
like "$(tr -s ' \n' ' ' <"$work/killed")" "Verdict The capture ends early" "killed: the verdict says so"

# the metrics file cannot be written
lazyfault --openmetrics=/nonexistent/run.prom -d 0.1 >/dev/null 2>"$work/stderr"
is $? 1 "metrics that cannot be written: status 1"
like "$(cat "$work/stderr")" "--openmetrics=/nonexistent/run.prom: No such file" "metrics that cannot be written: said so"
finish
