# What can be seen of a run without a terminal: a line when it is asked for.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'END'
		input  x float
		label  y binary
		logit = dense x units=1
		loss   binary_crossentropy logit from_logits=true
		metric accuracy logit
		optimizer adagrad
	END
	printf '%s\n' x,y 1,0 2,1 3,1 4,0 >data.csv
	at=ipc://$PWD
	mkfifo requests
}

# coord [OPTION...] - in the background, with a server to come at $at/s, and
# its requests on descriptor 7, its messages on 6: sets coord.
coord() {
	launch ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 2 \
		-o "$PWD/results" "$@" requests
	coord=$pid
	exec 7>requests
	exec 6< <(exec tail -n +1 -f --pid="$coord" "$log" 3>&- 7>&-)
}

# serve [OPTION...] - at $at/s: sets server.
serve() {
	start ps-serve -b "$at/s" "$@"
	server=$pid
}

# work [OPTION...] - another worker: sets work.
work() {
	launch ps-work -c "$at/c" --repeat "$@" data.csv
	work=$pid
}

# says TEXT - the coordinator does, sooner or later: sets line to that one.
says() {
	while read -r -t 60 line <&6; do
		[[ $line != *"$1"* ]] || return 0
	done
	fail "not said: $1"
}

# asks - how far it is: sets line to what the coordinator says.
asks() {
	kill -USR1 "$coord"
	says "ps-coord: step "
}

# has N - wait until so many results are there.
has() {
	until [ "$(wc -l <results)" -ge "$1" ]; do kill -0 "$coord"; done
}

# ends - nothing more is asked, and the coordinator ends with 0.
ends() {
	echo stop >&7
	wait "$coord"
}

@test "SIGUSR1 asks for the progress, and the run goes on" {
	coord
	serve
	work
	echo train 30 >&7
	has 30
	asks
	[[ $line =~ ^"ps-coord: step 30  "[0-9]+" steps/s  "[0-9]+\
" examples/s  loss "[0-9.]+"  accuracy 0."[0-9]+\
"  1 workers  1 servers"$ ]] || fail "$line"
	printf '%s\n' 'train 10' join >&7
	ends
	assert_equal "$(grep -c '"op":"train"' results)" 40
}

@test "it can be asked before there is anybody, and before any request" {
	local first
	launch ps-coord -b "$at/c" -s "$at/s" -m model.ps -o results requests
	coord=$pid
	until [ "$(<"/proc/$coord/comm")" = ps-coord ]; do :; done
	until grep -q '^SigBlk:.*[2367abef]..$' "/proc/$coord/status"; do
		kill -0 "$coord"
	done
	kill -USR1 "$coord"	# it waits for somebody to write requests
	exec 6< <(exec tail -n +1 -f --pid="$coord" "$log" 3>&-)
	exec 7>requests
	says "ps-coord: step "
	first=$line
	asks
	assert_equal "$line" "$first"
	assert_equal "$line" "ps-coord: step 0  0 steps/s  0 examples/s  \
0 workers  0 servers"
	serve
	work
	echo train 3 >&7
	ends
	assert_equal "$(wc -l <results)" 3
}

@test "what is asked is answered by the quiet, too, and in the log" {
	coord -q --log="$PWD/log"
	serve
	work
	echo train >&7
	has 1
	exec 6< <(exec tail -n +1 -f --pid="$coord" log 3>&- 7>&-)
	asks
	ends
	assert_equal "$(wc -l <log)" 1
}

@test "who is asked time and again loses nothing" {
	coord -v
	serve
	work
	work
	echo train 3000 >&7
	until [ "$(wc -l <results)" -ge 3000 ]; do kill -USR1 "$coord"; done
	ends
	assert_equal "$(wc -l <results)" 3000
	run -0 grep -c '"attempt":1,' results
	assert_output 3000
	run ! grep -v "ps-coord: \(step\|listening\|3000 steps\)" \
		ps-coord.0.log
}

@test "the other programs end by SIGUSR1, as ever" {
	serve
	kill -USR1 "$server"
	wait "$server" || status=$?
	assert_equal "$status" 138
}
