#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The benchmark of map-in-map updates: what mapinmap-update takes, and the tables that run-updates
# draws and what it refuses to draw. Boots no guest.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=$top/build/guest/mapinmap-update
run=$top/tools/bench/run-updates

for value in 0 -1 100001 1x '' 99999999999999999999; do
	try "$program" --count "$value"
	is "mapinmap-update --count '$value': status" "$status" 64
	has "mapinmap-update --count '$value': named" "$scratch/err" "'$value' is not a number from 1"
done
for arguments in "--type list" "--operations insert,move" "--threads 0" "--fail x" "--noise all"; do
	# shellcheck disable=SC2086
	try "$program" $arguments
	is "mapinmap-update $arguments: status" "$status" 64
	has "mapinmap-update $arguments: named" "$scratch/err" "${arguments##*[ ,]}"
done
for arguments in "--count 0" "--count 1x" "--keep" "--from" "--keep a --from b" "list"; do
	# shellcheck disable=SC2086
	try "$run" $arguments
	is "run-updates $arguments: status" "$status" 64
	has "run-updates $arguments: named" "$scratch/err" "run-updates: .*${arguments%% *}"
done

# operations TYPE NS: lines such as mapinmap-update prints, insertions of NS each.
operations()
{
	jq -cn --arg type "$1" --argjson ns "$2" '
		{type: "operation", operation: "insert", elements: 1400, calls: 1400, failed: 0,
		 map: {type: $type}, ns: {sum: (1400 * $ns), min: ($ns / 2), max: (3 * $ns)}},
		{type: "operation", operation: "batch-insert", elements: 1400, calls: 1, failed: 0,
		 map: {type: $type}, ns: {sum: $ns, min: $ns, max: $ns}}'
}

# kept KERNEL WAIT NS: what a guest leaves.
kept()
{
	local type

	mkdir -p "$scratch/kept"
	for type in array_of_maps hash_of_maps; do
		operations "$type" "$3"
	done > "$scratch/kept/$1.alone"
	grep -v batch "$scratch/kept/$1.alone" > "$scratch/kept/$1.truth"
	jq -c --arg wait "$2" '{type: "update", span: "total", map, calls, failed,
		ns: (.ns + {count: .calls}), wait: $wait, wait_ns: {sum: (.ns.sum * 0.9)}}' \
		"$scratch/kept/$1.truth" > "$scratch/kept/$1.traced"
}

kept 6.12 normal 16000000
kept 7.3 expedited 160000
try "$run" --from "$scratch/kept"
is "run-updates --from: status" "$status" 0
has "the posted figures" "$scratch/out" \
	'^posted, before +1369 +21\.2 s +47\.9 ms +15\.5 ms +7\.00 us$'
has "a row of ours" "$scratch/out" \
	'^6\.12, insert +1400 +22\.4 s +48\.0 ms +16\.0 ms +8\.00 ms$'
has "one batch" "$scratch/out" '^7\.3, batch-insert +1 +160 us +160 us +160 us +160 us$'
has "what lazyfault saw" "$scratch/out" \
	'^7\.3, lazyfault +1400 +224 ms +480 us +160 us +80\.0 us +expedited, 90 % waiting$'
has "the ratios" "$scratch/out" '^average, before/after +posted 176 times, here 100 times$'
is "a table for each type" "$(grep -c '^average' "$scratch/out")" 2
has "the emulated CPU is named" "$scratch/out" 'emulated'

kept 7.3 expedited 900000
try "$run" --from "$scratch/kept"
is "expedited waits that are not 20 times as short: status" "$status" 1
has "and the ratio is shown" "$scratch/out" 'here 18 times'
has "and the reason" "$scratch/err" 'not 20 times as short'

kept 7.3 normal 160000
try "$run" --from "$scratch/kept"
is "a kernel that waits otherwise than it should: status" "$status" 1
has "and is named" "$scratch/err" '7\.3 does not wait expedited'
is "and no table is drawn" "$(< "$scratch/out")" ""

kept 7.3 expedited 160000
sed -i '1s/"calls":1400/"calls":1399/' "$scratch/kept/7.3.traced"
try "$run" --from "$scratch/kept"
is "a call that lazyfault did not see: status" "$status" 1
has "and both counts are told" "$scratch/err" 'saw .*1399.* where .*1400'

rm "$scratch/kept/6.12.truth"
try "$run" --from "$scratch/kept"
is "a missing result: status" "$status" 1
has "a missing result is named" "$scratch/err" 'there is no .*6\.12\.truth'

done_testing
