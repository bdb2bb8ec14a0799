# Connections of strangers do no harm.
#
# STRANGERS is the number of connections; 10000 is the full test.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	connections=${STRANGERS:-1000}
	cat >model.ps <<-'END'
		input  x float
		label  y binary
		logit = dense x units=1
		loss   binary_crossentropy logit from_logits=true
		optimizer sgd
	END
	printf '%s\n' x,y 1,0 2,1 >data.csv
}

# withstands ENDPOINT PID COMMAND... - let strangers connect, and check that the
# command succeeds again and again meanwhile.
withstands() {
	local before after seed
	run -0 flood "$1" 200 1
	for seed in 2 3 4; do
		before=$(kibibytes "$2")
		flood "$1" "$connections" "$seed" >flooded 3>&- &
		daemons+=($!)
		while
			"${@:3}" || fail "no answer"
			kill -0 $! 2>/dev/null
		do
			:
		done
		wait $!
		assert_equal "$(<flooded)" "$connections"
		after=$(kibibytes "$2")
		# Sanitizers keep freed memory.
		grep -q 'define PS_DEV' "$BUILD/config.h" && return
		# Room for waiting messages is allocated once; a leak grows with
		# each series.
		[ $((after - before)) -gt 16384 ] || return 0
	done
	fail "$before KiB became $after"
}

# conduct [OPTION...] - start a cluster that trains; sets server, serve, coord
# and coordinator.  Each call of train does five more steps.
conduct() {
	port=$((20000 + $$ % 12000))	# below those given to callers
	coord=tcp://127.0.0.1:$port
	start ps-serve "$@" --lease=3s
	serve=$pid server=$endpoint
	mkfifo requests
	ps-coord "$@" -b "$coord" -s "$server" -m model.ps --lease=3s -B 1 \
		requests >results 2>coord.log 3>&- &
	coordinator=$!
	daemons+=("$coordinator")
	exec 7>requests
	launch ps-work "$@" --lease=3s -c "$coord" --repeat data.csv
	train
}

train() {
	local was
	was=$(wc -l <results)
	echo "train 5" >&7
	[ "$(timeout 20 tail -n +$((was + 1)) -f results |
		head -n 5 | wc -l)" = 5 ]
}

# finish - end the run, and check that it has lost no step.
finish() {
	! grep '"error"' results
	echo stop >&7
	wait "$coordinator"
	# It reports strangers of another version now and then.
	run ! grep -v '^ps-coord: \(refused: protocol version\|tcp:.* --key\)' \
		coord.log
}

# holds ENDPOINT PID KIND CONNECTIONS - let strangers connect, and check that
# the cluster trains meanwhile and that the process takes at most 64 MiB of
# memory, and 32 KiB for each connection.
holds() {
	local before most=0 now
	before=$(kibibytes "$2")
	/usr/bin/python3 "$SRC/t/helper/strangers.py" "$3" "$1" "$4" \
		</dev/null >said 2>&1 3>&- &
	daemons+=($!)
	while
		train || fail "no step while $3"
		now=$(kibibytes "$2")
		[ "$now" -lt "$most" ] || most=$now
		kill -0 $! 2>/dev/null
	do
		:
	done
	wait $! || fail "$(<said)"
	# Sanitizers use memory of their own.
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		[ $((most - before)) -le $((65536 + 32 * $4)) ] ||
		fail "$3: $before KiB became $most"
}

@test "a stranger is not taken for a program of pskit that needs a key" {
	cat >banner <<-'EOT'
		import socket
		s = socket.create_server(('127.0.0.1', 0))
		print('tcp://127.0.0.1:%d' % s.getsockname()[1], flush=True)
		while True:
		    c, _ = s.accept()
		    c.sendall(b'HTTP/1.1 400 Bad Request\r\n\r\n')
		    c.close()
	EOT
	start /usr/bin/python3 banner
	run -77 ps-work -c "$endpoint" -w 500ms -
	assert_output "ps-work: $endpoint: the program that listens there is\
 not one of pskit, or wants a --key"
}

@test "a server answers its peers while strangers connect" {
	start ps-serve -v --lease=3s
	greet() {
		[[ $(stranger "$endpoint" 3 9) == "76 protocol version 9"* ]]
	}
	withstands "$endpoint" "$pid" greet
	# The log has only the refusals.
	run -1 grep -v \
		'^ps-serve: \(refused: \|listening on \|tcp:.* --key \)' "$log"
	stop "$pid"
}

@test "a server and a coordinator train while strangers connect" {
	conduct
	withstands "$server" "$serve" train
	withstands "$coord" "$coordinator" train
	finish
}

@test "strangers that send endless data, come and go, or stay" {
	conduct
	for kind in command message twins; do
		holds "$server" "$serve" $kind 50
		holds "$coord" "$coordinator" $kind 50
	done
	holds "$server" "$serve" comers 2500
	holds "$coord" "$coordinator" comers 2500
	holds "$server" "$serve" idle "$connections"
	holds "$coord" "$coordinator" idle "$connections"
	finish
}

@test "strangers without the key that send more than a handshake" {
	(umask 077; head -c 30 /dev/urandom | base64 >key)
	conduct --key=key
	for kind in command curve; do
		holds "$server" "$serve" $kind 50
		holds "$coord" "$coordinator" $kind 50
	done
	finish
}

@test "strangers that all disconnect as a program is asked to end" {
	local from
	for from in 1 2 3; do
		start ps-serve
		mkfifo still.$from
		/usr/bin/python3 "$SRC/t/helper/strangers.py" idle \
			"$endpoint" "$connections" <still.$from >said.$from \
			3>&- &
		idle=$!
		daemons+=("$idle")
		exec 7>still.$from
		timeout 60 tail -n +1 -f said.$from | head -n 1 >/dev/null
		kill -KILL "$idle"
		kill "$pid"
		timeout 20 tail -s 0.05 --pid="$pid" -f /dev/null ||
			fail "it does not end"
		wait "$pid"
		exec 7>&-
	done
}

@test "a program with too few descriptors for any peer does not start" {
	for each in "ps-serve -b" "ps-relay -c ipc://x -b" \
		"ps-coord -m model.ps -s ipc://s -b" "ps-work -c" \
		"ps-eval x.svm -c" "ps-submit -Q"
	do
		run -78 --separate-stderr bash -c "ulimit -n 63
			exec timeout 20 $each ipc://here"
		assert_output ""
		assert_equal "$stderr" "${each%% *}: ipc://here: this \
process may have 63 files open at once, but a connection takes 64 (ulimit -n)"
	done
}

@test "a program that cannot start a thread says so, and does not abort" {
	grep -q 'define PS_DEV' "$BUILD/config.h" &&
		skip "sanitizers take more memory than the limit"
	for each in "ps-serve -b" "ps-relay -c ipc://x -b" \
		"ps-coord -m model.ps -s ipc://s -b" "ps-work -c" \
		"ps-eval x.svm -c" "ps-submit -Q"
	do
		# The stack of a thread does not fit into the memory.
		run -75 --separate-stderr env OPENBLAS_NUM_THREADS=1 bash -c "
			ulimit -s 600000 && ulimit -v 500000 &&
				exec timeout 20 $each ipc://here"
		assert_output ""
		assert_equal "$stderr" "${each%% *}: ipc://here: cannot start \
a thread: Resource temporarily unavailable (ulimit -u, ulimit -v)"
	done
}

@test "strangers take all of a program's few descriptors" {
	# A program that is asked to end needs descriptors, too.
	start bash -c 'ulimit -n 256; exec ps-serve'
	mkfifo still
	/usr/bin/python3 "$SRC/t/helper/strangers.py" idle "$endpoint" 400 \
		<still >said 3>&- &
	idle=$!
	daemons+=("$idle")
	exec 7>still
	timeout 60 tail -n +1 -f said | head -n 1 >/dev/null
	[[ $(stranger "$endpoint" 3 9) == "76 "* ]]
	# The program has no abstract socket, through which a stranger could end
	# it.
	run grep -c "@pskit-${endpoint#tcp://}" /proc/net/unix
	assert_output 0
	exec 7>&-
	wait "$idle"
	[ "$(tail -n 1 said)" -ge 300 ]
	stop "$pid"
}
