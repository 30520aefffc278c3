# SPDX-License-Identifier: GPL-2.0-or-later
# Fault-around: the pages of faults and batches are the pages in the page
# table, for every pattern of touches, size, offset and number of threads.
# vm: kernel=fault-around smp=2 memory=1024 timeout=1200
. ./lib.sh

is "$(lazyfault -j -d 0.1 | jq -r 'select(.type == "start") | .modes.array')" "lazy+around" "the mode is lazy+around"
brought "8 MiB read in order" --pages 2048
is "$(total '.faults.total + .batches.total')" "$(jq -r 'select(.type == "vma") | .min_flt' "$work/truth.jsonl")" \
	"8 MiB read in order: faults and batches are the traps"
is "$(total '.batch_pages.max')" 16 "8 MiB read in order: a batch is a window of 64 KiB"
like "$(summary .verdict)" "ault-around works" "8 MiB read in order: the verdict says that it works"
brought "8 MiB written in order" --pages 2048 --access write
is "$(total '[.batches.total, .faults.total, .faults.write] | join(" ")')" "0 2048 2048" "8 MiB written: no batches"
like "$(summary .verdict)" "writes, which cannot be" "8 MiB written: the verdict says why"
for pages in 1 3 511 512 513; do
	brought "$pages pages" --pages $pages
	brought "$pages pages from page 5 of the map on" --pages $pages --offset 5
	brought "$pages pages backward, 2 threads" --pages $pages --order backward --threads 2
done
for order in random stride:3 stride:64 once:0,5,700-710,2047; do
	brought "order $order" --pages 2048 --order $order
done
brought "reads and writes" --pages 2048 --access mixed:3
brought "MAP_POPULATE" --pages 2048 --populate
brought "MADV_POPULATE_READ" --pages 600 --madvise populate_read
brought "fork of a half-touched mapping" --pages 600 --fork half-touched
brought "zapped and touched again" --pages 600 --madvise dontneed:3
for threads in 2 4; do
	brought "$threads threads" --pages 2048 --threads $threads
	brought "$threads threads race" --pages 2048 --threads $threads --share same
done
brought "16 threads on 2 CPUs" --pages 2048 --threads 16
brought "16 threads on 2 CPUs race" --pages 2048 --threads 16 --share same
for bytes in 4096 65536 1048576 2097152; do
	echo $bytes >/sys/kernel/debug/fault_around_bytes
	brought "fault_around_bytes $bytes" --pages 2048
	if [ $bytes -eq 4096 ]; then
		is "$(total '[.batches.total, .faults.total] | join(" ")')" "0 2048" "one page a window: no batches"
	elif [ $bytes -eq 2097152 ]; then
		# the first page of each page table comes by .fault, with the table
		is "$(total '.batch_pages.max')" 511 "fault_around_bytes $bytes: sizes follow"
	else
		is "$(total '.batch_pages.max')" $((bytes / 4096)) "fault_around_bytes $bytes: sizes follow"
	fi
done
finish
