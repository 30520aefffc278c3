# SPDX-License-Identifier: GPL-2.0-or-later
# Many tracers at once: each counts rightly, and the one that the kernel has no
# room for says what it goes without.
# vm: smp=2 memory=2048 timeout=1500
. ./lib.sh

# A function has room for 36 programs of fentry and fexit (arch/x86/net/bpf_jit_comp.c,
# BPF_MAX_TRAMP_LINKS less what the kernel itself uses).
begin() { # begin NUMBER
	lazyfault -j -o "$work/$1.run" --max-vmas=256 -v -m "name workload" >"$work/$1.out" 2>"$work/$1.err" &
	echo $! >"$work/$1.pid"
}
mkfifo "$work/stdin"
exec 3<>"$work/stdin"
workload --hold --pages 300 --wait-file "$work/go" <"$work/stdin" >"$work/w.json" &
target=$!
await grep -q ready "$work/w.json"
for i in $(seq 20); do
	begin "$i"
	await grep -q '"type":"start"' "$work/$i.run" || await grep -q . "$work/$i.err"
done
# programs load here, but there is no room to attach them
lazyfault check >"$work/check"
like "$(cat "$work/check")" "^NO *not traced *mmap calls: .* All places for tracing programs" \
	"check where functions have no room left: it says what it goes without"
touch "$work/go"
await grep -q holding "$work/w.json"
for i in $(seq 20); do
	kill -INT "$(cat "$work/$i.pid")"
	wait "$(cat "$work/$i.pid")"
	echo $? >"$work/$i.status"
done
expected=$(array_is_lazy && echo 300 || echo 0)
right=0
for i in $(seq 20); do
	got=$(jq -s '[.[] | select(.type == "vma" and .span == "total") | .faults.total] | add // 0' "$work/$i.run" 2>/dev/null)
	lost=$(jq -s '[.[] | select(.type == "summary") | .lost[]] | add // 0' "$work/$i.run" 2>/dev/null)
	if [ "$(cat "$work/$i.status")" = 0 ] && [ $((got + lost)) = "$expected" ]; then
		right=$((right + 1))
	elif [ "$(cat "$work/$i.status")" = 1 ] && grep -qi "slot\|room\|many" "$work/$i.err"; then
		right=$((right + 1))	# it could not, and said why
	else
		echo "tracer $i: status $(cat "$work/$i.status"), $got faults, $lost lost" | diag
		diag <"$work/$i.err"
	fi
done
is $right 20 "20 tracers at once: each counts all, or says why it cannot"
like "$(cat "$work/20.err")" "not traced" "the twentieth says what it goes without"
unlike "$(cat "$work/2.err")" "not traced" "the second goes without nothing"
kill $target
exactly "after them" --pages 300
finish
