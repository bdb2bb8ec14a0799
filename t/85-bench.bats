# The benchmarks run and print valid lines; their speed does not matter.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	mkdir -p build/t/bench
	export RESULTS=$PWD/build/t/bench/results.jsonl
	export BENCH_SIZE=tiny PEERS=$PWD/none
}

# run_benches NAME... - run benchmarks as "make bench" does, with little work.
run_benches() {
	PATH=$BUILD/t/bench:$PATH BUILD=$PWD/build timeout 120 \
		"$SRC/t/bench/run" "$@"
}

# misfits NAME - print the lines that are not {"bench":NAME,...} with all fields
# of the table.
misfits() {
	local number='[0-9.e+-]+'
	grep -vE "^\{\"bench\":\"$1\",\"case\":\"[^\"]+\",\
\"figure\":$number,\"unit\":\"[^\"]*\",(\"cpu\":$number,)?\
\"against\":\"[^\"]+\",\"peer_figure\":$number,\
(\"peer_cpu\":$number,)?\"ratio\":$number\
(,\"(target|most)\":$number)?\}$" || true
}

@test "every benchmark prints figures, in lines of one format" {
	local each
	sed -n 's|^BENCHES += %D%/||p' "$SRC/t/bench/local.mk" >names
	[ -s names ]
	while read -r each; do
		run_benches --json "$each" <&- >lines 2>said ||
			fail "$each: $(cat said)"
		[ -s lines ] || grep -q SKIPPED said
		misfits "$each" <"$RESULTS" >broken
		diff /dev/null broken
	done <names
}

# build FOLDER FIGURE... - make a build whose benchmark $name prints these
# figures, one in each run.
build() {
	mkdir -p "$1/t/bench" "$1/bin"
	printf '%s\n' "${@:2}" >"$1/figures"
	cat >"$1/t/bench/$name" <<-EOT
		#!/bin/sh
		read -r figure <"$PWD/$1/figures"
		sed -i 1d "$PWD/$1/figures"
		printf '{"bench":"b","case":"c","figure":%s,"unit":"%s",' \
			"\$figure" "\${UNIT:-x/s}"
		echo '"against":"a","peer_figure":1,"ratio":1}'
	EOT
	chmod +x "$1/t/bench/$name"
}

compare() {
	BUILD=$PWD/new SRC=$PWD/new PAIRS=6 "$SRC/t/bench/compare" old "$name"
}

@test "a build is slower than another if the difference is significant" {
	name=figures-of-a-test
	build old 100 104 96 101 99 100
	build new 90 94 88 91 92 89
	run -1 --separate-stderr compare
	assert_line --regexp '^b: c, beside a +0.907 .* to 0.9[0-9]+  slower$'
	assert_line "1 rows, 1 failed"
	# The same difference is not significant if figures vary more.
	build old 100 104 96 101 99 100
	build new 50 150 60 120 100 95
	run -0 --separate-stderr compare
	assert_line "1 rows, 0 failed"
	# A loss of 2 % is accepted; and more seconds are worse.
	build old 100 100 100 100 100 100
	build new 98 98 98 98 98 98
	run -0 --separate-stderr compare
	assert_line --regexp '^b: c, beside a +0.980  0.980 to 0.980$'
	build old 100 100 100 100 100 100
	build new 110 110 110 110 110 110
	UNIT=s run -1 --separate-stderr compare
	assert_line --regexp '^b: c, beside a +0.909 '
	# A benchmark that fails in one build has no row.
	build old 1 1 1 1 1 1
	printf '#!/bin/sh\nexit 1\n' >"new/t/bench/$name"
	run -1 --separate-stderr compare
	[[ $stderr == *"compare: $name of $PWD/new failed"* ]]
	run -64 env PAIRS=1 "$SRC/t/bench/compare" old "$name"
	assert_output "compare: PAIRS: '1' is not a number from 2 on"
}

@test "a call without a benchmark is an error" {
	echo kept >"$RESULTS"
	run -64 run_benches --json
	assert_output "usage: run [--json] BENCH...; make bench runs all"
	assert_equal "$(<"$RESULTS")" kept
}

@test "a benchmark that fails is reported, and the others still run" {
	mkdir bin
	ln -s /bin/false bin/broken
	PATH=$PWD/bin:$PATH
	run -1 --separate-stderr run_benches --json broken startup
	[[ $stderr == *"bench: broken failed"* ]]
	[[ $output == *'"bench":"startup"'* ]]
}

@test "a benchmark whose programs fail is a failure" {
	mkdir bin
	printf '#!/bin/sh\nexit 1\n' >bin/ps-local
	chmod +x bin/ps-local
	PATH=$PWD/bin:$PATH
	run -1 --separate-stderr run_benches steps
	[[ $stderr == *"nothing was measured"* ]]
	run -1 --separate-stderr run_benches lr
	[[ $stderr == *"nothing was measured"* ]]
}

@test "the peers are installed in a tree that is built in its sources" {
	unset PEERS
	cp "$SRC/t/bench/peers" build/t/bench/peers
	mkdir bin
	ln -s /bin/true bin/apt-get
	cat >bin/python3 <<-'END'
		#!/bin/sh
		mkdir -p "$3/bin" && ln -s /bin/true "$3/bin/pip"
	END
	chmod +x bin/python3
	PATH=$PWD/bin:$PATH BUILD=$PWD/build run -0 build/t/bench/peers
	assert_output "liblinear: installed
the virtual environment: installed
Vowpal Wabbit: installed
TensorFlow: installed"
}

rest() {
	printf '"against":"%s","peer_figure":%s,"ratio":%s,"%s":%s' "$@"
}

@test "the table marks figures that miss their target" {
	printf '{"bench":"%s","case":"%s","figure":%s,"unit":"%s",%s}\n' \
		a b 3.2e6 x/s "$(rest c 4e6 0.8 target 0.9)" \
		d e 10 s "$(rest f 20 0.5 most 1)" >lines
	run -0 "$SRC/t/bench/table" lines
	[[ ${lines[0]} =~ ^BENCH\ +CASE\ +FIGURE\ +UNIT\ +PEER\ +AGAINST ]]
	[[ ${lines[1]} =~ ^a\ +b\ +3.20\ M\ +x/s\ +4.00\ M\ +c\ +0.8- ]]
	[[ ${lines[1]} == *">= 0.9" ]]
	[[ ${lines[2]} =~ ^d\ +e\ +10\ +s\ +20\ +f\ +0.5\ +\<=\ 1$ ]]
}

# far OPTION... - make three machines with this network, of which 1 and 2 are
# one site, and start trip.py on 1.
far() {
	PATH=$BUILD/t/bench:$PATH
	net true 2>none || [ $? != 77 ] || skip "$(<none)"
	start net -n 3 -s 2 "$@" -- \
		sh -c 'echo "$NET"; exec tail -f /dev/null >&2'
	export NET=$endpoint
	start net -i 1 /usr/bin/python3 "$SRC/t/helper/trip.py" 10.77.0.1
}

# takes SECONDS NODE BYTES - check that a node needs at least SECONDS to send
# BYTES and get an answer.
takes() {
	net -i "$2" /usr/bin/python3 "$SRC/t/helper/trip.py" 10.77.0.1 "$3" \
		>took
	awk -v least="$1" '$1 >= least { n++ } END { exit n != 1 }' took ||
		fail "$(<took) s"
}

@test "machines are far from each other, except within a site" {
	far -d 200ms -j 1ms
	takes 0.8 3 10
	far -d 60000ms
	takes 0 2 10
}

@test "a link with a low rate" {
	far -r 1
	takes 2 3 250000
	far -r 0.01
	takes 0 2 250000
}

@test "a link that loses some packets, or all" {
	far -l 10
	takes 0 3 10000
	far -l 100
	run ! net -i 3 /usr/bin/python3 "$SRC/t/helper/trip.py" \
		10.77.0.1 10 1
	takes 0 2 10
}

@test "net has the status of its command" {
	PATH=$BUILD/t/bench:$PATH
	net true 2>none || [ $? != 77 ] || skip "$(<none)"
	run -3 net sh -c 'exit 3'
	run -143 net sh -c 'kill $$'
	run -127 net nothing-is-called-this
	run -1 net -d 5 true
	assert_output "net: '5' is not a number from 0 to 60000 with ms"
	run -1 env -u NET net -i 1 true
	assert_output "net: -i wants NET, the process that made the nodes"
}

@test "curves are drawn, where there is gnuplot" {
	command -v gnuplot || skip "no gnuplot"
	printf '%s\t%s\t%s\n' workers 1 5 workers 2 9 \
		examples 1 2000000 servers 1 2 >curves
	run -0 "$SRC/t/bench/plot" curves out.svg
	assert_output out.svg
	grep -q '</svg>' out.svg
	# Black text would be invisible on a dark page.
	grep -q '<text' out.svg
	run ! grep 'fill="black"' out.svg
	run -66 "$SRC/t/bench/plot" missing out.svg
}
