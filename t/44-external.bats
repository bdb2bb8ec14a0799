# External layers: programs of the user's that ps-work and ps-eval run.

load lib.bash

# A program that computes like "dense units=1", with nothing but Python's own
# library, and does what its words say at the request of that number.
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'END'
		input     x float[4]
		label     y binary
		variable  W [4,1] initializer=zeros
		variable  b [1] initializer=zeros
		logit   = external x shape=[1] variables=W,b
		loss      binary_crossentropy logit from_logits=true
		metric    accuracy logit
		optimizer adagrad learning_rate=1.0
	END
	sed '/^variable/d; s/external.*/linear x/' model.ps >linear.ps
	printf '%s\n' '+1 1:1 2:1' '-1 3:1' '+1 1:1 4:1' '-1 2:1 3:1' \
		>train.svm
	cat >dense.py <<-'END'
		import array, json, math, os, signal, sys, time
		at, what = (sys.argv[1:] + ["", ""])[:2]
		into, out = sys.stdin.buffer, sys.stdout.buffer
		no = b'{"error": "no logarithm"}\n'

		def read(shape):
		    return array.array("f", into.read(4 * math.prod(shape)))

		for number, line in enumerate(iter(into.readline, b"")):
		    r = json.loads(line)
		    sent = {a["name"]: read(a["shape"]) for a in r["sent"]}
		    said = False
		    if str(number) == at:
		        exec(what)
		    if said:
		        continue
		    if r["op"] == "forward":
		        kept, d = sent, len(sent["W"])
		        n = len(sent["x"]) // d
		        y = [sum(sent["x"][i * d + k] * sent["W"][k]
		                 for k in range(d)) + sent["b"][0]
		             for i in range(n)]
		        answer = {r["layer"]: y}
		    else:
		        g = sent[r["layer"]]
		        answer = {"b": [sum(g)], "W": [sum(
		            kept["x"][i * d + k] * g[i] for i in range(n))
		            for k in range(d)], "x": [g[i // d] *
		            kept["W"][i % d] for i in range(n * d)]}
		    out.write(b"{}\n" + b"".join(
		        array.array("f", answer[a["name"]]).tobytes()
		        for a in r["wanted"]))
		    out.flush()
	END
	dense="/usr/bin/python3 dense.py"
}

# train REQUESTS MODEL OPTION-OF-WORKERS... - one worker and server; the result
# lines without what depends on the clock.
train() {
	local requests=$1 model=$2
	shift 2
	printf '%b\n' "$requests" |
		ps-local -q -C saved -- "$@" --repeat train.svm -- \
		ps-coord -m "$model" -B 4 --checkpoint=saved |
		sed 's/,"seconds":[^}]*//'
}

# rounded - numbers with five digits, as two sums of another order have them.
rounded() {
	awk -F'"loss":' '/loss/ { split($2, rest, ",")
		printf "%s %.5f\n", $1, rest[1] }'
}

@test "a program computes what a layer does, in training and evaluation" {
	train 'train 40\neval train.svm' linear.ps >linear
	rm -r saved
	train 'train 40\neval train.svm' model.ps -x "$dense" >external
	diff <(rounded <linear) <(rounded <external)
	run -0 grep -c . external
	assert_output 41
	[[ $(tail -n 1 external) == *'"metrics":{"accuracy":1}'* ]]
}

@test "a checkpoint has its variables, and ps-eval its predictions" {
	train 'train 40' linear.ps >/dev/null
	ps-eval -C saved --predict train.svm >linear
	rm -r saved
	train 'train 40' model.ps --external="$dense" >/dev/null
	run -0 ps-ckpt cat saved b
	ps-eval -x "logit=$dense" -C saved --predict train.svm >external
	diff <(awk '{ printf "%.5f\n", $1 }' linear) \
		<(awk '{ printf "%.5f\n", $1 }' external)
	run -0 ps-eval -x "$dense" -C saved train.svm
	[[ $output == *'"step":40,"final":true,"examples":4,'* ]]
}

@test "ps-eval scores the live model with it" {
	launch ps-local -q -- -x "$dense" --repeat train.svm -- sh -c '
		(echo train 20; echo join; cat go) | ps-coord -m model.ps |
		while read -r line; do
			case $line in
			*join*)
				ps-eval -x "/usr/bin/python3 dense.py" \
					train.svm >scores
				echo >go &
			esac
		done'
	mkfifo go
	wait "$pid"
	run -0 cat scores
	[[ $output == '{"step":20,"examples":4,'*'"accuracy":1'* ]]
}

@test "layers between others, each by a program of its own" {
	cat >deep.ps <<-'END'
		input     x float[4]
		label     y binary
		variable  W [3,1]
		variable  b [1] initializer=zeros
		variable  V [1] initializer=ones
		variable  c [1] initializer=zeros
		h       = dense x units=3 activation=tanh
		first   = external h shape=[1] variables=W,b activation=tanh
		second  = external first shape=[1] variables=V,c
		loss      binary_crossentropy second from_logits=true
		optimizer adam learning_rate=0.1
	END
	sed 's/"x"/"h"/g' dense.py >first.py
	sed 's/"x"/"first"/g; s/"W"/"V"/g; s/"b"/"c"/g' dense.py >second.py
	train 'train 80' deep.ps -x first="/usr/bin/python3 first.py" \
		-x second="/usr/bin/python3 second.py" >out
	[ "$(wc -l <out)" = 80 ]
	# It learns what the four examples say.
	awk -F'"loss":' '{ split($2, rest, ","); last = rest[1] }
		END { exit !(last < 0.1) }' out
}

@test "arrays that fit no pipe go to and fro" {
	cat >large.ps <<-'END'
		input     x float[20000]
		label     y binary
		h       = dense x units=300000
		z       = external h shape=[300000]
		s       = dense z units=1
		loss      binary_crossentropy s from_logits=true
		optimizer sgd learning_rate=0.001
	END
	cat >same.py <<-'END'
		import json, math, sys
		into, out = sys.stdin.buffer, sys.stdout.buffer
		for line in iter(into.readline, b""):
		    r = json.loads(line)
		    all = [into.read(4 * math.prod(a["shape"]))
		           for a in r["sent"]]
		    out.write(b"{}\n" + all[0])
		    out.flush()
	END
	sed -i 's/float\[20000\]/float[4]/' large.ps
	train 'train 3' large.ps -x "/usr/bin/python3 same.py" >with
	rm -r saved
	sed '/external/d; s/dense z/dense h/' large.ps >without.ps
	# Names say where initial values begin, and these are the same.
	train 'train 3' without.ps >without
	diff <(rounded <with) <(rounded <without)
}

@test "what it cannot compute is an error of the step" {
	echo train 9 >requests
	run -65 --separate-stderr ps-local -- --repeat -x \
		"$dense 4 'said = out.write(no); out.flush()'" train.svm -- \
		ps-coord -m model.ps -B 4 requests
	assert_line '{"op":"train","step":2,"worker":"worker:0",'\
'"error":"step 2: model.ps:5: logit: no logarithm"}'
	[ "$stderr" = "ps-coord: step 2: model.ps:5: logit: no logarithm" ]
}

@test "one that dies takes its worker along, and another runs the steps" {
	printf 'train 300\n' | ps-local -w 2 -- --repeat \
		-x "$dense 40 'ok = not os.path.exists(\"died\")
os.mkdir(\"died\") if ok else 0
sys.exit(3) if ok else 0'" train.svm -- \
		ps-coord -m model.ps -B 4 >out 2>log
	[ "$(grep -c '"step"' out)" = 300 ]
	[ "$(sed 's/.*"step":\([0-9]*\).*/\1/' out | sort -un | wc -l)" = 300 ]
	run -0 grep -c "^ps-work.*: model.ps:5: logit: '.* has ended with " log
	assert_output 1
}

# ended PIDFILE - the process is gone, or is so within ten seconds.
ended() {
	timeout 10 tail -s 0.05 --pid="$(<"$1")" -f /dev/null
}

# refused STATUS LINE COMMAND [OPTION...] - what ps-eval says of a command.
refused() {
	run "-$1" --separate-stderr ps-eval -C saved -x "$3" "${@:4}" train.svm
	assert_equal "${stderr_lines[-1]}" "ps-eval: model.ps:5: logit: $2"
}

@test "one that says what is no answer, or nothing, or ends, is told" {
	local each no_answer="which does not begin an answer; that is a line \
{} or {\"error\":\"TEXT\"}"
	train 'train 1' model.ps -x "$dense" >/dev/null
	each="$dense 0 'print(\"hello\\tall\", flush=True)'"
	refused 76 "'$each' said 'hello?all', $no_answer" "$each"
	each=cat
	refused 76 "'$each' said '{\"op\":\"forward\",\"layer\":\"logit\",', \
$no_answer" "$each"
	each="cat >/dev/null"
	refused 69 "'$each' has not answered within 0.3 s" "$each" -w 300ms
	each="sleep 1e6"
	refused 69 "'$each' has not answered within 0.3 s" "$each" -w 300ms
	each="exec $dense 0 'os.kill(os.getpid(), 9)'"
	refused 69 "'$each' was ended by signal 9" "$each"
	each="exit 3"
	refused 69 "'$each' has ended with status 3" "$each"
	each="exec >/dev/null; exec cat >/dev/null"
	refused 69 "'$each' has ended with status 0" "$each"
	each="exec >/dev/null; exec sleep 1e6"
	refused 69 "'$each' has closed its standard output" "$each"
	each="printf '{}\\n123'"
	refused 69 "'$each' has ended with status 0" "$each"
	each="./nowhere"
	refused 69 "'$each' has ended with status 127" "$each"
	each="sleep 1e6 & echo \$! >pid; wait"
	refused 69 "'$each' has not answered within 0.3 s" "$each" -w 300ms
	ended pid
}

@test "a model and -x that do not fit are told" {
	echo train 9 >requests
	run -78 ps-local -- --repeat train.svm -- ps-coord -m model.ps requests
	assert_line "ps-coord: step 0: model.ps:5: a program computes logit: \
say which, -x logit=COMMAND"
	echo eval >requests
	run -78 ps-local -- -x "h=$dense" train.svm -- \
		ps-coord -m model.ps requests
	assert_line "ps-coord: -x 'h=$dense': the model has no external layer \
called h"
	train 'train 1' model.ps -x "$dense" >/dev/null
	run -78 ps-eval -C saved train.svm
	assert_output "ps-eval: model.ps:5: a program computes logit: say \
which, -x logit=COMMAND"
	run -78 ps-eval -C saved -x "other=$dense" train.svm
	assert_output "ps-eval: -x 'other=$dense': the model has no external \
layer called other"
	rm -r saved
	train 'train 1' linear.ps >/dev/null
	run -78 ps-eval -C saved -x "$dense" train.svm
	assert_output "ps-eval: -x '$dense': the model has no external layer"
}

@test "a worker that is told to end does not wait for its program" {
	mkfifo there
	echo train 9 >requests
	launch ps-serve -c ipc://coord -i 0
	launch ps-coord -b ipc://coord -s 1 -m model.ps -B 4 requests
	launch ps-work -c ipc://coord --repeat -x \
		"$dense 2 'open(\"there\", \"w\").close(); time.sleep(1e6)'" \
		train.svm
	cat there
	stop
	[ ! -s "$log" ]
}

@test "programs end with who runs them, even if they do not heed it" {
	train 'train 2' model.ps -x \
		"$dense 0 'open(\"pid\", \"w\").write(str(os.getpid()))'" \
		>/dev/null
	ended pid
	train 'train 2' model.ps -x "trap '' TERM; echo \$\$ >pid; $dense
		exec tail -f /dev/null" \
		>/dev/null
	ended pid
	mkfifo there
	echo train 9 >requests
	launch ps-serve -c ipc://coord -i 0
	launch ps-coord -b ipc://coord -s 1 -m model.ps -B 4 requests
	launch ps-work -c ipc://coord --repeat -x "exec $dense 2 '
open(\"pid\", \"w\").write(str(os.getpid()))
open(\"there\", \"w\").close(); time.sleep(1e6)'" train.svm
	cat there
	dies "$pid"
	ended pid
}

@test "a filter whose reader has left ends like one, whatever its program" {
	train 'train 1' model.ps -x "$dense" >/dev/null
	yes '1 1:1' | head -n 100000 >many.svm
	run -0 --separate-stderr bash -c "ps-eval -C saved --predict -B 100 \
		-x '$dense' many.svm | head -n 1"
	[ -z "$stderr" ]
}
