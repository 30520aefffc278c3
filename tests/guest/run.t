# SPDX-License-Identifier: GPL-2.0-or-later
# How a run begins and ends: signals, durations, counts, targets, pipes; its
# status; and that nothing stays attached.
# vm: smp=2 memory=1024 timeout=1200
. ./lib.sh

programs() { # tracing programs that are loaded now
	cat /proc/[0-9]*/fdinfo/* 2>/dev/null | grep -c '^prog_type:[[:space:]]*26'
}
ended_well() { # ended_well STATUS EXPECTED DESCRIPTION: and with a summary
	is "$1" "$2" "$3: status $2"
	is "$(grep -c '"type":"summary"' "$work/run.jsonl")" 1 "$3: summary printed"
	is "$(programs)" 0 "$3: nothing stays attached"
}

for signal in INT TERM HUP; do
	rm -f "$work/run.jsonl"
	lazyfault -j -o "$work/run.jsonl" 2>"$work/stderr" &
	tracer=$!
	await grep -q start "$work/run.jsonl"
	kill -$signal $tracer
	wait $tracer
	ended_well $? 0 "SIG$signal"
done

lazyfault -j -d 0.5 -o "$work/run.jsonl"
ended_well $? 0 "duration"
lazyfault -j -o "$work/run.jsonl" 0.2 3
ended_well $? 0 "count"
is "$(grep -c '"type":"interval"' "$work/run.jsonl")" 3 "count: three intervals"

workload --pages 4 --hold --seconds 1 >"$work/w.json" 2>/dev/null </dev/null &
sleep 600 &
target=$!
rm -f "$work/run.jsonl"
lazyfault -j -o "$work/run.jsonl" -p $target &
tracer=$!
await grep -q start "$work/run.jsonl"
kill $target
wait $tracer
ended_well $? 0 "target gone"

sleep 600 &
target=$!
lazyfault -j -d 2.3 -o "$work/run.jsonl" -p $target 1
is "$(grep -c '"type":"interval"' "$work/run.jsonl")" 3 "an idle process: an interval each second, and the rest"
is "$(grep -c '"type":"vma"' "$work/run.jsonl")" 0 "an idle process: no rows"
kill $target

# faults in the first second only
lazyfault -j -o "$work/run.jsonl" 1 3 -- sh -c 'workload --pages 1000 >/dev/null; sleep 9' &
tracer=$!
wait $tracer
is "$(jq -sc '[.[] | select(.type == "interval") | .faults] | [add, .[-1]]' "$work/run.jsonl")" \
	"[$(array_is_lazy && echo 1000 || echo 0),0]" "1000 faults, then none"

# commands
lazyfault -j -o "$work/run.jsonl" -- sh -c 'exit 7'
ended_well $? 7 "a command's status"
lazyfault -j -o "$work/run.jsonl" -- sh -c 'kill -9 $$'
ended_well $? 137 "a command's signal"
lazyfault -j -o "$work/run.jsonl" -- /does/not/exist 2>"$work/stderr"
is $? 127 "no such command: status 127"
like "$(cat "$work/stderr")" /does/not/exist "no such command: it is named"
is "$(programs)" 0 "no such command: nothing stays attached"
rm -f "$work/run.jsonl"
lazyfault -j -o "$work/run.jsonl" -- sleep 600 &
tracer=$!
await grep -q start "$work/run.jsonl"
kill -TERM $tracer
wait $tracer
ended_well $? 143 "TERM goes to the command"
lazyfault -j -o "$work/run.jsonl" -- sh -c 'sh -c "workload --pages 8 >/dev/null" & workload --pages 9 >/dev/null; wait'
is "$(jq -sc '[.[] | select(.type == "vma" and .span == "total") | .pages] | sort' "$work/run.jsonl")" \
	"[8,9]" "a command's descendants are traced"

# pipes
lazyfault -j 60 2>"$work/stderr" | {
	head -1 >"$work/first"
	cut -d. -f1 /proc/uptime >"$work/closed"
}
end=$(cut -d. -f1 /proc/uptime)
like "$(cat "$work/first")" '"type":"start"' "| head -1: the first line comes"
if [ $((end - $(cat "$work/closed"))) -lt 60 ]; then
	pass "| head -1: ends within an interval"
else
	fail "| head -1: took $((end - $(cat "$work/closed"))) s"
fi
is "$(cat "$work/stderr")" "" "| head -1: quietly"
is "$(programs)" 0 "| head -1: nothing stays attached"
(lazyfault -j 0.3 3 | cat >"$work/lines") &
await grep -q '"type":"interval"' "$work/lines"
is $? 0 "| cat: a line is there when it is due"
wait

# killed for good
rm -f "$work/run.jsonl"
lazyfault -j -o "$work/run.jsonl" &
tracer=$!
await grep -q start "$work/run.jsonl"
kill -9 $tracer
wait $tracer 2>/dev/null
await test "$(programs)" = 0
is "$(programs)" 0 "kill -9: nothing stays attached"

# text
text=$(lazyfault -- workload --pages 2048 2>"$work/stderr" | grep -v '^{')
like "$text" "^Tracing lazy faults" "text: the first line says what is traced"
if array_is_lazy; then
	like "$text" "2048 faults" "text: counts"
fi
is "$(printf '%s\n' "$text" | awk 'length($0) > 79' | wc -l)" 0 "text: below 80 columns"
like "$text" "^Verdict" "text: a verdict"
quiet=$(lazyfault -q -d 0.2 2>&1)
unlike "$quiet" "Tracing" "-q: no header"

# output files
ln -s /dev/null "$work/link"
for bad in "$work/link" "$work" /dev/console; do
	lazyfault -d 0.1 -o "$bad" 2>"$work/stderr"
	is $? 1 "-o $bad is refused"
	like "$(cat "$work/stderr")" "$bad" "-o $bad: it is named"
done
lazyfault -d 0.1 -j -o "$work/mode"
is "$(stat -c %a "$work/mode")" 600 "an output file is private"
lazyfault -d 0.1 -j >/dev/full 2>"$work/stderr"
is $? 1 "a full disk: status 1"
like "$(cat "$work/stderr")" "No space left" "a full disk: said"

# hostile names
lazyfault -j -o "$work/run.jsonl" -- workload --pages 2 --comm 'q"\\\n\x01\xff' >/dev/null
is $? 0 "a hostile comm is traced"
is "$(jq -s 'length > 2' "$work/run.jsonl")" true "a hostile comm: strict JSON"
finish
