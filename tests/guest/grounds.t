# SPDX-License-Identifier: GPL-2.0-or-later
# Other grounds than the usual: PREEMPT_RT, a PID namespace, cgroup v1 only, no
# bpffs, tracefs and debugfs, CPUs that are possible and never come.
# vm: smp=4 memory=1024 timeout=1200 append="maxcpus=2"
. ./lib.sh

real_time() { uname -v | grep -q PREEMPT_RT; }

# rows and losses are all, however the tool counts
for how in "--pages 2048" "--pages 4096 --threads 16" "--pages 4096 --threads 16 --rounds 3"; do
	# shellcheck disable=SC2086
	traced -- $how
	all=$(jq -s '[.[] | select(.type == "vma") | .expect.total] | add' "$work/truth.jsonl")
	is $(($(summary .faults) + $(summary '.lost | add'))) "$all" "$how: rows and losses are all"
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "$how: sums hold"
done
counting=$(query 'select(.type == "start") | .counting')
if real_time && { array_is_lazy || arena_exists; }; then
	is "$counting" light "PREEMPT_RT: counting is light"
	like "$(cat "$work/stderr")" "PREEMPT_RT" "PREEMPT_RT: and the reason is given"
else
	is "$counting" exact "counting is exact"
fi
is "$(cat /sys/devices/system/cpu/possible)" 0-3 "more CPUs are possible than online"

# processes as numbered inside a PID namespace
if [ -e /proc/self/ns/pid ]; then
	cat >"$work/inside" <<-'END'
	mount -t proc proc /proc
	workload --hold --pages 100 --wait-file "$1/go" <"$1/stdin" >"$1/w.json" &
	target=$!
	until grep -q ready "$1/w.json"; do sleep 0.1; done
	lazyfault -j -o "$1/run.jsonl" -p $target 2>"$1/stderr" &
	tracer=$!
	until grep -q start "$1/run.jsonl" 2>/dev/null; do sleep 0.1; kill -0 $tracer || break; done
	touch "$1/go-beside"
	until grep -q holding "$1/beside.json"; do sleep 0.1; done
	touch "$1/go"
	until grep -q holding "$1/w.json"; do sleep 0.1; done
	kill -INT $tracer
	wait $tracer
	echo $? >"$1/status"
	kill $target
	END
	# the same number in another namespace of that level is another process's. It touches
	# first: at once, a task preempted in a program would have the other's runs skipped, as
	# PREEMPT_RT allows
	cat >"$work/beside" <<-'END'
	mount -t proc proc /proc
	workload --hold --pages 50 --wait-file "$1/go-beside" <"$1/stdin" >"$1/beside.json" &
	wait
	END
	rm -f "$work"/*.jsonl
	mkfifo "$work/stdin"
	exec 3<>"$work/stdin"
	unshare -p -f -m sh "$work/beside" "$work" &
	beside=$!
	await grep -q ready "$work/beside.json"
	unshare -p -f -m sh "$work/inside" "$work"
	kill -KILL $beside
	is "$(cat "$work/status")" 0 "-p in a PID namespace: status 0"
	inside=$(jq -r 'select(.type == "ready") | .pid' "$work/w.json")
	expected=$(array_is_lazy && echo "[[$inside,100]]" || echo "[]")
	is "$(jq -sc '[.[] | select(.type == "vma" and .span == "total") | [.pid, .faults.total]]' "$work/run.jsonl")" \
		"$expected" "-p in a PID namespace: as numbered inside"
	is "$(jq -r 'select(.type == "ready") | .pid' "$work/beside.json")" "$inside" \
		"-p in a PID namespace: another namespace has that number, too"
	exec 3>&-
else
	skip "this kernel has no PID namespaces" "-p in a PID namespace"
fi

# without the file systems that tracers like to have
umount /sys/kernel/tracing /sys/kernel/debug/tracing /sys/kernel/debug /sys/fs/bpf 2>/dev/null
exactly "no bpffs, no tracefs, no debugfs" --pages 300
is "$(query 'select(.type == "start") | .fault_around_bytes')" 0 "no debugfs: the window is not known, and not made up"
umount /sys/fs/cgroup
mkdir -p /tmp/cgroup1
if mount -t cgroup -o pids none /tmp/cgroup1 2>/dev/null || mount -t cgroup -o cpuset none /tmp/cgroup1 2>/dev/null ||
   mount -t cgroup -o none,name=old none /tmp/cgroup1 2>/dev/null; then
	message=$(lazyfault -d 0.1 -c /tmp/cgroup1 2>&1)
	is $? 1 "-c on cgroup v1: status 1"
	like "$message" "cgroup v1\|not a cgroup v2\|cgroup v2" "-c on cgroup v1: the reason is given"
	exactly "cgroup v1 only" --pages 300
else
	skip "this kernel has no cgroup v1" "-c on cgroup v1"
fi
finish
