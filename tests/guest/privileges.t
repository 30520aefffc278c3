# SPDX-License-Identifier: GPL-2.0-or-later
# While tracing no capability is left that is not needed, the command keeps its
# own, and the counts are exact all the same.
# vm: smp=2 memory=1024 timeout=600
. ./lib.sh

caps() { # caps PID SET
	sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"
}
none=0000000000000000
kill_only=0000000000000020		# CAP_KILL is 5
threads_only=0000000000080004		# CAP_SYS_PTRACE is 19, CAP_DAC_READ_SEARCH 2
own=$(caps self CapEff)
unlike "$own" "^$none\$" "the test itself has capabilities"

gave_up() { # gave_up PID LEFT DESCRIPTION
	is "$(caps "$1" CapEff) $(caps "$1" CapPrm) $(caps "$1" CapInh) $(caps "$1" CapAmb)" \
		"$2 $2 $none $none" "$3: capabilities left"
	is "$(caps "$1" NoNewPrivs)" 1 "$3: none can come back"
}

# all processes, with a report each second and metrics
lazyfault -v -j -o "$work/run.jsonl" --openmetrics="$work/m.prom" 1 2>"$work/stderr" &
tracer=$!
await grep -q start "$work/run.jsonl"
gave_up $tracer $none "faults"
like "$(cat "$work/stderr")" "^lazyfault: capabilities are given up: all\$" "faults: -v says so"
workload --pages 600 --threads 2 >"$work/truth.jsonl" </dev/null
await grep -q interval "$work/run.jsonl"
await test -s "$work/m.prom"
gave_up $tracer $none "faults, after intervals"
kill -INT $tracer
wait $tracer
is $? 0 "faults: status"
agrees "faults without capabilities"
is "$(jq -s "$intervals" "$work/run.jsonl")" true "faults: intervals add up"
like "$(tail -n 1 "$work/m.prom")" "^# EOF" "faults: metrics are whole"

# a command keeps what the caller has, and gets its signals whoever it has become
lazyfault -v -j -o "$work/run.jsonl" -- sh -c \
	'cat /proc/self/status >"$0/status"; exec workload --pages 300' "$work" \
	>"$work/truth.jsonl" 2>"$work/stderr"
is $? 0 "command: status"
is "$(sed -n 's/^CapEff:[[:space:]]*//p' "$work/status")" "$own" "command: its capabilities are the caller's"
is "$(sed -n 's/^NoNewPrivs:[[:space:]]*//p' "$work/status")" "$(caps self NoNewPrivs)" "command: may gain as the caller may"
like "$(cat "$work/stderr")" "^lazyfault: capabilities are given up: all but CAP_KILL\$" "command: -v says what is kept"
agrees "a command without capabilities"
rm -f "$work/run.jsonl"
echo 'stranger:x:1000:1000::/:/bin/sh' >>/etc/passwd
lazyfault -j -o "$work/run.jsonl" -- su stranger -c "exec sleep 600" 2>"$work/stderr" &
tracer=$!
await grep -q start "$work/run.jsonl"
gave_up $tracer $kill_only "command"
await sh -c 'grep -l "^Uid:[[:space:]]*1000" /proc/[0-9]*/status | grep .'
kill -TERM $tracer
wait $tracer
is $? 143 "command: a signal is passed on to another user's process"

# updates
rm -f "$work/run.jsonl"
lazyfault updates -v -j -o "$work/run.jsonl" 2>"$work/stderr" &
tracer=$!
if await grep -q start "$work/run.jsonl"; then
	gave_up $tracer $threads_only "updates"
	kill -INT $tracer
	wait $tracer
	is $? 0 "updates: status"
fi

# installed setuid it refuses
cp "$(command -v lazyfault)" "$work/copy"
chown 1000 "$work/copy"
chmod 4755 "$work/copy"
chmod 755 "$work"
message=$("$work/copy" -d 0.1 2>&1)
is $? 1 "setuid: status 1"
like "$message" "setuid or setgid" "setuid: said"
finish
