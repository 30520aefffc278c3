#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Runs each fuzz target over its corpus, where each input that once failed is
# kept, and then for FUZZ_SECONDS over new inputs. One that fails is left in
# $FUZZ/found, and printed. `make check-fuzz` builds the targets first.
set -uo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
fuzz=${FUZZ:-build/fuzz}
seconds=${FUZZ_SECONDS:-20}

# glibc keeps what it makes of LOCPATH at each newlocale(), which json-c calls for each line
export LSAN_OPTIONS=suppressions=tests/unit/lsan.supp:print_suppressions=0

# complaints: what a fuzzer said in $scratch/err, but for its progress
complaints()
{
	grep -av -e '^#[0-9]' -e NEW_FUNC "$scratch/err" | cut -c 1-400
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

	try "$fuzz/fuzz_$target" "${inputs[@]}"
	result "$status" "$target: ${#inputs[@]} inputs of the corpus" "$(complaints)"

	mkdir "$scratch/$target"
	try "$fuzz/fuzz_$target" -max_total_time="$seconds" -max_len=4096 -timeout=60 \
		-artifact_prefix="$fuzz/found/$target-" "$scratch/$target" "tests/fuzz/corpus/$target"
	runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$scratch/err")
	# a fuzzer that ran nothing has shown nothing
	[[ $status == 0 && ${runs:-0} -gt ${#inputs[@]} ]] || status=1
	result "$status" "$target: $seconds s of new inputs" "$(complaints)"
	echo "# ${runs:-no} runs"
done

done_testing
