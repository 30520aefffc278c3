# SPDX-License-Identifier: GPL-2.0-or-later
# A handler of another making (renamed) is reported just as rightly.
# vm: kernel=fault-around append="bpf_array_mmap=renamed" smp=2 memory=1024 timeout=1200
. ./lib.sh

brought "8 MiB read in order" --pages 2048
brought "513 pages from page 5 of the map on" --pages 513 --offset 5
brought "in random order" --pages 1000 --order random
brought "written" --pages 300 --access write
brought "reads and writes" --pages 1000 --access mixed:3
handler=$(lazyfault -j -d 0.1 | jq -r 'select(.type == "start") | .handlers.array.map_pages')
unlike "$handler" "map_mmap_pages" "its name is $handler"
like "$(grep -c " [tT] $handler\$" /proc/kallsyms)" "^1" "and that is a symbol"
finish
