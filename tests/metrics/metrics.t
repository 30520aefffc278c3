#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The metrics file where it is meant to go: promtool finds nothing to say, and
# what Prometheus answers, having scraped node_exporter, is what the capture
# says. Everything listens on 127.0.0.1.
set -euo pipefail

# shellcheck source=tests/tap.sh
. "$(dirname "$0")/../tap.sh"
program=${LAZYFAULT:-build/lazyfault}
capture=tests/captures/linux-7.3.jsonl

[[ -x $program ]] || die "$program is not there: run make first, or name it by LAZYFAULT"
[[ -r $capture ]] || die "$capture is not there"
command -v jq >/dev/null || die "jq is missing: tools/setup check"
tools=$(tests/metrics/tools) || die "no Prometheus to test with"

pids=()
clean_up() {
	local pid

	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$scratch"
}
trap clean_up EXIT

# metrics CAPTURE [OPTION...]: the file that the collector reads
mkdir "$scratch/collector"
file=$scratch/collector/lazyfault.prom
metrics() {
	"$program" report -q -o "$scratch/text" --openmetrics="$file" "${@:2}" "$1"
}

# The names of the labels of a metric.
labels() {
	sed -n "s/^$1{\(.*\)} .*/\1/p" "$file" | sed -E 's/="[^"]*"//g' | sort -u
}

# ---- the format ----

metrics "$capture"
said=$("$tools/promtool" check metrics <"$file" 2>&1) && [[ -z $said ]] && true
result $? 'promtool has nothing to say' "$said"
metrics "$capture" --per-process
said=$("$tools/promtool" check metrics <"$file" 2>&1) && [[ -z $said ]] && true
result $? 'nor with --per-process' "$said"
jq -c '(.comm? // empty) = "\"\\\n{}=,é" | if .map? then .map.name = "a\"b\\c\n" else . end' \
	"$capture" >"$scratch/hostile"
metrics "$scratch/hostile" --per-process
said=$("$tools/promtool" check metrics <"$file" 2>&1) && [[ -z $said ]] && true
result $? 'nor about names of any bytes' "$said"
found=yes
sed 's/ [0-9.]*$/ x/' "$file" | "$tools/promtool" check metrics >/dev/null 2>&1 && found=no
[[ $found == yes ]] && true
result $? 'promtool would find a bad value'
metrics "$capture"
is 'labels are of the map, the access and the origin' \
	"$(labels lazyfault_faults_total)" 'map_id,map_name,map_type,access,origin'
is 'nothing is told of processes' "$(grep -ciE '[{,](pid|comm)=' "$file" || true)" 0
counts=$(sed -n 's/^\([a-z_]*\)_count{/\1{/p' "$file")
[[ -n $counts && $counts == "$(sed -n 's/_bucket\(.*\),le="+Inf"} /\1} /p' "$file")" ]] && true
result $? 'the last bucket of each histogram has its count' "$counts"
is 'node_exporter may read it' "$(stat -c %a "$file")" 644
is 'it ends as OpenMetrics does' "$(tail -n 1 "$file")" '# EOF'
is 'no temporary file stays' "$(find "$scratch/collector" -type f | wc -l)" 1

# ---- end to end ----

# A port that nobody listens on.
free_port() {
	local port

	for _ in {1..50}; do
		port=$((20000 + RANDOM % 12000))
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			printf '%d\n' "$port"
			return
		fi
	done
	die 'no free port'
}

exporter_port=$(free_port)
"$tools/prometheus-node-exporter" --web.listen-address="127.0.0.1:$exporter_port" \
	--collector.disable-defaults --collector.textfile \
	--collector.textfile.directory="$scratch/collector" >"$scratch/exporter.log" 2>&1 &
pids+=($!)

prometheus_port=$(free_port)
cat >"$scratch/prometheus.yml" <<EOF
global:
  scrape_interval: 1s
scrape_configs:
  - job_name: node
    static_configs:
      - targets: ['127.0.0.1:$exporter_port']
EOF
"$tools/prometheus" --config.file="$scratch/prometheus.yml" \
	--web.listen-address="127.0.0.1:$prometheus_port" \
	--storage.tsdb.path="$scratch/data" >"$scratch/prometheus.log" 2>&1 &
pids+=($!)

# The value of an expression with one result; empty if there is none yet.
query() {
	"$tools/promtool" query instant "http://127.0.0.1:$prometheus_port" "$1" 2>/dev/null |
		sed -nE 's/^.* => ([^ ]+) @.*/\1/p'
}

# Waits up to a minute for an expression to have a value.
await() {
	local got=

	for _ in {1..120}; do
		got=$(query "$1" || true)
		[[ $got == "$2" ]] && break
		sleep 0.5
	done
	[[ $got == "$2" ]] && true
	result $? "$3" \
		"$1 is '$got', not '$2'; $(tail -n 3 "$scratch/exporter.log" "$scratch/prometheus.log")"
}

# First the beginning of the run, as it was written at its third interval.
third=$(grep -n '"type":"interval"' "$capture" | sed -n '3s/:.*//p')
head -n "$third" "$capture" >"$scratch/beginning"
metrics "$scratch/beginning" 2>/dev/null
faults=$(jq -s 'map(select(.type == "interval").faults) | add' "$scratch/beginning")
await 'sum(lazyfault_faults_total)' "$faults" 'the faults of the first intervals arrive'
metrics "$capture"
summary() {
	jq "select(.type == \"summary\") | $1" "$capture"
}
await 'sum(lazyfault_faults_total)' "$(summary .faults)" 'and then those of the whole run'
is 'no counter went back' "$(query 'sum(resets(lazyfault_faults_total[5m]))')" 0
is 'pages are those of the summary' \
	"$(query 'sum(lazyfault_installed_pages_total)')" "$(summary .installed_pages)"
is 'the histogram has all timed faults' \
	"$(query 'sum(lazyfault_fault_duration_seconds_count)')" \
	"$(jq -s 'map(select(.span == "total").fault_ns.count) | add' "$capture")"
is 'labels tell access, origin and type' \
	"$(query 'sum(lazyfault_faults_total{access="write",origin="user",map_type="arena"})')" \
	"$(jq -s 'map(select(.span == "total" and .map.type == "arena").faults.write) | add' "$capture")"
got=$(query 'histogram_quantile(0.5, sum by (le) (lazyfault_fault_duration_seconds_bucket)) * 1e9 > 100 < 1e6')
[[ -n $got ]] && true
result $? 'the median is one that there can be' "got '$got'"
is 'unseen runs too' "$(query 'sum(lazyfault_unseen_runs_total)')" "$(summary .unseen_runs)"
is 'and nothing was lost' "$(query 'sum(lazyfault_lost_events_total)')" 0
metrics "$capture" --per-process
pid=$(jq -s 'map(select(.span == "total"))[0].pid' "$capture")
await "sum(lazyfault_faults_total{pid=\"$pid\"})" \
	"$(jq -s "map(select(.span == \"total\" and .pid == $pid).faults.total) | add" "$capture")" \
	'with --per-process, a process has its own'
is 'node_exporter has no complaint' "$(query node_textfile_scrape_error)" 0

done_testing
