# A cluster names its machines before all of these names can be resolved.

load lib.bash

# with_hosts COMMAND... - run a command, which listens at own.invalid, with the
# file hosts as /etc/hosts.  The test changes that file in place.
with_hosts() {
	exec unshare -rm sh -c \
		'mount --bind hosts /etc/hosts && exec "$@"' sh "$@"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	: >hosts
	(with_hosts true) 2>why || skip "no /etc/hosts of our own: $(<why)"
	cat >model.ps <<-'END'
		input  x float
		label  y binary
		logit = dense x units=1
		loss   binary_crossentropy logit from_logits=true
		optimizer sgd
	END
	at=tcp://own.invalid:$((20000 + $$ % 12000))
	why="$at: no host is called own.invalid"
}

# waits COMMAND... - start a command, and check that it reports that it waits;
# sets pid, and messages to a descriptor of its other messages.
waits() {
	mkfifo messages
	with_hosts "$@" >out 2>messages 3>&- 4>&- &
	pid=$!
	daemons+=("$pid")
	exec {messages}<messages
	read -r -t 20 line <&"$messages"
	assert_equal "$line" "$1: $why: waiting 60 s for it"
}

# listens - check that the server now listens, and ends when it is asked to.
listens() {
	until [ "$line" = "ps-serve: listening on \
tcp://127.0.0.1:${at##*:}" ]; do
		read -r -t 20 line <&"$messages" || fail "it does not listen"
	done
	stop "$pid"
}

@test "a server waits for its own name" {
	waits ps-serve --insecure -v -b "$at"
	echo 127.0.0.1 own.invalid >hosts
	listens
}

@test "a server waits as long as its name is that of another machine" {
	# An address of documentation's, which no machine has.
	echo 192.0.2.1 own.invalid >hosts
	why="$at: own.invalid is 192.0.2.1, which is not an address of\
 this machine"
	waits ps-serve --insecure -v -b "$at"
	echo 127.0.0.1 own.invalid >hosts
	listens
}

@test "a coordinator waits for its own name" {
	start ps-serve
	waits ps-coord --insecure -v -m model.ps -b "$at" -s "$endpoint" \
		<<<stop
	echo 127.0.0.1 own.invalid >hosts
	cat <&"$messages" >heard
	wait "$pid"
}

@test "by TF_CONFIG, too" {
	export TF_CONFIG="{\"cluster\":{\"ps\":[\"${at#tcp://}\"],\
\"worker\":[\"w:1\"]},\"task\":{\"type\":\"ps\",\"index\":0}}"
	waits ps-serve --insecure -v
	echo 127.0.0.1 own.invalid >hosts
	listens
}

@test "a program that has waited for its timeout names the host" {
	run -69 timeout 20 ps-serve --insecure -w 100ms -b "$at"
	assert_output "ps-serve: $why: waiting 0.1 s for it
ps-serve: $why"
	run -69 timeout 20 ps-coord --insecure -w 100ms -m model.ps -b "$at" \
		-s ipc://s
	assert_output "ps-coord: $why: waiting 0.1 s for it
ps-coord: $why"
}

@test "a program that is asked to end waits no longer" {
	waits ps-serve --insecure -b "$at"
	stop "$pid"
	rm messages
	waits ps-coord --insecure -m model.ps -b "$at" -s ipc://s
	kill "$pid"
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" 69
	read -r -t 20 line <&"$messages"
	assert_equal "$line" "ps-coord: $why"
}

@test "a numeric address is accepted or refused at once" {
	run -69 timeout 20 ps-serve --insecure -w 60s -b tcp://192.0.2.1:22222
	assert_output "ps-serve: cannot listen on tcp://192.0.2.1:22222: \
Cannot assign requested address"
}
