# SPDX-License-Identifier: GPL-2.0-or-later
# What guest tests of map-in-map updates use beside lib.sh: running mapinmap-update
# under the tracer, and holding the rows against its own count and clock.

# Kernels of 6.19 and later wait expedited: the release is the one witness that is not the tool.
waits_expedited() {
	uname -r | awk -F '[.-]' '{ exit !($1 > 6 || ($1 == 6 && $2 >= 19)) }'
}

if waits_expedited; then
	kind=expedited
	other_kind=normal
	other_knob=/sys/kernel/rcu_normal
else
	kind=normal
	other_kind=expedited
	other_knob=/sys/kernel/rcu_expedited
fi

updated() { # updated OPTIONS -- MAPINMAP-UPDATE OPTIONS: leaves run.jsonl and truth.jsonl
	part "$@"
	shift $leading
	rm -f "$work"/*.jsonl
	# shellcheck disable=SC2086
	lazyfault updates -j -o "$work/run.jsonl" $options -- mapinmap-update --json "$@" \
		>"$work/truth.jsonl" 2>"$work/stderr"
	ended $?
}

# By process and map: what the program did, and what was seen of it.
rows='[.[] | select(.type == "update" and .span == "total")
  | [.pid, .map.id, .map.name, .map.type, .calls, .failed]] | sort'
truth='[.[] | select(.type == "operation")] | group_by([.pid, .map.id])
  | map([.[0].pid, .[0].map.id, .[0].map.name, .[0].map.type, (map(.calls) | add),
         (map(.failed) | add)]) | sort'

invariants='
def sums: ([.buckets[].count] | add // 0) == .count;
def ascending: [.buckets[].from] | . == (sort | unique);
map(if .type == "update" then
    .ns.count == .calls - .untimed and .wait_ns.count <= .ns.count
    and .wait_ns.sum <= .ns.sum and .failed <= .calls
    and ([.ns, .wait_ns] | all(sums and ascending))
    and (.wait == "none") == (.waits.normal + .waits.expedited == 0)
  else true end) | all'

# Each row's interval records add up to its total record.
intervals='
def counts: [.calls, .failed, .untimed, .ns.count, .ns.sum, .wait_ns.count, .wait_ns.sum,
             .waits.normal, .waits.expedited];
[.[] | select(.type == "update")] | group_by([.pid, .map.id])
| map((map(select(.span == "total") | counts) | first) as $total
      | (map(select(.span == "interval") | counts) | transpose | map(add)) == $total)
| all'

# The program's clock reads before the kernel is entered and after it has returned: no call
# can have taken longer than it saw.
within='
  ([$truth[0][] | select(.type == "operation")] | group_by(.map.id)
   | map({key: "\(.[0].map.id)", value: {sum: (map(.ns.sum) | add), max: (map(.ns.max) | max)}})
   | from_entries) as $truth
  | [.[] | select(.type == "update" and .span == "total")]
  | map(. as $row | $truth["\(.map.id)"] | $row.ns.sum <= .sum and $row.ns.max <= .max) | all'

compared="(\$run | $rows) as \$got | (\$truth | $truth) as \$expected
| (\$got == \$expected), (\$run | ($invariants)), ([\$truth] as \$truth | \$run | ($within)),
  (\$run | map(select(.type == \"summary\").lost | add) | first), $differences"

agrees() { # agrees DESCRIPTION
	held "$compared"
	{
		next true "$1: calls and failures are those that were made"
		next true "$1: sums hold"
		next true "$1: no time is beyond the program's own clock"
		next 0 "$1: nothing lost"
		diag
	} <"$work/held"
}

update() { # of the rows' total records
	jq -sr "[.[] | select(.type == \"update\" and .span == \"total\")] | $1" "$work/run.jsonl"
}

start_waiting() { # start_waiting NAME OPTIONS: a program that waits for $work/go; its pid in $pid
	name=$1
	shift
	rm -f "$work/go" "$work/$name.truth"
	mapinmap-update --json "$@" --wait-file "$work/go" >"$work/$name.truth" &
	pid=$!
	await grep -q ready "$work/$name.truth"
}
