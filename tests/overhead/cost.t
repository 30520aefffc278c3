# SPDX-License-Identifier: GPL-2.0-or-later
# What it costs to have lazyfault running: memory, wakeups, start and end; and
# that a long MAP_POPULATE is counted whole. Instructions per fault are in
# tools/bench/run-overhead. The clock counts instructions here, so that a busy
# machine makes no time longer.
# vm: icount=yes memory=1536 timeout=1200
. ./lib.sh

field() { # field PID NAME: of /proc/PID/status
	sed -n "s/^$2:[[:space:]]*\\([0-9]*\\).*/\\1/p" "/proc/$1/status"
}

at_most() { # at_most GOT MOST DESCRIPTION
	if [ "$1" -le "$2" ]; then
		pass "$3 ($1, at most $2)"
	else
		fail "$3 ($1, at most $2)"
	fi
}

ms() { # since boot
	awk '{ printf "%d", $1 * 1000 }' /proc/uptime
}

if ! array_is_lazy; then
	skip "arrays are eager here" "cost of tracing"
	finish
	exit
fi

memory=$(lazyfault check | sed -n 's/^ok *kernel memory *\([0-9.]*\) MiB for 16384 VMAs.*/\1/p')
at_most "$(awk -v mib="${memory:-9999}" 'BEGIN { printf "%.0f", mib * 1024 }')" $((32 * 1024)) \
	"check: kernel memory for 16384 VMAs, KiB"

# A storm of faults, and the tracer beside it.
workload --pages 64 --quiet --madvise dontneed:1000000 >"$work/storm" &
storm=$!
lazyfault -j >"$work/run.jsonl" 2>"$work/stderr" &
tracer=$!
await grep -q '"type":"start"' "$work/run.jsonl"
sleep 1
before=$(field $tracer voluntary_ctxt_switches)
sleep 4
at_most $(($(field $tracer voluntary_ctxt_switches) - before)) 12 "a storm: wakeups in 4 s"
at_most "$(field $tracer VmHWM)" $((16 * 1024)) "a storm: resident memory at its highest, KiB"
from=$(ms)
kill -INT $tracer
wait $tracer
is $? 0 "a storm: INT ends it with status 0"
at_most $(($(ms) - from)) 999 "a storm: ms from INT to its end"
kill -KILL $storm
wait $storm 2>/dev/null
if [ "$(summary .faults)" -gt 1000 ]; then
	pass "a storm: it was one ($(summary .faults) faults)"
else
	fail "a storm: it was one ($(summary .faults) faults)"
fi
is "$(summary '.lost | add')" 0 "a storm: nothing lost"

# Mapped, touched and unmapped all the while: each VMA that goes sends a record,
# so wakeups follow their number; and on one CPU beside two threads that never
# rest, each of the kernel's waits for all tasks, one for each hook that comes
# off, takes as long as they let it. So wakeups are told here only, and the end
# is held to what is reached.
workload --pages 64 --threads 2 --repeat >"$work/storm" &
storm=$!
lazyfault -j >"$work/run.jsonl" 2>"$work/stderr" &
tracer=$!
await grep -q '"type":"start"' "$work/run.jsonl"
before=$(field $tracer voluntary_ctxt_switches)
sleep 4
echo "VMAs come and go: $(($(field $tracer voluntary_ctxt_switches) - before)) wakeups in 4 s" | diag
from=$(ms)
kill -INT $tracer
wait $tracer
is $? 0 "VMAs come and go: INT ends it with status 0"
at_most $(($(ms) - from)) 10000 "VMAs come and go: ms from INT to its end"
kill -TERM $storm
wait $storm
is "$(summary '.lost | add')" 0 "VMAs come and go: nothing lost"

# As many VMAs as the table has room for.
traced -- --pages 1 --vmas 16000 --quiet
is "$(summary '[.vmas, .faults, (.lost | add)] | join(" ")')" "16000 16000 0" "16000 VMAs: all counted"

traced -- --pages 262144 --populate --quiet
is "$(summary '[.faults, .installed_pages, (.lost | add)] | join(" ")')" "262144 262144 0" \
	"MAP_POPULATE of 1 GiB: all counted"
is "$(total .faults.populate)" 262144 "MAP_POPULATE of 1 GiB: as populated"
finish
