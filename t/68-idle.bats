# A server or a standby that is no longer needed ends by itself, when its
# coordinator has given up, was killed, hangs or never came: it does not hold
# the nodes of a job for ever.

load lib.bash
load counting.bash

idle=(--lease=1s --idle=4s)

# ended PID TEXT LOG - check that a server ends by itself with status 69 and
# this line in its log.
ended() {
	local status=0
	timeout 30 tail -s 0.05 --pid="$1" -f /dev/null
	wait "$1" || status=$?
	assert_equal "$status" 69
	run -0 grep -c "^ps-serve: .*$2.*: it ends (--idle)$" "$3"
	assert_output 1
}

# another_ends - start a server with the same --idle, and wait until it ends: so
# that time has passed.
another_ends() {
	local server log pid endpoint
	start ps-serve -b "ipc://$PWD/another" "${idle[@]}"
	ended "$pid" "its coordinator has not connected for 4 s" "$log"
}

@test "a server or standby without a coordinator ends, and reports that" {
	start ps-serve -b "ipc://$PWD/s" "${idle[@]}"
	server=$pid serverlog=$log at=$endpoint
	start ps-serve -b "ipc://$PWD/t" "${idle[@]}" --standby-of="$at"
	ended "$server" "its coordinator has not connected for 4 s" "$serverlog"
	ended "$pid" "no coordinator has connected for 4 s, and its primary $at\
 \
is gone, or has none either" "$log"
	start ps-serve -b "ipc://$PWD/s" -c "ipc://$PWD/nobody" -i 0 \
		"${idle[@]}"
	ended "$pid" "its coordinator ipc://$PWD/nobody has not connected" \
		"$log"
	run -64 ps-serve --idle=9s
	assert_output --partial "--idle: a coordinator may be silent for a"
	run -64 ps-serve --idle=soon
	assert_output --partial "--idle: 'soon' is not a duration"
}

@test "a coordinator is killed: servers and standbys end" {
	counting
	start ps-serve -d ckpt "${idle[@]}"
	server=$pid serverlog=$log at=$endpoint
	start ps-serve -d ckpt "${idle[@]}" --standby-of="$at"
	standby=$pid standbylog=$log
	conduct -s "$at" --lease=1s
	work
	hears "*has a standby at*"
	# Another standby, which the coordinator does not know.
	start ps-serve -d ckpt "${idle[@]}" --standby-of="$at"
	ask 10
	done_steps 10
	another_ends
	ask 10
	done_steps 10
	dies "$coord"
	ended "$server" "its coordinator has been silent for 4 s" \
		"$serverlog"
	ended "$standby" "no coordinator has connected for 4 s" "$standbylog"
	ended "$pid" "no coordinator has connected for 4 s" "$log"
}

@test "a coordinator hangs: its server ends" {
	counting
	start ps-serve "${idle[@]}"
	server=$pid serverlog=$log
	conduct -s "$endpoint" --lease=1s
	work
	ask 10
	done_steps 10
	start freeze "$coord"
	ended "$server" "its coordinator has been silent" "$serverlog"
}

# A job that is stopped as a whole can continue: the time does not count as
# silence.
@test "the time for which a server was stopped does not count" {
	counting
	start ps-serve "${idle[@]}"
	server=$pid
	conduct -s "$endpoint" --lease=1s
	work
	ask 10
	done_steps 10
	kill -STOP "$server" "$coord"
	another_ends
	kill -CONT "$server" "$coord"
	ask 10
	done_steps 10
	ends
	wait "$server"
}

@test "servers that are kept wait for the next run" {
	counting
	start ps-serve "${idle[@]}"
	server=$pid at=$endpoint serverlog=$log
	launch ps-work -c ipc://coord --repeat one.svm
	echo train 10 | ps-coord -b ipc://coord -m count.ps -s "$at" \
		--keep-servers --results=none
	another_ends
	launch ps-work -c ipc://coord --repeat one.svm
	echo train 10 | ps-coord -b ipc://coord -m count.ps -s "$at" \
		--results=none
	wait "$server"
	run -0 cat "$serverlog"
	refute_output --partial idle
	# A server with --idle=0 waits for ever.
	start ps-serve --lease=1s --idle=0
	another_ends
	stop
}

# This is a job whose coordinator fails before it has connected.
@test "a cluster ends when its chief has failed" {
	counting
	cluster='{"cluster": {"chief": ["ipc://c"], "ps": ["ipc://s0",
		"ipc://s1"], "worker": ["ipc://w0"]}}'
	pids=()
	for i in 0 1; do
		launch ps-node -f "$cluster" -t "ps:$i" --ps "${idle[@]}"
		pids+=("$pid" "$log")
	done
	run -66 ps-node -f "$cluster" -t chief --chief -m nosuch.ps
	ended "${pids[0]}" "its coordinator ipc://c has not connected" \
		"${pids[1]}"
	ended "${pids[2]}" "its coordinator ipc://c has not connected" \
		"${pids[3]}"
	# Here the coordinator gives up, since a server was killed; the run can
	# be resumed.
	pids=()
	for i in 0 1; do
		launch ps-node -f "$cluster" -t "ps:$i" --ps "${idle[@]}"
		pids+=("$pid" "$log")
	done
	launch ps-node -f "$cluster" -t worker:0 -w 3s --worker --repeat \
		--lease=1s one.svm
	worker=$pid
	seq 1000000 >requests
	launch ps-node -f "$cluster" -t chief --chief --patience=1s -B 1 \
		-m count.ps --journal=journal --lease=1s requests
	timeout 30 sh -c "until [ -s $out ]; do sleep 0.01; done"
	dies "${pids[0]}"
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" 69
	ended "${pids[2]}" "its coordinator ipc://c has been silent" \
		"${pids[3]}"
	status=0
	wait "$worker" || status=$?
	assert_equal "$status" 69
}
