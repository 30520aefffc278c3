# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What every test in bash shares: TAP, a command's output and status, and a scratch directory that
# goes away. Whoever sources it is at the top of the source from then on.

top=$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/..")
cd "$top" || exit 1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lazyfault-test.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
tests=0
failures=0

# die REASON: nothing can be tested.
die()
{
	printf 'Bail out! %s\n' "$*"
	exit 1
}

# result STATUS NAME [DETAIL]: a test that STATUS decides, which is "$?" right after its condition.
# It comes first, as words are expanded in order: a command substitution in DETAIL cannot put its
# own status in the condition's place.
result()
{
	[[ $1 =~ ^[0-9]+$ ]] || die "the status of '$2' is '$1', which is no number"
	tests=$((tests + 1))
	if (($1 == 0)); then
		printf 'ok %d - %s\n' "$tests" "$2"
		return
	fi
	failures=$((failures + 1))
	printf 'not ok %d - %s\n' "$tests" "$2"
	if [[ -n ${3:-} ]]; then
		head -n 100 <<< "$3" | sed 's/^/# /' >&2
	fi
}

# ok NAME COMMAND...: passes when COMMAND succeeds.
ok()
{
	local name=$1 status=0

	shift
	"$@" || status=$?
	result "$status" "$name" "status $status: $*"
}

# is NAME GOT EXPECTED
is()
{
	[[ $2 == "$3" ]] && true
	result $? "$1" "got:      $2"$'\n'"expected: $3"
}

# has NAME FILE PATTERN: passes when a line of FILE matches.
has()
{
	grep -qE -- "$3" "$2" && true
	result $? "$1" "nothing matches $3: $(< "$2")"
}

# skip REASON NAME: of what this machine does not have.
skip()
{
	tests=$((tests + 1))
	printf 'ok %d - %s # SKIP %s\n' "$tests" "$2" "$1"
}

# Runs a command with its output in $scratch/out and $scratch/err, and its exit status in $status.
try()
{
	status=0
	"$@" > "$scratch/out" 2> "$scratch/err" < /dev/null || status=$?
}

# The last command of a test: its status is 0 if no test failed.
done_testing()
{
	printf '1..%d\n' "$tests"
	((failures == 0))
}
