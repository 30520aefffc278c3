# SPDX-License-Identifier: GPL-2.0-or-later
# attaches.t [ROUNDS]: lazyfault is attached and detached again and again while
# processes fault. Nothing is lost, nothing stays, and it takes no longer in the end.
# vm: smp=2 memory=1024 timeout=3600
. ./lib.sh
rounds=${1:-10}
tenth=$(((rounds + 9) / 10))

hundredths() {
	sed 's/\.\([0-9]*\) .*/\1/' /proc/uptime
}
free_kib() {
	sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo
}
# programs, maps, links: by their ids, which are given out one after another
bpf_objects() {
	cat /proc/[0-9]*/fdinfo/* 2>/dev/null | grep -c '^\(prog_id\|map_id\|link_id\):' || true
}

# Stopped in a burst nothing is lost, and no row comes twice or is of nothing.
whole="($invariants)"' and (map(select(.type == "vma" and .span == "total")) as $rows
| ($rows | map(select(.mmap.seen) | [.pid, .map.id, .start, .mmap.ns]) | length == (unique | length))
  and ($rows | map(select(.faults.total == 0)) | length <= '"$(array_is_lazy && echo 1 || echo 100000)"')
  and (map(select(.type == "summary").lost | add) == [0]))'

workload --repeat --threads 2 --pages 4096 >/dev/null 2>&1 &
storm=$!
exactly "before" --pages 512 --threads 4
mark_log
objects=$(bpf_objects)
broken=0
seen=0
for i in $(seq "$rounds"); do
	began=$(hundredths)
	lazyfault -q -j -d 0.01 >"$work/run.jsonl" 2>&1 || broken=$((broken + 1))
	took=$(($(hundredths) - began))
	[ "$(jq -s "$whole" "$work/run.jsonl")" = true ] || broken=$((broken + 1))
	[ "$(summary .faults)" -eq 0 ] || seen=$((seen + 1))
	echo "$took" >>"$work/took"
	[ "$i" -ne "$tenth" ] || memory=$(free_kib)
done
is $broken 0 "$rounds times attached and detached under faults: nothing lost, no row twice"
if array_is_lazy; then
	is "$((seen > rounds / 2))" 1 "$rounds times attached and detached: under faults indeed"
fi
is "$(bpf_objects)" "$objects" "after that nothing stays attached"
log_is_clean "the kernel's log is clean"

# medians: now and then the host of a guest is away for long
median() {
	sort -n | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}
first=$(head -n "$tenth" "$work/took" | median)
last=$(tail -n "$tenth" "$work/took" | median)
echo "# one takes $first hundredths of a second at first, $last in the end; of memory" \
	"$memory KiB are free at first, $(free_kib) in the end"
is "$((last <= 2 * first + 100))" 1 "the last take no longer than the first"
is "$(($(free_kib) > memory - 32768))" 1 "and no memory is gone"
kill $storm
wait $storm 2>/dev/null
exactly "after that" --pages 512 --threads 4
finish
