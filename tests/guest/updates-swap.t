# SPDX-License-Identifier: GPL-2.0-or-later
# Other tracers come and go while calls wait in bpf(2): the kernel takes these past all programs at
# its exit and counts nothing. Where no LSM runs BPF programs their number is told, at most.
# vm: smp=2 memory=1024 timeout=900 append="lsm=lockdown,capability"
. ./lib.sh
. ./lib-updates.sh

whole() { # whole DESCRIPTION
	made=$(jq -s 'map(.calls) | add' "$work/truth.jsonl")
	seen=$(update 'map(.calls) | add')
	lost=$(summary '.lost | add')
	echo "$1: $seen of $made calls seen, $lost lost" | diag
	is "$(jq -n "$made > 0 and $seen <= $made and $seen + $lost >= $made")" true "$1: calls are the counted and the lost"
	is "$(jq -s "$invariants" "$work/run.jsonl")" true "$1: sums hold"
	is "$(summary '.recursion_at_most // false')" "$([ "$lost" -gt 0 ] && echo true || echo false)" \
		"$1: and that is said to be at most"
}

for kind in "check" "updates -d 0.1" "-d 0.1"; do
	rm -f "$work"/*.jsonl
	lazyfault updates -j -o "$work/run.jsonl" -- mapinmap-update --json -n 300 -o insert \
		>"$work/truth.jsonl" 2>"$work/stderr" &
	tracer=$!
	await grep -q '"type":"start"' "$work/run.jsonl"
	while kill -0 $tracer 2>/dev/null; do
		# shellcheck disable=SC2086
		lazyfault $kind >/dev/null 2>&1
	done
	wait $tracer
	is $? 0 "beside lazyfault $kind: status"
	whole "beside lazyfault $kind"
done
updated -- -n 100
agrees "by itself"
finish
