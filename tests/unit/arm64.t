#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The kernel's side compiles for arm64, too, without a warning.
set -uo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"

for source in bpf/*.bpf.c; do
	# shellcheck disable=SC2046
	try "${CLANG:-clang}" -g -O2 -target bpf -mcpu=v3 -D__TARGET_ARCH_arm64 -Ivmlinux -Ibpf \
		$(pkg-config --cflags libbpf) -Wall -Werror -c "$source" -o "$scratch/object.o"
	result "$status" "$source compiles for arm64" "$(< "$scratch/err")"
done

done_testing
