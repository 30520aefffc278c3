# SPDX-License-Identifier: GPL-2.0-or-later
# Storms: many threads, VMAs and processes, small rings, processes and tracers
# that are killed, CPUs that go. Counts stay exact, or the loss is.
# vm: smp=4 memory=2048 timeout=1500
. ./lib.sh

# accounted DESCRIPTION: rows and losses are all that was touched
accounted() {
	all=$(jq -s '[.[] | select(.type == "vma") | .expect.total] | add' "$work/truth.jsonl")
	got=$(jq -s '[.[] | select(.type == "vma" and .span == "total") | .faults.total] | add // 0' "$work/run.jsonl")
	is $((got + $(summary '.lost | add'))) "$all" "$1: rows and losses are all"
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "$1: sums hold"
}
# each thread touches each page: who comes second is raced, and no page counts twice
race() { # race DESCRIPTION PAGES WORKLOAD OPTIONS
	description=$1
	pages=$2
	shift 2
	traced -- --pages "$pages" --share same "$@"
	array_is_lazy || pages=0
	is "$(total '[.faults.total, .installed_pages] | join(" ")')" "$pages $pages" "$description: each page once"
	is "$(summary '.lost | add')" 0 "$description: nothing lost"
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "$description: sums hold"
}

exactly "64 threads on 4 CPUs, one VMA" --pages 4096 --threads 64
exactly "64 threads on 4 CPUs, 64 VMAs" --pages 64 --vmas 64 --threads 64
race "64 threads on 4 CPUs race" 1024 --threads 64
exactly "16 SCHED_FIFO threads" --pages 2048 --threads 16 --sched fifo
exactly "16 threads beside programs that start" --pages 2048 --threads 16 --exec-noise 2
workload --repeat --new-map --pages 1 >/dev/null &
looping=$!
exactly "16 threads beside a task that loops in bpf(2)" --pages 2048 --threads 16
kill $looping
wait $looping 2>/dev/null

traced -- --pages 1 --vmas 20000
accounted "20,000 VMAs of one page"
if array_is_lazy; then
	is "$(summary .lost.vma_table_full)" $((20000 - 16384)) "20,000 VMAs of one page: what the table has no room for is lost"
fi
traced --max-vmas=32768 -- --pages 1 --vmas 20000
agrees "20,000 VMAs in a larger table"
# the walk looks at VMAs that are on their way out, again and again: none may have two rows
# (where arrays are eager there is less to go wrong in each)
processes=$(array_is_lazy && echo 10000 || echo 2500)
traced 0.05 -- --pages 2 --processes "$processes" --parallel 4
agrees "$processes processes that map, touch and exit"
traced --ring-size=4K -- --pages 65536 --populate
agrees "MAP_POPULATE of 256 MiB, the smallest ring"
traced --ring-size=4K -- --pages 2 --rounds 3000
agrees "3000 VMAs, the smallest ring"
traced --ring-size=4K 0.1 -- --pages 8 --vmas 1000
agrees "intervals of 1000 VMAs, the smallest ring"
is "$(jq -s "$intervals" "$work/run.jsonl")" true "intervals of 1000 VMAs: they add up to the totals"

# the workload is killed in mid-fault
for i in 1 2 3; do
	workload --repeat --threads 4 --pages 4096 >/dev/null 2>&1 &
	target=$!
	rm -f "$work/run.jsonl"
	lazyfault -j -o "$work/run.jsonl" -p $target 0.2 2>"$work/stderr" &
	tracer=$!
	await grep -q '"type":"interval"' "$work/run.jsonl"
	kill -9 $target
	wait $tracer
	is $? 0 "a workload killed in mid-fault: the tracer ends with status 0"
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "a workload killed in mid-fault: sums hold"
	is "$(jq -s '[.[] | select(.type == "vma" and .span == "total") | .state] | unique | join(" ")' "$work/run.jsonl")" \
		'"unmapped"' "a workload killed in mid-fault: all its VMAs are gone"
	wait $target 2>/dev/null
done

# the tracer is killed in mid-storm, and the next one starts
workload --repeat --threads 4 --pages 4096 >/dev/null 2>&1 &
storm=$!
rm -f "$work/run.jsonl"
lazyfault -j -o "$work/run.jsonl" 0.2 &
tracer=$!
await grep -q '"type":"interval"' "$work/run.jsonl"
kill -9 $tracer
wait $tracer 2>/dev/null
exactly "after a tracer that was killed in mid-storm" --pages 512 --threads 4

# CPUs go and come in mid-storm
if [ -e /sys/devices/system/cpu/cpu3/online ]; then
	(
		while :; do
			for cpu in 1 2 3; do
				echo 0 >/sys/devices/system/cpu/cpu$cpu/online
			done
			for cpu in 1 2 3; do
				echo 1 >/sys/devices/system/cpu/cpu$cpu/online
			done
		done
	) 2>/dev/null &
	unplug=$!
	exactly "CPUs unplugged meanwhile" --pages 2048 --threads 16 --rounds 3
	kill $unplug
	wait $unplug 2>/dev/null
	for cpu in 1 2 3; do
		echo 1 >/sys/devices/system/cpu/cpu$cpu/online 2>/dev/null
	done
else
	skip "this kernel cannot unplug CPUs" "CPUs unplugged meanwhile"
fi
kill $storm
wait $storm 2>/dev/null
finish
