# External layers: programs of users that ps-work and ps-eval run.

load lib.bash

# Makes a program that computes like "dense units=1" with Python's standard
# library.  Its arguments are the number of a request and code to run at it.
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

# train REQUESTS MODEL OPTION-OF-WORKERS... - train with one worker and server;
# print the result lines without the fields that depend on the clock.
train() {
	local requests=$1 model=$2
	shift 2
	printf '%b\n' "$requests" |
		ps-local -q -C saved -- "$@" --repeat train.svm -- \
		ps-coord -m "$model" -B 4 --checkpoint=saved |
		sed 's/,"seconds":[^}]*//'
}

# rounded - round numbers to five digits, to which sums in any order agree.
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

@test "layers between others, each computed by a program of its own" {
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
	# The model learns the labels of the four examples.
	awk -F'"loss":' '{ split($2, rest, ","); last = rest[1] }
		END { exit !(last < 0.1) }' out
}

# several - make a layer with three outputs that takes ids and the label: its
# program, model and data, and a model of native layers that compute the same.
several() {
	cat >several.py <<-'END'
		import array, json, math, sys
		at, what = (sys.argv[1:] + ["", ""])[:2]
		into, out = sys.stdin.buffer, sys.stdout.buffer

		def read(a):
		    ids = a.get("type") == "uint64"
		    size = (8 if ids else 4) * math.prod(a["shape"])
		    return array.array("Q" if ids else "f", into.read(size))

		for number, line in enumerate(iter(into.readline, b"")):
		    r = json.loads(line)
		    sent = {a["name"]: read(a) for a in r["sent"]}
		    shapes = {a["name"]: a["shape"] for a in r["wanted"]}
		    if r["op"] == "forward":
		        k, n = sent, shapes["h"][0]
		        T, i, y = k["T"], k["i"], k.get("y", [0] * n)
		        answer = {
		            "h": [sum(k["x"][4 * e + m] * k["W"][3 * m + j]
		                      for m in range(4)) + k["b"][j]
		                  for e in range(n) for j in range(3)],
		            "e": [T[2 * i[2 * e] + j] + T[2 * i[2 * e + 1] + j]
		                  for e in range(n) for j in range(2)],
		            "c": [k["v"][0] * y[e] for e in range(n)]}
		    else:
		        h, g, c = sent["h"], sent["e"], sent["c"]
		        T = [0] * len(k["T"])
		        for e in range(n):
		            for id in i[2 * e:2 * e + 2]:
		                for j in range(2):
		                    T[2 * id + j] += g[2 * e + j]
		        answer = {
		            "T": T, "v": [sum(c[e] * y[e] for e in range(n))],
		            "b": [sum(h[3 * e + j] for e in range(n))
		                  for j in range(3)],
		            "W": [sum(k["x"][4 * e + m] * h[3 * e + j]
		                      for e in range(n))
		                  for m in range(4) for j in range(3)]}
		    if str(number) == at:
		        exec(what)
		    out.write(json.dumps({"shapes": shapes}).encode() + b"\n" +
		              b"".join(array.array("f", answer[a["name"]])
		                       .tobytes() for a in r["wanted"]))
		    out.flush()
	END
	several="/usr/bin/python3 several.py"
	cat >several.ps <<-'END'
		input     x float[4] columns=x*
		input     i id[2] columns=i* rows=5
		label     y float
		variable  W [4,3] initializer=ones
		variable  b [3] initializer=zeros
		variable  T [5,2] initializer=ones
		variable  v [1] initializer=ones
		h       = external x i y shape=[3] MORE activation=tanh
		f       = flatten e
		all     = concat h f c
		p       = dense all units=1
		loss      mean_squared_error p
		optimizer sgd learning_rate=0.01
	END
	cat >native.ps <<-'END'
		input     x float[4] columns=x*
		input     i id[2] columns=i* rows=5
		input     t float columns=t
		label     y float
		h   = dense x units=3 kernel_initializer=ones activation=tanh
		f   = embedding i dim=2 combiner=sum embeddings_initializer=ones
		c   = dense t units=1 use_bias=false kernel_initializer=ones
		all     = concat h f c
		p       = dense all units=1
		loss      mean_squared_error p
		optimizer sgd learning_rate=0.01
	END
	sed -i 's/MORE/outputs=e[1,2],c[1] variables=W,b,T,v/' several.ps
	awk 'BEGIN {
		srand(3)
		print "x1,x2,x3,x4,i1,i2,t,y"
		for (n = 0; n < 32; n++) {
			y = rand()
			printf "%.3f,%.3f,%.3f,%.3f,%d,%d,%.4f,%.4f\n", rand(),
				rand(), rand(), rand(), 5 * rand(), 5 * rand(),
				y, y
		}
	}' >several.csv
}

# twin MODEL [OPTION...] - train, and print the losses and the weights.
twin() {
	printf 'train 100\neval several.csv\n' |
		ps-local -q -C "saved-$1" -- "${@:2}" --repeat several.csv -- \
		ps-coord -m "$1.ps" -B 8 --checkpoint="saved-$1" |
		sed 's/.*"loss":\([^,]*\),.*/\1/'
}

# close FILE FILE - check that the files have the same numbers to 1e-5.
close() {
	paste "$1" "$2" | awk '
		NF != 2 || ($1 - $2) ^ 2 > 1e-10 { bad = 1 }
		END { exit bad || NR == 0 }' || fail "$1 is not $2"
}

@test "several outputs, ids and the label, with the results of layers" {
	local pair
	several
	twin several -x "$several" >one
	twin native >other
	assert_equal "$(wc -l <one)" 101
	close one other
	for pair in W:h/kernel b:h/bias T:f/embeddings v:c/kernel \
		p/kernel:p/kernel; do
		ps-ckpt cat saved-several "${pair%%:*}" | tail -c +129 |
			od -An -v -w4 -tf4 >one
		ps-ckpt cat saved-native "${pair#*:}" | tail -c +129 |
			od -An -v -w4 -tf4 >other
		close one other
	done
	# Without a label nothing is sent for it.
	cut -d, -f1-6 several.csv >unlabelled.csv
	run -0 ps-eval --predict -C saved-several -x "$several" unlabelled.csv
	assert_equal "${#lines[@]}" 32
}

# several_says STATUS TEXT CODE - check the status and error of an answer that
# CODE changes.
several_says() {
	run "-$1" --separate-stderr ps-local -q -- -w 2s \
		-x "$several $3" --repeat several.csv -- \
		ps-coord -m several.ps -B 8 <<<'train 2'
	[[ $stderr == *"several.ps:8: h: $2"* ]] ||
		fail "$stderr has no $2"
}

@test "arrays that are too short, too long or of another shape are named" {
	several
	several_says 65 "the answer's W has the shape [3,4], where [4,3] is \
wanted" "1 'shapes[\"W\"] = [3, 4]'"
	several_says 76 "the answer's c has the shape [8,2], where [8,1] is \
wanted" "0 'shapes[\"c\"] = [8, 2]'"
	several_says 65 '"shapes" has Z, which is not wanted' \
		"1 'shapes[\"Z\"] = [1]'"
	several_says 69 "'$several 1 'answer[\"T\"].pop()'' has not answered \
within 2 s: v is incomplete: 0 of 4 bytes have arrived" "1\
 'answer[\"T\"].pop()'"
	several_says 76 "'$several 0 'answer[\"c\"] += [1]'' has answered \
more than was wanted: 192 bytes, up to the end of c" \
		"0 'answer[\"c\"] += [1]'"
	several_says 69 "'$several 1 'answer[\"b\"].pop(); out.close()'' has \
ended with status 1" "1 'answer[\"b\"].pop(); out.close()'"
}

@test "arrays that are larger than a pipe are sent both ways" {
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
	# Initial values depend on names, and the names are the same.
	train 'train 3' without.ps >without
	diff <(rounded <with) <(rounded <without)
}

@test "an error of the program is an error of the step" {
	echo train 9 >requests
	run -65 --separate-stderr ps-local -- --repeat -x \
		"$dense 4 'said = out.write(no); out.flush()'" train.svm -- \
		ps-coord -m model.ps -B 4 requests
	assert_line '{"op":"train","step":2,"worker":"worker:0",'\
'"error":"step 2: model.ps:5: logit: no logarithm"}'
	[ "$stderr" = "ps-coord: step 2: model.ps:5: logit: no logarithm" ]
}

@test "a program that dies ends its worker, and another runs the steps" {
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

# ended PIDFILE - check that the process ends within ten seconds.
ended() {
	timeout 10 tail -s 0.05 --pid="$(<"$1")" -f /dev/null
}

# refused STATUS LINE COMMAND [OPTION...] - check that ps-eval refuses a program
# with this line.
refused() {
	run "-$1" --separate-stderr ps-eval -C saved -x "$3" "${@:4}" train.svm
	assert_equal "${stderr_lines[-1]}" "ps-eval: model.ps:5: logit: $2"
}

@test "a program with a wrong answer, or none, or that ends, is an error" {
	local each no_answer="which is not the first line of an answer: that is\
 {} or {\"error\":\"TEXT\"}"
	train 'train 1' model.ps -x "$dense" >/dev/null
	each="$dense 0 'print(\"hello\\tall\", flush=True)'"
	refused 76 "'$each' printed 'hello?all', $no_answer" "$each"
	each=cat
	refused 76 "'$each' printed '{\"op\":\"forward\",\"layer\":\"logit\",'\
, $no_answer" "$each"
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
	refused 69 "'$each' has ended with status 0: logit is incomplete: 3 of \
16 bytes have arrived" "$each"
	each="./nowhere"
	refused 69 "'$each' has ended with status 127" "$each"
	each="sleep 1e6 & echo \$! >pid; wait"
	refused 69 "'$each' has not answered within 0.3 s" "$each" -w 300ms
	ended pid
}

@test "a model and -x that do not fit are an error" {
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

@test "a worker that is asked to end does not wait for its program" {
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

# hears_the_end REQUEST NUMBER OPTION-OF-COORD... - let the program of a layer
# sleep at the request of this number, and check that its worker ends with the
# run.
hears_the_end() {
	local requests=$1 number=$2 worker chief
	shift 2
	rm -f there
	mkfifo there
	printf '%b\n' "$requests" >requests
	start ps-serve -b ipc://server
	launch ps-work -c ipc://coord --lease=500ms --repeat -x \
		"$dense $number 'open(\"there\", \"w\").close()
time.sleep(1e6)'" train.svm
	worker=$pid
	launch ps-coord -b ipc://coord -s ipc://server -m model.ps -B 4 \
		--lease=500ms --grace=1s "$@" requests
	chief=$pid
	cat there
	stop "$chief"
	timeout 30 tail -s 0.05 --pid="$worker" -f /dev/null
	run -0 wait "$worker"
}

@test "a worker notices the end of a run while a layer is computed" {
	hears_the_end 'train 9' 3
	hears_the_end 'train 9' 6 --accumulate=4
	hears_the_end 'train 3\neval' 6
}

@test "programs end with their worker, even if they ignore signals" {
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

@test "ps-eval with a program ends without a message when its reader ends" {
	train 'train 1' model.ps -x "$dense" >/dev/null
	yes '1 1:1' | head -n 100000 >many.svm
	run -0 --separate-stderr bash -c "ps-eval -C saved --predict -B 100 \
		-x '$dense' many.svm | head -n 1"
	[ -z "$stderr" ]
}

@test "a layer that takes longer than a lease costs its worker no step" {
	local how
	for how in 1 2; do
		printf '%s\n' 'train 3' eval >requests
		start ps-serve -b ipc://server
		launch ps-work -c ipc://coord --lease=500ms --repeat \
			-x "$dense 2 'time.sleep(2)'" train.svm
		run -0 --separate-stderr ps-coord -b ipc://coord \
			-s ipc://server -m model.ps -B 4 --lease=500ms \
			--accumulate="$how" requests
		assert_equal "$stderr" ""
		assert_equal "$(grep -c '"attempt":1' <<<"$output")" 3
		assert_line --partial '"op":"eval","step":3,"examples":4,'
	done
}
