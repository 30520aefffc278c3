# SPDX-License-Identifier: GPL-2.0-or-later
# Counts of array maps in exact counting: each row is what the workload did,
# by its own account of /proc/self/pagemap and getrusage().
# vm: smp=2 memory=1024 timeout=1200
. ./lib.sh

exactly "8 MiB read" --pages 2048
if array_is_lazy; then
	is "$(total '[.faults.total, .faults.read, .faults.user, .installed_pages, .faults.raced] | join(" ")')" \
		"2048 2048 2048 2048 0" "8 MiB read: 2048 faults"
	is "$(total '.faults.under_mmap_lock')" 2048 "8 MiB read: without map_pages all are under mmap_lock"
	is "$(total '.faults.untimed')" 0 "8 MiB read: each is timed"
	is "$(total '.where.installed | unique | join(" ")')" "32" "8 MiB read: evenly spread"
fi
is "$(total '[.mmap.seen, .mmap.populate, .mmap.ns > 0] | join(" ")')" "true false true" "mmap is seen and timed"
exactly "8 MiB written" --pages 2048 --access write
exactly "8 MiB with MAP_POPULATE" --pages 2048 --populate
is "$(total .mmap.populate)" true "MAP_POPULATE is seen"
for threads in 2 4 16; do
	exactly "$threads threads share 8 MiB" --pages 2048 --threads $threads
done
exactly "10 pages by read(2)" --pages 64 --access write --kernel-access 10
if array_is_lazy; then
	is "$(total .faults.kernel)" 10 "10 pages by read(2): 10 kernel"
fi
exactly "10 pages by write(2)" --pages 64 --kernel-access 10
exactly "by process_vm_readv of another process" --pages 64 --remote 10
if array_is_lazy; then
	is "$(total .faults.remote)" 10 "by process_vm_readv: 10 remote"
fi
exactly "twenty rounds" --pages 2048 --rounds 20
is "$(summary .vmas)" 20 "twenty rounds: twenty rows"
exactly "madvise(MADV_POPULATE_READ)" --pages 300 --madvise populate_read
exactly "madvise(MADV_POPULATE_WRITE)" --pages 300 --madvise populate_write
exactly "mlock" --pages 300 --madvise mlock
exactly "an offset into the map" --pages 513 --offset 7
exactly "backward" --pages 513 --order backward
exactly "every other page written" --pages 511 --access mixed
exactly "some pages only" --pages 2048 --order once:0,5,700-710,2047
exactly "one page" --pages 1
exactly "a hundred VMAs of one map" --pages 3 --vmas 100 --vma-stride 1

# races: every thread touches every page
traced -- --pages 2048 --threads 4 --share same --pages 2048
if array_is_lazy; then
	is "$(total '[.faults.total, .installed_pages] | join(" ")')" "2048 2048" "4 threads race: each page once"
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "4 threads race: sums hold"
	is "$(summary '.lost | add')" 0 "4 threads race: nothing lost"
	most=$(jq -r 'select(.type == "vma") | .raced_at_most' "$work/truth.jsonl")
	raced=$(total .faults.raced)
	if [ "$raced" -le "$most" ]; then
		pass "4 threads race: raced $raced, at most $most"
	else
		fail "4 threads race: raced $raced, at most $most"
	fi
fi

# counts only
for how in --no-time --light "--light --no-time"; do
	# shellcheck disable=SC2086
	traced $how -- --pages 2048
	agrees "8 MiB read, $how"
done
is "$(traced --no-time -- --pages 64; total '[.fault_ns.count, .faults.total == .faults.untimed] | join(" ")')" \
	"0 true" "--no-time: no time is claimed"

# light: what the kernel skipped is said
traced --light -- --pages 2048 --threads 16
is "$(summary '.faults + .lost.recursion')" "$(jq -r 'select(.type == "summary") | .expect.total' "$work/truth.jsonl")" \
	"--light, 16 threads: rows and losses are all"
is "$(jq -s "$invariants" "$work/run.jsonl")" true "--light, 16 threads: sums hold"

# intervals
traced 0.1 -- --pages 20000 --threads 2
agrees "intervals"
is "$(jq -s "$intervals" "$work/run.jsonl")" true "intervals add up to the totals"
is "$(jq -s '[.[] | select(.type == "interval") | .faults] | add' "$work/run.jsonl")" "$(summary .faults)" \
	"interval sums add up to the summary"
finish
