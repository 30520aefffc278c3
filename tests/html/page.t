#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The HTML report in headless Chromium: checks.js looks at it in phone and desktop
# widths, light and dark; then it is printed. SCREENSHOTS=DIR keeps pictures of it.
#
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=${LAZYFAULT:-build/lazyfault}
capture=tests/captures/linux-7.3.jsonl

[[ -x $program ]] || die "$program is not there: run make first, or name it by LAZYFAULT"
[[ -r $capture ]] || die "$capture is not there"
for tool in chromium pdftotext jq; do
	command -v "$tool" >/dev/null || die "$tool is missing: tools/setup html"
done

# browse OPTION... URL, without a network, a sandbox (root has none) or a profile of anyone's
browse() {
	timeout 120 chromium --headless=new --no-sandbox --disable-gpu --no-first-run \
		--disable-extensions --disable-background-networking --disable-component-update \
		--host-resolver-rules='MAP * ~NOTFOUND' --hide-scrollbars \
		--user-data-dir="$scratch/profile" "$@" 2>>"$scratch/chromium.log"
}

# check NAME CAPTURE SHOWN SCHEME: SHOWN is a JSON array of names that the page must show.
check() {
	local name=$1 file=$2 shown=$3 scheme=$4 line
	local page=$scratch/$name.html summary faults ordinary=false

	[[ $name == hostile || $name == long ]] || ordinary=true

	"$program" report --html -o "$page" "$file" 2>"$scratch/errors" ||
		die "no page of $file: $(<"$scratch/errors")"
	summary=$(jq -c 'select(.type == "summary")' "$file")
	faults=$(jq -sc 'map(select(.type == "vma" and .span == "total").faults.total)
			 | sort | reverse | .[:500]' "$file")
	{
		printf '<!DOCTYPE html><meta charset="utf-8"><body><script>\n'
		printf 'const page = %s, summary = %s, faults = %s, names = %s;\n' \
			"$(jq -Rsc . "$page" | sed 's/</\\u003c/g')" \
			"$(sed 's/</\\u003c/g' <<<"$summary")" "$faults" \
			"$(sed 's/</\\u003c/g' <<<"$shown")"
		printf 'const ordinary = %s;\n' "$ordinary"
		cat tests/html/checks.js
		printf '</script></body>\n'
	} >"$scratch/checks.html"
	browse --blink-settings="preferredColorScheme=$scheme" --virtual-time-budget=20000 \
		--dump-dom "file://$scratch/checks.html" |
		sed -n '/<pre id="results">/,/<\/pre>/p' |
		sed 's/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' >"$scratch/results"
	while IFS= read -r line; do
		case $line in
		'ok - '*) result 0 "$name: ${line#ok - }" ;;
		'not ok - '*) result 1 "$name: ${line#not ok - }" ;;
		'# '*) printf '%s\n' "$line" ;;
		esac
	done <"$scratch/results"
	grep -q '^done$' "$scratch/results" && true
	result $? "$name: all checks were made" \
		"$(tail -n 5 "$scratch/results" "$scratch/chromium.log")"
}

# 0 is dark, 1 is light, to Chromium.
check real "$capture" '["flow_stats", "scratch", "command sh"]' 1
check dark "$capture" '[]' 0

# Names that are markup, and that a terminal would obey.
jq -c 'if .comm then .comm = "<img src=x onerror=alert(1)>"[0:15] else . end
       | if .map then .map.name = "\"><b>&amp;\u001b[2J" else . end
       | if .verdict then .verdict = "</p><script>document.title=1</script> & more" else . end
       | if .scope then .scope = "</title><style>*{display:none}</style>" else . end
       | if .kernel then .kernel = "7.3 <script src=//x>" else . end' "$capture" >"$scratch/hostile.jsonl"
check hostile "$scratch/hostile.jsonl" \
	'["<img src=x oner", "\"><b>&amp;\\x1b[2J", "</title><style>*{display:none}</style>", "7.3 <script src=//x>"]' 1

# Long: very many intervals and VMAs, the longest names, the largest numbers. It adds up, or it
# would be left out.
jq -cn --slurpfile all "$capture" '
	def scaled($n): .faults |= (map_values(0) | .total = $n | .read = $n | .user = $n)
		| .installed_pages = $n | .where.installed |= (map(0) | .[0] = $n)
		| .fault_ns |= (.count = $n | .sum = $n * 300
				| .buckets = [{from: 256, to: 511, count: $n}] | .min = 256 | .max = 511);
	($all | map(select(.type == "vma" and .span == "total"))) as $vmas
	| ($all | map(select(.type == "interval")))[0] as $interval
	| $all[0],
	  (range(2000) as $i | ($i * 7919 % 1000) as $faults
	   | ($vmas[0] | .span = "interval" | .row = 1000 | scaled($faults) | del(.verdict, .where)),
	     ($interval * {faults: $faults, installed_pages: $faults,
			   time: "2026-11-30T1\($i / 600 | floor):\(10 + $i / 40 % 50 | floor):00.000000Z"})),
	  (range(600) as $i | $vmas[$i % ($vmas | length)]
	   * {row: (1000 + $i), pid: (4194304 - $i), comm: "WWWWWWWWWWWWWWW",
	      map: {id: 2147483647, name: "MMMMMMMMMMMMMMM", type: "array"}}
	   | scaled(999999999 - $i)),
	  ($all | map(select(.type == "summary"))[0]
	   | .faults = (999999999 * 600 - 599 * 300) | .installed_pages = .faults | .vmas = 600)' >"$scratch/long.jsonl"
check long "$scratch/long.jsonl" '["WWWWWWWWWWWWWWW", "And 100 more VMAs"]' 1
bytes=$(stat -c %s "$scratch/long.html")
((bytes < 2000000)) && true
result $? 'long: the page is below 2 MB' "$bytes"
bars=$(grep -o '<svg class="chart".*</svg>' "$scratch/long.html" | grep -o '<rect' | wc -l)
((bars > 200 && bars <= 480)) && true
result $? 'long: intervals are added up to what can be seen' "$bars bars"

# A kernel on which nothing can be said, and a capture that ends early.
head -n 3 "$capture" >"$scratch/short.jsonl"
"$program" report --html "$scratch/short.jsonl" >"$scratch/short.html" 2>/dev/null
grep -q 'The capture ends early' "$scratch/short.html" && true
result $? 'short: it is said that the capture ends early'

# Printed: all that is on the page, black on white, whatever the screen is like.
browse --blink-settings=preferredColorScheme=0 --no-pdf-header-footer \
	--print-to-pdf="$scratch/page.pdf" "file://$scratch/real.html" >/dev/null
pdftotext -layout "$scratch/page.pdf" "$scratch/page.txt"
verdict=$(jq -r 'select(.type == "summary").verdict' "$capture")
[[ $(tr -s ' \n' ' ' <"$scratch/page.txt") == *"$verdict"* ]] && true
result $? 'print: the verdict is there' "$(head -n 20 "$scratch/page.txt")"
for part in Totals 'Faults over time' 'VMAs one by one' 'Kernel and counting' flow_stats; do
	grep -q "$part" "$scratch/page.txt" && true
	result $? "print: $part is there"
done
pdftoppm -r 10 -gray -f 1 -singlefile "$scratch/page.pdf" "$scratch/page"
lightness=$(od -An -v -tu1 "$scratch/page.pgm" | awk '{ for (i = 1; i <= NF; i++) { sum += $i; n++ } }
	END { printf "%d of 255, %d in the corner", sum / n, $NF }')
[[ $lightness =~ ^2[2-5][0-9]\ .*\ 255\ in ]] && true
result $? 'print: dark on white' "$lightness"
pages=$(pdfinfo "$scratch/page.pdf" | sed -n 's/^Pages: *//p')
((pages >= 2 && pages <= 8)) && true
result $? 'print: on a few pages' "$pages"

if [[ -n ${SCREENSHOTS:-} ]]; then
	mkdir -p "$SCREENSHOTS"
	# photograph PAGE WIDTH SCHEME: in a frame, as no window of Chromium is as narrow as a phone
	photograph() {
		printf '<body style="margin:0"><iframe src="%s.html" style="%s;width:%dpx"></iframe>\n' \
			"$1" 'border:0;height:2400px' "$2" >"$scratch/frame.html"
		browse --blink-settings="preferredColorScheme=$3" --window-size="$(($2 < 500 ? 500 : $2)),2400" \
			--screenshot="$SCREENSHOTS/$1-$2-$3.png" "file://$scratch/frame.html" >/dev/null
	}
	for width in 360 1200; do
		for scheme in 0 1; do
			photograph real "$width" "$scheme"
		done
	done
	photograph long 390 1
	pdftoppm -r 60 -png "$scratch/page.pdf" "$SCREENSHOTS/print"
fi

done_testing
