# A step that is computed while others are pushed and pulled: its result reports
# the number of pushes that it misses, which is zero in modes that allow none.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'M'
		input  x float[3] columns=a,b,c
		label  y float
		hidden = dense x units=4 activation=tanh
		out    = dense hidden units=1
		loss   mean_squared_error out
		optimizer adam learning_rate=0.05
	M
	printf '%s\n' a,b,c,y 1,0,.5,2 0,1,.25,-1 .5,.5,1,3 -1,2,0,0 >data.csv
}

# train WORKERS PREFETCH [COORD-OPTION...] - train workers with data of their
# own.
train() {
	local workers=$1 prefetch=$2
	shift 2
	ps-local -q -s 2 -w "$workers" -C "$PWD/ckpt" -- \
		--prefetch="$prefetch" --repeat "$PWD/data.csv" -- \
		ps-coord -m model.ps -B 4 "$@"
}

# staleness - print the number and the staleness of each step.
staleness() {
	local step='"train","step":([0-9]+),' met='"staleness":([0-9]+),'

	sed -nE "s/.*$step.*$met.*/\1 \2/p" <<<"$output"
}

@test "one worker's steps miss the previous step, except after a barrier" {
	run -0 train 1 1 <<-'R'
		train 200
		join
		train 100
		eval
		train 100
	R
	staleness >met
	run -0 awk '{ count[$2]++ } END { print NR, NR - count[0] - count[1] }
		/^(0|200|300) / && $2 { print "step", $1, "is behind" }' met
	assert_output "400 0"
	# Sometimes a step's records come too late to prefetch.
	[ "$(grep -c ' 1$' met)" -gt 100 ]
}

@test "by default steps miss no push" {
	for how in "" --pack=7 "--in-flight=1"; do
		# shellcheck disable=SC2086 # it may be none
		run -0 train 1 0 $how <<<'train 200'
		staleness >met
		run -0 awk '$2 { print }  END { print NR }' met
		assert_output 200
	done
}

@test "several workers, with leases of any number and size, do all steps" {
	for how in "--pack=7" "--in-flight=1" "--in-flight=5 --pack=3"; do
		# shellcheck disable=SC2086 # they are several
		run -0 train 3 1 $how <<-'R'
			train 300
			join
			{"steps":50,"batch":3}
			train 50
			eval
			join
		R
		assert_line --partial '"op":"join","step":300,"steps":300,'
		assert_line --partial \
			'"op":"join","step":400,"steps":100,"examples":350,'
	done
}

@test "rounds give the same weights with and without --prefetch" {
	for prefetch in 0 1; do
		rm -rf ckpt
		run -0 train 2 "$prefetch" --mode=sync --replicas=5 \
			--checkpoint=ckpt --min-workers=2 <<<'train 100'
		refute_output --partial '"staleness":1'
		mv ckpt "ckpt-$prefetch"
	done
	run -0 ps-ckpt diff --slots ckpt-0 ckpt-1
}

@test "records of the coordinator's data are read once each" {
	echo a,b,c,y >many.csv
	seq 1 1003 | awk '{ printf "%d,%d,%d,%d\n", $1 % 3, $1 % 7, $1 % 11,
		$1 % 5 }' >>many.csv
	for how in --in-flight=2 --in-flight=4 --pack=5; do
		run -0 ps-local -q -s 2 -w 3 -- --prefetch=1 -- ps-coord \
			-m model.ps -B 4 -d "$PWD/many.csv" --shuffle $how \
			<<<'epoch 2'
		[ "$(grep -c '"op":"epoch".*"examples":1003,' <<<"$output")" \
			= 2 ]
	done
}

@test "more than one step ahead is refused" {
	run -64 ps-work --prefetch=2 x.csv
	assert_output --partial '--prefetch'
}
