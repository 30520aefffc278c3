# SPDX-License-Identifier: GPL-2.0-or-later
# Every CPU faults while lazyfault attaches, counts and detaches, on a kernel with
# lockdep and CONFIG_DEBUG_VM, which has nothing to say of it.
# vm: kernel=fault-around-debug smp=4 memory=2048 timeout=1500
. ./lib.sh

# debug_locks: lockdep puts itself out of action at its first report
watches() {
	sed -n 's/^ *debug_locks: *//p' /proc/lockdep_stats
}
no_splat() {
	is "$(watches)" 1 "$1: lockdep still watches"
	log_is_clean "$1: the kernel's log is clean"
}
# storm DESCRIPTION [OPTION]: a run of all CPUs, and one that ends as soon as it has begun
storm() {
	description=$1
	shift
	lazyfault -q -j -o "$work/run.jsonl" "$@" -- workload --pages 4096 --threads 8 \
		--share same --access mixed:4 >/dev/null 2>"$work/err"
	is $? 0 "$description: status 0"
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "$description: sums hold"
	lazyfault -q -j -d 0.01 "$@" >"$work/run.jsonl" 2>"$work/err"
	is $? 0 "$description, at once: status 0"
	no_splat "$description"
}

mark_log
is "$(watches)" 1 "lockdep watches"
workload --repeat --threads 4 --pages 4096 >/dev/null 2>&1 &
beside=$!
for bytes in 65536 4096; do
	echo $bytes >/sys/kernel/debug/fault_around_bytes
	for option in "" --light --no-time --events; do
		storm "fault_around_bytes $bytes${option:+, $option}" $option
	done
done
kill $beside
lazyfault updates -q -j -o "$work/run.jsonl" -- mapinmap-update --type array \
	--operations insert --count 500 >/dev/null 2>"$work/err"
is $? 0 "updates: status 0"
is "$(jq -s '[.[] | select(.type == "update" and .span == "total").calls] | add' "$work/run.jsonl")" 500 "updates: all are counted"
no_splat "updates"
finish
