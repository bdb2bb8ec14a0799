# The examples do what they say, and so do the sessions of the manual pages
# and of README.md.

load lib.bash

need_programs() {
	local program
	for program in ps-serve ps-work ps-coord; do
		[ -x "$BUILD/bin/$program" ] || skip "$program is not built"
	done
	export TMPDIR=$PWD
}

# need_numpy - use a python3 that has NumPy, or skip the test.
need_numpy() {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "no NumPy for /usr/bin/python3"
	mkdir python
	ln -s /usr/bin/python3 python/python3
	PATH=$PWD/python:$PATH
}

# metric NAME - print a score of the last evaluation in the output.
metric() {
	grep '"op":"eval"' <<<"$output" | tail -n 1 |
		sed -E "s/.*\"$1\":([0-9.e+-]+).*/\1/"
}

# holds EXPRESSION - whether the expression of awk is true.
holds() {
	awk "BEGIN { exit !($1) }" || fail "not $1"
}

@test "avengers: the tutorial's model is perfect by the fourth epoch" {
	need_programs
	# On a system without this locale it is the C locale.
	run -0 --separate-stderr env LC_ALL=de_DE.UTF-8 \
		"$SRC/examples/avengers/run"
	assert_line --index 0 --regexp \
		'^Finished epoch 0, accuracy is [01]\.[0-9]{6}\.$'
	assert_line --index 3 "Finished epoch 3, accuracy is 1.000000."
	assert_line --index 4 "Evaluation accuracy: 1.000000"
	assert_equal "${#lines[@]}" 5
	assert_equal "$stderr" ""
	run find . -type f ! -name 'separate-stderr-*'	# bats's own
	assert_output ""
}

@test "wide-deep: it finds the taste that a linear model cannot" {
	need_programs
	run -0 --separate-stderr "$SRC/examples/wide-deep/run"
	holds "$(metric auc) > 0.83"
	assert_equal "$stderr" ""
}

@test "hybrid: tables are on servers of their own, the rest beside workers" {
	need_programs
	run -0 --separate-stderr "$SRC/examples/hybrid/run"
	holds "$(metric auc) > 0.83"
	assert_equal "$stderr" ""
	sed -nE 's/^([a-z/]+) .*[.][.][0-9]+ +([0-9]+) .*/\1 \2/p' \
		<<<"$output" | awk '{ print $1, ($2 > 2) }' | sort -u >placed
	diff - placed <<-'EOT'
		deep/bias 0
		deep/kernel 0
		emb/embeddings 1
		hidden/bias 0
		hidden/kernel 0
		more/bias 0
		more/kernel 0
		wide/bias 0
		wide/kernel 1
	EOT
}

@test "fm: the example finds the pairs, on synthetic and on real data" {
	need_programs
	run -0 --separate-stderr "$SRC/examples/fm/run"
	holds "$(metric auc) > 0.83"
	need_data w6a.svm
	run -0 "$SRC/examples/fm/run" "$data/w6a.svm" "$data/w6a.svm"
	holds "$(metric log_loss) < 0.9 * 0.02802"
}

@test "cross: an external layer finds the pairs as well" {
	need_programs
	need_numpy
	run -0 --separate-stderr "$SRC/examples/cross/run"
	holds "$(metric auc) > 0.83"
	assert_equal "$stderr" ""
}

@test "tower: a step program trains the table below it, too" {
	need_programs
	need_numpy
	run -0 --separate-stderr "$SRC/examples/tower/run"
	holds "$(metric log_loss) < 0.44"
	assert_equal "$stderr" ""
}

@test "mnist: the example reads digits" {
	need_programs
	images=mnist10k-images-idx3-ubyte.gz
	labels=mnist10k-labels-idx1-ubyte.gz
	need_data $images $labels
	run -0 "$SRC/examples/mnist/run" "$data/$images" "$data/$labels" \
		"$data/$images" "$data/$labels"
	holds "$(metric accuracy) > 0.93"
	run -64 "$SRC/examples/mnist/run"
}

@test "an example has the status of the command that fails" {
	need_programs
	printf '%s\n' '1 1:1' '0 2:1' '0 2:1' >train.svm
	run -66 "$SRC/examples/a9a/run" train.svm missing
	assert_output --partial '"op":"eval"'
	refute_output --partial '"op":"train"'
	run -66 "$SRC/examples/a9a/run" missing train.svm
	run -66 "$SRC/examples/fm/run" train.svm missing
	run -66 "$SRC/examples/mnist/run" missing missing missing missing
}

# The sessions of a page build on each other; see sessions.sh.
@test "the sessions in the manual pages run, and print what they show" {
	need_programs
	need_numpy
	for page in "$SRC"/man/*.[1-9]; do
		# The sessions of this page run in t/81-pipelines.
		[ "$page" != "$SRC/man/ps-pipelines.7" ] || continue
		"$SRC/t/helper/sessions.sh" "$page" >session
		mkdir "$(basename "$page")"
		(cd "$(basename "$page")" && sh ../session) ||
			fail "$(basename "$page")"
	done
}

@test "an example that is interrupted leaves nothing behind" {
	local signal status
	need_programs
	for signal in HUP INT TERM; do
		mkdir "$signal"
		TMPDIR=$PWD/$signal env "--default-signal=$signal" \
			setsid "$SRC/examples/avengers/run" \
			>out 2>err 3>&- &
		daemons+=("$!")
		timeout 30 sh -c "until ls $signal | grep -q '^ps-local'; do
			:; done"
		# A terminal sends the signal to all programs of the group.
		kill -s "$signal" -- "-$!"
		status=0
		wait "$!" || status=$?
		assert_equal "$status" 130
		run find "$signal" -mindepth 1
		assert_output ""
	done
}

@test "an example with wrong arguments prints its usage" {
	local usage
	need_programs
	while read -r example arguments; do
		usage=$(sed -n '2s/^# \(run.*\) - .*/\1/p' \
			"$SRC/examples/$example/run")
		# shellcheck disable=SC2086 # a list of words
		run -64 "$SRC/examples/$example/run" $arguments
		assert_output "usage: ${usage:-run}"
	done <<-'END'
		a9a		train.svm
		avengers	train.csv
		cross		train.svm
		cross		train.svm test.svm more.svm
		fm		train.svm
		mnist		images labels
		wide-deep	model.ps train.svm
		wide-deep	model.ps train.svm test.svm more.svm
	END
	for example in "$SRC"/examples/*/run; do
		run -64 "$example" 1 2 3 4 5
		assert_output --regexp "^usage: run"
	done
}
