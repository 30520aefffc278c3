#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The kernel's side compiles for arm64, too, without a warning.
set -uo pipefail

cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
count=0
failed=0
for source in bpf/*.bpf.c; do
	count=$((count + 1))
	# shellcheck disable=SC2046
	if complaints=$("${CLANG:-clang}" -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_arm64 -Ivmlinux -Ibpf \
			$(pkg-config --cflags libbpf) -Wall -Werror -c "$source" -o "$out/object.o" 2>&1); then
		echo "ok $count - $source compiles for arm64"
	else
		failed=1
		echo "not ok $count - $source compiles for arm64"
		head -n 20 <<< "$complaints" | sed 's/^/# /'
	fi
done
echo "1..$count"
exit $failed
