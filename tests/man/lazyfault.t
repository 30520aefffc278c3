#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Holds the man page against the program's --help, which is made from the table
# that parses, and against mandoc. Run it by prove from the top of the source.
set -euo pipefail

program=${LAZYFAULT:-build/lazyfault}
page=${LAZYFAULT_PAGE:-man/lazyfault.8}

die() {
	printf 'Bail out! %s\n' "$*"
	exit 1
}

[[ -x $program ]] || die "$program is not there: run make first, or name it by LAZYFAULT"
[[ -r $page ]] || die "$page is not there: run this from the top of the source"
command -v mandoc >/dev/null || die "mandoc is missing: apt-get install mandoc"

count=0

# result NAME, after a test that left its complaints, or nothing, in $complaints
result() {
	count=$((count + 1))
	if [[ -z $complaints ]]; then
		printf 'ok %d - %s\n' "$count" "$1"
	else
		printf 'not ok %d - %s\n' "$count" "$1"
		sed 's/^/# /' <<<"$complaints"
	fi
}

# What differs between two lists; nothing if they are the same.
compare() {
	diff <(printf '%s\n' "$1") <(printf '%s\n' "$2") || true
}

render() {
	mandoc -T ascii -O width=200 "$page" | sed 's/.\x08//g'
}

# Lines of one section of the rendered page.
section() {
	render | awk -v name="$1" '/^[^ ]/ { inside = $0 == name } inside && /^ /'
}

# "-p, --pid=PID[,PID...]", one a line, of a --help on stdin.
options_of_help() {
	sed -nE 's/^ +((-[^-], )?--[^ ]+).*/\1/p' | sort -u
}

complaints=$(mandoc -T lint -W warning "$page" 2>&1 || true)
result 'mandoc has no warning'

help=$({ "$program" --help; "$program" report --help; } | options_of_help)
written=$(section OPTIONS | sed -nE 's/^     ((-[^-], )?--[a-z][^ ]*).*/\1/p' | sort)
complaints=
((${#help} > 100)) || complaints="no options were found in --help: $help"
result '--help lists options'
complaints=$(compare "$help" "$written")
result 'the page has the options of --help, and no others, with their values'

for command in updates check; do
	complaints=$(comm -23 <("$program" "$command" --help | options_of_help) <(printf '%s\n' "$written"))
	result "the page has the options of $command --help"
done

help=$("$program" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' | sort)
written=$(section COMMANDS | sed -nE 's/^     ([a-z]+)( .*)?$/\1/p' | sort)
complaints=$(compare "$help" "$written")
[[ -n $help ]] || complaints='no commands were found in --help'
result 'the page has the commands of --help, and no others'

version=$("$program" --version)
complaints=
[[ $version =~ ^lazyfault\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || complaints="--version prints: $version"
result '--version is of the form that the page has'

# Its status says whether this machine can be traced, which does not matter here.
record=$("$program" check --json 2>/dev/null || true)
complaints=$(grep -oE '"[a-z_]+":' <<<"$record" | tr -d '":' | sort -u | while read -r key; do
	grep -qE "^\.It Va (.*\.)?$key\$|^\.Va $key\$" "$page" || printf 'not described: %s\n' "$key"
done)
[[ $record == *'"type":"check"'* ]] || complaints="check --json prints: $record"
result 'the page describes what check --json prints'

# --usage stops the program before it traces, but after it has parsed the options.
complaints=$(sed -nE 's/^\.Dl # lazyfault ?//p' "$page" | sed 's/\\-/-/g' | while read -r line; do
	if [[ $line == *"-- "* ]]; then
		line="${line%%-- *} --usage -- ${line#*-- }"
	else
		line="$line --usage"
	fi
	xargs "$program" <<<"$line" >/dev/null 2>&1 || printf 'refused: lazyfault %s\n' "$line"
done)
result 'the examples are valid'

examples=$(grep -c '^\.Dl # lazyfault' "$page" || true)
complaints=
((examples >= 5)) || complaints="only $examples examples"
result 'there are examples'

printf '1..%d\n' "$count"
