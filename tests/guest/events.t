# SPDX-License-Identifier: GPL-2.0-or-later
# Events: as many as there are faults and batches, and each is the one that the
# workload has made: its page, thread, access, origin, outcome and time; what is
# lost of them is counted, and takes nothing from the rows.
# vm: smp=2 memory=1024 timeout=1200
. ./lib.sh

events() { # events FILTER: of each event, sorted
	jq -c "select(.type == \"event\") | $1" "$work/run.jsonl" | sort | uniq -c | sed 's/^ *//'
}

told() { # told DESCRIPTION [TRACER OPTIONS] -- WORKLOAD OPTIONS
	description=$1
	shift
	traced -e "$@" || fail "$description: traced"
	agrees "$description"
	is "$(summary .events_lost)" 0 "$description: no event lost"
	is "$(jq -s "$accounts" "$work/run.jsonl")" true "$description: events are what the rows count"
}

touched() { # the pages of the events, in their order
	query 'select(.type == "event") | .map_offset_pages' | tr '\n' ' '
}

told "some pages" -- --pages 64 --order once:3,0,5-7,60
if array_is_lazy; then
	is "$(touched)" "3 0 5 6 7 60 " "some pages: these, in order"
	is "$(query 'select(.type == "event") | [.event, .comm, .map.name, .map.type, .access, .origin, .installed_pages, .outcome] | join(" ")' | sort -u)" \
		"fault workload workload array read user 1 installed" "some pages: read by the workload"
	is "$(query 'select(.type == "event") | .map.id' | sort -u)" \
		"$(jq -r 'select(.type == "map") | .map_id' "$work/truth.jsonl")" "some pages: of its map"
	is "$(query 'select(.type == "event") | .time' | sort -c 2>&1)" "" "some pages: their times go up"
fi
is "$(jq -s '.[0].events' "$work/run.jsonl")" true "the start record says that there are events"
told "an offset into the map" -- --pages 5 --offset 100 --access write
if array_is_lazy; then
	is "$(touched)" "100 101 102 103 104 " "an offset into the map: pages are the map's"
fi
told "in random order" -- --pages 300 --order random:7
if array_is_lazy; then
	is "$(touched | tr ' ' '\n' | grep . | sort -n | tr '\n' ' ')" "$(seq -s ' ' 0 299) " "in random order: each page once"
fi
told "every other page written" -- --pages 100 --access mixed
if array_is_lazy; then
	is "$(query 'select(.type == "event") | select((.access == "write") != (.map_offset_pages % 2 == 0))')" "" \
		"every other page written: these pages"
fi
told "4 threads" -- --pages 400 --threads 4
if array_is_lazy; then
	is "$(events .tid | sed 's/ .*//' | tr '\n' ' ')" "100 100 100 100 " "4 threads: each has its own"
	is "$(query 'select(.type == "event") | .pid' | sort -u)" "$(total .pid)" "4 threads: of one process"
fi
told "MAP_POPULATE" -- --pages 200 --populate
told "read(2) into the map" -- --pages 20 --access write --kernel-access 10
told "process_vm_readv of another process" -- --pages 64 --remote 10
if array_is_lazy; then
	is "$(jq -rs "map(select(.type == \"event\" and .origin == \"remote\") | .pid != $(total .pid)) | [length, all] | join(\" \")" "$work/run.jsonl")" \
		"10 true" "process_vm_readv: the process that did it is named"
fi
told "many VMAs" -- --pages 3 --vmas 100 --vma-stride 1
told "4 threads race" -- --pages 2048 --threads 4 --share same
told "without times" --no-time -- --pages 200
is "$(query 'select(.type == "event" and .ns != null)')" "" "without times: none is claimed"
told "light" --light -- --pages 200
if arena_exists; then
	told "an arena" -- --type arena --pages 50 --access write
	is "$(touched | wc -w)" 50 "an arena: 50 events"
	told "an arena that refuses" -- --type arena --arena-segv --pages 3
	is "$(events '[.outcome, .installed_pages]')" '3 ["failed",0]' "an arena that refuses: failed"
	told "an arena that refuses, without times" --no-time -- --type arena --arena-segv --pages 3
	is "$(events '[.outcome, .map_offset_pages]')" '1 ["failed",0]
1 ["failed",1]
1 ["failed",2]' "an arena that refuses, without times: each page"
fi

# a ring that holds 39 events, and a storm
traced -e --ring-size=4K 0.5 -- --pages 4096 --threads 8 --rounds 4
agrees "a small ring in a storm"
is "$(jq -s "$intervals" "$work/run.jsonl")" true "a small ring in a storm: intervals add up to totals"
is "$(jq -s "$all_events" "$work/run.jsonl")" true "a small ring in a storm: events and lost events are all"
if array_is_lazy; then
	unlike "$(summary .events_lost)" '^0$' "a small ring in a storm: events are lost"
fi
is "$(jq -s 'map(select(.type == "interval").events_lost) | add' "$work/run.jsonl")" "$(summary .events_lost)" \
	"a small ring in a storm: each loss is in one interval"
lazyfault report "$work/run.jsonl" >"$work/text"
if array_is_lazy; then
	like "$(cat "$work/text")" "^Lost  *$(summary .events_lost) lines of events" "a small ring in a storm: the text says so"
fi

# the reader comes by time, not for each event
lazyfault -e -o "$work/events.txt" &
tracer=$!
await grep -q Counting "$work/events.txt"
switches() { awk '/^voluntary/ { print $2 }' /proc/$tracer/status; }
before=$(switches)
began=$(date +%s)
workload --pages 8192 --rounds 3 >/dev/null
seconds=$(($(date +%s) - began + 1))
woken=$(($(switches) - before))
kill $tracer
wait $tracer
if [ $woken -le $((seconds * 14 + 5)) ]; then
	pass "woken $woken times in $seconds s of faults"
else
	fail "woken $woken times in $seconds s of faults"
fi
if array_is_lazy; then
	is "$(grep -c '^[0-9:.]* .* r user  *1 ' "$work/events.txt")" 24576 "text: a line for each"
	is "$(grep -c '^TIME  *PID  *TID' "$work/events.txt")" 1 "text: under one heading"
fi

# off unless asked for
traced -- --pages 10
is "$(jq -s 'map(select(.type == "event" or .events or has("events_lost"))) | length' "$work/run.jsonl")" 0 "no events without -e"
finish
