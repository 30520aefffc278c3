# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the tests of the guest tools share: TAP in bash, and a scratch directory that goes away.

top=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../..")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lazyfault-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
tests=0

# ok DESCRIPTION COMMAND...: passes when COMMAND succeeds.
ok()
{
	local description=$1

	shift
	tests=$((tests + 1))
	if "$@"; then
		echo "ok $tests - $description"
	else
		echo "not ok $tests - $description"
		echo "# failed: $*" >&2
	fi
}

# is DESCRIPTION GOT EXPECTED
is()
{
	ok "$1" [ "$2" = "$3" ]
}

# has DESCRIPTION FILE PATTERN: passes when a line of FILE matches.
has()
{
	ok "$1" grep -qE -- "$3" "$2"
	grep -qE -- "$3" "$2" || sed 's/^/# /' "$2" >&2
}

# Runs a command with its output in $scratch/out and $scratch/err, and its exit status in $status.
try()
{
	status=0
	"$@" > "$scratch/out" 2> "$scratch/err" < /dev/null || status=$?
}

done_testing()
{
	echo "1..$tests"
}
