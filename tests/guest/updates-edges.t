# SPDX-License-Identifier: GPL-2.0-or-later
# Map-in-map updates at the edges: the records' keys to the letter, captures printed as live
# tracing prints, filters together, processes within processes, and every way to end.
# vm: smp=2 memory=1024 timeout=600 add=/usr/bin/jq:/root/bin/jq
# (this jq, as gojq, which guests have else, does not keep the order of keys)
. ./lib.sh
. ./lib-updates.sh

# ---- the records, key by key ----

updated 0.2 -- -n 40 --fail 2
agrees "all operations"
shape='
def keys_of(f): map(f | keys_unsorted | join(" ")) | unique;
def whole: . == floor and . >= 0;
def dist: keys_unsorted == ["count", "sum", "min", "max", "buckets"]
  and ([.count, .sum] | all(whole)) and (.count == 0) == (.min == null)
  and (.min == null) == (.max == null) and (.min == null or .min <= .max)
  and ([.buckets[] | .count > 0 and (.from <= .to)
    and (if .from < 2 then .to == .from else .to == 2 * .from - 1 end)
    and (keys_unsorted == ["from", "to", "count"])] | all);
def lost: keys_unsorted == ["ring_full", "vma_table_full", "recursion"];'
jqs() { # jqs FILTER: over all records
	jq -src "$shape $1" "$work/run.jsonl"
}
is "$(jqs '[.[] | select(.type == "update")] | keys_of(.) | .[]')" \
	"type span pid comm map calls failed ns wait wait_ns waits untimed" "update: its keys"
is "$(jqs '[.[] | select(.type == "update").map] | keys_of(.) | .[]')" "id name type" "update: the map's keys"
is "$(jqs '[.[] | select(.type == "update") | (.ns | dist), (.wait_ns | dist)] | all')" true \
	"update: its distributions"
is "$(jqs '[.[] | select(.type == "update") | .span] | unique | join(" ")')" "interval total" "update: spans"
is "$(jqs '[.[] | select(.type == "update") | .wait | IN("expedited", "normal", "none")] | all')" true \
	"update: waits"
is "$(jqs '[.[] | select(.type == "interval")] | keys_of(.) | .[]')" \
	"type time seconds faults installed_pages lost unseen_runs" "interval: its keys"
is "$(jqs '[.[] | select(.type == "interval") | [.faults, .installed_pages] == [0, 0] and (.lost | lost)
	and (.time | test("^[0-9-]{10}T[0-9:]{8}\\.[0-9]{6}Z$")) and .seconds > 0] | all')" true \
	"interval: its values"
is "$(jqs '[.[] | select(.type == "summary")] | keys_of(.) | .[]')" \
	"type seconds vmas faults batches installed_pages lost verdict unseen_runs" "summary: its keys"
is "$(jqs 'map(.type) | [.[0], .[-1], (map(select(. == "start" or . == "summary")) | length)] | join(" ")')" \
	"start summary 2" "start comes first, summary last"
is "$(jqs '.[0] | keys_unsorted | join(" ")' | cut -d ' ' -f 1-10)" \
	"type version kernel counting arch page_bytes fault_around_bytes time modes handlers" "start: its keys"
is "$(jqs '.[0].counting == (if .[-1].recursion_at_most then "light" else "exact" end)')" true \
	"start: counting is exact where losses are"

# ---- captures ----

lazyfault report -j "$work/run.jsonl" | cmp -s - "$work/run.jsonl"
is $? 0 "a capture read and written is the same, byte by byte"

# Two tracers of one process: what they print differs in times only.
rm -f "$work/live" "$work/run.jsonl"
start_waiting one -n 60 -o insert,delete --fail 1
lazyfault updates -p $pid -o "$work/live" 2>/dev/null &
live=$!
lazyfault updates -p $pid -j -o "$work/run.jsonl" 2>/dev/null &
await grep -q "^Waiting" "$work/live"
await grep -q '"type":"start"' "$work/run.jsonl"
touch "$work/go"
wait
lazyfault report "$work/run.jsonl" >"$work/again"
timeless() { # a paragraph a line, sorted: which row took longest is a matter of times, too
	grep -v '^    \[' "$1" | awk -v RS= '{ gsub(/[ \n]+/, " "); print }' |
		sed -E 's/[0-9.]+ (ns|us|ms|s)\>/TIME/g; s/[<>]?[0-9]+ %/PART/g' | sort
}
is "$(timeless "$work/again")" "$(timeless "$work/live")" "a capture is printed as live tracing prints"
is "$(jq -s '[.[] | select(.type == "update" and .span == "total").calls] | add' "$work/run.jsonl")" 244 \
	"and two tracers see the same calls"
is "$(grep -c '^  calls      122, 2 failed' "$work/live")" 2 "both of them"

# ---- filters ----

start_waiting one -n 10 -o insert
one=$pid
start_waiting two -n 10 -o insert
two=$pid
start_waiting three -n 10 -o insert
rm -f "$work/run.jsonl"
lazyfault updates -j -o "$work/run.jsonl" -p $one,$two -m "$(jq -r '.map_ids[0]' "$work/one.truth")" \
	-m "id $(jq -r '.map_ids[1]' "$work/two.truth")" 2>"$work/stderr" &
tracer=$!
await grep -q '"type":"start"' "$work/run.jsonl"
touch "$work/go"
wait $tracer
is $? 0 "-p -p -m -m: ends with the processes"
wait
{ grep outer_array "$work/one.truth"; grep outer_hash "$work/two.truth"; } >"$work/truth.jsonl"
agrees "-p and -m together"

lazyfault updates -m "name outer_hash" -d 1 2>"$work/stderr"
is $? 1 "-m: a name of no map is refused"
start_waiting one -n 2 -o insert
start_waiting two -n 2 -o insert
lazyfault updates -m "name outer_hash" -d 1 2>"$work/stderr"
is $? 1 "-m: a name of two maps is refused"
like "$(cat "$work/stderr")" "$(jq -r '.map_ids[1] // empty' "$work/one.truth")" "-m: and their ids are listed"
touch "$work/go"
wait
lazyfault updates -p 999999 -d 1 2>"$work/stderr"
is $? 1 "-p: a process that is not there is refused"
lazyfault updates -c /sys/fs/cgroup/no_such_group -d 1 2>"$work/stderr"
is $? 1 "-c: a cgroup that is not there is refused"

# ---- processes within processes ----

lazyfault updates -j -o "$work/run.jsonl" -- sh -c '
	mapinmap-update --json -n 7 -o insert
	(sh -c "mapinmap-update --json -n 8 -t hash; exec mapinmap-update --json -n 9 -t array --fail 1 -T 4")
	exit 5' >"$work/truth.jsonl" 2>"$work/stderr"
is $? 5 "a command within a command: the outer one's status"
agrees "a command within a command"
is "$(update 'map(.pid) | unique | length')" 3 "a command within a command: three processes"
lazyfault updates -j -o "$work/run.jsonl" -- /nonexistent/agent 2>"$work/stderr"
is $? 127 "a command that is not there: status 127"

# calls of other commands of bpf(2), and failures from end to end
updated -- -n 3 --fail 40 -T 4 --plain 20 --noise process
agrees "mostly failures"
is "$(update 'map(.failed) | add >= 640')" true "mostly failures: they are counted"
is "$(update 'map(.failed < .calls and .wait_ns.count <= .ns.count) | all')" true "mostly failures: not all of them"

# ---- ends ----


(trap '' PIPE; lazyfault updates -j 0.2 2>"$work/stderr"; echo $? >"$work/status") | head -n 2 >"$work/head"
is "$(cat "$work/status")" 0 "a reader that goes away: status 0"
is "$(cat "$work/stderr")" "" "a reader that goes away: quietly"
is "$(wc -l <"$work/head")" 2 "a reader that goes away: it had its lines"

for signal in INT TERM HUP; do
	rm -f "$work/live"
	start_waiting one -n 4 -o insert
	lazyfault updates -o "$work/live" -m "$(jq -r '.map_ids[0]' "$work/one.truth")" \
		-m "$(jq -r '.map_ids[1]' "$work/one.truth")" 2>"$work/stderr" &
	tracer=$!
	await grep -q '^Waiting' "$work/live"
	touch "$work/go"
	wait $pid
	kill -$signal $tracer
	wait $tracer
	is $? 0 "$signal: status 0"
	like "$(cat "$work/live")" "^Totals       8 calls, 0 failed" "$signal: the report is there"
done

lazyfault updates -j -o /nonexistent/run.jsonl -d 0.1 2>"$work/stderr"
is $? 1 "-o: a directory that is not there: status 1"
like "$(cat "$work/stderr")" "/nonexistent/run.jsonl" "-o: named"
lazyfault updates -d 0.1 >/dev/full 2>"$work/stderr"
is $? 1 "a full disk: status 1"
lazyfault updates 0.2 3 >"$work/text" 2>"$work/stderr"
is $? 0 "an interval and a count: status 0"
is "$(grep -c '^[0-9.]* m\{0,1\}s$' "$work/text")" 3 "an interval and a count: as many intervals, and no more"
like "$(cat "$work/text")" "^Totals       0 calls, 0 failed" "an interval and a count: totals"
text=$(lazyfault updates -- mapinmap-update -n 1 -t hash -o insert)
like "$text" "^Tracing map-in-map updates of command .* Ends with it\.$" "a command: one line says it"
like "$text" "^Totals       1 call, 0 failed" "one call is one call"
is "$(printf '%s\n' "$text" | grep -B 1 '^pid ' | head -n 1)" "" "the report stands apart from what the command prints"
is "$(ls /proc/[0-9]*/fdinfo/* 2>/dev/null | xargs grep -l '^prog_id' 2>/dev/null | wc -l)" 0 \
	"nothing stays loaded"
finish
