# SPDX-License-Identifier: GPL-2.0-or-later
# A handler of another making (decline) is reported just as rightly.
# vm: kernel=fault-around append="bpf_array_mmap=decline" smp=2 memory=1024 timeout=1200
. ./lib.sh

brought "8 MiB read in order" --pages 2048
brought "513 pages from page 5 of the map on" --pages 513 --offset 5
brought "in random order" --pages 1000 --order random
brought "written" --pages 300 --access write
brought "reads and writes" --pages 1000 --access mixed:3
traced -- --pages 2048
is "$(total '.batches.declined > 0')" true "declined runs are counted apart"
is "$(total '.batches.declined == .faults.total + 0')" true "each declined run ended in a fault"
like "$(summary .verdict)" "fell through" "the verdict names what fell through"
finish
