#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Holds the man page against the program's --help, which is made from the table
# that parses, and against mandoc.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=${LAZYFAULT:-build/lazyfault}
page=${LAZYFAULT_PAGE:-man/lazyfault.8}

[[ -x $program ]] || die "$program is not there: run make first, or name it by LAZYFAULT"
[[ -r $page ]] || die "$page is not there"
command -v mandoc >/dev/null || die "mandoc is missing: apt-get install mandoc"

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
is 'mandoc has no warning' "$complaints" ""

help=$({ "$program" --help; "$program" report --help; } | options_of_help)
written=$(section OPTIONS | sed -nE 's/^     ((-[^-], )?--[a-z][^ ]*).*/\1/p' | sort)
complaints=
((${#help} > 100)) || complaints="no options were found in --help: $help"
is '--help lists options' "$complaints" ""
complaints=$(compare "$help" "$written")
is 'the page has the options of --help, and no others, with their values' "$complaints" ""

for command in updates check; do
	complaints=$(comm -23 <("$program" "$command" --help | options_of_help) <(printf '%s\n' "$written"))
	is "the page has the options of $command --help" "$complaints" ""
done

help=$("$program" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' | sort)
written=$(section COMMANDS | sed -nE 's/^     ([a-z]+)( .*)?$/\1/p' | sort)
complaints=$(compare "$help" "$written")
[[ -n $help ]] || complaints='no commands were found in --help'
is 'the page has the commands of --help, and no others' "$complaints" ""

version=$("$program" --version)
complaints=
[[ $version =~ ^lazyfault\ [0-9]+\.[0-9]+\.[0-9]+$ ]] || complaints="--version prints: $version"
is '--version is of the form that the page has' "$complaints" ""

# Its status says whether this machine can be traced, which does not matter here.
record=$("$program" check --json 2>/dev/null || true)
complaints=$(grep -oE '"[a-z_]+":' <<<"$record" | tr -d '":' | sort -u | while read -r key; do
	grep -qE "^\.It Va (.*\.)?$key\$|^\.Va $key\$" "$page" || printf 'not described: %s\n' "$key"
done)
[[ $record == *'"type":"check"'* ]] || complaints="check --json prints: $record"
is 'the page describes what check --json prints' "$complaints" ""

# --usage stops the program before it traces, but after it has parsed the options.
complaints=$(sed -nE 's/^\.Dl # lazyfault ?//p' "$page" | sed 's/\\-/-/g' | while read -r line; do
	if [[ $line == *"-- "* ]]; then
		line="${line%%-- *} --usage -- ${line#*-- }"
	else
		line="$line --usage"
	fi
	xargs "$program" <<<"$line" >/dev/null 2>&1 || printf 'refused: lazyfault %s\n' "$line"
done)
is 'the examples are valid' "$complaints" ""

examples=$(grep -c '^\.Dl # lazyfault' "$page" || true)
complaints=
((examples >= 5)) || complaints="only $examples examples"
is 'there are examples' "$complaints" ""

done_testing
