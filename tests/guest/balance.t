# SPDX-License-Identifier: GPL-2.0-or-later
# handler runs the kernel made = counted + left out + lost, by the kernel's own
# statistics of the programs.
# vm: smp=2 memory=1024 timeout=1200
. ./lib.sh

if array_is_lazy; then
	type=array
elif arena_exists; then
	type=arena
else
	skip "this kernel has no lazy maps" "the balance of handler runs"
	finish
	exit
fi

# balanced OPTIONS -- WORKLOAD OPTIONS: traces; leaves runs.jsonl, too
balanced() {
	part "$@"
	shift $leading
	rm -f "$work"/*.jsonl
	# shellcheck disable=SC2086
	lazyfault -j -v -o "$work/run.jsonl" $options 2>"$work/stderr" &
	tracer=$!
	await grep -q '"type":"start"' "$work/run.jsonl"
	bpfstats "$work/runs.jsonl" workload --type $type "$@" >"$work/truth.jsonl"
	kill -INT $tracer
	wait $tracer
}
program() { # the kernel keeps 15 bytes of a name
	printf %.15s "$1"
}
runs() { # runs of a program, the skipped ones included
	jq -s "[.[] | select(.name == \"$(program "$1")\") | .runs + .missed] | add // 0" "$work/runs.jsonl"
}
skipped() {
	jq -s "[.[] | select(.name == \"$(program "$1")\") | .missed] | add // 0" "$work/runs.jsonl"
}
counted() { # of all rows
	jq -s "[.[] | select(.type == \"vma\" and .span == \"total\") | $1] | add // 0" "$work/run.jsonl"
}
touched() {
	jq -s '[.[] | select(.type == "vma") | .expect.total] | add' "$work/truth.jsonl"
}
left_out() {
	sed -n 's/.*[^0-9]\([0-9]*\) faults were left out.*/\1/p' "$work/stderr" | grep . || echo 0
}

for how in "--pages 2048" "--pages 2048 --access write" "--pages 2048 --threads 4" \
	   "--pages 2048 --threads 16" "--pages 2048 --threads 16 --share same" \
	   "--pages 20 --processes 50 --parallel 8" "--pages 512 --threads 4 --sched fifo"; do
	# shellcheck disable=SC2086
	balanced -- $how
	is $(($(counted '.faults.total + .faults.raced') + $(summary .unseen_runs))) "$(runs ${type}_fault_exit)" \
		"$how: runs of the handler = counted + raced + unseen"
	is "$(runs ${type}_fault_enter)" "$(runs ${type}_fault_exit)" "$how: as many entries as exits"
	is "$(counted .faults.total)" "$(touched)" "$how: counted is what was touched"
	is "$(summary '.lost | add')" "$(skipped pte_installed)" "$how: lost is what the kernel skipped"
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "$how: sums hold"
done
for threads in 1 4 16; do
	balanced --light -- --pages 2048 --threads $threads
	is $(($(counted '.faults.total') + $(summary .lost.recursion))) "$(runs ${type}_fault_exit)" \
		"--light, $threads threads: runs of the handler = counted + lost"
	is "$(summary .lost.recursion)" "$(skipped ${type}_fault_exit)" "--light, $threads threads: lost is what the kernel skipped"
	is $(($(counted '.faults.total') + $(summary .lost.recursion))) "$(touched)" "--light, $threads threads: that is what was touched"
done
balanced --no-time -- --pages 2048 --threads 16
is "$(counted .faults.total)" "$(touched)" "--no-time, 16 threads: counted is what was touched"
is "$(runs ${type}_fault_exit)" 0 "--no-time: no handler is hooked"

# what the filters leave out
for light in "" --light; do
	balanced -p $$ $light -- --pages 900
	is "$(left_out)" "$(touched)" "-p of another $light: left out is what was touched"
	is "$(runs ${type}_fault_exit)" "$(touched)" "-p of another $light: runs = left out"
	is "$(counted .faults.total)" 0 "-p of another $light: nothing counted"
done

# more VMAs than the table holds
for light in "" --light; do
	[ $type = array ] || break	# an arena is mapped once
	balanced --max-vmas=16 $light -- --pages 3 --vmas 100
	is $(($(counted .faults.total) + $(summary .lost.vma_table_full))) "$(touched)" \
		"a full table $light: rows + vma_table_full are all"
	is $(($(counted .faults.total) + $(summary .lost.vma_table_full))) "$(runs ${type}_fault_exit)" \
		"a full table $light: and all runs of the handler"
	is "$(counted 1)" 16 "a full table $light: no row of a VMA whose faults are lost"
done
finish
