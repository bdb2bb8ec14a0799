# A hot standby takes over, or is let go; no step is lost or counted twice.

load lib.bash
load counting.bash

# pair [OPTION...] - a server and its standby, in a run that is under way.
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

dies() {
	kill -KILL "$1"
	wait "$1" 2>killed || true
}

@test "kill -9 of a server: its standby takes over, and can have one" {
	pair
	dies "$server"
	ask 100
	hears "*server 0: its standby $other took over after *.?? s"
	done_steps 300
	start ps-serve -b "$at" -d ckpt --standby-of="$other"
	hears "*server 0 ($other) has a standby at $at"
	ask 400
	done_steps 200
	dies "$standby"
	ask 100
	hears "*server 0: its standby $at took over after *.?? s"
	done_steps 300
	ends
	wait "$pid"
	counted 1000
}

@test "kill -9 of a standby: the server goes on without it" {
	pair
	dies "$standby"
	hears "*its standby $other *: it goes on without one"
	done_steps 200
	ask 100
	done_steps 100
	ends
	wait "$server"
	counted 500
}

@test "a standby that stalls is let go, and may come back" {
	pair --lease=500ms
	kill -STOP "$standby"
	hears "*its standby $other *: it goes on without one"
	done_steps 200
	kill -CONT "$standby"
	hears "*server 0 ($at) has a standby at $other"
	ask 200
	done_steps 100
	dies "$server"
	done_steps 100
	ends
	wait "$standby"
	counted 600
}

@test "a server that stalls is replaced, and ends when it wakes up" {
	pair --lease=500ms
	kill -STOP "$server"
	ask 100
	hears "*server 0: its standby $other took over after *.?? s"
	kill -CONT "$server"
	status=0
	wait "$server" || status=$?
	assert_equal "$status" 75
	run -0 cat "$serverlog"
	assert_output "ps-serve: the standby $other took over in term 2: start \
this one again with --standby-of"
	done_steps 300
	ends
	wait "$standby"
	counted 500
}

@test "a checkpoint is made after its server was replaced" {
	pair
	dies "$server"
	done_steps 200
	echo save >&"$requests"
	read -r -t 30 line <&"$results"
	[[ $line == *'"op":"save"'*'ckpt-00000400'* ]]
	ends
	wait "$standby"
	counted 400
}

@test "kill -9 of a server and the coordinator: started again, it takes over" {
	pair
	kill -KILL "$coord"
	dies "$server"
	wait "$coord" 2>killed || true
	exec {requests}>&- {results}<&- {messages}<&-
	rm requests results messages
	conduct -s "$at" --checkpoint=ckpt
	hears "*server 0 ($at) is gone: its standby $other takes over"
	ask 300
	done_steps 100
	# And once more, though its first address is on the command line.
	kill -KILL "$coord"
	wait "$coord" 2>killed || true
	exec {requests}>&- {results}<&- {messages}<&-
	rm requests results messages
	conduct -s "$at" --checkpoint=ckpt
	ends
	wait "$standby"
	counted 700
}
