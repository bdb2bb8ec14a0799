# Step programs: programs of users that compute whole steps.

load lib.bash
load python.bash

# Makes a program of logistic regression with Python's standard library.  Its
# arguments are the number of a request and code to run at it; the variable
# "then" is code to run after the answer.
setup() {
	begin_python
	cat >model.ps <<-'END'
		input     x float[4]
		label     y binary
		variable  W [4,1] initializer=zeros
		variable  b [1] initializer=zeros
		variable  steps [2] initializer=zeros trainable=false
		step      fit x y predicts=[1]
		metric    accuracy
		optimizer adagrad learning_rate=1.0
	END
	cat >native.ps <<-'END'
		input     x float[4]
		label     y binary
		logit   = dense x units=1 kernel_initializer=zeros
		loss      binary_crossentropy logit from_logits=true
		metric    accuracy logit
		optimizer adagrad learning_rate=1.0
	END
	printf '%s\n' '+1 1:1 2:1' '-1 3:1' '+1 1:1 4:1' '-1 2:1 3:1' \
		'+1 1:2 3:1' '-1 3:2 4:1' >train.svm
	cat >fit.py <<-'END'
		import array, json, math, os, signal, sys, time
		at, what, then = (sys.argv[1:] + ["", "", ""])[:3]
		into, out = sys.stdin.buffer, sys.stdout.buffer

		def read(a):
		    kind = "Q" if a.get("type") == "uint64" else "f"
		    size = array.array(kind).itemsize * math.prod(a["shape"])
		    return array.array(kind, into.read(size))

		for number, line in enumerate(iter(into.readline, b"")):
		    r = json.loads(line)
		    sent = {a["name"]: read(a) for a in r["sent"]}
		    x = sent.get("x") or sent["h"]
		    W, d = sent["W"], len(sent["W"])
		    n, y = len(x) // d, sent.get("y")
		    z = [sum(x[i * d + k] * W[k] for k in range(d)) +
		         sent["b"][0] for i in range(n)]
		    p = [1 / (1 + math.exp(-v)) for v in z]
		    head, answer = {}, {"fit": p}
		    if y:
		        g = [p[i] - y[i] for i in range(n)]
		        head = {"loss": sum(max(z[i], 0) - z[i] * y[i] +
		                math.log1p(math.exp(-abs(z[i])))
		                for i in range(n)) / n,
		                "metrics": {"accuracy": [sum((z[i] > 0) ==
		                (y[i] > 0) for i in range(n)), n]}}
		        answer = {"b": [sum(g)], "W": [sum(x[i * d + k] * g[i]
		                  for i in range(n)) for k in range(d)],
		                  "steps": [r.get("step", 0), n],
		                  "h": [v * w for v in g for w in W]}
		    said = False
		    if at in (str(number), "*"):
		        exec(what)
		    if said:
		        continue
		    out.write(json.dumps(head).encode() + b"\n" + b"".join(
		        array.array("f", answer[a["name"]]).tobytes()
		        for a in r["wanted"] if "error" not in head))
		    out.flush()
		    if at == str(number):
		        exec(then)
	END
	fit="/usr/bin/python3 fit.py"
}

# train REQUESTS MODEL OPTION-OF-WORKERS... - train with one worker and server;
# print the result lines without the fields that depend on the clock.
train() {
	local requests=$1 model=$2
	shift 2
	printf '%b\n' "$requests" |
		ps-local -q -C saved -- --prefetch=0 "$@" --repeat \
		train.svm -- ps-coord -m "$model" -B 4 --checkpoint=saved |
		sed 's/,"seconds":[^}]*//'
}

# rounded - round numbers to five digits, to which sums in any order agree.
rounded() {
	awk -F'"loss":' '/loss/ { split($2, rest, ",")
		printf "%s %.5f %s\n", $1, rest[1], rest[2] }'
}

# numbers CHECKPOINT NAME - print the values of a variable with five digits.
numbers() {
	ps-ckpt cat "$1" "$2" | tail -c "$3" | od -An -v -tf4 -w4 |
		awk '{ printf "%.5f\n", $1 }'
}

@test "a program gives the losses and weights of a native model" {
	train 'train 100\neval train.svm' native.ps >native
	mv saved native.saved
	train 'train 100\neval train.svm' model.ps --step="$fit" >step
	diff <(rounded <native) <(rounded <step)
	[ "$(wc -l <step)" = 101 ]
	diff <(numbers native.saved logit/kernel 16) <(numbers saved W 16)
	diff <(numbers native.saved logit/bias 4) <(numbers saved b 4)
	# A variable that is not trained has the value of the last step.
	[ "$(numbers saved steps 8 | tr '\n' ' ')" = "99.00000 4.00000 " ]
	ps-eval -C native.saved --predict train.svm >native
	ps-eval -C saved --predict --step "$fit" train.svm >step
	diff <(awk '{ printf "%.5f\n", $1 }' native) \
		<(awk '{ printf "%.5f\n", $1 }' step)
	[ "$(wc -l <step)" = 6 ]
	run -0 ps-eval -C saved --step "$fit" train.svm
	[[ $output == *'"step":100,"final":true,"examples":6,'* ]]
	[[ $output == *'"metrics":{"accuracy":1}'* ]]
}

# rounds MODEL SERVERS OPTION-OF-WORKERS... - train in rounds of three replicas
# with the coordinator's data.
rounds() {
	local model=$1 servers=$2
	shift 2
	rm -rf saved
	printf 'train 100\n' | ps-local -q -s "$servers" -w 3 -C saved -- \
		"$@" -- ps-coord -m "$model" -B 4 --mode=sync --replicas=3 \
		-d train.svm --checkpoint=saved |
		sed 's/,"seconds":[^}]*//; s/"worker":"[^"]*",//'
}

@test "a program gives the same in rounds of three, on two servers" {
	rounds native.ps 2 -q >native
	mv saved native.saved
	rounds model.ps 2 --step="$fit" >step
	diff <(rounded <native) <(rounded <step)
	[ "$(wc -l <step)" = 100 ]
	diff <(numbers native.saved logit/kernel 16) <(numbers saved W 16)
	ps-ckpt cat saved W >two
	ps-ckpt cat saved steps >steps
	rounds model.ps 1 --step="$fit" >step
	ps-ckpt cat saved W | cmp - two
	ps-ckpt cat saved steps | cmp - steps
}

@test "layers before it are trained by its gradients" {
	cat >deep.ps <<-'END'
		input     x float[4]
		label     y binary
		h       = dense x units=3 activation=tanh
		variable  W [3,1]
		variable  b [1] initializer=zeros
		step      fit h y
		metric    accuracy
		optimizer adam learning_rate=0.1
	END
	train 'train 80' deep.ps --step="$fit" >out
	awk -F'"loss":' '{ split($2, rest, ","); last = rest[1] }
		END { exit !(NR == 80 && last < 0.1) }' out
}

@test "ids come as whole numbers, bags with their offsets and weights" {
	cat >ids.ps <<-'END'
		input     s sparse[9]
		variable  W [1] initializer=zeros
		step      count s
		optimizer sgd
	END
	cat >count.py <<-'END'
		import array, json, math, sys
		into, out = sys.stdin.buffer, sys.stdout.buffer
		for line in iter(into.readline, b""):
		    r = json.loads(line)
		    for a in r["sent"]:
		        kind = "Q" if a.get("type") == "uint64" else "f"
		        n = math.prod(a["shape"]) * (8 if kind == "Q" else 4)
		        print(a["name"], a["shape"], list(array.array(kind,
		              into.read(n))), file=sys.stderr)
		    out.write(b'{"loss":1}\n' + bytes(4))
		    out.flush()
	END
	printf '%s\n' '2:1 9:0.5' '' '3:1 4:2 5:3' >ids.svm
	echo train | ps-local -q -- --step "/usr/bin/python3 count.py" \
		ids.svm -- ps-coord -m ids.ps -B 3 >out 2>log
	run -0 cat log
	assert_line --partial "s [5] [1, 8, 2, 3, 4]"
	assert_line --partial "s/offset [4] [0, 2, 2, 5]"
	assert_line --partial "s/weight [5] [1.0, 0.5, 1.0, 2.0, 3.0]"
	assert_line --partial "W [1] [0.0]"
	# Weights that the data leave out are sent as well.
	printf '%s\n' '2:1 9:1' '4:1' >ids.svm
	echo train | ps-local -q -- --step "/usr/bin/python3 count.py" \
		ids.svm -- ps-coord -m ids.ps -B 2 >out 2>log
	run -0 cat log
	assert_line --partial "s/weight [3] [1.0, 1.0, 1.0]"
}

# fails CODE REASON - check the error of the third step, whose answer CODE
# changes.
fails() {
	run -65 --separate-stderr ps-local -q -- --repeat --step \
		"$fit 2 '$1'" train.svm -- ps-coord -m model.ps -B 4 requests
	assert_line '{"op":"train","step":2,"worker":"worker:0",'\
"\"error\":\"step 2: $2\"}"
}

@test "a wrong answer is the error of the step" {
	local at="model.ps:6: fit"
	echo train 9 >requests
	fails 'head = {"error": "no logarithm"}' "$at: no logarithm"
	fails 'head["examples"] = -1' \
"$at: \\\"examples\\\":-1 is not a whole number from 0 on"
	fails 'head["examples"] = 2.5' \
"$at: \\\"examples\\\":2.5 is not a whole number from 0 on"
	fails 'head["examples"] = 5' \
"$at: \\\"examples\\\":5, where 4 were sent"
	fails 'head["metrics"] = {"f1": [1, 2]}' \
"$at: \\\"metrics\\\": the model has no line 'metric f1'"
	fails 'del head["loss"]' "$at: the answer has no \\\"loss\\\""
	fails 'head["loss"] = math.nan' "the loss is not a number; a smaller \
learning_rate or a clipnorm may help"
	fails 'answer["W"][2] = math.inf' "the gradient of W has infinite \
numbers or NaNs; a smaller learning_rate or a clipnorm may help"
}

@test "a step with an error is given up, and later requests run" {
	printf 'train 9\njoin\ntrain 3\n' | ps-local -q -- --repeat \
		--step="$fit 5 'head = {\"error\": \"not now\"}'" train.svm \
		-- ps-coord -m model.ps -B 4 --keep-going >out || true
	[ "$(grep -c '"step":5,.*"error":"step 5: model.ps:6: fit: not now"' \
		out)" = 1 ]
	[ "$(sed '1,/"op":"join"/d' out | grep -c '"op":"train".*"loss"')" = 3 ]
}

# ended PIDFILE - check that the process ends within ten seconds.
ended() {
	timeout 10 tail -s 0.05 --pid="$(<"$1")" -f /dev/null
}

# once CODE REASON - let a program run the code at its sixth request, once;
# check that the worker reports the reason, and that no step is lost.
once() {
	rm -rf happened
	printf '%s\n' 'import os' 'if not os.path.exists("happened"):' \
		'    os.mkdir("happened")' "    $1" >fault
	echo train 20 | ps-local -- -w 2s --repeat \
		--step="exec $fit 5 'exec(open(\"fault\").read())'" \
		train.svm -- ps-coord -m model.ps -B 4 >out 2>log
	[ "$(grep -c '"loss"' out)" = 20 ]
	[ "$(sed 's/.*"step":\([0-9]*\).*/\1/' out | sort -un | wc -l)" = 20 ]
	run -0 grep '^ps-work.* fit: ' log
	assert_output --regexp "^ps-work\[0\]: fit: 'exec [^']* 5 \
'exec[^']*'' $2; it is started again, 1 of 3\$"
}

@test "a program that ends, hangs or breaks the rules is started again" {
	once 'sys.exit(3)' "has ended with status 3"
	once 'os.kill(os.getpid(), 9)' "was ended by signal 9"
	once 'time.sleep(1e6)' "has not answered within 2 s"
	once 'os.close(1); time.sleep(1e6)' "has closed its standard output"
	once 'os.close(0)' "has ended with status 1"
	once 'print("hello", flush=True)' "printed 'hello', which is not .*"
	once 'answer["W"].pop()' "has not answered within 2 s: steps is\
 incomplete: 4 of 8 bytes have arrived"
	once 'answer["steps"].append(1)' "has answered more than was wanted: \
[0-9]+ bytes, up to the end of steps"
	once 'out.write(b"x" * 3000000); out.flush()' \
		"printed 'x*', which is not the first .*"
	# A child that still has the program's pipes is ended at once, too.
	once 'p = os.fork()
    open("pid", "w").write(str(p)) and os._exit(4) if p else time.sleep(1e6)' \
		"has ended with status 4"
	ended pid
}

@test "a stop of the worker and its program is none of the program's time" {
	cat >fault <<-'END'
		import os, signal, time
		if not os.path.exists("happened"):
		    os.mkdir("happened")
		    worker = os.getppid()
		    if os.fork() == 0:
		        os.kill(worker, signal.SIGSTOP)
		        time.sleep(3)
		        os.kill(worker, signal.SIGCONT)
		        os._exit(0)
		    os.wait()
	END
	echo train 20 | ps-local -- -w 2s --repeat \
		--step="exec $fit 5 'exec(open(\"fault\").read())'" \
		train.svm -- ps-coord -m model.ps -B 4 >out 2>log
	[ "$(grep -c '"attempt":1,.*"loss"' out)" = 20 ]
	[ -e happened ]
	run ! grep 'has not answered' log
}

# falls_asleep REQUESTS - start a run whose program sleeps from its sixth
# request on (or that of $asleep_at), and wait until it does.  Sets worker and
# chief.
falls_asleep() {
	printf '%b\n' "$1" >requests
	start ps-serve -b ipc://server
	launch ps-work -c ipc://coord --lease=500ms --repeat \
		--step="$fit ${asleep_at:-5} 'open(\"asleep\", \"w\").close()
time.sleep(1e6)'" train.svm
	worker=$pid
	launch ps-coord -b ipc://coord -s ipc://server -m model.ps -B 4 \
		--lease=500ms --grace=1s requests
	chief=$pid
	timeout 60 sh -c 'until [ -e asleep ]; do :; done'
}

@test "while a program computes its worker answers, and notices the end" {
	local worker chief
	falls_asleep 'train 20'
	# Wait for longer than a lease; a lost lease would give a second
	# attempt.
	! timeout 2 tail -s 0.05 --pid="$chief" -f /dev/null
	[ "$(wc -l <"$out")" = 5 ]
	kill -TERM "$chief"
	wait "$chief"
	timeout 30 tail -s 0.05 --pid="$worker" -f /dev/null
	run -0 wait "$worker"
}

@test "a worker notices the end of a run while its program scores" {
	local worker chief
	asleep_at=2 falls_asleep 'train 2\neval'
	stop "$chief"
	timeout 30 tail -s 0.05 --pid="$worker" -f /dev/null
	run -0 wait "$worker"
}

@test "a program that scores for longer than a lease costs no attempt" {
	printf '%s\n' 'train 2' eval join >requests
	start ps-serve -b ipc://server
	launch ps-work -c ipc://coord --lease=500ms --repeat \
		--step="$fit 3 'time.sleep(2)'" train.svm
	run -0 --separate-stderr ps-coord -b ipc://coord -s ipc://server \
		-m model.ps -B 4 --lease=500ms requests
	assert_equal "$stderr" ""
	assert_line --partial '"op":"eval","step":2,'
}

@test "a program that never answers ends its worker; others run the steps" {
	echo train 60 | ps-local -w 2 -- --repeat --step="mkdir first &&
		echo \$PPID >first/pid
		[ \"\$(cat first/pid)\" = \$PPID ] && exit 3
		exec $fit" train.svm -- \
		ps-coord -m model.ps -B 4 >out 2>log
	[ "$(grep -c '"loss"' out)" = 60 ]
	[ "$(grep -c 'status 3; it is started again, [123] of 3$' log)" = 3 ]
	run -0 grep -c "^ps-work.*: model.ps:6: fit: '.* has ended with " log
	assert_output 1
	echo train 60 >requests
	run -69 --separate-stderr ps-local -- --repeat --restart=0 \
		--step="exit 3" train.svm -- ps-coord -m model.ps requests
	[[ $stderr != *"started again"* ]]
}

@test "a step that is run again has its seed" {
	printf 'train 40\n' | ps-local -q -w 2 -- --repeat --step="$fit '*' '
name = str(r[\"step\"]) + \".seed\"
open(name, \"a\").write(str(r[\"seed\"]) + chr(10))
ok = r[\"step\"] == 7 and not os.path.exists(\"died\")
os.mkdir(\"died\") if ok else 0
os.kill(os.getpid(), 9) if ok else 0'" train.svm -- \
		ps-coord -m model.ps -B 4 >out 2>log
	[ "$(wc -l <7.seed)" = 2 ]
	[ "$(sort -u 7.seed | wc -l)" = 1 ]
	[ "$(cat ./*.seed | sort -u | wc -l)" = 40 ]
}

@test "no step of a run has the seed of a step of another run" {
	local seed
	for seed in 0 1 2 3; do
		echo train 32 | ps-local -q -- --repeat --step="$fit '*' '
print(r[\"seed\"], file=open(\"seeds\", \"a\"))'" train.svm -- \
			ps-coord -q -m model.ps -B 4 --seed=$seed \
			--results=errors
	done
	[ "$(wc -l <seeds)" = 128 ]
	[ "$(sort -u seeds | wc -l)" = 128 ]
}

@test "a request's arguments reach the program, its result the line" {
	printf '%s\n' '{"id":"a","steps":2,"args":{"x": 0.10, "y":["}"]}}' \
		'{"step":"fit","args":{}}' train \
		'{"op":"join","args":{}}' '{"args":[7]}' '{"step":"other"}' \
		'{"step":7}' >requests
	run -65 --separate-stderr ps-local -q -- --repeat \
		--step="$fit '*' 'head[\"result\"] = [r[\"name\"], \
r[\"args\"]]'" train.svm -- \
		ps-coord -m model.ps -B 4 --keep-going requests
	assert_equal "$(sed 's/.*"seconds":[^,}]*//; s/}$//' <<<"$output" |
		head -n 4)" ',"result":["fit", {"x": 0.1, "y": ["}"]}]
,"result":["fit", {"x": 0.1, "y": ["}"]}]
,"result":["fit", {}]
,"result":["fit", {}]'
	assert_line '{"op":"request","error":"request 4: \"args\" is for '\
'train and epoch"}'
	assert_line '{"op":"request","error":"request 5: \"args\" is not '\
'an object"}'
	assert_line '{"op":"request","error":"request 6: \"step\" is '\
"'other', but the model's only step line is fit, at model.ps:6\"}"
	assert_line '{"op":"request","error":"request 7: \"step\" is not '\
'a string"}'
	echo '{"args":{}}' >requests
	run -65 --separate-stderr ps-local -q -- --repeat train.svm -- \
		ps-coord -m native.ps requests
	assert_output '{"op":"request","error":"request 1: \"args\": the '\
'model has no step line"}'
}

# large LETTERS - print a request whose arguments have LETTERS letters and a few
# more bytes.
large() {
	awk -v n="$1" 'BEGIN { printf "{\"args\":{\"a\":\""
		for (i = 0; i < n; i++) printf "x"
		print "\"}}" }'
}

@test "arguments and results have at most a MiB" {
	large 1048000 >requests
	run -0 --separate-stderr ps-local -q -- --repeat \
		--step="$fit '*' 'head[\"result\"] = r[\"args\"]'" \
		train.svm -- ps-coord -m model.ps -B 4 -o out requests
	[ "$(wc -l <out)" = 1 ]
	[ "$(wc -c <out)" -gt 1048000 ]
	run -65 --separate-stderr ps-local -q -- --repeat \
		--step="$fit '*' 'head[\"result\"] = [\"y\" * 600, \
r[\"args\"]]'" train.svm -- ps-coord -m model.ps -B 4 requests
	assert_output --partial 'fit: \"result\" has 10'
	assert_output --partial ' bytes, more than 1048576"}'
	large 1050000 >requests
	run -65 --separate-stderr ps-local -q -- --repeat --step="$fit" \
		train.svm -- ps-coord -m model.ps -B 4 requests
	assert_output '{"op":"request","error":"request 1: \"args\" has '\
'1050008 bytes, more than 1048576"}'
}

@test "in rounds the results of a step are a list by slot" {
	printf '%s\n' '{"steps":2,"args":{"by":10}}' train >requests
	ps-local -q -s 2 -w 3 -- --step="$fit '*' '
head[\"result\"] = n * r[\"args\"].get(\"by\", 1)'" -- \
		ps-coord -m model.ps -B 2 --mode=sync --replicas=3 \
		-d train.svm requests >out
	[ "$(grep -o '"result":.*' out | tr '\n' ' ')" = \
'"result":[20,20,20]} "result":[20,20,20]} "result":[2,2,2]} ' ]
}

@test "a result has any whole numbers, and any text" {
	echo '{"args":{"k":"a\u0000b"}}' >requests
	ps-local -q -- --repeat --step="$fit '*' 'head[\"result\"] = [2**64, \
r[\"args\"]]'" train.svm -- ps-coord -m model.ps -B 4 requests >out
	run -0 grep -o '"result":.*' out
	assert_output '"result":[18446744073709551616, {"k": "a\u0000b"}]}'
}

@test "a worker reports what is wrong with a line that is no answer" {
	local each that="that is {\"loss\":NUMBER,...} or {\"error\":\"TEXT\"}"
	train 'train 1' model.ps --step="$fit" >/dev/null
	each="$fit '*' 'head[\"result\"] = chr(0xdcff)'"
	run -76 --separate-stderr ps-eval -C saved --step "$each" train.svm
	[[ $stderr == *"answer (not JSON: invalid Unicode '\uDCFF' "*"$that" ]]
	each="printf {; tr '\\0' x </dev/zero"
	refused 76 "'$each' printed '{$(printf 'x%.0s' {1..31})', which is not \
the first line of an answer (the line is too long): $that" "$each"
}

# results COUNT - wait for the results of COUNT steps.
results() {
	timeout 60 sh -c "until [ -e out ] &&
		[ \"\$(grep -c result out)\" -ge $1 ]; do :; done"
}

@test "arguments outlive the coordinator, and reach steps that are run again" {
	local coord serve step server chief
	printf '%s\n' '{"steps":30,"args":{"x":1}}' \
		'{"steps":30,"args":{"x":2}}' >requests
	step="$fit '*' 'head[\"result\"] = r[\"args\"][\"x\"]
print(r[\"step\"], r[\"args\"][\"x\"], file=open(\"seen\", \"a\"))
time.sleep(0.02)'"
	serve=(ps-serve -c ipc://coord -d saved -i 0)
	coord=(ps-coord -b ipc://coord -s 1 -m model.ps -B 4
		--checkpoint=saved --every=25 -o out requests)
	launch "${serve[@]}"
	server=$pid
	launch ps-work -c ipc://coord --repeat --step="$step" train.svm
	launch "${coord[@]}"
	chief=$pid
	results 15
	dies "$chief"
	launch "${coord[@]}"
	chief=$pid
	results 40
	# The server goes back to a checkpoint: steps are run once more.
	dies "$server"
	launch "${serve[@]}"
	wait "$chief"
	[ "$(sed 's/.*"step":\([0-9]*\).*/\1/' out | sort -un | wc -l)" = 60 ]
	run -0 grep -c '"step":[12]\?[0-9],.*"result":1}' out
	assert_output 30
	run -0 grep -c '"step":[345][0-9],.*"result":2}' out
	assert_output 30
	[ "$(wc -l <seen)" -gt 65 ]
	awk '{ if ($2 != ($1 < 30 ? 1 : 2)) exit 1 }' seen
}

# refused STATUS LINE COMMAND [OPTION...] - check that ps-eval refuses a program
# with this line.
refused() {
	run "-$1" --separate-stderr ps-eval -C saved --step "$3" "${@:4}" \
		train.svm
	assert_equal "${stderr_lines[-1]}" "ps-eval: model.ps:6: fit: $2"
}

@test "a program with a wrong answer, or none, or that ends, is an error" {
	local each no_answer="which is not the first line of an answer: that is\
 {\"loss\":NUMBER,...} or {\"error\":\"TEXT\"}"
	train 'train 1' model.ps --step="$fit" >/dev/null
	each="$fit 0 'print(\"hello\\tall\", flush=True)'"
	refused 76 "'$each' printed 'hello?all', $no_answer" "$each"
	each="tr -d '\\n' </dev/zero | tr '\\0' x; sleep 1e6"
	refused 76 "'$each' printed '$(printf 'x%.0s' {1..32})', $no_answer" \
		"$each"
	each="cat >/dev/null"
	refused 69 "'$each' has not answered within 0.3 s" "$each" -w 300ms
	each="exec $fit 0 'os.kill(os.getpid(), 9)'"
	refused 69 "'$each' was ended by signal 9" "$each"
	each="exit 3"
	refused 69 "'$each' has ended with status 3" "$each"
	each="exec >/dev/null; exec sleep 1e6"
	refused 69 "'$each' has closed its standard output" "$each"
	each="./nowhere"
	refused 69 "'$each' has ended with status 127" "$each"
	each="sleep 1e6 & echo \$! >pid; wait"
	refused 69 "'$each' has not answered within 0.3 s" "$each" -w 300ms
	ended pid
}

@test "gradients that are too short or too long are an error" {
	local each more
	echo train 9 >requests
	train 'train 1' model.ps --step="$fit" >/dev/null
	each="$fit '*' 'answer[\"W\"].pop()'"
	run -69 --separate-stderr ps-local -- -w 2s --repeat \
		--step="$each" train.svm -- ps-coord -m model.ps -B 4 requests
	[[ $stderr == *"fit: '$each' has not answered within 2 s"* ]]
	# The extra bytes come with the answer, or after it.
	for more in 'answer["steps"].append(1)' \
		'then = "out.write(b\"1\"); out.flush()"; at = str(number)'
	do
		each="$fit '*' '$more'"
		run -76 --separate-stderr ps-local -- --repeat \
			--step="$each" train.svm -- \
			ps-coord -m model.ps -B 4 requests
		# Bytes after the answer may be read as the next answer.
		[[ $stderr == *"fit: '$each' has answered more than was "* ||
		   $stderr == *"fit: '$each' printed '1"* ]]
	done
}

@test "a model and --step that do not fit are an error" {
	echo train 9 >requests
	run -78 ps-local -- --repeat train.svm -- ps-coord -m model.ps requests
	assert_line "ps-coord: step 0: model.ps:6: a program computes fit: \
say which, --step=COMMAND"
	run -78 ps-local -- --step "$fit" --repeat train.svm -- \
		ps-coord -m native.ps requests
	assert_line "ps-coord: step 0: --step='$fit': the model has no step \
line"
	train 'train 1' model.ps --step="$fit" >/dev/null
	run -78 ps-eval -C saved train.svm
	assert_output "ps-eval: model.ps:6: a program computes fit: say \
which, --step=COMMAND"
	rm -r saved
	sed 's/ predicts=.*//' model.ps >mute.ps
	train 'train 1' mute.ps --step="$fit" >/dev/null
	run -78 ps-eval -C saved --predict --step "$fit" train.svm
	assert_output "ps-eval: mute.ps:6: fit: it predicts nothing: there is \
no predicts=SHAPE"
}

# sharing - write the same program with shared arrays: it asks for them in its
# first answer.  It notes the bytes that came by its pipe besides lines, and the
# arrays that had not changed.
sharing() {
	sed -e '/^into, out/a\
import mmap\
said_shm, maps, piped, same = False, [], 0, set()\
\
def view(a):\
    global maps\
    if not maps or len(maps[-1]) < r["shm"]["size"]:\
        maps.append(mmap.mmap(3, r["shm"]["size"]))\
    kind = "Q" if a.get("type") == "uint64" else "f"\
    size = array.array(kind).itemsize * math.prod(a["shape"])\
    return memoryview(maps[-1])[a["offset"]:a["offset"] + size].cast(kind)
/^def read/a\
    global piped\
    if "offset" in a:\
        same.update([a["name"]] if a.get("unchanged") else [])\
        return view(a)
/size = array.array(kind).itemsize/s/$/; piped += size/
s/^    said = False/    head["shm"] = True; said = False/
s/if "error" not in head))/if "error" not in head and "offset" not in a))/
/^    out.write(json/i\
    for a in r["wanted"] if "error" not in head else []:\
        if "offset" in a: view(a)[:] = array.array("f", answer[a["name"]])' \
		fit.py >shared.py
	printf '%s\n' 'print(piped, sorted(same), file=open("noted", "a"))' \
		>>shared.py
}

@test "a program that asks for it gets arrays in shared memory" {
	local step
	sharing
	train 'train 100\neval train.svm' model.ps --step="$fit" >pipes
	mv saved pipes.saved
	train 'train 100\neval train.svm' model.ps \
		--step="python3 shared.py" >shared
	diff pipes shared
	for name in W b steps; do
		diff <(ps-ckpt cat saved $name) <(ps-ckpt cat pipes.saved $name)
	done
	# Only the first request used the pipe: 4 bytes for each number of x, y,
	# W, b and steps.
	[ "$(cut -d' ' -f1 noted)" = $((4 * (16 + 4 + 4 + 1 + 2))) ]
	rm noted
	ps-eval -C pipes.saved --predict --step "$fit" train.svm >pipes
	ps-eval -C saved --predict -B 1 --step "python3 shared.py" train.svm \
		>shared
	diff pipes shared
	[ "$(cut -d' ' -f2- noted)" = "['W', 'b', 'steps']" ]
}

@test "a worker prefetches while its program computes, except --prefetch=0" {
	local how
	for how in '' --prefetch=0; do
		# shellcheck disable=SC2086 # it may be none
		printf 'train 60\njoin\ntrain 1\n' | ps-local -q -- $how \
			--repeat --step="$fit '*' 'time.sleep(0.01)'" \
			train.svm -- ps-coord -m model.ps -B 4 |
			grep -c '"staleness":1' >"late$how" || true
	done
	[ "$(<late)" -gt 30 ]
	[ "$(<late--prefetch=0)" = 0 ]
}

@test "the next step has other shared memory than the one being computed" {
	sharing
	# The arrays of a step do not change while it is computed; the arrays of
	# the next step are in the other one of two places.
	cat >places <<-'END'
		first = [bytes(view(a)) for a in r["sent"] if "offset" in a]
		time.sleep(0.03)
		assert first == [bytes(view(a)) for a in r["sent"]
		                 if "offset" in a]
		print([a.get("offset") for a in r["sent"] + r["wanted"]],
		      file=open("places.out", "a"))
	END
	train 'train 60\njoin' model.ps --prefetch=1 \
		--step="python3 shared.py '*' 'exec(open(\"places\").read())'" \
		>out
	[ "$(grep -c '"loss"' out)" = 61 ]
	# The first step of a run has its arrays in pipes.
	[ "$(sed 1d places.out | sort -u | wc -l)" -le 2 ]
	run -0 awk 'NR > 2 && $0 != last { changes++ } { last = $0 }
		END { print (changes > 30) }' places.out
	assert_output 1
	grep -q '"staleness":1' out
	[ "$(awk '/^[0-9]/ { print $1 }' noted)" = \
		$((4 * (16 + 4 + 4 + 1 + 2))) ]
}

@test "a prefetched step is computed once, even if its program is killed" {
	sharing
	train 'train 60' model.ps --prefetch=1 --step="python3 shared.py '*' '
ok = not os.path.exists(\"died\") and r[\"step\"] == 7
os.mkdir(\"died\") if ok else 0
os.kill(os.getpid(), 9) if ok else 0
print(r[\"step\"], r[\"seed\"], file=open(\"steps\", \"a\"))'" >out
	[ "$(grep -c '"loss"' out)" = 60 ]
	[ "$(cut -d' ' -f1 steps | sort -n | uniq -c | awk '$1 == 1' |
		wc -l)" = 60 ]
}

@test "a program cannot shrink, enlarge or seal shared memory" {
	sharing
	cat >fault <<-'END'
		import fcntl
		def refused(what, *args):
		    try:
		        what(*args)
		    except OSError as why:
		        return why.errno
		print(refused(os.ftruncate, 3, 0),
		      refused(os.ftruncate, 3, os.fstat(3).st_size + 1),
		      refused(fcntl.fcntl, 3, 1033, 8),
		      refused(fcntl.fcntl, 3, 1033, 2), file=open("said", "a"))
		ctypes = __import__("ctypes")
		ctypes.CDLL(None).fallocate(3, 3, ctypes.c_long(0),
		                            ctypes.c_long(4096))
	END
	train 'train 20' model.ps --step="python3 shared.py '*' \
		'exec(open(\"fault\").read())'" >out
	[ "$(grep -c '"loss"' out)" = 20 ]
	[ "$(sort -u said)" = "1 1 1 1" ]
}

# lines - write a model with two step lines, and a program of both that returns
# the names of the arrays that it was sent and adds one to each variable of the
# step.
lines() {
	cat >lines.ps <<-'END'
		input     x float[4]
		label     y binary
		h       = dense x units=2 kernel_initializer=zeros
		variable  A [3] initializer=zeros
		variable  both [2] initializer=zeros
		variable  B [2] initializer=zeros
		step      first x y variables=A,both predicts=[1]
		step      second h variables=B,both reads=A
		optimizer sgd learning_rate=1 momentum=0.5
		optimizer sgd learning_rate=1 for=h/*
	END
	cat >lines.py <<-'END'
		import array, json, math, sys
		into, out = sys.stdin.buffer, sys.stdout.buffer
		for line in iter(into.readline, b""):
		    r = json.loads(line)
		    for a in r["sent"]:
		        into.read(4 * math.prod(a["shape"]))
		    n = r["sent"][0]["shape"][0]
		    names = [[a["name"] for a in r[k]]
		             for k in ("sent", "wanted")]
		    out.write(json.dumps({"loss": 1, "result": names} if
		              r["op"] != "predict" else {}).encode() + b"\n")
		    for a in r["wanted"]:
		        out.write(array.array("f", [-n if a["name"] != "h"
		                  else -1] * math.prod(a["shape"])).tobytes())
		    out.flush()
	END
	for _ in 1 2 3 4 5; do
		echo '{"step":"second","steps":2}'
		echo '{"step":"first"}'
		echo '{"steps":2}'
	done >requests
}

# weights STEPS - print the value that momentum gives a weight in STEPS steps.
weights() {
	awk -v n="$1" 'BEGIN { for (; n > 0; n--) { v = v / 2 + 1; x += v }
		printf "%.5f\n", x }'
}

# holds NAME VALUE COUNT - check that each of the COUNT numbers of a variable is
# VALUE, except for the rounding of float sums.
holds() {
	assert_equal "$(numbers saved "$1" "$((4 * $3))" | awk -v to="$2" '
		{ print ($1 - to) ^ 2 < 1e-8 ? to : $1 }' | sort -u)" "$2"
}

@test "a request names one of several step lines; others do not change" {
	lines
	for mode in async ssp:1 sync; do
		rm -rf saved
		ps-local -q -s 2 -w 3 -C saved -- --prefetch=1 \
			--step="python3 lines.py" -- ps-coord -m lines.ps \
			-B 2 --mode=$mode -d train.svm --pack=2 \
			$([ $mode != sync ] || echo --replicas=3) \
			--partition=max:4 --checkpoint=saved requests >out
		[ "$(grep -c '"result":' out)" = 25 ]
		[ "$(grep -c '\[\["h",.*\[' out)" = 10 ]
		holds A "$(weights 15)" 3
		holds B "$(weights 10)" 2
		holds both "$(weights 25)" 2
		holds h/bias 10.00000 2
		run -0 ps-ckpt verify saved
	done
	# The arrays that a replica was sent, and those that it must return.
	[ "$(grep -c '"result":\[\[\["x", "y", "A", "both"\], '\
'\["A", "both"\]\],' out)" = 15 ]
	[ "$(grep -c '"result":\[\[\["h", "A", "both", "B"\], '\
'\["h", "both", "B"\]\],' out)" = 10 ]
	# ps-eval scores and predicts with the first line.
	run -0 ps-eval -C saved --step "python3 lines.py" train.svm
	[[ $output == *'"loss":1'* ]]
	run -0 ps-eval -C saved --predict --step "python3 lines.py" train.svm
	[ "$(wc -l <<<"$output")" = 6 ]
	echo '{"step":"third"}' >requests
	run -65 --separate-stderr ps-local -q -- --repeat \
		--step="python3 lines.py" train.svm -- \
		ps-coord -m lines.ps -B 2 requests
	assert_output '{"op":"request","error":"request 1: \"step\" is '\
"'third', but the model has no such step line; it has, for example, first, at "\
'lines.ps:7, and second, at lines.ps:8"}'
}

@test "a schedule counts the steps of the lines that train its variable" {
	local mode parts
	local by='schedule=piecewise_constant boundaries=1 values=1,0.125'
	lines
	sed -i "s/^optimizer.*momentum.*/optimizer sgd $by/" lines.ps
	for mode in async sync; do
		for parts in 1 2; do
			rm -rf saved
			echo '{"step":"first","steps":4}' >requests
			[ $parts = 2 ] || echo '{"step":"second","steps":3}' \
				>>requests
			for _ in $(seq $parts); do
				ps-local -q -s 2 -w 2 -C saved -- --repeat \
					--step="python3 lines.py" train.svm -- \
					ps-coord -q -m lines.ps -B 2 \
					--mode=$mode --checkpoint=saved \
					--results=errors requests
				echo '{"step":"second","steps":3}' >requests
			done
			# Two updates at 1, and the others at 0.125.
			holds A 2.25 3
			holds B 2.125 2
			holds both 2.625 2
		done
	done
}

@test "steps that are cancelled while one is computed leave nothing" {
	local done status=0
	lines
	mkfifo there go
	sed -i '/^    n = r/i\
    if r.get("step") == 5:\
        open("there", "w").close()\
        open("go").read()' lines.py
	launch ps-local -C saved -- --repeat --step="python3 lines.py" \
		train.svm -- ps-coord -m lines.ps -B 4 --checkpoint=saved \
		--queue="ipc://$PWD/q"
	{
		echo '{"id":"a","steps":200}'
		cat there
		echo '{"op":"cancel","request":"a"}'
		: >go
		echo '{"id":"b","step":"second","steps":3}'
		echo join
		echo stop
	} | timeout 60 ps-submit -Q "ipc://$PWD/q" >results || status=$?
	wait "$pid"
	done=$(grep -c '"id":"a".*"loss"' results)
	[ "$done" -lt 200 ]
	grep -q '"id":"a",.*"cancelled":true' results
	[ "$(grep -c '"id":"b".*"loss"' results)" = 3 ]
	holds A "$(weights "$done")" 3
	holds B "$(weights 3)" 2
	holds both "$(weights $((done + 3)))" 2
}

@test "a model with step lines is planned, shown and checked like others" {
	run -0 ps-coord -m model.ps --plan -s 2 -B 4
	[[ $output == *steps* ]]
	train 'train 1\nsave' model.ps --step="$fit" >/dev/null
	run -0 ps-ckpt verify saved
	run -0 ps-ckpt show saved
	[[ $output == *steps* ]]
}
