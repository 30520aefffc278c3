#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bash completion, held against the program's own help, with a bpftool that
# pretends to have maps. Run it by prove from the top of the source.
set -euo pipefail

program=$(realpath "${LAZYFAULT:-build/lazyfault}")
script=packaging/lazyfault.bash

die() {
	printf 'Bail out! %s\n' "$*"
	exit 1
}

[[ -x $program ]] || die "$program is not there: run make first, or name it by LAZYFAULT"
[[ -r $script ]] || die "$script is not there: run this from the top of the source"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/files"
touch "$scratch/files/run.jsonl"
ln -s "$program" "$scratch/bin/lazyfault"
cat >"$scratch/bin/bpftool" <<'EOF'
#!/bin/sh
[ "$*" = "-j map list" ] || exit 1
echo '[{"id":7,"type":"array","name":"flow_stats","flags":1024,"btf_id":99,"pids":[{"pid":1,"comm":"x"}]},{"id":12,"type":"hash","name":"lpm"},{"id":70,"type":"arena"}]'
EOF
chmod +x "$scratch/bin/bpftool"
PATH=$scratch/bin:$PATH

# shellcheck source=packaging/lazyfault.bash
. "$script"

count=0

# completes WORD...: what the last word can become; words are parted as by bash
completes() {
	COMP_WORDS=(lazyfault "$@")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_lazyfault || true
	printf '%s ' "${COMPREPLY[@]}" | sed 's/ *$//'
}

# is EXPECTED WORD...
is() {
	local got expected=$1
	shift

	got=$(completes "$@")
	count=$((count + 1))
	if [[ $got == "$expected" ]]; then
		printf 'ok %d - %s\n' "$count" "lazyfault $*"
	else
		printf 'not ok %d - %s\n# got: %s\n# not: %s\n' "$count" "lazyfault $*" "$got" "$expected"
	fi
}

# has PATTERN WORD...: among the completions
has() {
	local got pattern=$1
	shift

	got=$(completes "$@")
	count=$((count + 1))
	if [[ " $got " == *" $pattern "* ]]; then
		printf 'ok %d - %s\n' "$count" "lazyfault $* has $pattern"
	else
		printf 'not ok %d - %s\n# got: %s\n' "$count" "lazyfault $* has $pattern" "$got"
	fi
}

options_of() {
	"$program" "$@" --help | sed -nE 's/^ +(-[^-], )?(--[a-z-]+=?).*/\2/p' | tr '\n' ' ' | sed 's/ $//'
}

commands=$("$program" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' | tr '\n' ' ')
is "${commands% }" ''
is report rep
is "$(options_of)" -
is "$(options_of)" --
for command in $commands; do
	is "$(options_of "$command")" "$command" -
done
is '--duration=' --dur
is '--timestamp' report --time
is '' check --dur
is '' report --pid
is 'faults installed time batches raced pid map start' -s ''
is 'time calls failed waiting max pid map' updates -s ''
is 'faults installed time batches raced pid map start calls failed waiting max' report --sort = ''
is 'pid' --sort = p
is 'faults failed' report --sort fa
is 'id name pinned 12 7 70' -m ''
is '7 70' -m 7
is '7 70' --map = 7
is 'flow_stats lpm' -m name ''
is 'flow_stats' --map name f
is 'lpm' --map = name l
is '12 7 70' -m id ''
has $$ -p "${$%?}"
has "1,$$" --pid = "1,${$%?}"
is "$scratch/files/run.jsonl" report "$scratch/files/"
is "$scratch/files/run.jsonl" -j -o "$scratch/files/"
is "$scratch/files/run.jsonl" --openmetrics = "$scratch/files/r"
is "$scratch/files/run.jsonl" --save = "$scratch/files/r"
is '--events' --ev
is '' report --ev
is "$scratch/files" -c "$scratch/f"
is '' -d ''
is '' 1 ''
is '' check ''
has true -- tru
has lazyfault faults -p 1 -- lazyfau
is "$scratch/files/run.jsonl" -- cat "$scratch/files/"
is '' -- cat --js

# without the right to list maps, and without bpftool, nothing is said
printf '#!/bin/sh\necho "Error: not permitted" >&2\nexit 255\n' >"$scratch/bin/bpftool"
is 'id name pinned' -m ''
is '' -m name ''
printf '1..%d\n' "$count"
