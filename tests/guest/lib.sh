# SPDX-License-Identifier: GPL-2.0-or-later
# What every guest test uses: TAP, running a workload under the tracer, and
# holding the tracer's rows against the workload's own account.

tests=0
failures=0
work=$(mktemp -d)

pass() {
	tests=$((tests + 1))
	echo "ok $tests - $*"
}

fail() {
	tests=$((tests + 1))
	failures=$((failures + 1))
	echo "not ok $tests - $*"
}

skip() { # skip REASON DESCRIPTION: only for what this kernel does not have
	tests=$((tests + 1))
	echo "ok $tests - $2 # SKIP $1"
}

diag() {
	sed 's/^/# /'
}

is() { # is GOT EXPECTED DESCRIPTION
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		printf 'got:      %s\nexpected: %s\n' "$1" "$2" | diag
	fi
}

like() { # like TEXT PATTERN DESCRIPTION
	if printf '%s\n' "$1" | grep -q -e "$2"; then
		pass "$3"
	else
		fail "$3"
		printf 'got: %s\nno match for: %s\n' "$1" "$2" | diag
	fi
}

unlike() { # unlike TEXT PATTERN DESCRIPTION
	if printf '%s\n' "$1" | grep -q -e "$2"; then
		fail "$3"
		printf 'got: %s\nmatches: %s\n' "$1" "$2" | diag
	else
		pass "$3"
	fi
}

mark_log() {
	dmesg >"$work/log"
}

log_is_clean() { # log_is_clean DESCRIPTION: since mark_log
	dmesg | tail -n +$(($(wc -l <"$work/log") + 1)) >"$work/said"
	unlike "$(cat "$work/said")" "WARN\|BUG\|Oops\|INFO: \|rcu:.*stall\|possible.*lock\|leak" "$1"
}

finish() {
	rm -rf "$work"
	echo "1..$tests"
	[ "$failures" -eq 0 ]
}

# What this kernel does, by its own symbols: not by its version.
has_function() {
	grep -q " [tT] $1\$" /proc/kallsyms
}

array_is_lazy() { has_function array_map_mmap_fault || has_function bpf_map_mmap_fault; }
arena_exists() { has_function arena_vm_fault; }

# Waits up to 20 s for a command to be true. To ask often is dear: the CPU is emulated.
await() {
	for i in $(seq 80); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.25
	done
	echo "waited in vain for: $*" | diag
	return 1
}

# Every record of a capture obeys the contract's sums.
invariants='
def sums: ([.buckets[].count] | add // 0) == .count;
def ascending: [.buckets[].from] | . == (sort | unique);
map(
  if .type == "vma" then
    (.faults as $f
     | $f.total == $f.read + $f.write
       and $f.total == $f.user + $f.populate + $f.kernel + $f.remote
       and .installed_pages == $f.total - $f.failed + .batches.pages
       and .fault_ns.count == $f.total - $f.untimed)
    and ([.fault_ns, .batch_ns, .batch_pages] | all(sums and ascending))
    and (.span == "interval" or (.where.installed | add // 0) == .installed_pages)
  else true end) | all'

# Rows of the capture, by VMA: what can be held against the workload.
rows='[.[] | select(.type == "vma" and .span == "total")
  | [.pid, .map.id, .start, .end, .faults.read, .faults.write, .faults.user,
     .faults.populate, .faults.kernel, .faults.remote, .faults.failed,
     .installed_pages]] | sort'
truth='[.[] | select(.type == "vma")
  | [.pid, .map_id, .start, .end, .expect.read, .expect.write, .expect.user,
     .expect.populate, .expect.kernel, .expect.remote, .expect.failed,
     .installed]] | sort'

# Each VMA's interval records add up to its total record.
intervals='
def counts: [.faults[], .batches[], .installed_pages, .fault_ns.count, .fault_ns.sum,
             .batch_ns.count, .batch_pages.sum] | map(numbers);
[.[] | select(.type == "vma")] | group_by([.pid, .map.id, .start, .mmap.ns])
| map((map(select(.span == "total") | counts) | first) as $total
      | (map(select(.span == "interval") | counts) | transpose | map(add)) == $total)
| all'

# Each row's events are its faults, batches and raced runs, whatever else happens.
accounts='
def sum(f): map(f) | add // 0;
(map(select(.type == "event")) | group_by(.row) | map({key: (.[0].row | tostring), value: .}) | from_entries) as $events
| map(select(.type == "vma" and .span == "total"))
| map(($events[.row | tostring] // []) as $e
      | ($e | map(select(.event == "fault" and .outcome != "raced"))) as $faults
      | ($e | map(select(.event == "batch"))) as $batches
      | ($faults | length) == .faults.total
        and ($faults | map(select(.access == "write")) | length) == .faults.write
        and ($faults | map(select(.origin == "user")) | length) == .faults.user
        and ($faults | map(select(.origin == "populate")) | length) == .faults.populate
        and ($faults | map(select(.origin == "kernel")) | length) == .faults.kernel
        and ($faults | map(select(.origin == "remote")) | length) == .faults.remote
        and ($faults | map(select(.outcome == "failed")) | length) == .faults.failed
        and ($faults | map(select(.ns)) | length) == .fault_ns.count
        and ($faults | sum(.ns // 0)) == .fault_ns.sum
        and ($batches | length) == .batches.total
        and ($e | map(select(.outcome == "raced")) | length) == .faults.raced
        and ($e | sum(.installed_pages)) == .installed_pages)
| all'

# However many are lost.
all_events='
(map(select(.type == "event")) | length) + (map(select(.type == "summary").events_lost) | add)
== (map(select(.type == "vma" and .span == "total") | .faults.total + .faults.raced + .batches.total) | add // 0)'

# Takes TRACER OPTIONS -- OTHERS apart: leaves the former in $options, and in $leading how many
# words the caller must shift to have the latter.
part() {
	options=
	leading=1
	while [ "$1" != -- ]; do
		options="$options $1"
		leading=$((leading + 1))
		shift
	done
}

ended() { # ended STATUS: of a tracer, which if not 0 says why
	if [ "$1" -ne 0 ]; then
		echo "status $1" | diag
		diag <"$work/stderr"
	fi
	return "$1"
}

traced() { # traced OPTIONS -- WORKLOAD OPTIONS: leaves run.jsonl and truth.jsonl
	part "$@"
	shift $leading
	rm -f "$work"/*.jsonl
	# shellcheck disable=SC2086
	lazyfault -j -o "$work/run.jsonl" $options -- workload "$@" \
		>"$work/truth.jsonl" 2>"$work/stderr"
	ended $?
}

query() {
	jq -r "$1" "$work/run.jsonl"
}

summary() {
	query "select(.type == \"summary\") | $1"
}

total() { # of the first VMA's total record
	jq -sr "[.[] | select(.type == \"vma\" and .span == \"total\")][0] | $1" "$work/run.jsonl"
}

# What two lists of rows do not have in common, for who reads a failure.
differences='if $got == $expected then empty
  else "only traced:", ($got - $expected)[:20], "only done:", ($expected - $got)[:20] end'

# The whole account: rows, sums, losses. One jq for all of it: to start takes it longest.
compared="(\$run | $rows) as \$got | (\$truth | $truth) as \$expected
| (\$got == \$expected), (\$run | ($invariants)),
  (\$run | map(select(.type == \"summary\").lost | add) | first), $differences"

# Leaves what jq makes of both accounts: `next` holds a line of it against what is expected.
held() { # held FILTER
	jq -nc --slurpfile run "$work/run.jsonl" --slurpfile truth "$work/truth.jsonl" "$1" >"$work/held"
}

# A line that is missing, as where jq failed, is never what is expected.
next() { # next EXPECTED DESCRIPTION: its input is what held() left
	read -r line
	is "${line:-nothing}" "$1" "$2"
}

agrees() { # agrees DESCRIPTION
	held "$compared"
	{
		next true "$1: rows are what the workload did"
		next true "$1: sums hold"
		next 0 "$1: nothing lost"
		diag
	} <"$work/held"
}

exactly() { # exactly DESCRIPTION WORKLOAD OPTIONS
	description=$1
	shift
	if traced -- "$@"; then
		agrees "$description"
	else
		fail "$description: traced"
	fi
}

# With fault-around only pages can be foretold: those in the page table.
installed='[.[] | select(.type == "vma" and .span == "total") | [.pid, .map.id, .start, .end, .installed_pages]] | sort'
present='[.[] | select(.type == "vma") | [.pid, .map_id, .start, .end, .installed]] | sort'

foretold="(\$run | $installed) as \$got | (\$truth | $present) as \$expected
| (\$got == \$expected), (\$run | ($invariants)),
  (\$run | map(select(.type == \"summary\").lost | add) | first), $differences"

brought() { # brought DESCRIPTION WORKLOAD OPTIONS: nothing may be lost
	description=$1
	shift
	traced -- "$@" || fail "$description: traced"
	held "$foretold"
	{
		next true "$description: pages are those of the page table"
		next true "$description: sums hold"
		next 0 "$description: nothing lost"
		diag
	} <"$work/held"
}
