#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Set-user-ID and set-group-ID copies of the program refuse to do anything, and
# names on the command line move no cursor.
set -uo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=${LAZYFAULT:-build/lazyfault}
chmod 755 "$scratch"

cp "$program" "$scratch/copy"
# the bits count only where the file system and this process let them
able()
{
	((EUID == 0)) && chown 12345:12345 "$scratch/copy" && chmod "$1" "$scratch/copy" &&
		[[ $(findmnt -n -o OPTIONS -T "$scratch" 2> /dev/null) != *nosuid* ]] &&
		grep -q '^NoNewPrivs:[[:space:]]*0$' /proc/self/status
}

for bits in 4755 2755; do
	name="mode $bits"
	if ! able "$bits"; then
		skip 'needs root and a file system with set-user-ID' "$name: refused"
		continue
	fi
	for arguments in --version check 'report /dev/null' ''; do
		# shellcheck disable=SC2086
		output=$("$scratch/copy" $arguments 2>&1)
		status=$?
		[[ $status == 1 && $output == 'lazyfault: it is installed setuid or setgid'* ]] && true
		result $? "$name: '$arguments' is refused" "status $status: $output"
	done
done
chmod 755 "$scratch/copy"
output=$("$scratch/copy" --version 2>&1)
[[ $? == 0 && $output == lazyfault\ * ]] && true
result $? 'without the bits it runs' "$output"

# what a name on the command line does to a terminal
hostile=$'\e[2J\r\n\xc2\x9b1A\xe2\x80\xae\xff'
shown='\x1b[2J\x0d\x0a\xc2\x9b1A\xe2\x80\xae\xff'
for arguments in "-p$hostile" "--sort=$hostile" "report $hostile" "check $hostile" "$hostile"; do
	# an option and its value, or a command and its argument
	words=("$arguments")
	[[ $arguments == 'report '* || $arguments == 'check '* ]] &&
		words=("${arguments%% *}" "${arguments#* }")
	output=$("$program" "${words[@]}" 2>&1)
	status=$?
	[[ $status != 0 && $output == *"$shown"* ]] &&
		! LC_ALL=C grep -q $'[\001-\037\177-\377]' <<< "$output"
	result $? "a hostile name is shown, not obeyed: ${words[0]%%[^a-z=-]*}" "$(cat -v <<< "$output")"
done

# of what a log, a file or a map is called, as root with -v
for words in "-o /nonexistent/$hostile/out" "-c /nonexistent/$hostile" "-m pinned /nonexistent/$hostile"; do
	output=$("$program" -v -d 0.1 "${words%% *}" "${words#* }" 2>&1)
	status=$?
	[[ $status == 1 ]] && ! LC_ALL=C grep -q $'[\001-\010\013-\037\177-\377]' <<< "$output"
	result $? "a hostile name in -v's output is shown, not obeyed: ${words%% *}" "$(cat -v <<< "$output")"
done

done_testing
