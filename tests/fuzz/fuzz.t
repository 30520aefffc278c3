#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs each fuzz target over its corpus, where each input that once failed is
# kept, and then for FUZZ_SECONDS over new inputs. One that fails is left in
# $FUZZ/found, and printed. `make check-fuzz` builds the targets first.
set -uo pipefail

cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
fuzz=${FUZZ:-build/fuzz}
seconds=${FUZZ_SECONDS:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests=0
failed=0

# glibc keeps what it makes of LOCPATH at each newlocale(), which json-c calls for each line
export LSAN_OPTIONS=suppressions=tests/unit/lsan.supp:print_suppressions=0

tell()
{
	local status=$1 text=$2 log=$3

	tests=$((tests + 1))
	if ((status == 0)); then
		echo "ok $tests - $text"
		return
	fi
	failed=1
	echo "not ok $tests - $text"
	grep -v -e '^#[0-9]' -e NEW_FUNC "$log" | head -n 60 | cut -c 1-400 | sed 's/^/# /'
}

if [[ ! $seconds =~ ^[1-9][0-9]{0,5}$ ]]; then
	echo "Bail out! FUZZ_SECONDS is '$seconds'; a number of seconds from 1 on is needed"
	exit 64
fi
mkdir -p "$fuzz/found"
for source in tests/fuzz/fuzz_*.c; do
	target=${source##*/fuzz_}
	target=${target%.c}
	inputs=(tests/fuzz/corpus/"$target"/*)

	"$fuzz/fuzz_$target" "${inputs[@]}" > "$work/log" 2>&1
	tell $? "$target: ${#inputs[@]} inputs of the corpus" "$work/log"

	mkdir "$work/$target"
	"$fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=60 \
		-artifact_prefix="$fuzz/found/$target-" \
		"$work/$target" "tests/fuzz/corpus/$target" > "$work/log" 2>&1
	status=$?
	runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$work/log")
	# a fuzzer that ran nothing has shown nothing
	[[ $status == 0 && ${runs:-0} -gt ${#inputs[@]} ]] || status=1
	tell "$status" "$target: $seconds s of new inputs" "$work/log"
	echo "# ${runs:-no} runs"
done
echo "1..$tests"
exit "$failed"
