# SPDX-License-Identifier: GPL-2.0-or-later
# Map-in-map updates: calls, failures, times and waits are what mapinmap-update did, by its own
# count and clock; how this kernel waits, and what the knobs do to it.
# vm: smp=2 memory=1024 timeout=600
. ./lib.sh
. ./lib-updates.sh

share_of_waiting='(map(.wait_ns.sum) | add) / (map(.ns.sum) | add)'
average='(map(.ns.sum) | add) / (map(.ns.count) | add)'

# ---- how this kernel waits ----

updated -- -n 100 -o insert
agrees "100 insertions"
is "$(update 'map(.wait) | unique | join(" ")')" $kind "this kernel waits $kind"
is "$(query 'select(.type == "start") | [.report, .rcu.asks, .rcu.waits] | join(" ")')" \
	"updates $kind $kind" "and says so before the first update"
is "$(update 'map(.waits.'$kind') | add')" 200 "each call waits once"
is "$(update 'map(.wait_ns.count) | add')" 200 "and each wait is timed"
if waits_expedited; then
	is "$(update "$average < 5000000")" true "an average below 5 ms"
else
	is "$(update "$average > 1000000")" true "an average above 1 ms"
	is "$(update "$share_of_waiting >= 0.95")" true "at least 95 % of the time is waiting"
fi
like "$(summary .verdict)" "Waiting for grace periods is" "the verdict: how much is waiting"
like "$(summary .verdict)" "this kernel waits $kind" "the verdict: how this kernel waits"
unlike "$(summary .verdict)" overrules "the verdict: no knob overrules"
average_of_kind=$(update "$average")

echo 1 >$other_knob
updated -- -n 30 -o insert -t hash
is "$(update '.[0].wait')" $other_kind "$other_knob: waits are $other_kind"
like "$(summary .verdict)" "$other_knob overrules" "$other_knob: the verdict says that it overrules"
is "$(query 'select(.type == "start") | .rcu.waits')" $other_kind "$other_knob: the start record too"
average_of_other=$(update "$average")
like "$(lazyfault check)" "waits $other_kind, as $(basename $other_knob) overrules" \
	"$other_knob: check says it"
text=$(lazyfault updates -d 0.1)
like "$text" "Waiting .*$other_kind, as $(basename $other_knob) overrules the kernel's $kind" \
	"$other_knob: the text begins with it"
echo 0 >$other_knob
if waits_expedited; then
	ratio=$(jq -n "$average_of_other / $average_of_kind >= 5")
else
	ratio=$(jq -n "$average_of_kind / $average_of_other >= 5")
fi
is "$ratio" true "normal waits are at least 5 times as long as expedited ones"

# ---- what is counted ----

for threads in 1 4; do
	for type in array hash; do
		for operations in insert,delete batch-insert,batch-delete; do
			updated -- -n 24 -T $threads -t $type -o $operations --fail 3
			agrees "$operations, $type of maps, $threads threads"
		done
	done
done
updated -- -n 24 --fail 3 --plain 50
agrees "all operations among updates of ordinary maps"
is "$(update length)" 2 "ordinary maps have no rows"
updated -- --plain 50 -o insert -n 1 -t array
agrees "hundred updates of ordinary maps"
is "$(update 'map(.calls) | add')" 1 "ordinary maps are not counted"

# one batch of 50: one wait, but on kernels before 6.8 one for each element
updated -- -n 50 -t hash -o batch-insert
agrees "one batch"
waits=$(update '.[0].waits | add')
if [ "$(query 'select(.type == "start") | .rcu.batch_waits')" -eq 1 ]; then
	is "$waits" 1 "one batch waits once"
	like "$(summary .verdict)" "batch operations, which wait once" "the verdict offers batches"
else
	is "$waits" 50 "one batch waits for each element"
	like "$(summary .verdict)" "batch operations would not" "the verdict does not offer batches"
fi

# ---- waits of others ----

for noise in process thread; do
	updated -- -n 60 -t array -o insert --noise $noise
	agrees "another $noise waits"
	is "$(update 'map(.waits | add) | add')" 60 "another $noise waits: its waits are not counted"
done

# ---- filters ----

trace_waiting() { # trace_waiting OPTIONS: traces while the waiting programs run
	rm -f "$work"/*.jsonl
	lazyfault updates -j -o "$work/run.jsonl" -d 100 "$@" 2>"$work/stderr" &
	tracer=$!
	await grep -q '"type":"start"' "$work/run.jsonl"
	touch "$work/go"
}

start_waiting one -n 10 -o insert
one=$pid
start_waiting two -n 10 -o insert
two=$pid
trace_waiting -p $one
wait $one
wait $two
wait $tracer
is $? 0 "-p: ends with the process, status 0"
cat "$work/one.truth" >"$work/truth.jsonl"
agrees "-p: that process only"

start_waiting one -n 10 -o insert
trace_waiting -m "$(jq -r '.map_ids[1]' "$work/one.truth")"
wait $pid
kill -INT $tracer
wait $tracer
is $? 0 "-m: INT ends it with status 0"
grep -v outer_array "$work/one.truth" >"$work/truth.jsonl"
agrees "-m: that map only"
lazyfault updates -m 'name no_such_map' -d 1 2>"$work/stderr"
is $? 1 "-m: a name that no map has is refused"
like "$(cat "$work/stderr")" no_such_map "-m: and named"

mkdir /sys/fs/cgroup/updates
sh -c 'echo $$ >/sys/fs/cgroup/updates/cgroup.procs
	exec mapinmap-update --json -n 10 -o insert --wait-file '"$work/go2"'' >"$work/cgroup.truth" &
inside=$!
await grep -q ready "$work/cgroup.truth"
start_waiting one -n 10 -o insert
trace_waiting -c /sys/fs/cgroup/updates
touch "$work/go2"
wait $pid
wait $inside
kill -INT $tracer
wait $tracer
is $? 0 "-c: INT ends it with status 0"
cat "$work/cgroup.truth" >"$work/truth.jsonl"
agrees "-c: that cgroup only"

rm -f "$work"/*.jsonl
lazyfault updates -j -o "$work/run.jsonl" -- \
	sh -c 'mapinmap-update --json -n 10 & mapinmap-update --json -n 12; wait; exit 3' \
	>"$work/truth.jsonl"
is $? 3 "a command: its status"
agrees "a command: it and what it starts"
is "$(update 'map(.pid) | unique | length')" 2 "a command: two processes"

# everything on the machine
start_waiting one -n 10 -o insert
lazyfault updates -j -o "$work/all.jsonl" -d 100 2>/dev/null &
tracer=$!
await grep -q '"type":"start"' "$work/all.jsonl"
touch "$work/go"
wait $pid
kill -TERM $tracer
wait $tracer
is $? 0 "TERM ends it with status 0"
cp "$work/all.jsonl" "$work/run.jsonl"
cp "$work/one.truth" "$work/truth.jsonl"
agrees "all processes"

# ---- intervals, ends and printing ----

updated 0.1 -- -n 200 -t hash -o insert,delete
agrees "intervals"
is "$(jq -s "$intervals" "$work/run.jsonl")" true "intervals add up to the totals"
is "$(jq -s '[.[] | select(.type == "update" and .span == "interval") | .ns.min] | all(. != null)' \
	"$work/run.jsonl")" true "an interval's least time is known"
lazyfault report -s calls "$work/run.jsonl" >"$work/report"
like "$(cat "$work/report")" "^pid .*outer_hash" "a capture is printed as live tracing would"
like "$(cat "$work/report")" "^Waiting   $kind" "with its ground"

lazyfault updates -j 0.2 3 >"$work/run.jsonl" 2>/dev/null
is "$(jq -s '[.[] | select(.type == "interval")] | length' "$work/run.jsonl")" 3 \
	"nothing to see: as many intervals as asked for"
is "$(query 'select(.type == "update")' | wc -l)" 0 "nothing to see: no rows, not even the tracer's own"
like "$(summary .verdict)" "No map of maps was updated" "nothing to see: the verdict says so"

lazyfault updates 0.2 | head -n 1 >"$work/head"
like "$(cat "$work/head")" "^Tracing map-in-map updates" "a reader that goes away ends it"

text=$(lazyfault updates -n 1 -s map -- mapinmap-update -n 20 -o insert)
like "$text" "^Kernel    $(uname -r)" "text: the kernel"
like "$text" "^Waiting   $kind; rcu_normal 0, rcu_expedited 0" "text: how it waits, and the knobs"
like "$text" "not PREEMPT_RT" "text: no PREEMPT_RT"
like "$text" "^  calls      20, 0 failed" "text: calls"
like "$text" "^  time       total .*, max .*, avg .*, min .*" "text: times"
like "$text" "^  waiting    $kind grace period, 20 of them, .* % of the time" "text: waiting"
like "$text" "^\.\.\. and 1 more: 20 calls" "text: -n 1 leaves one row to the sum"
like "$text" "^Totals       40 calls, 0 failed" "text: totals"
like "$text" "^Verdict      Waiting for grace periods is" "text: verdict"
like "$text" "^Lost         nothing" "text: nothing lost"

like "$(lazyfault check)" "^ok   updates .*this kernel waits $kind" "check: updates can be traced"
is "$(lazyfault check --json | jq -c '[.items[] | select(.name == "updates" or .name == "grace periods") | .ok]')" \
	"[true,true]" "check --json: so too"

# a PID namespace of its own: numbers as it has them
if unshare -pf true 2>/dev/null; then
	rm -f "$work"/*.jsonl
	unshare -pf sh -c "mount -t proc proc /proc
		lazyfault updates -j -o $work/run.jsonl -- mapinmap-update --json -n 10 -o insert >$work/truth.jsonl
		umount /proc"
	agrees "in a PID namespace"
fi
finish
