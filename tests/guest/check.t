# SPDX-License-Identifier: GPL-2.0-or-later
# `check` and the modes, held against /proc/kallsyms; grounds that refuse.
# vm: add=/usr/bin/setpriv:/root/bin/limited
# vm: smp=2 memory=1024 timeout=1200
. ./lib.sh

lazyfault check >"$work/check" 2>&1
is $? 0 "check: this kernel can be traced"
like "$(cat "$work/check")" "lazyfault can trace here" "check: says so"
lazyfault check --json >"$work/check.json"
is "$(jq -r '[.type, .ok] | join(" ")' "$work/check.json")" "check true" "check --json"

lazyfault -j -d 0.1 -o "$work/run.jsonl"
start() { jq -r "select(.type == \"start\") | $1" "$work/run.jsonl"; }
is "$(start .modes.ringbuf)" eager "ring buffers are eager"
if has_function array_map_mmap_pages; then
	mode=lazy+around
elif array_is_lazy; then
	mode=lazy
else
	mode=eager
fi
is "$(start .modes.array)" $mode "arrays are $mode"
is "$(start .modes.arena)" "$(arena_exists && echo lazy || echo none)" "arenas are lazy where they exist"
is "$(start .counting)" exact "counting is exact"
handler=$(start .handlers.array.fault)
if array_is_lazy; then
	like "$(grep -c " [tT] $handler\$" /proc/kallsyms)" "^[1-9]" "the fault handler $handler is a symbol"
else
	is "$handler" null "no fault handler"
fi
is "$(start .page_bytes)" "$(getconf PAGESIZE 2>/dev/null || echo 4096)" "page size"
is "$(start .fault_around_bytes)" "$(cat /sys/kernel/debug/fault_around_bytes)" "fault_around_bytes"

# pointers hidden even from root: found all the same
echo 2 >/proc/sys/kernel/kptr_restrict
lazyfault -j -d 0.1 -o "$work/hidden.jsonl"
is "$(jq -c 'select(.type == "start") | [.modes, .handlers]' "$work/hidden.jsonl")" \
	"$(jq -c 'select(.type == "start") | [.modes, .handlers]' "$work/run.jsonl")" "kptr_restrict=2: the same modes"
echo 0 >/proc/sys/kernel/kptr_restrict

# grounds that refuse
refused() { # refused DESCRIPTION PATTERN COMMAND...
	description=$1
	pattern=$2
	shift 2
	message=$("$@" 2>&1 </dev/null)
	is $? 1 "$description: status 1"
	like "$message" "$pattern" "$description: the cause is named"
	unlike "$message" "[Rr]aise.*ulimit\|setrlimit" "$description: no talk of ulimit"
}
echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
chmod 755 /root /root/bin
refused "not root" "CAP_BPF" su -s /bin/sh nobody -c "PATH=$PATH lazyfault"
without() { # without CAPABILITIES COMMAND...: as root who lacks these, and who may lock little memory
	bounding=$1
	shift
	(ulimit -l 64 && exec limited --bounding-set "$bounding" "$@")
}
refused "root without CAP_BPF" "lacks CAP_BPF," without -bpf,-sys_admin lazyfault -d 0.1
refused "root without CAP_PERFMON" "lacks CAP_PERFMON," without -perfmon,-sys_admin lazyfault -d 0.1
without -sys_resource lazyfault -d 0.1 -j -o "$work/run.jsonl"
is $? 0 "without CAP_SYS_RESOURCE: traced"
is "$(start .counting)" exact "without CAP_SYS_RESOURCE: exactly"
umount /sys/kernel/security 2>/dev/null
mount -t securityfs none /sys/kernel/security
if grep -q confidentiality /sys/kernel/security/lockdown 2>/dev/null; then
	echo integrity >/sys/kernel/security/lockdown
	lazyfault -d 0.1 -j -o "$work/run.jsonl"
	is $? 0 "lockdown=integrity: traced"
	echo confidentiality >/sys/kernel/security/lockdown
	refused "lockdown=confidentiality" "lockdown" lazyfault -d 0.1
	like "$(lazyfault check)" "NO *lockdown *confidentiality" "check names lockdown"
	lazyfault check >/dev/null
	is $? 1 "check: status 1"
else
	skip "this kernel has no lockdown" "lockdown"
fi
finish
