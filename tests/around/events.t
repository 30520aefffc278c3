# SPDX-License-Identifier: GPL-2.0-or-later
# Events of batches: one for each, with its size and the page that was touched,
# beside those of the faults that were left.
# vm: kernel=fault-around smp=2 memory=1024 timeout=1200
. ./lib.sh

told() { # told DESCRIPTION WORKLOAD OPTIONS
	description=$1
	shift
	traced -e -- "$@" || fail "$description: traced"
	is "$(jq -sc "$installed" "$work/run.jsonl")" "$(jq -sc "$present" "$work/truth.jsonl")" \
		"$description: pages are those of the page table"
	is "$(summary .events_lost)" 0 "$description: no event lost"
	is "$(jq -s "$accounts" "$work/run.jsonl")" true "$description: events are what the rows count"
}
batches() { query "select(.event == \"batch\") | $1"; }

told "8 MiB read in order" --pages 2048
is "$(batches '[.access, .origin, .outcome, .comm] | join(" ")' | sort -u)" "read user installed workload" \
	"8 MiB read in order: batches of the workload's reads"
is "$(batches .installed_pages | sort -n | tail -1)" 16 "8 MiB read in order: of at most a window"
is "$(jq -s 'map(select(.event == "batch")) | [(map(.ns) | add), (map(.installed_pages) | add)] | join(" ")' "$work/run.jsonl")" \
	"$(total '[.batch_ns.sum, .batches.pages] | join(" ")' | sed 's/.*/"&"/')" "8 MiB read in order: their times and pages add up"
told "some pages" --pages 512 --order once:40,300,100 --offset 16
is "$(query 'select(.type == "event") | .map_offset_pages' | sort -nu | tr '\n' ' ')" "56 116 316 " \
	"some pages: the ones that were touched"
told "8 MiB written" --pages 2048 --access write
is "$(batches .event | wc -l)" 0 "8 MiB written: no batches"
told "MAP_POPULATE" --pages 600 --populate
# the exit of a batch can be missed when threads share a CPU, and its event with it
traced -e -- --pages 2048 --threads 4
is "$(jq -sc "$installed" "$work/run.jsonl")" "$(jq -sc "$present" "$work/truth.jsonl")" \
	"4 threads: pages are those of the page table"
is "$(jq -s "$all_events" "$work/run.jsonl")" true "4 threads: events and lost events are all"
traced -e -- --pages 2048 --threads 16 --share same --rounds 3
is "$(jq -s "$all_events" "$work/run.jsonl")" true "16 threads race: events and lost events are all"
traced -e --ring-size=4K -- --pages 8192 --threads 4 --rounds 3
is "$(jq -s "$all_events" "$work/run.jsonl")" true "a small ring: events and lost events are all"
is "$(jq -sc "$installed" "$work/run.jsonl")" "$(jq -sc "$present" "$work/truth.jsonl")" \
	"a small ring: pages are those of the page table"
finish
