# The coordinator's data (ps-coord -d): an epoch visits every record exactly
# once, whichever programs die meanwhile.
#
# In visit.ps a record adds exactly 1 to a weight of its own: its gradient is
# always -1, the server divides the sum of gradients by the examples, and the
# learning rate is the number of examples of a batch.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >visit.ps <<-'END'
		input  record id rows=16384
		label  far float
		count = embedding record dim=1 embeddings_initializer=zeros
		loss   mean_absolute_error count
		optimizer sgd learning_rate=32
	END
	cat >sum.ps <<-'END'
		input  x float
		label  y float
		same = dense x units=1 kernel_initializer=ones use_bias=false
		loss   mean_squared_error same
		metric mean_absolute_error same
		optimizer sgd learning_rate=0
	END
}

# records FIRST LAST - print a file of these records for visit.ps.
records() {
	echo record,far
	seq "$1" "$2" | sed 's/$/,1e6/'
}

# data - write all records in files of many kinds: split, compressed, quoted,
# and as samples of a tar.
data() {
	records 0 9999 >part-0.csv
	records 10000 12000 | gzip >part-1.csv.gz
	records 12001 12001 | sed '2s/$/\r/' >part-2.csv
	records 12002 16283 | sed '/000,/s/^[0-9]*/"&"/' >part-3.csv
	seq 16284 16383 | sed 's/.*/{"record":&,"far":1e6}/' |
		split -l 1 -a 3 --additional-suffix=.json - record-
	tar cf part-4.tar record-???.json
	rm record-???.json
}

# visits - print the number of records with each number of visits, by the newest
# checkpoint.
visits() {
	ps-ckpt cat ckpt count/embeddings | tail -c 65536 |
		od -An -v -t f4 -w4 | sort | uniq -c | tr -s ' '
}

# local_run WORKERS COORD-OPTION... - run the requests on standard input.
local_run() {
	mkdir -p ckpt
	ps-local -q -w "$1" -s 2 -C "$PWD/ckpt" ps-coord --min-workers="$1" \
		--results=errors "${@:2}"
}

# told - print lines of totals without the fields that differ from run to run.
told() {
	sed -E 's/,"loss":[^}]*\},"staleness":[^}]*\},.*"seconds":[0-9.e-]+//
		s/.*"epoch"://'
}

@test "an epoch visits every record once, of files of any kind" {
	data
	run -0 local_run 3 -m visit.ps -d 'part-*' --split=4k \
		--checkpoint=ckpt --partition=fixed:2 <<<epoch
	assert_output --partial '"step":512,"steps":512,"examples":16384,'
	assert_output --partial ',"records":16384}'
	refute_output --partial missed
	run -0 visits
	assert_output " 16384 1"
}

@test "shuffled, packed epochs in any number of streams visit records once" {
	data
	for workers in 1 2 5; do
		rm -rf ckpt
		run -0 local_run $workers -m visit.ps -d 'part-*' --split=10k \
			--shuffle=500 --pack=$((workers + 1)) \
			--checkpoint=ckpt --every=300 <<<$'epoch 2\nepoch'
		assert_equal "$(grep -c '"steps":512,"examples":16384,' \
			<<<"$output")" 3
		run -0 visits
		assert_output " 16384 3"
	done
}

@test "an epoch visits every record once with four batches in a step" {
	data
	rm -rf ckpt
	run -0 local_run 3 -m visit.ps -d 'part-*' --split=10k -B 8 \
		--accumulate=4 --checkpoint=ckpt <<<$'epoch 2'
	assert_equal "$(grep -c '"steps":512,"examples":16384,' \
		<<<"$output")" 2
	run -0 visits
	assert_output " 16384 2"
}

# kept_run COORD-OPTION... - run two epochs with two workers that have a cache.
kept_run() {
	rm -rf ckpt members
	mkdir -p ckpt kept
	run -0 ps-local -w 2 -s 1 -C "$PWD/ckpt" --log=members -- -v \
		--cache=kept -- ps-coord --min-workers=2 -m visit.ps \
		-d 'part-*' --split=4k --checkpoint=ckpt --results=errors \
		"$@" <<<'epoch 2'
	assert_equal "$(grep -c '"steps":512,"examples":16384,' \
		<<<"$output")" 2
	run -0 visits
	assert_output " 16384 2"
}

@test "workers cache the data; who begins a block writes its piece" {
	data
	kept_run
	# Two workers that share a block may both make its piece.
	made=$(grep -o '[^/]*pscache: made of' members | sort -u | wc -l)
	[ "$made" -gt 20 ]
	assert_equal "$(ls kept | grep -vc count)" "$made"
	kept_run --shuffle=700	# in another order, from the same pieces
	run -1 grep pscache members
	cache=$(ls kept/part-1.csv.gz-*+0.pscache)
	damage "$cache" 900
	truncate -s 170 kept/part-0.csv-*.count.0.pscache
	kept_run
	run -0 grep -c "pscache: damaged: .*; reading part-1.csv.gz instead" \
		members
	run -0 grep -c "pscache: damaged; counting the records of part-0.csv" \
		members
	kept_run
	run -1 grep damaged members
	sed -i 's/,1e6/,1000000/' part-0.csv	# its pieces are now stale
	kept_run
	run -0 grep -c 'part-0.*pscache: made of' members
	run -1 grep 'part-3.*pscache: made of' members
}

@test "a cache without room is left out, which is reported once" {
	data
	mkdir kept
	run -0 bash -c 'ulimit -f 8
		ps-local -w 1 -s 1 --log=members -- --cache=kept -- \
			ps-coord -m visit.ps -d "part-*" --split=4k \
			--results=errors <<<"epoch 2"'
	assert_equal "$(grep -c '"steps":512,"examples":16384,' \
		<<<"$output")" 2
	run -0 grep -c 'File too large; continuing without a cache' members
	assert_output 1
}

@test "train takes the next steps, and an epoch takes the rest" {
	data
	run -0 local_run 2 -m visit.ps -d 'part-*' --shuffle --checkpoint=ckpt \
		<<<$'train 12\nepoch\ntrain 512\njoin\ntrain 500\nepoch 2'
	run -0 told <<<"$output"
	assert_output - <<-'END'
		0,"step":512,"steps":512,"examples":16384,"records":16384}
		{"op":"join","step":1024,"steps":1024,"examples":32768}
		2,"step":1536,"steps":512,"examples":16384,"records":16384}
		3,"step":2048,"steps":512,"examples":16384,"records":16384}
	END
}

serve() {
	start ps-serve -b "ipc://$PWD/s$1" -d ckpt
	servers[$1]=$pid
}

# begin COORD-OPTION... - start servers and a coordinator: requests go to
# descriptor 7, results come from 8.  Workers will be numbered from 0 on.
begin() {
	mkdir -p ckpt
	mkfifo requests results
	serve 0
	serve 1
	ps-coord -b "ipc://$PWD/c" -s "ipc://$PWD/s0,ipc://$PWD/s1" \
		"$@" requests >results 2>coord.log 3>&- &
	coord=$!
	daemons+=("$coord")
	exec 8<results 7>requests
}

worker() {
	launch ps-work -c "ipc://$PWD/c" "$@" 7>&- 8<&-
}

# pass LINES - skip this many lines of results.
pass() {
	local n _
	for ((n = 0; n < $1; n++)); do
		read -r -t 20 _ <&8 || fail "no answer: $(cat coord.log)"
	done
}

@test "workers are killed in the middle, and every record is visited once" {
	data
	begin -m visit.ps -B 8 -d part-0.csv -d part-1.csv.gz -d part-2.csv \
		-d part-3.csv -d part-4.tar --split=4k --shuffle=640 \
		--checkpoint=ckpt --partition=fixed:4 --pack=3 \
		--min-workers=3 --in-flight=3
	for i in 0 1 2; do
		worker --cache
		workers[i]=$pid
	done
	for epoch in 0 1 2 3 4; do
		echo epoch learning_rate=8 >&7
		# The first kill comes with the first line: when a hundred have
		# been read, all steps of the epoch may be over.
		pass $((epoch == 0 ? 1 : 100))
		kill -KILL "${workers[epoch % 3]}"
		worker --cache
		workers[epoch % 3]=$pid
		# No line follows that of the epoch before the next request.
		sed '/"op":"epoch"/q' <&8 >>lines
		run -0 tail -n 1 lines
		assert_output --regexp \
			'"steps":2048,"examples":16384,.*"records":16384}$' ||
			fail "$(cat coord.log)"
	done
	exec 7>&-
	cat <&8
	wait "$coord"
	run -0 grep '"attempt":2' lines
	run -0 visits
	assert_output " 16384 5"
}

@test "a server that is killed gets the same records again that it lacks" {
	data
	begin -m visit.ps -B 8 -d 'part-*' --split=4k --shuffle=640 --pack=3 \
		--checkpoint=ckpt --every=700 --partition=fixed:4 \
		--min-workers=2
	worker
	worker
	for i in 0 1 0; do
		echo epoch learning_rate=8 >&7
		pass 500
		dies "${servers[i]}"
		serve $i 7>&- 8<&-
		worker	# so that the next epoch has more streams
		sed '/"op":"epoch"/q' <&8 >>lines
		run -0 tail -n 1 lines
		assert_output --regexp \
			'"steps":2048,"examples":16384,.*"records":16384}$'
	done
	exec 7>&-
	cat <&8
	wait "$coord"
	run -0 grep -c 'without its variables' coord.log
	assert_output 3
	run -0 visits
	assert_output " 16384 3"
}

@test "a killed server gets its records again after steps were given up" {
	(records 0 2999; echo x,1; records 3001 5999 | tail -n +2) >part.csv
	sed -i 's/rows=16384/rows=6000/' visit.ps
	begin -m visit.ps -B 8 -d part.csv --split=4k --shuffle=8 --pack=2 \
		--min-workers=2 --partition=fixed:2 --keep-going \
		--seed=3 --checkpoint=ckpt --every=10000
	worker
	worker
	echo epoch learning_rate=8 >&7
	sed '/"op":"epoch"/q' <&8 >lines
	run -0 grep -c '"error":"part.csv:3002: record: .x. is not' lines
	echo epoch learning_rate=8 >&7
	pass 100
	dies "${servers[1]}"
	serve 1 7>&- 8<&-
	sed '/"op":"epoch"/q' <&8 >line
	exec 7>&-
	cat <&8
	wait "$coord" || true
	run -0 grep -c 'initial values; [0-9]* steps are run again' coord.log
	# Records of void steps are not visited; all others are visited once.
	run -0 sed -nE 's/.*"records":6000,"missed":([0-9]+).*/\1/p' line
	missed=$output
	assert [ "$missed" -gt 0 ]
	run -0 bash -c 'ps-ckpt cat ckpt count/embeddings | tail -c 24000 |
		od -An -v -t f4 -w4 | sort | uniq -c | tr -s " "'
	assert_output " $missed 0
 $((6000 - missed)) 1"
}

@test "a run that is stopped resumes where it was, and misses no record" {
	data
	begin -m visit.ps -B 8 -d 'part-*' --shuffle --checkpoint=ckpt \
		--pack=2 --every=150
	worker
	worker
	echo epoch learning_rate=8 >&7
	pass 100
	kill -TERM "$coord"
	cat <&8 >rest
	wait "$coord"
	exec 7>&-
	run -0 local_run 3 -m visit.ps -B 8 -d 'part-*' --shuffle --pack=2 \
		--checkpoint=ckpt <<<$'epoch 2 learning_rate=8'
	refute_output --partial missed
	assert_line --partial '"epoch":0,'
	assert_line --partial '"epoch":1,'
	run -0 visits
	assert_output " 16384 2"
	run -0 --separate-stderr local_run 1 -m visit.ps -B 16 -d 'part-*' \
		--checkpoint=ckpt <<<'train 1'
	assert_regex "$stderr" "start with epoch 0, not at the position of\
 ckpt-0000"
}

@test "a stopped run resumes though many numbered steps were not leased" {
	records 0 16383 >data.csv
	begin -m visit.ps -B 1 -d data.csv --checkpoint=ckpt --pack=64 \
		--min-workers=2
	worker
	worker
	echo epoch learning_rate=1 >&7
	pass 300
	kill -TERM "$coord"
	cat <&8 >rest
	wait "$coord"
	exec 7>&-
	run -0 tail -n 1 rest
	assert_output --regexp '^."op":"epoch","steps":[0-9]*,"cancelled"'
	run -0 --separate-stderr local_run 2 -m visit.ps -B 1 -d data.csv \
		--checkpoint=ckpt --pack=64 <<<'epoch learning_rate=1'
	refute_output --partial missed
	assert_equal "$stderr" ''
	run -0 visits
	assert_output " 16384 1"
}

@test "a checkpoint without a position in the data is a warning" {
	records 0 319 >data.csv
	mkdir ckpt
	run -0 ps-local -q -C "$PWD/ckpt" -- data.csv -- ps-coord \
		-m visit.ps --checkpoint=ckpt <<<'train 3'
	run -0 --separate-stderr local_run 1 -m visit.ps -d data.csv \
		--checkpoint=ckpt <<<epoch
	local why="the data start with epoch 0, not at the position of\
 ckpt-00000003"
	assert_equal "$stderr" \
		"ps-coord: $why: the checkpoint does not say how far they were\
 read"
}

@test "a byte order mark is never a part of the first record" {
	(printf '\xef\xbb\xbf' && seq 0 16383 | sed 's/$/,1e6/') >bare.csv
	sed -i 's/16384$/& columns=1/; s/float$/& columns=2/' visit.ps
	for shuffle in '' --shuffle; do
		rm -rf ckpt
		run -0 local_run 1 -m visit.ps -B 32 -d bare.csv --no-header \
			--split=20k $shuffle --checkpoint=ckpt <<<epoch
		run -0 visits
		assert_output " 16384 1"
	done
}

# steps - print a number for the records of each step, in order.
steps() {
	local x='([0-9.e+]+)'
	sed -nE "s/.*\"step\":$x,\"epoch\":$x.*_error\":$x\}.*/\1 \2 \3/p" |
		sort -n
}

@test "a seed gives one order for any workers; each epoch has another" {
	(echo x,y; seq 400 | sed 's/$/,0/') >data.csv
	for seed in 1 1 2; do
		echo epoch 2 | ps-local -q -w 2 ps-coord -m sum.ps -B 8 \
			-d data.csv --split=500 --shuffle=40 --seed=$seed \
			--min-workers=2 | steps >order.$seed
		[ -e first ] || mv order.1 first
	done
	assert_equal "$(wc -l <first)" 100
	run -0 cmp first order.1
	run -1 cmp -s order.1 order.2
	run -1 cmp -s <(grep ' 0 ' first | cut -d' ' -f3) \
		<(grep ' 1 ' first | cut -d' ' -f3)
	# Without --shuffle a single worker reads the file as it is.
	run -0 bash -c 'echo epoch | ps-local -q ps-coord -m sum.ps -B 100 \
		-d data.csv --split=500'
	run -0 steps <<<"$output"
	assert_output - <<-'END'
		0 0 50.5
		1 0 150.5
		2 0 250.5
		3 0 350.5
	END
}

@test "images and labels are read in pairs" {
	need_data mnist10k-images-idx3-ubyte.gz
	cat >model.ps <<-'END'
		input  image float[28,28]
		label  digit id rows=10
		small = rescaling image scale=0.00392156862745098
		flat = flatten small
		prob = dense flat units=10 activation=softmax
		loss   sparse_categorical_crossentropy prob
		optimizer sgd learning_rate=0.1
	END
	run -0 local_run 2 -m model.ps -B 64 --shuffle=1024 \
		-d "$data/mnist10k-images-idx3-ubyte.gz" \
		-d "$data/mnist10k-labels-idx1-ubyte.gz" <<<$'epoch\neval'
	assert_line --partial '"steps":157,"examples":10000,'
	assert_line --partial '"op":"eval","step":157,"examples":10000,'
}

@test "a cluster of nodes with one command line has the coordinator's data" {
	records 0 319 >data.csv
	export TF_CONFIG='{"cluster":{"chief":["ipc://c"],"ps":["ipc://s"],
		"worker":["ipc://w0","ipc://w1"]}}'
	launch ps-node -t ps:0 --chief -m visit.ps -d data.csv
	for i in 0 1; do
		launch ps-node -t "worker:$i" --chief -m visit.ps -d data.csv
	done
	run -0 ps-node -t chief:0 --chief -m visit.ps -d data.csv \
		--results=errors <<<epoch
	assert_output --partial '"steps":10,"examples":320,'
}

@test "real data in several splits, compressed or not" {
	need_data a9a.svm
	gzip -c "$data/a9a.svm" >a9a.svm.gz
	cat >model.ps <<-'END'
		input  x sparse[123]
		label  y binary
		prob = linear x activation=sigmoid
		loss   binary_crossentropy prob
		optimizer adagrad learning_rate=0.1
	END
	run -0 local_run 3 -m model.ps -B 100 -d "$data/a9a.svm" \
		-d a9a.svm.gz --split=256Ki --shuffle <<<'epoch 2'
	local all=$((2 * $(grep -c . "$data/a9a.svm")))
	assert_equal "$(grep -c "\"examples\":$all,.*\"records\":$all}" \
		<<<"$output")" 2
}

@test "a record that cannot be read is an error of its step, with its line" {
	(records 0 99; echo x,1; records 101 199 | tail -n +2) >data.csv
	run -65 --separate-stderr local_run 2 -m visit.ps -d data.csv \
		--split=500 <<<epoch
	assert_line --regexp \
		'"op":"train".*"error":"data.csv:102: record: .x. is not'
	assert_line --regexp '"op":"epoch","steps":[0-9],"cancelled":true'
}

@test "data that cannot be counted end the run" {
	(records 0 99; echo 1; records 101 199 | tail -n +2) >data.csv
	for size in 64Mi 500; do
		run -65 --separate-stderr local_run 2 -m visit.ps -d data.csv \
			--split=$size <<<$'epoch\njoin'
		why="data.csv:102: 1 field instead of 2"
		assert_line --index 0 --regexp \
			"^.\"op\":\"data\",\"worker\":.*,\"error\":\"$why\"}"
		assert_line --index 1 '{"op":"epoch","cancelled":true}'
		assert_line --index 2 '{"op":"join","cancelled":true}'
	done
	echo record,far >none.csv
	run -66 --separate-stderr local_run 1 -m visit.ps -d none.csv <<<epoch
	assert_output --partial '"error":"none.csv: it has no records"}'
}

# bad STATUS TEXT OPTION... - check that ps-coord refuses to start.
bad() {
	run -"$1" --separate-stderr ps-coord -m visit.ps -s 1 "${@:3}" \
		</dev/null
	assert_equal "${stderr_lines[0]}" "ps-coord: $2"
}

@test "options that make no sense are refused at once" {
	local why try
	why="the coordinator's data are read more than once, and by the"
	why="$why workers: they must be files"
	bad 64 "pipe:cat x: $why" -d 'pipe:cat x'
	bad 64 "-: $why" -d -
	bad 66 "none.svm: No such file or directory" -d none.svm
	bad 66 "none*: no file fits it" -d 'none*'
	ln -s loop loop
	bad 66 "loop/*: a folder cannot be read" -d 'loop/*'
	bad 66 ".: it is not a plain file" -d .
	try="; try 'ps-coord --help'"
	bad 64 "-F: 'xml' is none of csv idx npy npz svmlight tar tsv$try" \
		-F xml -d x
	why="-F, --no-header, --shuffle and --split are for data, and none are"
	for option in -Fcsv --no-header --shuffle --split=1k; do
		bad 64 "$why given: say -d$try" $option
	done
	why="--repeat, --shard and --shuffle are for inputs, and none is named"
	for option in --repeat --shard=0/2 --shuffle; do
		run -64 --separate-stderr ps-work -c ipc://nowhere $option
		assert_equal "${stderr_lines[0]}" \
			"ps-work: $why; try 'ps-work --help'"
	done
}

@test "requests that the data do not allow" {
	records 0 99 >data.csv
	run -65 --separate-stderr local_run 1 -m visit.ps -d data.csv \
		<<<'train 2 batch=8'
	assert_output --partial '"op":"request","error":"request 1: batch=8: '
	assert_output --partial ' (-d) all steps have one size, --batch"}'
	run -65 --separate-stderr ps-local -q -- data.csv -- \
		ps-coord -m visit.ps <<<epoch
	assert_output --partial '"op":"request","error":"request 1: epoch: '
	assert_output --partial 'say train N, or give ps-coord the data (-d)"}'
}

@test "inputs are named by the coordinator or by the workers" {
	records 0 99 >data.csv
	run -64 --separate-stderr timeout 20 ps-local -q -- data.csv -- \
		ps-coord -m visit.ps -d data.csv <<<epoch
	local why="ps-work has inputs, and ps-coord data for all workers (-d):"
	assert_equal "${stderr_lines[0]#*: }" "$why name them in one place"
	assert_equal "${#stderr_lines[@]}" 2
	run -64 --separate-stderr timeout 20 ps-local -q \
		ps-coord -m visit.ps <<<'train 3'
	why="no input: name files, - or pipe:COMMAND for ps-work, or data for"
	assert_equal "${stderr_lines[0]#*: }" \
		"$why all workers for ps-coord (-d)"
	assert_line --index 0 --partial "$why"
	assert_line --index 1 '{"op":"train","steps":2,"cancelled":true}'
}
