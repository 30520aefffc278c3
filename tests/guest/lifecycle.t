# SPDX-License-Identifier: GPL-2.0-or-later
# Rows follow the kernel's own VMAs: fork, split, partial munmap, mremap,
# exit, exec, the same address again; and arenas.
# vm: smp=2 memory=1024 timeout=1200
. ./lib.sh

exactly "fork before any touch" --pages 64 --fork before-touch
exactly "fork of a half-touched mapping" --pages 64 --fork half-touched
is "$(jq -s '[.[] | select(.type == "vma") | .pid] | unique | length' "$work/run.jsonl")" 2 "fork: two processes"
exactly "the middle unmapped" --pages 64 --split munmap
exactly "the middle made read-only" --pages 64 --split mprotect
exactly "moved by mremap" --pages 64 --mremap
for how in exit exec kill; do
	exactly "ends by $how" --pages 64 --end $how --processes 3
done
exactly "a new map each round at the same address" --pages 16 --rounds 50 --new-map
exactly "300 processes that map, touch and exit" --pages 4 --processes 300 --parallel 4
exactly "a read-only mapping" --pages 64 --prot r

# mapped before tracing starts, and still mapped when it ends
rm -f "$work"/*.jsonl
mkfifo "$work/stdin"
workload --pages 128 --hold --wait-file "$work/go" <"$work/stdin" >"$work/truth.jsonl" &
pid=$!
exec 3>"$work/stdin"
await grep -q ready "$work/truth.jsonl"
lazyfault -j -o "$work/run.jsonl" -p $pid 2>"$work/stderr" &
tracer=$!
await grep -q '"type":"start"' "$work/run.jsonl"
touch "$work/go"
await grep -q holding "$work/truth.jsonl"
kill -INT $tracer
wait $tracer
is $? 0 "mapped before: INT ends it with status 0"
if array_is_lazy; then
	agrees "mapped before"
	is "$(total '[.state, .mmap.seen] | join(" ")')" "mapped false" "mapped before: still mapped, mmap not seen"
else
	is "$(query 'select(.type == "vma")')" "" "mapped before, eager: nothing of it can be seen"
fi
exec 3>&-
wait $pid

if arena_exists; then
	exactly "an arena of 64 pages" --type arena --pages 64
	is "$(total '[.map.type, .faults.total, .installed_pages] | join(" ")')" "arena 64 64" "an arena: 64 faults"
	exactly "an arena, 8 threads" --type arena --pages 1024 --threads 8
	exactly "an arena that refuses" --type arena --arena-segv --pages 1
	is "$(total '[.faults.total, .faults.failed, .installed_pages] | join(" ")')" "1 1 0" "an arena that refuses: failed 1"
	traced --light -- --type arena --arena-segv --pages 3
	agrees "an arena that refuses, --light"
	traced --no-time -- --type arena --arena-segv --pages 3
	agrees "an arena that refuses, --no-time"
	traced --no-time -- --type arena --pages 64
	agrees "an arena, --no-time"
else
	skip "this kernel has no arenas" "arenas"
fi
exactly "a ring buffer" --type ringbuf --pages 4
is "$(total '[.map.type, .faults.total] | join(" ")')" "ringbuf 0" "a ring buffer: mapped, no faults"
finish
