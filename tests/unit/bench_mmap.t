#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The benchmark of mmap: what arraymap-mmap takes and prints, and the tables that run-mmap draws.
# Boots no guest.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=$top/build/guest/arraymap-mmap
run=$top/tools/bench/run-mmap

# refuses PROGRAM OPTION VALUE: wrong usage, which names both.
refuses()
{
	try "$@"
	is "$(basename "$1") $2 '$3': status" "$status" 64
	has "$(basename "$1") $2 '$3': named" "$scratch/err" "$2: '$3'"
}

for value in 0 -1 4097 5G 8m 8MM M 0x1000 99999999999999999999 17179869185G; do
	refuses "$program" --size "$value"
done
for value in 0 -1 1.5 2K '' 100001; do
	refuses "$program" --repeat "$value"
done
refuses "$run" --repeat 0
refuses "$run" --repeat 1x
refuses "$run" --around ''
refuses "$run" --keep ''

# What it prints, where this machine lets us make a map at all.
try "$program" --size 64K --repeat 5 --json
if grep -q 'needs root' "$scratch/err"; then
	skip "this user may not create BPF maps" "arraymap-mmap --json"
else
	is "arraymap-mmap --json: status" "$status" 0
	is "every way is there once" "$(jq -rs '[.[] | select(.type == "way") |
		"\(.populate) \(.access)"] | join(", ")' "$scratch/out")" \
		"false none, false read, false write, true none, true read, true write"
	# shellcheck disable=SC2016
	ok "quantiles are in order, and no part is longer than the whole" jq -es '
		[.[] | select(.type == "way") | . as $way |
		 (.mmap_ns, .access_ns, .munmap_ns, .total_ns) |
		 .min <= .q1 and .q1 <= .median and .median <= .q3 and .q3 <= .max and
		 .min <= $way.total_ns.min] | length == 24 and all' "$scratch/out"
fi

# kept DIR NAME FAULTS TOTAL: a result such as --keep leaves, the rows 1, 2, ... times TOTAL us.
kept()
{
	mkdir -p "$1"
	jq -cn --argjson faults "$3" --argjson total "$4" '
		{type: "setup", bytes: 8388608, page_bytes: 4096, repeat: 30},
		([[false, true][] as $populate | ["none", "read", "write"][] |
		  {populate: $populate, access: .}] | to_entries[] |
		 .value + {type: "way", faults: $faults} +
		 ((.key + 1) * $total * 1000 | {total_ns: {q1: (0.9 * .), median: ., q3: (1.1 * .)}}))
		' > "$1/$2"
}

all_kept()
{
	kept "$1" eager 0 1000
	kept "$1" lazy 2048 2500
	kept "$1" around 133 0.5
	kept "$1" debian-7.2 0 100
	kept "$1" debian-7.3 2052 50
}

all_kept "$scratch/kept/time"
all_kept "$scratch/kept/icount"
try "$run" --from "$scratch/kept"
is "run-mmap --from: status" "$status" 0
has "a row: posted, ours, Debian's" "$scratch/out" \
	'^no +write +\| +252 +537 +x2\.13 \| +3000 +7500 +x2\.50 +1\.5 x0\.001 \| +300 +150 +x0\.50$'
has "posted without access" "$scratch/out" '^no +none +\| +220 +1\.2 +x0\.005 \|'
has "posted with MAP_POPULATE" "$scratch/out" '^yes +read +\| +334 +276 +x0\.83 \|'
is "a table for each clock" "$(grep -c '^yes  *none' "$scratch/out")" 2
has "the emulated CPU is named" "$scratch/out" 'emulated'

kept "$scratch/kept/icount" around 2048 0.5
try "$run" --from "$scratch/kept"
is "a kernel that maps otherwise than it should: status" "$status" 1
has "and is named" "$scratch/err" 'icount: around should map around, and took 2048 faults'
is "and no table is drawn" "$(< "$scratch/out")" ""

rm "$scratch/kept/icount/around"
try "$run" --from "$scratch/kept"
is "a missing result: status" "$status" 1
has "a missing result is named" "$scratch/err" 'there is no .*icount/around'

done_testing
