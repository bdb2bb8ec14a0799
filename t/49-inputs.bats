# Where the examples of a step come from: a program with data of its own.

load lib.bash
load python.bash

# Makes a program with data of its own: numbers from the first argument on, as
# many as the second.  It runs the code in its third argument before it answers,
# and appends the numbers that it took to the file took.
setup() {
	begin_python
	cat >model.ps <<-'END'
		variable  w [1] initializer=zeros
		step      mean
		metric    largest
		optimizer sgd learning_rate=0.1
	END
	cat >own.py <<-'END'
		import array, json, os, signal, sys
		first, count = int(sys.argv[1]), int(sys.argv[2])
		what = (sys.argv[3:] + [""])[0]
		data = list(range(first, first + count))
		into, out = sys.stdin.buffer, sys.stdout.buffer

		for number, line in enumerate(iter(into.readline, b"")):
		    r = json.loads(line)
		    w = array.array("f", into.read(4))[0]
		    some, data = data[:r["batch"]], data[r["batch"]:]
		    g = array.array("f", [sum(2 * (w - x) for x in some)])
		    head, body = {"examples": 0, "end": True}, b""
		    if some:
		        head = {"examples": len(some), "result": some,
		                "loss": sum((w - x) ** 2 for x in some) /
		                len(some), "metrics":
		                {"largest": [max(some) * len(some), len(some)]}}
		        body = g.tobytes()
		    exec(what)
		    with open("took", "a") as to:
		        to.write("".join("%d\n" % x for x in some))
		    out.write(json.dumps(head).encode() + b"\n" + body)
		    out.flush()
	END
	own="/usr/bin/python3 own.py"
}

# took - print the numbers that programs took, in order, in a line.
took() {
	sort -n took | tr '\n' ' '
}

@test "a program has data of its own, and reports their end" {
	printf 'train 3\njoin\ntrain 2 batch=6\n' >requests
	run -0 --separate-stderr ps-local -q -- --prefetch=0 \
		--step="$own 1 22" -- ps-coord -m model.ps -B 4 requests
	assert_equal "$(cut -d, -f2-6 <<<"$output" | head -n 2)" \
'"step":0,"worker":"worker:0","attempt":1,"examples":4,"loss":7.5
"step":1,"worker":"worker:0","attempt":1,"examples":4,"loss":37.25'
	assert_line --partial '"metrics":{"largest":12},"staleness":0'
	assert_line --partial '"result":[9, 10, 11, 12]}'
	assert_line --partial '"op":"join","step":3,"steps":3,"examples":12,'
	assert_line --partial '"result":[13, 14, 15, 16, 17, 18]}'
	assert_line --partial '"examples":4,"loss":'
	[ "$(took)" = "$(seq 22 | tr '\n' ' ')" ]
}

@test "when a worker's data end others do its steps, then it is an error" {
	printf 'train 100\njoin\n' >requests
	run -66 --separate-stderr ps-local -w 2 -- \
		--step="$own 1%i0 \$((10 + %i))" -- \
		ps-coord -m model.ps -B 4 requests
	assert_line '{"op":"train","error":"no worker has data left: 6 steps '\
'were done, 94 were not"}'
	[ "$(grep -c '"loss"' <<<"$output")" = 6 ]
	[ "$(grep -o '"step":[0-9]*,"worker"' <<<"$output" | sort -u |
		wc -l)" = 6 ]
	[ "$(took)" = "$(seq 100 120 | tr '\n' ' ')" ]
	[[ $stderr == *"worker:0 has used up its data: 10 records"* ]]
	[[ $stderr == *"worker:1 has used up its data: 11 records"* ]]
}

@test "a step that is run again has other records, and counts once" {
	printf 'train 8\njoin\n' >requests
	run -0 --separate-stderr ps-local -w 2 -- --restart=0 \
		--step="$own %i001 100 '
if number == 1 and not os.path.exists(\"died\"):
    os.mkdir(\"died\"), os.kill(os.getpid(), 9)'" -- \
		ps-coord -m model.ps -B 4 requests
	assert_line --partial '"op":"join","step":8,"steps":8,"examples":32,'
	assert_line --partial '"attempt":2,'
	# Each step has numbers of its own.  Numbers that the killed program
	# took are in a step only if its worker pushed them before.
	grep -o '"result":[^]]*' <<<"$output" | grep -o '[0-9]*' >counted
	[ "$(wc -l <counted)" = 32 ]
	[ "$(sort -u counted | wc -l)" = 32 ]
	[ "$(sort counted took | uniq -d | wc -l)" = 32 ]
	# A program that is started again reads its data from the start.
	rm -r took died
	run -0 --separate-stderr ps-local -- --step="$own 1 100 '
if number == 3 and not os.path.exists(\"died\"):
    os.mkdir(\"died\"), os.kill(os.getpid(), 9)'" -- \
		ps-coord -m model.ps -B 4 requests
	assert_line --partial '"op":"join","step":8,"steps":8,"examples":32,'
	[ "$(sort -n took | uniq -c | awk '$1 == 2' | wc -l)" = 12 ]
}

# two_lines - make a model with a step line with inputs and one without, and a
# program of both.
two_lines() {
	cat >two.ps <<-'END'
		input     x float[1]
		variable  w [1] initializer=zeros
		variable  v [1] initializer=zeros
		step      mean variables=w
		step      file x variables=v reads=w
		metric    largest
		optimizer sgd learning_rate=0.1
	END
	# The program reads the values of x after those of w and v.
	cat >two.py <<-'END'
		import array, json, sys
		into, out, given = sys.stdin.buffer, sys.stdout.buffer, 0
		for line in iter(into.readline, b""):
		    r = json.loads(line)
		    sent = {}
		    for a in r["sent"]:
		        size = 4 * a["shape"][0]
		        sent[a["name"]] = array.array("f", into.read(size))
		    x = [int(v) for v in sent.get("x", range(given,
		                                             given + 2))]
		    given += 0 if "x" in sent else 2
		    assert list(sent) == (["x", "w", "v"] if "x" in sent
		                          else ["w"])
		    assert ("batch" in r) == ("x" not in sent)
		    out.write(json.dumps({"loss": 1, "examples": len(x),
		              "result": [r["name"], x]}).encode() + b"\n" +
		              bytes(4 * len(r["wanted"])))
		    out.flush()
	END
	seq 12 | sed 's/^/0 1:/' >x.svm
}

@test "step lines with inputs and without take turns in one model" {
	local prefetch
	two_lines
	for i in 1 2 3; do
		echo '{"step":"mean","steps":2}'
		echo '{"step":"file","steps":1}'
		echo '{"step":"file","steps":1,"batch":2}'
	done >requests
	echo join >>requests
	for prefetch in 0 1; do
		run -0 --separate-stderr ps-local -q -- \
			--prefetch="$prefetch" \
			--step='/usr/bin/python3 two.py' x.svm -- \
			ps-coord -m two.ps -B 1 requests
		assert_equal "$(grep -o '"file", .*' <<<"$output")" \
'"file", [1]]}
"file", [2, 3]]}
"file", [4]]}
"file", [5, 6]]}
"file", [7]]}
"file", [8, 9]]}'
		assert_equal "$(grep -c '"mean", ' <<<"$output")" 6
		assert_line --partial '"steps":12,"examples":21,'
	done
	# When the data of one line have ended the worker has no data left.
	for i in 1 2 3 4 5 6; do cat requests; done | grep -v join >more
	run -66 --separate-stderr ps-local -q -- \
		--step='/usr/bin/python3 two.py' x.svm -- \
		ps-coord -m two.ps -B 1 more
	assert_line --partial "no worker has data left: 18 steps were done, 54 \
were not\""
}

# fails CODE REASON - check the error of the second step, whose answer CODE
# changes.
fails() {
	run -65 --separate-stderr ps-local -q -- --step="$own 1 99 '
if number == 1:
    $1'" -- ps-coord -m model.ps -B 4 requests
	assert_line --partial ",\"error\":\"step 1: model.ps:2: mean: $2\"}"
}

@test "wrong answers about data of its own are errors of the step" {
	echo train 9 >requests
	fails 'del head["examples"]' 'the answer does not say how many \"'\
'examples\" it took, or \"end\":true'
	fails 'head["examples"] = 0' 'the answer does not say how many \"'\
'examples\" it took, or \"end\":true'
	fails 'head["end"] = True; body = b""' \
		'\"examples\":4 with \"end\":true, which is of none'
	fails 'head = {"end": 1}' '\"end\":1 is not true or false'
	fails 'head = {"error": "no file"}; body = b""' 'no file'
	# No array may follow an end.
	run -76 --separate-stderr ps-local -- --restart=0 --step="$own 1 99 '
if number == 1:
    head = {\"examples\": 0, \"end\": True}'" -- \
		ps-coord -m model.ps -B 4 requests
	[[ $stderr == *"has answered more than was wanted"* ]]
}

@test "options that contradict data of its own are refused" {
	local none="no step line of the model takes inputs of one data set: \
there is nothing to score"
	printf 'train 2\neval x.svm\n' >requests
	run -78 ps-local -- --step="$own 1 99" -- \
		ps-coord -m model.ps --mode=sync requests
	assert_line "ps-coord: --mode=sync: model.ps:2: mean takes no input: \
a program with data of its own computes other records when a step is run \
again; say async or ssp:N"
	run -65 --separate-stderr ps-local -C saved -- --step="$own 1 99" -- \
		ps-coord -m model.ps --checkpoint=saved requests
	assert_line "{\"op\":\"request\",\"error\":\"request 2: eval: $none\"}"
	run -78 ps-eval -C saved --step="$own 1 99" x.svm
	assert_output "ps-eval: $none"
	two_lines
	run -78 ps-local -- --step="$own 1 99" -- \
		ps-coord -m model.ps -d x.svm requests
	assert_line "ps-coord: -d: no input of the model is read from it: \
there is none, or each has a from="
	printf '%s\n' '{"step":"file"}' '{"step":"mean"}' >more
	run -65 --separate-stderr ps-local -- \
		--step='/usr/bin/python3 two.py' -- \
		ps-coord -m two.ps -B 4 -d x.svm more
	assert_line --partial '"result":["file", '
	assert_line --partial 'request 2: the step line has no input from the '\
'data of ps-coord (-d), which every step must read"}'
	run -64 ps-local -- --step="$own 1 99" x.svm -- \
		ps-coord -m model.ps requests
	assert_line "ps-coord: step 0: ps-work has inputs, and the model \
reads none of them: the program of its steps has data of its own"
	# ssp is accepted.
	echo train 9 >requests
	run -0 --separate-stderr ps-local -q -w 2 -- --step="$own %i01 99" -- \
		ps-coord -m model.ps --mode=ssp:2 -B 4 requests
	[ "$(grep -c '"loss"' <<<"$output")" = 9 ]
}

@test "images: programs read their own parts of them" {
	images=mnist10k-images-idx3-ubyte.gz
	labels=mnist10k-labels-idx1-ubyte.gz
	need_data $images $labels
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "NOT TESTED: /usr/bin/python3 has no NumPy"
	export PYTHON=/usr/bin/python3 TMPDIR=$PWD
	run -0 --separate-stderr "$SRC/examples/images/run" "$data/$images" \
		"$data/$labels" "$data/$images" "$data/$labels"
	assert_line --partial '"no worker has data left: 470 steps were done,'
	[[ $stderr == *"worker:1 has used up its data: 15000 records"* ]]
	sed -n 's/.*"accuracy":\([0-9.]*\).*/\1/p' <<<"$output" |
		awk '{ exit !($1 > 0.9) }'
	run find . -path './tmp*'
	assert_output ""
}

# sets - make a model that reads three data sets, their files, and a program
# that returns the examples that it was sent.
sets() {
	cat >sets.ps <<-'END'
		input     u float[1] from=unlabelled
		input     x float[1]
		label     y float
		input     n id rows=100 columns=item from=negative.items
		e       = embedding n dim=1 embeddings_initializer=zeros
		variable  w [1] initializer=zeros
		step      both x u y
		step      fit x y
		step      rest u
		step      rank x e n reads=w
		optimizer sgd learning_rate=0.1
	END
	cat >sets.py <<-'END'
		import array, json, math, sys
		into, out = sys.stdin.buffer, sys.stdout.buffer
		for line in iter(into.readline, b""):
		    r = json.loads(line)
		    sent = {}
		    for a in r["sent"]:
		        kind = "Q" if a.get("type") == "uint64" else "f"
		        size = math.prod(a["shape"]) * (8 if kind == "Q"
		                                        else 4)
		        sent[a["name"]] = [int(v) for v in array.array(
		            kind, into.read(size))]
		    sent.pop("w")
		    sent.pop("e", None)
		    head = {"loss": 1, "result": [r["name"], sent]}
		    exec(" ".join(sys.argv[1:]))
		    out.write(json.dumps(head).encode() + b"\n" + bytes(sum(
		        4 * math.prod(a["shape"]) for a in r["wanted"])))
		    out.flush()
	END
	seq 12 | sed 's/.*/& 1:&/' >x.svm
	seq 101 107 | sed 's/.*/0 1:&/' >u.svm
	seq 201 203 | sed 's/.*/0 1:&/' >more.svm
	(echo item; seq 51 59) >n.csv
}

# given - print the results of the program in the order of the steps.
given() {
	grep -o '"result":.*' <<<"$output" | sed 's/"result"://; s/}$//'
}

# feeds - the options of a worker with all three data sets, without operands.
feeds=(--step='/usr/bin/python3 sets.py' --input=unlabelled:u.svm
	--input=unlabelled:more.svm --input=negative.items:n.csv)

@test "a step takes the requested number of examples of each data set" {
	local how want='["both", {"x": [1, 2], "u": [101, 102], "y": [1, 2]}]
["both", {"x": [3, 4], "u": [103, 104], "y": [3, 4]}]
["rest", {"u": [105, 106]}]
["fit", {"x": [5], "y": [5]}]
["rank", {"x": [6, 7], "n": [51, 52, 53]}]
["both", {"x": [8, 9], "u": [107, 201], "y": [8, 9]}]
["rank", {"x": [10, 11, 12], "n": [54, 55, 56]}]
["rest", {"u": [202, 203]}]
["rest", {"u": [101, 102]}]'
	sets
	printf '%s\n' '{"step":"both","steps":2}' '{"step":"rest"}' \
		'{"step":"fit","batch":1}' '{"step":"rank"}' '{"step":"both"}' \
		'{"step":"rank","batch":3}' '{"step":"rest","steps":2}' \
		join >requests
	for how in --prefetch=0 --prefetch=1; do
		run -0 --separate-stderr ps-local -q -- "${feeds[@]}" "$how" \
			--repeat=unlabelled --batch=negative.items:3 x.svm -- \
			ps-coord -m sets.ps -B 2 requests
		assert_equal "$(given)" "$want"
		assert_line --partial '"steps":9,"examples":18,'
	done
	# Also in rounds; an option without a name is for all data sets.
	run -0 --separate-stderr ps-local -q -w 2 -- "${feeds[@]}" --repeat \
		--shuffle=unlabelled:4 --shard=negative.items:0/3 x.svm -- \
		ps-coord -m sets.ps -B 2 --mode=sync --replicas=2 requests
	run -0 grep -c '"slots":2,' <<<"$output"
	assert_output 9
}

@test "a worker's steps end with the first data set that ends" {
	sets
	printf '%s\n' '{"step":"both","steps":9}' >requests
	run -66 --separate-stderr ps-local -q -- "${feeds[@]}" \
		--repeat=unlabelled x.svm -- ps-coord -m sets.ps -B 2 requests
	assert_line --partial 'has data left: 6 steps were done, 3 were'
	run -66 --separate-stderr ps-local -q -- "${feeds[@]}" x.svm -- \
		ps-coord -m sets.ps -B 2 requests
	assert_line --partial 'has data left: 5 steps were done, 4 were'
}

@test "the first step line with one data set scores" {
	sets
	printf '%s\n' '{"step":"both"}' eval 'eval x.svm' >requests
	run -0 --separate-stderr ps-local -q -C saved -- "${feeds[@]}" \
		x.svm -- ps-coord -m sets.ps -B 2 --checkpoint=saved requests
	assert_equal "$(grep -c '"op":"eval","step":1,"examples":12,' \
		<<<"$output")" 2
	run -0 ps-eval -C saved --step='/usr/bin/python3 sets.py' x.svm
	assert_output --partial '"examples":12,'
}

@test "the coordinator's data are the data set without a name" {
	sets
	printf '%s\n' '{"step":"both"}' '{"step":"fit"}' '{"step":"both"}' \
		'{"step":"rest"}' >requests
	run -65 --separate-stderr ps-local -q -- "${feeds[@]}" -- \
		ps-coord -m sets.ps -B 2 -d x.svm requests
	assert_equal "$(given | sed 's/"x": [^]]*\]/X/; s/, "y".*//')" \
'["both", {X, "u": [101, 102]
["fit", {X
["both", {X, "u": [103, 104]'
	assert_line --partial 'request 4: the step line has no input from the '\
'data of ps-coord (-d), which every step must read"}'
	printf '%s\n' 'input u float[1] from=unlabelled' 'step rest u' \
		'variable w [1]' >named.ps
	run -78 ps-local -- "${feeds[@]}" -- \
		ps-coord -m named.ps -d x.svm requests
	assert_line "ps-coord: -d: no input of the model is read from it: \
there is none, or each has a from="
}

@test "the coordinator may have any data set, each with its own epochs" {
	sets
	# There are 12 examples, 10 without a label, and 9 negative ones, used
	# three at a time.
	own=(--step='/usr/bin/python3 sets.py')
	coord=(ps-coord -m sets.ps -B 2 -d x.svm --input=unlabelled:u.svm
		--input=unlabelled:more.svm --input=negative.items:n.csv
		-B negative.items:3)
	printf '%s\n' '{"step":"rest","steps":2}' \
		'{"op":"epoch","step":"both","data":"unlabelled"}' \
		'{"op":"epoch","step":"rank"}' \
		'{"op":"epoch","step":"both"}' >requests
	run -0 --separate-stderr ps-local -q -- "${own[@]}" -- \
		"${coord[@]}" requests
	# Compare the first two sets of each line: a step has records of one
	# epoch only.
	assert_equal "$(given | sed 's/, "y".*//')" \
'["rest", {"u": [101, 102]}]
["rest", {"u": [103, 104]}]
["both", {"x": [1, 2], "u": [105, 106]
["both", {"x": [3, 4], "u": [107, 201]
["both", {"x": [5, 6], "u": [202, 203]
["rank", {"x": [7, 8], "n": [51, 52, 53]}]
["rank", {"x": [9, 10], "n": [54, 55, 56]}]
["rank", {"x": [11, 12], "n": [57, 58, 59]}]
["both", {"x": [1, 2], "u": [101, 102]
["both", {"x": [3, 4], "u": [103, 104]
["both", {"x": [5, 6], "u": [105, 106]
["both", {"x": [7, 8], "u": [107, 201]
["both", {"x": [9, 10], "u": [202, 203]
["both", {"x": [11, 12], "u": [101, 102]'
	assert_line --regexp '"epoch":0,"data":"unlabelled","step":5,'\
'"steps":5,.*"records":10}'
	assert_line --regexp '"epoch":0,"step":8,"steps":6,.*"records":12}'
	assert_line --regexp '"epoch":1,"step":14,"steps":6,.*"records":12}'
	# In rounds the last batch of an epoch without a label is alone in its
	# round.
	echo '{"op":"epoch","step":"both"}' >requests
	run -0 --separate-stderr ps-local -q -w 2 -- "${own[@]}" -- \
		"${coord[@]}" --mode=sync --replicas=2 requests
	assert_line --regexp '"epoch":0,"step":4,"steps":4,"examples":12,'
	assert_equal "$(given | sed -n 3p)" \
'[["both", {"x": [5, 6], "u": [202, 203], "y": [5, 6]}],null]'
	# Some data sets may be those of the workers.
	run -0 --separate-stderr ps-local -q -- "${own[@]}" --repeat \
		x.svm -- ps-coord -m sets.ps -B 2 \
		--input=unlabelled:u.svm requests
	assert_line --regexp '"data":"unlabelled","step":4,"steps":4,'
}

@test "an epoch ends with the data set of --end-with" {
	sets
	echo '{"op":"epoch","step":"both","epochs":2}' >requests
	run -0 --separate-stderr ps-local -q -- \
		--step='/usr/bin/python3 sets.py' -- ps-coord -m sets.ps \
		-B 2 -d x.svm --input=unlabelled:u.svm \
		--end-with=unlabelled requests
	assert_line --regexp '"epoch":0,"step":4,"steps":4,"examples":8,.*'\
'"records":12,"left":4}'
	assert_line --regexp \
		'"epoch":0,"step":6,"steps":2,"examples":4,.*"records":12}'
}

@test "data sets of ps-coord that make no sense are refused" {
	sets
	echo '{"step":"both"}' >requests
	run -64 ps-local -- "${feeds[@]}" -- ps-coord -m sets.ps -d x.svm \
		--input=x.svm requests
	assert_line --partial "--input: 'x.svm' is not NAME:..."
	run -64 ps-local -- "${feeds[@]}" -- ps-coord -m sets.ps -d x.svm \
		-B unlabelled:3 requests
	assert_line --partial 'there is no --input=unlabelled:FILE'
	run -78 ps-local -- "${feeds[@]}" -- ps-coord -m sets.ps -d x.svm \
		--input=u:u.svm requests
	assert_line --partial '--input=u: no input of the model is read from '\
'it (from=u)'
	run ps-local -- "${feeds[@]}" -- ps-coord -m sets.ps -d x.svm \
		--input=unlabelled:u.svm requests
	assert_line --partial 'ps-work has inputs, and ps-coord data for all '\
'workers (-d): name them in one place'
	echo '{"op":"epoch","data":"unlabelled","step":"fit"}' >requests
	run -65 ps-local -- --step='/usr/bin/python3 sets.py' -- \
		ps-coord -m sets.ps -d x.svm --input=unlabelled:u.svm requests
	assert_line --partial 'data=unlabelled: the step line has no input '\
'from a data set of this name of ps-coord'
}

# work STATUS TEXT OPTION... - check that a step of a worker with these inputs
# fails.
work() {
	run "-$1" --separate-stderr ps-local -- \
		--step='/usr/bin/python3 sets.py' "${@:3}" -- \
		ps-coord -m sets.ps -B 2 requests
	[[ $stderr == *"step 0: $2"* || $output == *"$2"* ]] ||
		{ echo "$output" "$stderr"; return 1; }
}

@test "errors name inputs that the model has not, or that are missing" {
	sets
	printf '%s\n' '{"step":"both"}' >requests
	work 64 'no input: say --input=unlabelled:FILE' x.svm
	work 64 'no input: name files, - or pipe:COMMAND for ps-work' \
		--input=unlabelled:u.svm
	work 64 '--input=unlabeled: no input of the model is read from it '\
'(from=unlabeled)' --input=unlabeled:u.svm x.svm
	work 66 'none.svm: No such file or directory' \
		--input=unlabelled:none.svm x.svm
	echo '0 1:a' >bad.svm
	work 65 "bad.svm:1: '1:a' is not id:number" \
		--input=unlabelled:bad.svm x.svm
	local zeros
	printf -v zeros '0%.0s' {1..70}
	local -A said=(
		[--input=u.svm]="--input: 'u.svm' is not NAME:FILE"
		[--input=u:]="--input: 'u:' is not NAME:FILE"
		[--input=:u]="':u' has no name before the colon"
		[--batch=3]="--batch: '3' is not NAME:N; that of other inputs\
 is set by ps-coord"
		[--batch=u:3]="there is no --input=u:FILE"
		[--repeat=u]="there is no --input=u:FILE"
		[--shuffle=u:3]="there is no --input=u:FILE"
		[--shard=u:0/2]="there is no --input=u:FILE"
		[--shard=0/${zeros}x]="--shard: '0/${zeros}x' is not I/N, with \
I from 0 to N - 1"
		[--shard=u:2/2]="--shard: '2/2' is not I/N, with I from 0 to \
N - 1"
	)
	local each
	for each in "${!said[@]}"; do
		run -64 ps-work --check -c ipc://c "$each" x.svm
		assert_line "ps-work: ${said[$each]}; try 'ps-work --help'"
	done
}

@test "data sets that do not go together are refused" {
	sets
	sed '/^step/d; s/^optim/loss mean_squared_error p\n&/
		s/^variable.*/p = dense x units=1/' sets.ps >loss.ps
	run -78 ps-coord --plan -s 1 -m loss.ps
	assert_output --partial "from= is for models whose steps a program \
computes (step): a loss is of one data set"
	sed 's/^variable/s = add x u\n&/' sets.ps >add.ps
	run -78 ps-coord --plan -s 1 -m add.ps
	assert_output --partial "add.ps:6: s: x and u are of two data sets \
(from=), whose examples do not go together"
	sed 's/both.*/& predicts=[1]/' sets.ps >predicts.ps
	run -78 ps-coord --plan -s 1 -m predicts.ps
	assert_output --partial "both: predicts is of examples of one data \
set, and its inputs are of several (from=)"
	sed 's/from=unlabelled/from=a:b/' sets.ps >name.ps
	run -78 ps-coord --plan -s 1 -m name.ps
	assert_output --partial "'a:b' is not a name"
}
