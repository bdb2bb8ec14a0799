# What comes from strangers: nobody is the worse for it.
#
# STRANGERS is how many connections there are: 10000 is the whole of it.

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

# kibibytes PID - that it has in memory.
kibibytes() {
	sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$1/status"
}

# withstands ENDPOINT PID COMMAND... - strangers call it, while the command
# succeeds again and again.
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
		# Sanitizers keep what was given back.
		grep -q 'define PS_DEV' "$BUILD/config.h" && return
		# Room for what had to wait is made once; what is lost, is
		# each time.
		[ $((after - before)) -gt 16384 ] || return 0
	done
	fail "$before KiB became $after"
}

@test "who is no program of pskit is not taken for one that wants a key" {
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
	assert_output "ps-work: $endpoint: who listens there is no program of \
pskit, or wants a --key"
}

@test "strangers at a server, while others are answered" {
	start ps-serve -v --lease=3s
	greet() {
		[[ $(stranger "$endpoint" 3 9) == "76 protocol version 9"* ]]
	}
	withstands "$endpoint" "$pid" greet
	# It says what it refused, and no more.
	run -1 grep -v '^ps-serve: \(refused: \|listening on \)' "$log"
	stop "$pid"
}

@test "strangers at a server that trains, and at its coordinator" {
	port=$((20000 + $$ % 12000))	# below those given to callers
	coord=tcp://127.0.0.1:$port
	start ps-serve --lease=3s
	serve=$pid server=$endpoint
	mkfifo requests
	ps-coord -b "$coord" -s "$server" -m model.ps --lease=3s -B 1 \
		requests >results 2>coord.log 3>&- &
	coordinator=$!
	daemons+=("$coordinator")
	exec 7>requests
	launch ps-work --lease=3s -c "$coord" --repeat data.csv
	train() {
		local was
		was=$(wc -l <results)
		echo "train 5" >&7
		[ "$(timeout 20 tail -n +$((was + 1)) -f results |
			head -n 5 | wc -l)" = 5 ]
	}
	train
	withstands "$server" "$serve" train
	withstands "$coord" "$coordinator" train
	! grep '"error"' results
	echo stop >&7
	wait "$coordinator"
	# Of those of another version it says so, now and then.
	run ! grep -v "^ps-coord: refused: protocol version" coord.log
}
