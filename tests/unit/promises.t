#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Every test that docs/promises.md names exists, by its file and its words; and
# promises that need no more than a saved capture and the manual.
set -uo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=${LAZYFAULT:-build/lazyfault}
promises=${PROMISES:-docs/promises.md}
capture=tests/captures/linux-7.3.jsonl

# "FILE<tab>WORDS" for each test that is named: `FILE` "WORDS", "WORDS"; ...
list_tests()
{
	awk -F '|' '/^\| [^|]/ && !/^\| promise / { print $3 }' "$promises" |
		grep -oE '`[^`]+`|"[^"]+"' |
		while IFS= read -r word; do
			case $word in
			\`*) file=${word//\`/} ;;
			*) printf '%s\t%s\n' "$file" "${word:1:-1}" ;;
			esac
		done
}

list_tests > "$scratch/tests"
rows=$(grep -c '^| [^|]' "$promises")
missing=
files=()
while IFS=$'\t' read -r file words; do
	[[ " ${files[*]} " == *" $file "* ]] || files+=("$file")
	if [[ $file == *.c && $words =~ ^[a-z0-9_]+$ && $file == unit/* ]]; then
		words="cmocka_unit_test(test_$words)"
	fi
	grep -qF -- "$words" "tests/$file" 2> /dev/null || missing+="tests/$file: $words"$'\n'
done < "$scratch/tests"
[[ -z $missing ]]
result $? "every test that is named exists" "$missing"
(($(wc -l < "$scratch/tests") > rows && rows > 40))
result $? "each promise names a test" "$rows rows, $(wc -l < "$scratch/tests") tests"
untested=$(grep '^| [^|]' "$promises" | grep -v -e '`[a-z]*/[a-z_]*\.[a-z]*` "' -e '^| promise |')
[[ -z $untested ]]
result $? "no promise is without one" "$untested"

output=$("$program" report -j "$capture" | jq -s 'length' 2>&1)
[[ $output == "$(wc -l < "$capture")" ]]
result $? "the whole JSON goes through jq -s" "$output"

# bytes of the name, not of the locale
sed 's/"comm":"[^"]*"/"comm":"служба"/g' "$capture" > "$scratch/cyrillic"
for locale in C POSIX C.UTF-8 de_DE.UTF-8; do
	for form in --timestamp --json --html; do
		LOCPATH=$PWD/build/locale LC_ALL=$locale LANG=$locale \
			"$program" report "$form" "$scratch/cyrillic" > "$scratch/$locale$form" 2>&1
		[[ -s $scratch/$locale$form ]] && grep -q служба "$scratch/$locale$form" &&
			cmp -s "$scratch/C$form" "$scratch/$locale$form"
		result $? "a Cyrillic name is the same in every locale: $locale, $form" \
			"$(diff "$scratch/C$form" "$scratch/$locale$form" | head -n 5)"
	done
done

text=$(mandoc -T utf8 man/lazyfault.8 | sed 's/.\x08//g' | tr -s ' \n' ' ')
[[ $text == *"a handler that takes less than its hooks cannot be told from one that takes nothing"* ]]
result $? "the manual states the floor of handler times" "not found in CAVEATS"

done_testing
