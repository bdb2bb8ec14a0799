# Shared by the benchmarks that are scripts: . "${0%/*}/bench.sh"
#
# The scripts measure pskit and the program that it is compared with in turn,
# and print the line of t/bench/bench.h with the medians of both.  A measurement
# that fails ends the script, so each line has figures.
# BENCH_SIZE is "tiny" (does it run at all?), "normal" or "full"; BENCH_RUNS is
# the number of runs of each, 5 if it is not set.

set -eu
dir=$(mktemp -d)
trap 'exec 7>&-; wait; rm -r "$dir"' EXIT
trap 'exit 1' INT TERM
size=${BENCH_SIZE:-normal}
runs=${BENCH_RUNS:-5}
[ "$size" != tiny ] || runs=1

# scale TINY NORMAL FULL - print the argument for BENCH_SIZE.
scale() {
	case $size in
	tiny) echo "$1" ;;
	full) echo "$3" ;;
	*) echo "$2" ;;
	esac
}

# skip WHAT - report on stderr that something is not measured, and why.
skip() {
	echo "${0##*/}: SKIPPED: $*" >&2
}

# measure SERIES COMMAND... - add a run to the series: COMMAND prints a figure
# and, if it measures them, the processor seconds.
measure() {
	series=$dir/$1.series
	shift
	if ! "$@" >"$dir/figure" || ! awk '
		$1 + 0 > 0 { good = 1 } END { exit !good }' "$dir/figure"; then
		echo "${0##*/}: $1: nothing was measured" >&2
		exit 1
	fi
	cat "$dir/figure" >>"$series"
}

# median SERIES [COLUMN] - print the median of the figures of a series, or, with
# COLUMN 2, of its processor seconds.
median() {
	awk -v column="${2:-1}" 'NF >= column { print $column }' \
		"$dir/$1.series" | sort -g |
		awk '{ run[NR] = $1 } END {
			low = int((NR + 1) / 2)
			high = int((NR + 2) / 2)
			if (NR)
				printf "%.6g\n", (run[low] + run[high]) / 2
		}'
}

# line CASE UNIT SERIES AGAINST PEER [TARGET | "most" BOUND] - print the JSON
# line of a comparison.  PEER is a series, or a number.
line() {
	case $5 in
	[0-9]*) peer=$5 peer_cpu='' ;;
	*) peer=$(median "$5") peer_cpu=$(median "$5" 2) ;;
	esac
	awk -v bench="${0##*/}" -v what="$1" -v unit="$2" \
		-v figure="$(median "$3")" -v cpu="$(median "$3" 2)" \
		-v against="$4" -v peer="$peer" -v peer_cpu="$peer_cpu" \
		-v target="${6-}" -v most="${7-}" '
	function text(key, value) {
		printf ",\"%s\":\"%s\"", key, value
	}
	function number(key, value) {
		if (value != "")
			printf ",\"%s\":%s", key, value
	}
	BEGIN {
		if (figure + 0 <= 0 || peer + 0 <= 0)
			exit 1
		printf "{\"bench\":\"%s\"", bench
		text("case", what)
		number("figure", figure)
		text("unit", unit)
		number("cpu", cpu)
		text("against", against)
		number("peer_figure", peer)
		number("peer_cpu", peer_cpu)
		printf ",\"ratio\":%.3f", figure / peer
		if (target == "most")
			number("most", most)
		else
			number("target", target)
		print "}"
	}'
}


# timed COMMAND... - print the wall and processor seconds of a command and of
# the processes that it waited for; the command's own output is dropped.
timed() {
	began=$(date +%s%N)
	("$@" >/dev/null && times >"$dir/times") || return
	ended=$(date +%s%N)
	awk -v wall=$((ended - began)) '
	function seconds(text) {
		split(text, part, /[ms]/)
		return 60 * part[1] + part[2]
	}
	NR == 2 { print wall / 1e9, seconds($1) + seconds($2) }
	' "$dir/times"
}

# rate AMOUNT - convert the wall and processor seconds on standard input, which
# are those of AMOUNT units of work, into units a second and processor seconds
# for a unit.
rate() {
	awk -v n="$1" '{ print n / $1, $2 / n }'
}

# joined COUNT - print the rate of the last line of standard input, which has
# COUNT lines: the steps and the seconds of a join.  Zero seconds count as a
# millisecond, the unit in which a join reports them.
joined() {
	awk -v n="$1" '{ rate = $1 / ($2 > 0 ? $2 : 0.001) }
		END { print rate; exit NR != n }'
}

# cpu_line CASE UNIT SERIES AGAINST PEER TARGET - print the line that compares
# the units of work of a processor second; PEER is a series.
cpu_line() {
	for each in "$3" "$5"; do
		awk '{ print 1 / $2 }' "$dir/$each.series" \
			>"$dir/$each.cpu.series"
	done
	line "$1" "${2%/s}/CPU s" "$3.cpu" "$4" "$5.cpu" "$6"
}

# peer_python MODULE - print the path of the Python of the peers, if it has the
# module; else report that the benchmark is skipped.
peer_python() {
	python=${PEERS-$BUILD/t/bench/venv}/bin/python
	if "$python" -c "import importlib.util as i, sys
sys.exit(i.find_spec('$1') is None)" 2>/dev/null; then
		echo "$python"
	else
		skip "no $1: make bench-peers"
	fi
}

# tensorflow_start SCRIPT - start a cluster of TensorFlow, once, that measures
# for tensorflow_ask until this script ends.  Sets tensorflow to its Python, or
# to the empty string if TensorFlow is not installed.
tensorflow_start() {
	tensorflow=$(peer_python tensorflow)
	[ -n "$tensorflow" ] || return 0
	mkfifo "$dir/ask" "$dir/answer"
	"$tensorflow" "${0%/*}/$1" <"$dir/ask" >"$dir/answer" &
	exec 7>"$dir/ask" 8<"$dir/answer"
}

# tensorflow_ask NUMBER... - send the numbers to the script of TensorFlow as a
# line, and print the line that it answers.
tensorflow_ask() {
	echo "$*" >&7
	read -r figures <&8 && echo "$figures"
}
