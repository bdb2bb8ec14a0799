# Shared by the tests of faults: a run whose weights equal the number of steps
# that were applied, since every gradient is -1; and a coordinator whose
# requests and results the test writes and reads line by line.

# counting - write a model and its data: after N steps each of five weights is
# N.
counting() {
	printf '%s\n' 'input x sparse[4]' 'label y float' 'p = linear x' \
		'loss mean_absolute_error p' \
		'optimizer sgd learning_rate=1' >count.ps
	echo '1000000000 1:1 2:1 3:1 4:1' >one.svm
}

# The seconds to wait for a line; tests with slow links set more.
patience=30

# conduct OPTION... - start ps-coord on count.ps.  Requests go to descriptor
# $requests; results come from $results, messages from $messages.
conduct() {
	mkfifo requests results messages
	ps-coord -b ipc://coord -m count.ps -B 1 "$@" \
		<requests >results 2>messages 3>&- &
	coord=$!
	daemons+=("$coord")
	exec {requests}>requests {results}<results {messages}<messages
}

# work - start a worker for the coordinator of conduct.
work() {
	launch ps-work -c ipc://coord --repeat one.svm
	worker=$pid
}

# ask N - request N steps.
ask() {
	seq "$1" >&"$requests"
}

# done_steps N - wait for N results.
done_steps() {
	local i line
	for ((i = 0; i < $1; i++)); do
		read -r -t "$patience" line <&"$results" ||
			fail "result $i of $1"
		[[ $line == *'"loss":'* ]] || fail "$line"
	done
}

# hears PATTERN - wait for a message of the coordinator that matches; sets line.
hears() {
	while read -r -t "$patience" line <&"$messages"; do
		echo "$line" >>heard
		# shellcheck disable=SC2053 # a pattern
		[[ $line != $1 ]] || return 0
	done
	fail "never heard: $1, but $(cat heard)"
}

# pair [OPTION...] - start a server and its standby, and a run that uses them.
pair() {
	counting
	start ps-serve -d ckpt "$@"
	server=$pid at=$endpoint serverlog=$log
	start ps-serve -d ckpt --standby-of="$at" "$@"
	standby=$pid other=$endpoint
	conduct -s "$at" --checkpoint=ckpt "$@"
	work
	hears "*server 0 ($at) has a standby at $other"
	ask 400
	done_steps 200
}

# ends - request the end of the run; the coordinator and the worker must end
# with status 0.  The request is "stop": closing the pipe would not end the run,
# since programs that were started later have it open.
ends() {
	echo stop >&"$requests"
	cat <&"$results" >rest
	cat <&"$messages" >>heard
	wait "$coord"
	wait "$worker"
}

# counted N [CHECKPOINT] - check that every weight of the checkpoint, or of the
# newest one, is N.
counted() {
	ps-ckpt convert "${2:-ckpt}" weights.npz
	/usr/bin/python3 - "$1" <<-'EOT'
		import sys, zipfile, struct
		for name in zipfile.ZipFile('weights.npz').namelist():
		    b = zipfile.ZipFile('weights.npz').read(name)
		    head = 10 + struct.unpack('<H', b[8:10])[0]
		    floats = (len(b) - head) // 4
		    got = struct.unpack('<%df' % floats, b[head:])
		    want = float(sys.argv[1])
		    assert all(x == want for x in got), (name, got, want)
	EOT
}
