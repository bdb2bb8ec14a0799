# The behaviours that TensorFlow's own tests require of its coordinator, as far
# as pskit has them: each test has the number of a behaviour.  D1 and D10 are
# about tracing functions, E8 about calls outside of schedule().
#
# The model's loss is the mean of what the step has read, and the model never
# learns, so results show which worker read which records.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >sum.ps <<-'END'
		input  x float
		label  y float
		same = dense x units=1 kernel_initializer=ones use_bias=false
		loss   mean_squared_error same
		metric mean_absolute_error same
		optimizer sgd learning_rate=1e-30
	END
	model=sum.ps
}

# rows NUMBER... - print a CSV file with these numbers and labels of 0.
rows() {
	echo x,y
	printf '%s,0\n' "$@"
}

# begin [COORD-OPTION...] - start servers, and a coordinator that reads requests
# as they come.  Results come on descriptor 8, requests go to 7.
begin() {
	mkfifo requests results
	start ps-serve -b "ipc://$PWD/s"
	ps-coord -b "ipc://$PWD/c" -s "ipc://$PWD/s" -m "$model" "$@" \
		requests >results 2>coord.log 3>&- &
	coord=$!
	daemons+=("$coord")
	exec 8<results 7>requests
}

# worker INDEX OPTION... - start a worker.
worker() {
	launch ps-work -c "ipc://$PWD/c" -i "$@" 7>&- 8<&-
}

# ask REQUEST - send a request.
ask() {
	echo "$1" >&7
}

# answer - set line to the next line of results.
answer() {
	read -r -t 20 line <&8 || fail "no answer: $(cat coord.log)"
}

# end STATUS - end the requests, and check the status of the coordinator; all
# members must end.
end() {
	local status=0
	exec 7>&-
	cat <&8 >rest
	wait "$coord" || status=$?
	exec 8<&-
	assert_equal "$status" "$1"
}

# values WORKER - print the mean of the records of each step of the worker.
values() {
	sed -n "s/.*\"worker\":\"worker:$1\".*_error\":\([0-9.e+-]*\)}.*/\1/p"
}

# cluster WORKERS WORKER-OPTION... -- COORD-OPTION... - run a cluster with the
# requests on standard input.
cluster() {
	local workers=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	ps-local -q -w "$workers" -- "${options[@]}" -- \
		ps-coord -m "$model" --min-workers="$workers" "${@:2}"
}

@test "D2 each worker shuffles the same data in an order of its own" {
	rows 0 1 2 3 4 5 6 7 8 9 >data.csv
	# With this many steps even a worker that starts late does ten.
	cluster 2 --repeat --shuffle data.csv -- -B 1 <<<'train 5000' >out
	for i in 0 1; do
		values $i <out | head -n 10 >order.$i
		run -0 sort -n order.$i
		assert_output "$(seq 0 9)"
	done
	run -1 cmp -s order.0 order.1
}

@test "D3 five workers share ten records by their number" {
	rows 0 1 2 3 4 5 6 7 8 9 >data.csv
	run -0 --separate-stderr cluster 5 --shard=%i/%n data.csv -- -B 2 \
		<<<'train 5'
	run -0 sort -n <<<"$(values '[0-4]' <<<"$output")"
	assert_output "$(printf '%s\n' 2.5 3.5 4.5 5.5 6.5)"
}

@test "D4 an evaluation of a worker's data does not change its training" {
	rows 1 2 3 4 5 6 7 8 9 10 >data.csv
	run -0 cluster 1 data.csv -- -B 2 \
		<<<$'train 1\neval\ntrain 1\neval\ntrain 1'
	run -0 values 0 <<<"$output"
	assert_output "$(printf '%s\n' 1.5 3.5 5.5)"
}

@test "D5 a step reads several inputs" {
	sed 's/^input.*/input a float\ninput b float\nx = add a b/' \
		sum.ps >two.ps
	model=two.ps
	printf '%s\n' a,b,y 0,5,0 >data.csv
	run -0 cluster 1 data.csv -- -B 1 <<<'train 1'
	run -0 values 0 <<<"$output"
	assert_output 5
}

@test "D6 the first batch is the first records, whichever worker runs it" {
	rows 1 2 3 4 5 6 7 8 9 10 >data.csv
	run -0 cluster 3 --repeat data.csv -- -B 4 <<<'train 50'
	for i in 0 1 2; do
		values $i <<<"$output" >means
		[ ! -s means ] || assert_equal "$(head -n 1 means)" 2.5
	done
	# A batch may continue after the end of a pass: 9 10 1 2.
	means=$(values '[0-2]' <<<"$output" | sort -n | uniq | tr '\n' ' ')
	[[ "2.5 4.5 5.5 6.5 8.5 " == *"$means"* ]] || fail "$means"
}

@test "D7 a worker sees its own data only" {
	for i in 0 1 2; do
		rows $((i + 1)) >data.$i.csv
	done
	run -0 cluster 3 --repeat data.%i.csv -- -B 3 <<<'train 30'
	for i in 0 1 2; do
		values $i <<<"$output" | grep -vx $((i + 1)) >others || true
		assert_equal "$(cat others)" ""
	done
}

@test "D8 after each join the steps of the workers add up to all steps" {
	rows 1 >data.csv
	run -0 cluster 3 --repeat data.csv -- -B 2 \
		<<<$'train 20\njoin\ntrain 20\njoin'
	assert_line --index 20 --partial \
		'"op":"join","step":20,"steps":20,"examples":40,'
	assert_line --index 41 --partial \
		'"op":"join","step":40,"steps":20,"examples":40,'
	assert_equal "$(values '[0-2]' <<<"$output" | wc -l)" 40
}

@test "D9 evaluating again and again leaves nothing open" {
	rows 1 2 3 >data.csv
	begin -B 1
	worker 0 --repeat data.csv
	for count in 1 10; do
		for _ in $(seq $count); do
			ask eval
			answer
		done
		ask train	# then the worker has closed its files
		answer
		ls "/proc/$pid/fd" | wc -l >open.$count
	done
	end 0
	run -0 diff open.1 open.10
}

@test "D11 a worker that comes back reads its data from the start" {
	rows 1 2 3 4 5 6 7 8 9 >data.csv
	begin -B 1
	worker 0 --repeat data.csv
	for i in 1 2 3; do
		ask train
		answer
		assert_equal "$(values 0 <<<"$line")" $i
	done
	dies "$pid"
	worker 0 --repeat data.csv
	ask train
	answer
	assert_equal "$(values 0 <<<"$line")" 1
	end 0
}

@test "E1 one of four steps is bad: the run ends with its error" {
	rows 1 2 3 nan 5 >data.csv
	run -65 --separate-stderr cluster 1 data.csv -- -B 1 <<<$'train 4\njoin'
	[[ $stderr == *"data.csv:5: "* ]]
	# A good step that is in flight is cancelled like those that wait.
	run -0 values 0 <<<"$output"
	[[ $'1\n2\n3' == "$output"* ]] || fail "$output"
}

@test "E2 an endless stream of requests ends with the first error" {
	rows 1 2 3 4 five >data.csv
	yes train | head -n 10000000 >many
	run -65 --separate-stderr cluster 1 data.csv -- -B 1 <many
	# Waiting requests are cancelled; requests that were not read have no
	# line.
	[ "${#lines[@]}" -lt 100000 ]
	run -0 grep -c 'data.csv:6: ' <<<"$output"
	assert_output 1
}

@test "E3 one of several errors is reported, and the next join has none" {
	rows 1 2 1e30 1e30 1e30 4 5 >data.csv
	run -65 --separate-stderr cluster 1 --repeat data.csv -- -B 1 \
		--keep-going <<<$'train 5\njoin\njoin'
	assert_equal "$(grep -c '"op":"train".*"error":' <<<"$output")" 1
	grep '"op":"join"' <<<"$output" >joins
	run -0 sed -n '/"error":/=' joins
	assert_output 1
}

@test "E4 good steps run after an error, and a new error is reported" {
	rows 1 2 1e30 4 5 >data.csv
	begin -B 1 --keep-going
	worker 0 --repeat data.csv
	for round in 1 2 3; do
		ask 'train 3'
		ask join
		answer
		answer
		answer
		[[ $line == *'"error":'*same* ]] || fail "$line"
		answer
		[[ $line == *'"op":"join"'*'"error":'* ]] || fail "$line"
		ask 'train 2'
		ask join
		answer
		answer
		answer
		[[ $line == *'"op":"join"'* && $line != *'"error":'* ]] ||
			fail "$line"
	done
	end 65
}

@test "E5 the line of a bad step has its id and its error" {
	rows 1 2 1e30 4 >data.csv
	run -65 --separate-stderr cluster 1 data.csv -- -B 1 \
		<<<$'one\ntwo\nbad\nfour'
	assert_line --index 0 --partial '{"id":"one","op":"train","step":0,'
	assert_line --partial '{"id":"bad","op":"train","step":2,"worker":'
	run -0 grep -c '"error":' <<<"$output"
	assert_output 1
}

@test "E6 a broken input is an error when it is used, and only then" {
	rows $(seq 5000) >data.csv
	gzip <data.csv | head -c 6000 >broken.csv.gz
	for input in broken.csv.gz nowhere.csv; do
		for one in "$input" "data.csv $input"; do
			# shellcheck disable=SC2086 # one or two of them
			run --separate-stderr cluster 1 $one -- -B 100 \
				<<<$'train 1000\njoin'
			[[ $status == 6[56] ]]
			[[ $output == *'"error":"'*"$input: "* ]]
			[[ $stderr == *"$input: "* ]]
		done
	done
	run -0 --separate-stderr cluster 1 data.csv broken.csv.gz -- -B 1 \
		<<<$'train 3\njoin'
	assert_equal "$stderr" ""
}

@test "E7 a bad step cancels a long one; then good ones run" {
	local long
	rows 1 >good.csv
	rows 1 1e30 $(yes 1 | head -n 100) >bad.csv
	begin -B 1 --keep-going --in-flight=1 --min-workers=2
	worker 0 --repeat good.csv
	long=$pid
	worker 1 --repeat bad.csv
	ask 'train 2'	# a step for each worker, so that both have joined
	ask join
	answer
	answer
	answer
	kill -STOP "$long"
	ask 'train 9'
	ask join
	# The stopped worker may have pushed its step, so that step is done
	# first.
	answer
	[[ $line == *'"worker":"worker:1","attempt":2,'* ]] || fail "$line"
	answer
	[[ $line == *'"worker":"worker:1"'*'"error":'* ]] || fail "$line"
	answer
	[[ $line == *'"cancelled":true'* ]] || fail "$line"
	answer
	[[ $line == *'"op":"join"'*'"error":'* ]] || fail "$line"
	kill -CONT "$long"
	ask 'train 3'
	ask join
	answer
	answer
	answer
	answer
	[[ $line == *'"op":"join"'*'"steps":3,'* ]] || fail "$line"
	end 65
}

@test "an evaluator's TF_CONFIG names itself, all members, or none" {
	rows 1 2 >data.csv
	ps-local -q -C ckpt -- --repeat data.csv -- ps-coord -m "$model" \
		--checkpoint=ckpt --results=none <<<'train 3'
	task='"task": {"type": "evaluator", "index": 0}'
	for cluster in '"cluster": {"evaluator": ["host7:2222"]}, ' '' \
			'"cluster": {"chief": ["h0:2222"], "ps": ["h1:2222"],
			"worker": ["h2:2222"], "evaluator": ["h3:2222"]}, '; do
		export TF_CONFIG="{$cluster$task}"
		for program in ps-eval "ps-node --evaluator"; do
			# shellcheck disable=SC2086 # two words
			run -0 --separate-stderr $program -C ckpt data.csv
			assert_output --partial '"loss":'
		done
	done
	# Options that are still needed, and a role that needs the cluster.
	TF_CONFIG="{$task}" run -64 ps-eval data.csv
	assert_output --partial "what is to be scored? say -C or -c"
	TF_CONFIG="{$task}" run -78 ps-node -t worker:0
	assert_output 'ps-node: TF_CONFIG: there is no object "cluster"'
}
