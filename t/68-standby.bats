# A hot standby takes over, or is dropped; no step is lost or counted twice.

load lib.bash
load counting.bash

@test "kill -9 of a server: its standby takes over, and can get a standby" {
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

@test "a next standby that comes too early is refused, and does no harm" {
	pair
	kill -STOP "$coord"
	dies "$server"
	start ps-serve -b "$at" -d ckpt --standby-of="$other"
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" 75
	run -0 sed "/ without --key /d" "$log"
	assert_output "ps-serve: $other refuses this standby: a standby of $at"
	kill -CONT "$coord"
	ask 100
	hears "*server 0: its standby $other took over after *.?? s"
	done_steps 300
	ends
	wait "$standby"
	counted 500
}

@test "kill -9 of a standby: the server continues without it" {
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

@test "a standby that stalls is dropped, and may come back" {
	pair --lease=2s
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

@test "a server that stalls is replaced, and ends when it resumes" {
	pair --lease=2s
	kill -STOP "$server"
	ask 100
	hears "*server 0: its standby $other took over after *.?? s"
	kill -CONT "$server"
	status=0
	wait "$server" || status=$?
	assert_equal "$status" 75
	run -0 sed "/ without --key /d" "$serverlog"
	assert_output "ps-serve: the standby $other took over in term 2: start \
this one again with --standby-of"
	done_steps 300
	ends
	wait "$standby"
	counted 500
}

@test "a checkpoint is made after a server was replaced" {
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
	dies "$coord" "$server"
	exec {requests}>&- {results}<&- {messages}<&-
	rm requests results messages
	conduct -s "$at" --checkpoint=ckpt
	hears "*server 0 ($at) is gone: its standby $other takes over"
	ask 300
	done_steps 100
	# The same again, although the command line has the first address.
	dies "$coord"
	exec {requests}>&- {results}<&- {messages}<&-
	rm requests results messages
	conduct -s "$at" --checkpoint=ckpt
	ends
	wait "$standby"
	counted 700
}

@test "a hashed table is copied to the standby, row by row" {
	counting
	printf '%s\n' 'input u id rows=hash' 'label y float' \
		'p = linear u use_bias=false' 'loss mean_absolute_error p' \
		'optimizer sgd learning_rate=5' >count.ps
	{
		echo u,y
		seq -f '%.0f,1000000000' 1000000007 1000000007 5000000035
	} >ids.csv
	start ps-serve -d ckpt
	server=$pid at=$endpoint
	conduct -s "$at" --checkpoint=ckpt -B 5
	launch ps-work -c ipc://coord --repeat ids.csv
	worker=$pid
	ask 100
	done_steps 100
	start ps-serve -d ckpt --standby-of="$at"
	standby=$pid other=$endpoint
	hears "*server 0 ($at) has a standby at $other"
	ask 400
	done_steps 100
	dies "$server"
	done_steps 300
	ends
	wait "$standby"
	ps-ckpt cat ckpt p/kernel/keys-0-65535 >rows.npy
	run -0 /usr/bin/python3 -c '
import struct
b = open("rows.npy", "rb").read()
b = b[10 + struct.unpack("<H", b[8:10])[0]:]
print(struct.unpack("<%df" % (len(b) // 4), b))'
	assert_output "(500.0, 500.0, 500.0, 500.0, 500.0)"
}

@test "kill -9 of a server and its standby: both are started again" {
	pair --lease=2s
	for _ in 1 2 3; do
		dies "$server" "$standby"
		start ps-serve -b "$at" -d ckpt --lease=2s
		server=$pid
		start ps-serve -b "$other" -d ckpt --standby-of="$at" \
			--lease=2s
		standby=$pid
		hears "*server 0 ($at) is back * steps are run again"
		ask 100
		done_steps 100
		hears "*server 0 ($at) has a standby at $other"
	done
	done_steps 200
	ends
	wait "$server"
	counted 700
}

@test "after a take-over both are restarted with their first commands" {
	pair --lease=2s
	dies "$server"
	done_steps 200
	dies "$standby"
	start ps-serve -b "$at" -d ckpt --lease=2s
	server=$pid
	start ps-serve -b "$other" -d ckpt --standby-of="$at" --lease=2s
	standby=$pid
	hears "*server 0 ($at) is back * steps are run again"
	ask 100
	done_steps 100
	ends
	wait "$server"
	counted 500
}
