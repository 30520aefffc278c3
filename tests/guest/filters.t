# SPDX-License-Identifier: GPL-2.0-or-later
# -p and -m each leave out the other of two workloads; a wrong name is told.
# vm: smp=2 memory=1024 timeout=1200
. ./lib.sh

mkfifo "$work/stdin"
exec 3<>"$work/stdin"
start() { # start NAME OPTIONS: a workload that touches when its file appears
	name=$1
	shift
	workload --name "$name" --hold --wait-file "$work/go" "$@" <"$work/stdin" >"$work/$name.json" &
	await grep -q ready "$work/$name.json"
}
field() { # field NAME KEY
	jq -r "select(.type == \"ready\") | .$2" "$work/$1.json"
}
start one --pages 100
start two --pages 200
start same --pages 10
start same2 --pages 10
start long_name_of_15 --pages 20

one=$(field one pid)
two=$(field two map_id)
run() { # run NAME OPTIONS: a tracer
	name=$1
	shift
	lazyfault -j -o "$work/$name.run" "$@" 2>"$work/$name.err" &
	echo $! >"$work/$name.tracer"
	await grep -q '"type":"start"' "$work/$name.run"
}
run by_pid -p "$one"
run by_id -m "$two"
run by_name -m 'name two'
run by_long_name -m 'name long_name_of_15'
run both -p "$one" -m "id $two"
mkdir /sys/fs/cgroup/test
sh -c 'echo $$ >/sys/fs/cgroup/test/cgroup.procs; exec workload --pages 50 --wait-file '"$work/go"' --hold' <"$work/stdin" >"$work/cgroup.json" &
await grep -q ready "$work/cgroup.json"
run by_cgroup -c /sys/fs/cgroup/test
touch "$work/go"
for name in one two cgroup long_name_of_15; do
	await grep -q holding "$work/$name.json"
done
rows_of() { # ends the tracer NAME; its rows are then in $got
	kill -TERM "$(cat "$work/$1.tracer")"
	wait "$(cat "$work/$1.tracer")"
	is $? 0 "$1: TERM ends it with status 0"
	got=$(jq -sc '[.[] | select(.type == "vma" and .span == "total") | [.pid, .map.id, .faults.total]]' "$work/$1.run")
}
expected() { # the row that the workload NAME deserves
	jq -sc '[.[] | select(.type == "vma") | [.pid, .map_id, .expect.total]]' "$work/$1.json"
}
seen_when_touched() { # on an eager kernel nothing of a mapping made before is seen
	if array_is_lazy; then
		expected "$1"
	else
		echo "[]"
	fi
}
rows_of by_pid
is "$got" "$(seen_when_touched one)" "-p: only that process"
rows_of by_id
is "$got" "$(seen_when_touched two)" "-m ID: only that map"
rows_of by_name
is "$got" "$(seen_when_touched two)" "-m name NAME: only that map"
rows_of by_long_name
is "$got" "$(seen_when_touched long_name_of_15)" "-m name of 15 bytes: found"
rows_of both
is "$got" "[]" "-p and -m of different workloads: none"
rows_of by_cgroup
is "$got" "$(seen_when_touched cgroup)" "-c: only that cgroup"

# names and pins
kill $(jobs -p) 2>/dev/null
exec 3>&-
wait 2>/dev/null
mkfifo "$work/hold"
exec 3<>"$work/hold"
workload --name twin --pages 1 --hold --pin /sys/fs/bpf/pinned <"$work/hold" >"$work/a.json" &
workload --name twin --pages 1 --hold <"$work/hold" >"$work/b.json" &
await grep -q holding "$work/a.json"
await grep -q holding "$work/b.json"
a=$(field a map_id)
b=$(field b map_id)
message=$(lazyfault -m 'name twin' 2>&1)
is $? 1 "a name of two maps: status 1"
like "$message" "$a" "a name of two maps: the first id is listed"
like "$message" "$b" "a name of two maps: the second id is listed"
message=$(lazyfault -m 'name nobody' 2>&1)
is $? 1 "a name of no map: status 1"
like "$message" nobody "a name of no map: it is named"
lazyfault -d 0.2 -j -m 'pinned /sys/fs/bpf/pinned' >"$work/pin.run" 2>"$work/pin.err"
is $? 0 "-m pinned PATH"
message=$(lazyfault -m 'pinned /sys/fs/bpf/none' 2>&1)
is $? 1 "-m pinned, no file: status 1"
message=$(lazyfault -m 'pinned /etc/hostname' 2>&1)
is $? 1 "-m pinned, a plain file: status 1"
like "$message" "/etc/hostname" "-m pinned, a plain file: it is named"
message=$(lazyfault -p 999999 2>&1)
is $? 1 "-p of no process: status 1"
like "$message" "999999" "-p of no process: it is named"
kill $(jobs -p) 2>/dev/null
# A descendant's number that has passed to a process of somebody else.
cat >"$work/command" <<-'END'
workload --pages 10 --quiet >"$1/descendant.json"
touch "$1/ended"
until [ -e "$1/passed" ]; do sleep 0.1; done
workload --pages 20 --quiet
END
rm -f "$work/ended" "$work/passed"
lazyfault -j -o "$work/command.run" -- sh "$work/command" "$work" >/dev/null &
tracer=$!
await test -e "$work/ended"
descendant=$(jq -r 'select(.type == "ready") | .pid' "$work/descendant.json")
echo $((descendant - 1)) >/proc/sys/kernel/ns_last_pid
workload --pages 33 --quiet >/dev/null &
is $! "$descendant" "a number is used again: it is"
wait $!
touch "$work/passed"
wait $tracer
is "$(jq -sc '[.[] | select(.type == "vma" and .span == "total") | .pages] | sort' "$work/command.run")" "[10,20]" \
	"a number is used again: the other process is not traced"
finish
