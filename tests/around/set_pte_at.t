# SPDX-License-Identifier: GPL-2.0-or-later
# A handler of another making (set_pte_at) is reported just as rightly.
# vm: kernel=fault-around append="bpf_array_mmap=set_pte_at" smp=2 memory=1024 timeout=1200
. ./lib.sh

brought "8 MiB read in order" --pages 2048
brought "513 pages from page 5 of the map on" --pages 513 --offset 5
brought "in random order" --pages 1000 --order random
brought "written" --pages 300 --access write
brought "reads and writes" --pages 1000 --access mixed:3
# Its work is told by the page table at its exit, so a run that the kernel
# skipped for the tracer is lost, and said.
for threads in 2 4 16; do
	traced -- --pages 2048 --threads $threads
	all=$(jq -r 'select(.type == "vma") | .min_flt' "$work/truth.jsonl")
	got=$(total '.faults.total + .batches.total')
	lost=$(summary .lost.recursion)
	declined=$(total .batches.declined)
	# A run that found its window filled by another thread has a trap and installs
	# nothing: it is among the declined, as are those whose trap became a fault.
	if [ $((got + lost + declined)) -ge "$all" ] && [ "$got" -le "$all" ]; then
		pass "$threads threads: $got traps, $lost lost and $declined declined runs are all $all"
	else
		fail "$threads threads: $got traps, $lost lost and $declined declined runs of $all"
	fi
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "$threads threads: sums hold"
done
for threads in 2 4; do
	traced -- --pages 2048 --threads $threads --share same
	got=$(total .installed_pages)
	if [ "$got" -le 2048 ]; then
		pass "$threads threads race: no page is counted twice ($got of 2048)"
	else
		fail "$threads threads race: $got pages of 2048"
	fi
done
finish
