#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Bash completion, held against the program's own help, with a bpftool that
# pretends to have maps.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=$(realpath "${LAZYFAULT:-build/lazyfault}")
script=packaging/lazyfault.bash

[[ -x $program ]] || die "$program is not there: run make first, or name it by LAZYFAULT"
[[ -r $script ]] || die "$script is not there"

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

# completes WORD...: what the last word can become; words are parted as by bash
completes() {
	COMP_WORDS=(lazyfault "$@")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	_lazyfault || true
	printf '%s ' "${COMPREPLY[@]}" | sed 's/ *$//'
}

# gives EXPECTED WORD...: and nothing else
gives() {
	local expected=$1

	shift
	is "lazyfault $*" "$(completes "$@")" "$expected"
}

# offers WORD WORD...: the first is among the completions
offers() {
	local expected=$1 got

	shift
	got=$(completes "$@")
	[[ " $got " == *" $expected "* ]] && true
	result $? "lazyfault $* has $expected" "$got"
}

options_of() {
	"$program" "$@" --help | sed -nE 's/^ +(-[^-], )?(--[a-z-]+=?).*/\2/p' | tr '\n' ' ' | sed 's/ $//'
}

commands=$("$program" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p' | tr '\n' ' ')
gives "${commands% }" ''
gives report rep
gives "$(options_of)" -
gives "$(options_of)" --
for command in $commands; do
	gives "$(options_of "$command")" "$command" -
done
gives '--duration=' --dur
gives '--timestamp' report --time
gives '' check --dur
gives '' report --pid
gives 'faults installed time batches raced pid map start' -s ''
gives 'time calls failed waiting max pid map' updates -s ''
gives 'faults installed time batches raced pid map start calls failed waiting max' report --sort = ''
gives 'pid' --sort = p
gives 'faults failed' report --sort fa
gives 'id name pinned 12 7 70' -m ''
gives '7 70' -m 7
gives '7 70' --map = 7
gives 'flow_stats lpm' -m name ''
gives 'flow_stats' --map name f
gives 'lpm' --map = name l
gives '12 7 70' -m id ''
offers $$ -p "${$%?}"
offers "1,$$" --pid = "1,${$%?}"
gives "$scratch/files/run.jsonl" report "$scratch/files/"
gives "$scratch/files/run.jsonl" -j -o "$scratch/files/"
gives "$scratch/files/run.jsonl" --openmetrics = "$scratch/files/r"
gives "$scratch/files/run.jsonl" --save = "$scratch/files/r"
gives '--events' --ev
gives '' report --ev
gives "$scratch/files" -c "$scratch/f"
gives '' -d ''
gives '' 1 ''
gives '' check ''
offers true -- tru
offers lazyfault faults -p 1 -- lazyfau
gives "$scratch/files/run.jsonl" -- cat "$scratch/files/"
gives '' -- cat --js

# without the right to list maps, and without bpftool, nothing is said
printf '#!/bin/sh\necho "Error: not permitted" >&2\nexit 255\n' >"$scratch/bin/bpftool"
gives 'id name pinned' -m ''
gives '' -m name ''
done_testing
