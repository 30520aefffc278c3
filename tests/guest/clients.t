# SPDX-License-Identifier: GPL-2.0-or-later
# Real clients that nobody here wrote: softirqs and vfsstat of Debian's
# libbpf-tools touch their .bss array once. What the touch was, a read or a
# write, is the CPU's word: the error code in the kernel's own trace event.
# vm: smp=2 memory=1024 timeout=1200 add=/usr/sbin/softirqs:/root/bin/softirqs add=/usr/sbin/vfsstat:/root/bin/vfsstat
. ./lib.sh

if ! array_is_lazy; then
	skip "arrays are eager here" "softirqs and vfsstat"
	finish
	exit
fi
trace=/sys/kernel/tracing
echo 20000 >$trace/buffer_size_kb
for client in softirqs vfsstat; do
	echo >$trace/trace
	echo 1 >$trace/events/exceptions/page_fault_user/enable
	lazyfault -j -o "$work/run.jsonl" -- $client 1 1 >"$work/client.out" 2>"$work/stderr"
	is $? 0 "$client runs under lazyfault"
	echo 0 >$trace/events/exceptions/page_fault_user/enable
	bss=$(jq -c "select(.type == \"vma\" and .span == \"total\" and (.map.name | test(\"bss\$\")))" "$work/run.jsonl")
	is "$(printf '%s' "$bss" | jq -c '[.comm, .map.type, .pages, .faults.total, .faults.user, .installed_pages]')" \
		"[\"$client\",\"array\",1,1,1,1]" "$client: one fault on its .bss"
	page=$(printf '%s' "$bss" | jq -r .start)
	code=$(grep "$client" $trace/trace | grep "address=${page%000}" | sed 's/.*error_code=//')
	# bit 1: a write
	is "$(printf '%s' "$bss" | jq -c '[.faults.read, .faults.write]')" \
		"$([ $((code & 2)) -eq 0 ] && echo '[1,0]' || echo '[0,1]')" \
		"$client: read or write is what the CPU said ($code)"
	is "$(summary '.lost | add')" 0 "$client: nothing lost"
done
finish
