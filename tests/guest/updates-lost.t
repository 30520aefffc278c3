# SPDX-License-Identifier: GPL-2.0-or-later
# More threads in bpf(2) than the hooks can all see: calls that were made are calls
# that were counted and calls that are lost, exactly, or the records say at most.
# vm: smp=2 memory=1024 timeout=900
. ./lib.sh
. ./lib-updates.sh

# Where the kernel never skips programs of LSMs, and runs them, it is exact.
[ -e /sys/kernel/security/lsm ] || mount -t securityfs none /sys/kernel/security 2>/dev/null
if has_function __bpf_prog_enter_recur && grep -qw bpf /sys/kernel/security/lsm; then
	exact=true
else
	exact=false
fi
diag <<-END
	exact losses: $exact
END

made() { # what mapinmap-update did
	jq -s 'map(.calls) | add' "$work/truth.jsonl"
}

balances() { # balances DESCRIPTION
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "$1: sums hold"
	is "$(jq -s --slurpfile all "$work/truth.jsonl" \
		'. as $run | [$all] as $truth | $run | '"$within" "$work/run.jsonl")" true \
		"$1: no time is beyond the program's own clock"
	seen=$(update 'map(.calls) | add')
	lost=$(summary '.lost | add')
	at_most=$(summary .recursion_at_most)
	echo "$1: $seen of $(made) calls seen, $(update 'map(.untimed) | add') untimed, $lost lost" | diag
	if $exact; then
		is "$at_most" null "$1: the loss is exact"
	fi
	if [ "$at_most" = true ]; then
		is "$(jq -n "$seen <= $(made) and $seen + $lost >= $(made)")" true \
			"$1: as many calls are lost as it says, at most"
	else
		is $((seen + lost)) "$(made)" "$1: calls are the counted and the lost"
	fi
}

# Before 6.8 calls that fail wait as well, so there are fewer in the same time.
updated -- -n 1 -t hash -o insert --fail 1
if [ "$(update 'map(.waits | add) | add')" -gt 1 ]; then
	many=100
else
	many=2500
fi
balances "two calls"

for round in 1 2 3; do
	updated --ring-size 16M 0.5 -- -n 16 -T 16 -t hash -o insert --fail $many
	balances "a storm, round $round"
	is "$(jq -s 'map(select(.type == "interval").lost.recursion) | add' "$work/run.jsonl")" \
		"$(summary .lost.recursion)" "a storm, round $round: intervals have its losses"
	is "$(jq -s "$intervals" "$work/run.jsonl")" true \
		"a storm, round $round: intervals add up to the totals"
done
lazyfault report "$work/run.jsonl" >"$work/text"
if [ "$lost" -eq 0 ]; then
	like "$(cat "$work/text")" "^Lost         nothing" "the text: nothing is lost"
elif [ "$at_most" = true ]; then
	like "$(cat "$work/text")" "^Lost         at most $lost call" "the text: how many are lost at most"
else
	like "$(cat "$work/text")" "^Lost         $lost call" "the text: how many are lost"
fi

# every kind of operation, some of them refused before the kernel looks for the map
updated --ring-size 16M -- -n 32 -T 16 --fail $((many / 10))
balances "a storm of all operations"

# others storm, too: their losses are not ours
touch "$work/on"
(while [ -e "$work/on" ]; do
	mapinmap-update --json -n 4 -T 8 -t hash -o insert,delete --fail $((many / 2)) >/dev/null
done) &
others=$!
updated --ring-size 16M -- -n 16 -T 16 -t hash -o insert --fail $((many / 2))
balances "a storm beside another"
if $exact; then
	lazyfault updates -j -o "$work/run.jsonl" -p $$ -d 2 2>/dev/null
	is "$(summary .lost.recursion)" 0 "others' storm: nothing is lost to a process that does not call"
fi

# stopped in the middle: what is under way is not lost, and what came before is not forgotten
rm -f "$work/run.jsonl"
lazyfault updates -j -o "$work/run.jsonl" -d 100 --ring-size 16M 2>"$work/stderr" &
tracer=$!
await grep -q '"type":"start"' "$work/run.jsonl"
sleep 2
kill -INT $tracer
wait $tracer
is $? 0 "stopped in a storm: status 0"
is "$(jq -s "$invariants" "$work/run.jsonl")" true "stopped in a storm: sums hold"
is "$(update 'map(.calls) | add > 0')" true "stopped in a storm: calls were seen"
rm "$work/on"
wait $others

# a ring that is too small for it
updated --ring-size 4K -- -n 16 -T 16 -t hash -o insert --fail $((many / 2))
balances "the smallest ring"
if [ $many -gt 100 ]; then
	is "$(jq -n "$(summary .lost.ring_full) > 0")" true "the smallest ring: it was full"
	like "$(lazyfault report "$work/run.jsonl")" "calls\{0,1\}: the ring buffer was full" \
		"the smallest ring: the text says so"
fi
finish
