# SPDX-License-Identifier: GPL-2.0-or-later
# Bash completion for lazyfault. Commands, options and what they take are read
# from the program's own --help, so that they are those of the one installed;
# map ids and names come from bpftool, where it may list them.
# shellcheck shell=bash

# The help of a command, each option on one line.
_lazyfault_help() {
	ARGP_HELP_FMT=rmargin=1000 "${COMP_WORDS[0]}" "$@" --help 2>/dev/null
}

# The options of a help on stdin, those that take a value with a = behind them.
_lazyfault_options() {
	sed -nE 's/^  (-., |    )(--[a-z-]+=?).*/\2/p'
}

# What an option takes, by the help on stdin: "FILE", "PID[,PID...]"; or nothing.
_lazyfault_takes() {
	case $1 in
	--*) sed -nE "s/^  (-., |    )$1=([^ ]+) .*/\\2/p" ;;
	-?) sed -nE "s/^  $1, --[a-z-]+=([^ ]+) .*/\\1/p" ;;
	esac
}

# The keys that a help on stdin lists for --sort.
_lazyfault_keys() {
	sed -nE 's/^  -s, --sort=KEY .*: ([a-z, ]+) \(default.*/\1/p' | tr -d ,
}

# Maps as bpftool knows them: _lazyfault_maps id|name
_lazyfault_maps() {
	local bpftool

	bpftool=$(PATH=$PATH:/usr/sbin:/sbin type -P bpftool) || return 0
	"$bpftool" -j map list 2>/dev/null |
		grep -oE "\"$1\":(\"[A-Za-z0-9_.]+\"|[0-9]+)" | sed -E 's/^"[a-z]+"://; s/"//g' | sort -u
}

_lazyfault_processes() {
	local directory

	for directory in /proc/[1-9]*; do
		printf '%s\n' "${directory#/proc/}"
	done
}

# Words that a value can be: _lazyfault_reply CURRENT WORDS
_lazyfault_reply() {
	mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

_lazyfault_files() {
	compopt -o filenames 2>/dev/null
	mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

# A value of what the help calls $1; $2 is as far as it was typed, $3 the command.
_lazyfault_value() {
	local before

	case $1 in
	FILE) _lazyfault_files -f "$2" ;;
	PATH) _lazyfault_files -d "$2" ;;
	KEY) _lazyfault_reply "$2" "$(_lazyfault_help "$3" | _lazyfault_keys)" ;;
	MAP) _lazyfault_reply "$2" "id name pinned $(_lazyfault_maps id)" ;;
	PID*)
		before=
		[[ $2 == *,* ]] && before=${2%,*},
		_lazyfault_reply "${2##*,}" "$(_lazyfault_processes)"
		COMPREPLY=("${COMPREPLY[@]/#/$before}")
		;;
	esac
}

# The second word of `-m name NAME`, and of the other forms.
_lazyfault_map_word() {
	case $1 in
	id) _lazyfault_reply "$2" "$(_lazyfault_maps id)" ;;
	name) _lazyfault_reply "$2" "$(_lazyfault_maps name)" ;;
	pinned) _lazyfault_files -f "${2:-/sys/fs/bpf/}" ;;
	esac
}

_lazyfault() {
	local commands command=faults current=${COMP_WORDS[COMP_CWORD]} i
	# the words before the current one, with what follows a = in its own place
	local option=${COMP_WORDS[COMP_CWORD - 1]} takes

	COMPREPLY=()
	commands=$(_lazyfault_help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
	for ((i = 1; i < COMP_CWORD; i++)); do
		if [[ ${COMP_WORDS[i]} == -- ]]; then
			# what follows is the traced command's
			if ((COMP_CWORD == i + 1)); then
				mapfile -t COMPREPLY < <(compgen -c -- "$current")
			else
				_lazyfault_files -f "$current"
			fi
			return
		fi
	done
	((COMP_CWORD > 1)) && [[ " ${commands//$'\n'/ } " == *" ${COMP_WORDS[1]} "* ]] &&
		command=${COMP_WORDS[1]}

	if [[ $current == = ]]; then
		current=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	elif ((COMP_CWORD > 2)) && [[ ${COMP_WORDS[COMP_CWORD - 2]} == @(-m|--map|=) ]] &&
		[[ $option == @(id|name|pinned) ]]; then
		_lazyfault_map_word "$option" "$current"
		return
	fi
	if [[ $option == -* ]]; then
		takes=$(_lazyfault_help "$command" | _lazyfault_takes "$option")
		if [[ -n $takes ]]; then
			_lazyfault_value "$takes" "$current" "$command"
			return
		fi
	fi
	if [[ $current == -* ]]; then
		_lazyfault_reply "$current" "$(_lazyfault_help "$command" | _lazyfault_options)"
		[[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
	elif ((COMP_CWORD == 1)); then
		_lazyfault_reply "$current" "$commands"
	elif _lazyfault_help "$command" | grep -qE '^Usage: .* FILE$'; then
		_lazyfault_files -f "$current"
	fi
}

complete -F _lazyfault lazyfault
