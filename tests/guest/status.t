# SPDX-License-Identifier: GPL-2.0-or-later
# The status line, on a terminal of tmux: it counts while tracing, is one line
# that is drawn over and then erased, has no colours, wakes nobody often, and is
# not there where it would meet other output.
# vm: smp=2 memory=1024 timeout=1200 add=/usr/bin/tmux:/root/bin/tmux add=/usr/lib/locale/C.utf8:/usr/lib/locale/C.utf8
. ./lib.sh

export TMUX_TMPDIR="$work"
terminal() { # terminal COLUMNS COMMAND: in the place of the one before; all of a report fits
	tmux kill-server 2>/dev/null
	rm -f "$work/raw"
	await eval '! pidof lazyfault'
	# what it does waits until all that it draws is recorded
	tmux -u -f /dev/null new-session -d -s t -x "$1" -y 150 \
		"trap : INT; while ! [ -e $work/raw ]; do sleep 0.1; done; $2; echo \"status \$?\"; sleep 600"
	tmux pipe-pane -t t "cat >$work/raw"
	await test -e "$work/raw"
}
screen() { tmux capture-pane -p -t t; }
shows() { screen | grep -q -e "$1"; }
lines() { screen | grep -c 'lazyfault:'; }
seconds() { screen | sed -n 's/^lazyfault: \([0-9]*\) s.*/\1/p'; }
faults=$(array_is_lazy && echo 2048 || echo 0)

terminal 80 lazyfault
await shows '^lazyfault: [0-9]* s, 0 faults, 0 pages installed, 0 lost$'
is $? 0 "on a terminal: a status line"
workload --pages 2048 >/dev/null
await shows "^lazyfault: [0-9]* s, $faults faults, $faults pages installed, 0 lost\$"
is $? 0 "it has the faults of a workload that has ended"
mkfifo "$work/hold"
workload --pages 2048 --hold <"$work/hold" >/dev/null &
exec 3>"$work/hold"
await shows "^lazyfault: [0-9]* s, $((2 * faults)) faults, $((2 * faults)) pages installed, 0 lost\$"
is $? 0 "and of one whose mappings are still there"
exec 3>&-
before=$(seconds)
later() { [ "$(seconds)" -ge $((before + 2)) ]; }
await later
is $? 0 "its seconds go up"
is "$(lines)" 1 "and it stays one line"
pid=$(pidof lazyfault)
switches() { awk '/^voluntary/ { print $2 }' "/proc/$pid/status"; }
before=$(switches)
sleep 5
woken=$(($(switches) - before))
if [ $woken -le 16 ]; then
	pass "it wakes nobody more often than three times a second: $woken times in 5 s"
else
	fail "it wakes nobody more often than three times a second: $woken times in 5 s"
fi
tmux send-keys -t t C-c
await shows '^status 0$'
is $? 0 "^C ends it"
is "$(lines)" 0 "the line is erased"
unlike "$(screen)" '\^C' "with what ^C has left there"
like "$(screen)" '^Totals ' "the report begins where it was"
unlike "$(tr '\033' '~' <"$work/raw")" '~\[[0-9;]*m' "without colours"

terminal 80 'NO_COLOR=1 lazyfault -d 3'
await shows '^lazyfault: [0-9]* s'
is $? 0 "NO_COLOR: there is one"
await shows '^status 0$'
unlike "$(tr '\033' '~' <"$work/raw")" '~\[[0-9;]*m' "NO_COLOR: without colours"
is "$(tr '\033\r' '~^' <"$work/raw" | grep -c '\^~\[Klazyfault: 1 s')" 1 "drawn over, once a second"

terminal 40 'lazyfault -d 5'
await shows '^lazyfault: 3 s'
is "$(lines)" 1 "a narrow terminal: one line"
like "$(screen)" '^lazyfault: [0-9]* s, 0 faults, 0 pages inst*a*$' "a narrow terminal: cut, not broken"

# where it must not be: what was drawn in more than a second
none() { # none DESCRIPTION COMMAND
	terminal 80 "$2"
	await shows '^status 0$'
	is "$(grep -c 'lazyfault: [0-9]* s' "$work/raw")" 0 "$1: no status line"
}
some() {
	terminal 80 "$2"
	await shows '^status 0$'
	unlike "$(grep -c 'lazyfault: [0-9]* s' "$work/raw")" '^0$' "$1: a status line"
	is "$(lines)" 0 "$1: erased at the end"
}
none "-q" 'lazyfault -q -d 1.5'
none "piped" 'lazyfault -d 1.5 | cat'
none "standard error elsewhere" "lazyfault -d 1.5 2>$work/stderr"
is "$(cat "$work/stderr")" "" "standard error elsewhere: nothing there"
none "intervals on the terminal" 'lazyfault 0.5 3'
none "events on the terminal" 'lazyfault -e -d 1.5'
none "JSON on the terminal" 'lazyfault -j -d 1.5'
none "with a command" 'lazyfault -- sleep 1.5'
none "a terminal without a cursor" 'TERM=dumb lazyfault -d 1.5'
some "JSON into a file" "lazyfault -j -o $work/run.jsonl -d 2.5"
some "events into a file, with intervals" "lazyfault -e -o $work/events 0.5 5"
some "updates" "lazyfault updates -d 2.5"
terminal 80 'lazyfault updates -d 6'
await shows '^lazyfault: 1 s, 0 updates, 0 lost'
is $? 0 "updates: they are counted from 0"
mapinmap-update -n 10 -o insert,delete >"$work/table"
await shows '^lazyfault: [0-9]* s, 40 updates, 0 lost'
is $? 0 "updates: it has those of a program"
await shows '^status 0$'
tmux kill-server
finish
