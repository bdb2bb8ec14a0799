# The requirements of TensorFlow's fault tolerance tests, each under its number,
# with real processes that are killed.  Where TensorFlow requires at least N
# steps, these tests require exactly N, on both servers.  Then come faults that
# TensorFlow does not test.  F8 is F7 for functions in Python, which pskit has
# not.

load lib.bash
load counting.bash

lease=3s	# a killed program is noticed sooner, by its connections

# members [COORD-OPTION...] - start two servers and a coordinator.
members() {
	local i
	counting
	server=() worker=() workerlog=() feed=()
	for i in 0 1; do
		server_at "$i"
	done
	conduct -s ipc://s0,ipc://s1 --checkpoint=ckpt --lease="$lease" "$@"
}

server_at() {
	start ps-serve -d ckpt -b "ipc://s$1" --lease="$lease"
	server[$1]=$pid
}

# worker_at I [WORKER-ARGUMENT...] - start worker I, whose data never end.
worker_at() {
	launch ps-work -c ipc://coord --lease="$lease" -i "$1" "${@:2}" \
		--repeat one.svm
	worker[$1]=$pid workerlog[$1]=$log
}

# fed_at I - start worker I, each step of which waits for a record from give.
fed_at() {
	if [ ! -p "fed$1.svm" ]; then
		mkfifo "fed$1.svm"
		exec {feed[$1]}<>"fed$1.svm"
	fi
	launch ps-work -c ipc://coord --lease="$lease" -i "$1" "fed$1.svm"
	worker[$1]=$pid workerlog[$1]=$log
}

# give I [RECORD] - give worker I a record, for one step.
give() {
	echo "${2:-$(cat one.svm)}" >&"${feed[$1]}"
}

# in_flight - start two workers, each of which has done a step and has two in
# flight.
in_flight() {
	fed_at 0
	fed_at 1
	ask 6
	give 0
	give 1
	done_steps 2
}

# steps N - request N steps, and wait for their results.
steps() {
	ask "$1"
	done_steps "$1"
}

# says PATTERN - check that the next result matches.
says() {
	read -r -t 30 line <&"$results" || fail "no result"
	# shellcheck disable=SC2053 # a pattern
	[[ $line == $1 ]] || fail "$line"
}

# nothing_said [SECONDS] - check that no result comes within SECONDS (0).
nothing_said() {
	! read -r -t "${1:-0}" <&"$results" || fail "there are results"
}

# gone PID - wait until the process has ended, and set status.
gone() {
	timeout 20 tail -s 0.05 --pid="$1" -f /dev/null ||
		fail "still there: $(ps -o args= "$1")"
	status=0
	wait "$1" || status=$?
}

# fails STATUS PATTERN - check that the run ends with the status, and that its
# last message matches.
fails() {
	cat <&"$results" >rest
	gone "$coord"
	cat <&"$messages" >>heard
	assert_equal "$status" "$1"
	# shellcheck disable=SC2053 # a pattern
	[[ $(tail -n 1 heard) == $2 ]] || fail "$(cat heard)"
}

# finishes N - end the run, and check that each weight is N.
finishes() {
	local one
	echo stop >&"$requests"
	cat <&"$results" >rest
	cat <&"$messages" >>heard
	gone "$coord"
	# A worker that was just started has not received STOP.
	kill -TERM "${worker[@]}" 2>/dev/null || true
	for one in "${worker[@]}" "${server[@]}"; do
		[ ! -d "/proc/$one" ] || gone "$one"
	done
	wait "$coord"
	counted "$1"
}

@test "F1: a coordinator that is asked to end leaves no program and no socket" {
	local one
	members --min-workers=2
	worker_at 0
	worker_at 1
	steps 2
	kill -TERM "$coord"
	for one in "$coord" "${worker[@]}" "${server[@]}"; do
		gone "$one"
		assert_equal "$status" 0
	done
	run -0 find . -type s
	assert_output ""
}

@test "F2: a worker is killed between steps: exactly 4 steps" {
	members --min-workers=2
	worker_at 0
	worker_at 1
	steps 2
	dies "${worker[0]}"
	hears '*worker:0 is gone'
	worker_at 0
	steps 2
	finishes 4
}

@test "F3: a worker is killed in the midst of steps: exactly 6 steps" {
	members --min-workers=2
	in_flight
	dies "${worker[0]}"
	hears '*worker:0 is gone'
	echo join >&"$requests"
	nothing_said
	fed_at 0
	for _ in 1 2 3 4; do	# either worker may run any number
		give 0
		give 1
	done
	done_steps 4
	says '{"op":"join","step":6,"steps":6,*'
	finishes 6
}

@test "F4: a worker is killed while a bad step waits: its error, then 3 good" {
	members --min-workers=2 --keep-going --in-flight=1
	fed_at 0
	fed_at 1
	ask 2
	give 0
	give 1
	done_steps 2
	ask 2
	echo join >&"$requests"
	dies "${worker[1]}"
	hears '*worker:1 is gone'
	fed_at 1
	give 1 '1000000000 1:3e38 2:1 3:1 4:1'
	says '*"worker":"worker:1"*"error":*'
	says '*"cancelled":true}'
	says '*"op":"join"*"error":*'
	ask 3
	echo join >&"$requests"
	for _ in 1 2 3; do
		give 0
		give 1
	done
	done_steps 3
	says '*"op":"join","step":7,"steps":3,*'
	status=0
	echo stop >&"$requests"
	wait "$coord" || status=$?
	assert_equal "$status" 65
	counted 5
}

# again INPUT... - check that a worker that is killed twice does exactly 3
# steps.
again() {
	local round
	members
	for round in 1 2 3; do
		launch ps-work -c ipc://coord --lease="$lease" -i 0 "$@"
		worker[0]=$pid
		steps 1
		[ "$round" = 3 ] || {
			dies "${worker[0]}"
			hears '*worker:0 is gone'
		}
	done
	finishes 3
}

@test "F5: a worker's data are opened again when it is back: exactly 3 steps" {
	again one.svm
}

@test "F6: the output of a command is opened again, too: exactly 3 steps" {
	again 'pipe:cat one.svm'
}

@test "F7: messages about a killed worker name it, and no server" {
	members -w 3s
	worker_at 0
	steps 2
	dies "${worker[0]}"
	hears '*worker:0 is gone'
	ask 1
	fails 69 "ps-coord: no worker within 3 s at ipc://coord, 2 steps\
 were done"
	run -1 grep server heard
}

@test "F9: messages about a killed server name it, and no worker" {
	members --patience=2s
	worker_at 0
	steps 2
	dies "${server[1]}"
	hears '*server 1 (ipc://s1) is gone: waiting 2 s for it'
	fails 69 'ps-coord: server 1 (ipc://s1) is gone, last heard * s ago'
	run -1 grep worker heard
}

@test "F9: a server that is restarted at once is not taken for the old one" {
	members
	worker_at 0
	steps 3
	dies "${server[1]}"
	server_at 1
	hears "*server 1 (ipc://s1) is back * without its variables: it goes\
 back to initial*"
	steps 2
	finishes 5
}

@test "F10: both workers are killed: exactly 10 steps" {
	members --min-workers=2
	in_flight
	ask 4
	dies "${worker[@]}"
	hears '*is gone'
	worker_at 0
	worker_at 1
	done_steps 8
	finishes 10
}

@test "F11: one worker is killed twice: exactly 10 steps" {
	members --min-workers=2
	in_flight
	ask 4
	dies "${worker[0]}"
	hears '*worker:0 is gone'
	fed_at 0
	give 0
	done_steps 1
	dies "${worker[0]}"
	hears '*worker:0 is gone'
	worker_at 0
	done_steps 5
	give 1
	give 1
	done_steps 2
	finishes 10
}

@test "F12: a server is killed while a worker comes back: the server is named" {
	members --patience=2s
	worker_at 0
	steps 2
	dies "${worker[0]}"
	hears '*worker:0 is gone'
	dies "${server[1]}"
	worker_at 0
	ask 2
	fails 69 'ps-coord: server 1 (ipc://s1) is gone, last heard * s ago'
}

@test "F12: server and worker are killed and come back: exactly 4 steps" {
	members
	worker_at 0
	steps 2
	dies "${worker[0]}" "${server[1]}"
	ask 2
	worker_at 0
	server_at 1
	done_steps 2
	finishes 4
}

@test "F13, F14: results and their totals outlive all workers" {
	members --min-workers=2
	worker_at 0
	worker_at 1
	ask 3
	done_steps 2
	read -r -t 30 kept <&"$results"
	dies "${worker[@]}"
	hears '*is gone'
	hears '*is gone'
	[[ $kept == *'"loss":'* ]]
	echo join >&"$requests"
	says '{"op":"join","step":3,"steps":3,"examples":3,*'
	finishes 3
}

@test "F15: the servers are read while no worker is there" {
	members
	worker_at 0
	steps 2
	dies "${worker[0]}"
	for _ in 1 2 3; do
		run -0 timeout 20 ps-eval -c ipc://coord one.svm
		assert_output --partial '{"step":2,"examples":1,'
	done
	worker_at 0
	steps 1
	run -0 timeout 20 ps-eval -c ipc://coord one.svm
	assert_output --partial '{"step":3,"examples":1,'
	finishes 3
}

@test "F16: a wait in which nothing fails changes nothing" {
	lease=2s
	members
	worker_at 0
	steps 2
	nothing_said 3
	steps 2
	finishes 4
	run -0 cat heard
	assert_output ""
}

@test "F17: a join that waits fails with the server" {
	members --patience=2s
	fed_at 0
	ask 1
	give 0
	done_steps 1
	ask 2
	echo join >&"$requests"
	dies "${server[0]}"
	fails 69 'ps-coord: server 0 (ipc://s0) is gone, last heard * s ago'
	run -0 grep -c '"cancelled":true' rest
	assert_output 3
}

@test "F18: a request after a server was killed fails with the server" {
	members --patience=2s
	worker_at 0
	steps 1
	dies "${server[0]}"
	hears '*server 0 (ipc://s0) is gone: waiting 2 s for it'
	ask 2
	fails 69 'ps-coord: server 0 (ipc://s0) is gone, last heard * s ago'
	run -0 grep -c '"cancelled":true' rest
	assert_output 2
}

@test "F19: a step that fails with its server is not the worker's error" {
	members --patience=2s --keep-going
	fed_at 0
	ask 1
	give 0
	done_steps 1
	ask 1
	dies "${server[1]}"
	give 0
	fails 69 'ps-coord: server 1 (ipc://s1) is gone, last heard * s ago'
	run -1 grep '"error":' rest
	gone "${worker[0]}"
	assert_equal "$status" 0
	run -0 cat "${workerlog[0]}"
	assert_output ""
}

@test "F20: a run without further steps does not wait for a killed worker" {
	members
	worker_at 0
	steps 2
	dies "${worker[0]}"
	echo join >&"$requests"
	says '{"op":"join","step":2,"steps":2,*'
	finishes 2
}

@test "elastic: a worker is added between steps: exactly 4 steps" {
	members
	worker_at 0
	steps 2
	worker_at 1
	dies "${worker[0]}"
	ask 2
	says '*"worker":"worker:1"*'
	says '*"worker":"worker:1"*'
	finishes 4
}

@test "elastic: a worker is added in the midst of steps: exactly 6 steps" {
	members --in-flight=1
	fed_at 0
	ask 6
	give 0
	done_steps 1
	worker_at 1
	done_steps 4
	give 0
	done_steps 1
	finishes 6
}

@test "elastic: a worker comes back under its name, or another" {
	members
	worker_at 0
	ask 1
	says '*"worker":"worker:0"*'
	dies "${worker[0]}"
	worker_at 0
	ask 1
	says '*"worker":"worker:0"*'
	dies "${worker[0]}"
	worker_at 7
	ask 1
	says '*"worker":"worker:7"*'
	finishes 3
}

@test "a server with a standby is killed: the join comes, and exactly 6 steps" {
	members --mode=sync --min-workers=2
	start ps-serve -d ckpt --standby-of=ipc://s1 --lease="$lease"
	server+=("$pid")
	hears "*server 1 (ipc://s1) has a standby at $endpoint"
	worker_at 0
	worker_at 1
	steps 3
	dies "${server[1]}"
	ask 3
	echo join >&"$requests"
	done_steps 3
	says '{"op":"join","step":6,"steps":6,"examples":12,*'
	run ! grep 'run again' heard
	finishes 6
}

# again_conducted [COORD-OPTION...] - start the coordinator again.
again_conducted() {
	exec {requests}>&- {results}<&- {messages}<&-
	rm requests results messages
	conduct -s ipc://s0,ipc://s1 --checkpoint=ckpt --lease="$lease" "$@"
}

@test "kill -9 of the coordinator in the midst of steps: exactly 6 steps" {
	members --min-workers=2
	in_flight
	dies "$coord"
	again_conducted --min-workers=2
	hears '*resuming a run that was interrupted: *'
	echo join >&"$requests"
	# The journal may lack the last steps before the kill, so they are done
	# again.
	for _ in 1 2 3 4 5 6; do
		give 0
		give 1
	done
	until [[ $line == *'"op":"join"'* ]]; do
		read -r -t 30 line <&"$results" || fail "no result"
	done
	[[ $line == *'"step":6,"steps":6,'* ]] || fail "$line"
	finishes 6
}

# A program that waits only for a stopped program ends in time, and names it.  A
# server waits for no program; standbys are tested in 68-standby.bats, programs
# that are asked to end meanwhile in 30-ends.bats.

# waits_not STATUS PATTERN COMMAND... - check that the command ends in time with
# the status, and that its messages match.
waits_not() {
	run "-$1" --separate-stderr timeout 20 "${@:3}"
	# shellcheck disable=SC2053 # a pattern
	[[ $stderr == $2 ]] || fail "$stderr"
}

@test "SIGSTOP of a server, before or in a run: its name, and status 69" {
	lease=2s
	members --patience=2s
	worker_at 0
	steps 2
	kill -STOP "${server[1]}"
	ask 2
	hears '*server 1 (ipc://s1) @(is gone|hangs): waiting 2 s for it'
	fails 69 'ps-coord: server 1 (ipc://s1) @(is gone|hangs), last heard *'
	waits_not 69 'ps-coord: server 0 (ipc://s1) does not answer within *' \
		ps-coord -m count.ps -s ipc://s1 -b ipc://c -w 500ms one.svm
}

@test "SIGSTOP of a program before others connect: its name, and status 69" {
	local does_not='does not answer within 4 s'
	counting
	echo train >requests
	server_at 0
	kill -STOP "${server[0]}"
	# The timeout is longer than a handshake may take.
	waits_not 69 "ps-coord: server 0 (ipc://s0) $does_not*" \
		ps-coord -m count.ps -s ipc://s0 -b ipc://c -w 4s requests
	waits_not 69 "ps-work: coordinator ipc://s0 $does_not" \
		ps-work -c ipc://s0 -w 4s one.svm
	waits_not 69 "ps-submit: coordinator ipc://s0 $does_not" \
		ps-submit -Q ipc://s0 -w 4s requests
	waits_not 69 "ps-relay: coordinator ipc://s0 $does_not" \
		ps-relay -c ipc://s0 -b ipc://r -w 4s
	waits_not 69 "ps-serve: its coordinator ipc://s0 has not connected for\
 4 s: it ends (--idle)" \
		ps-serve -b ipc://s1 -c ipc://s0 -i 0 --idle=4s --lease=4s
	waits_not 69 "ps-eval: coordinator ipc://s0 $does_not" \
		ps-eval -c ipc://s0 -w 4s one.svm
}

@test "SIGSTOP of a server for a while: the run waits, exactly 4 steps" {
	lease=2s
	members
	worker_at 0
	steps 2
	kill -STOP "${server[1]}"
	ask 2
	hears '*server 1 (ipc://s1) @(is gone|hangs): waiting 60 s for it'
	kill -CONT "${server[1]}"
	hears '*server 1 (ipc://s1) is back after * s'
	done_steps 2
	run ! grep 'run again' heard
	finishes 4
}

@test "SIGSTOP of the only worker: "no worker", and status 69" {
	lease=2s
	members -w 4s
	worker_at 0
	steps 2
	kill -STOP "${worker[0]}"
	ask 2
	fails 69 "ps-coord: no worker within 4 s at ipc://coord, 2 steps\
 were done"
	grep -q 'ps-coord: worker:0 is gone' heard
}

@test "SIGSTOP of the coordinator: its callers name it, and status 69" {
	lease=2s
	members
	worker_at 0 -w 5s
	steps 2
	kill -STOP "$coord"
	waits_not 69 'ps-work: coordinator ipc://coord does not answer *' \
		ps-work -c ipc://coord -w 500ms one.svm
	waits_not 69 'ps-eval: coordinator ipc://coord does not answer *' \
		ps-eval -c ipc://coord -w 500ms one.svm
	gone "${worker[0]}"
	assert_equal "$status" 69
	run -0 cat "${workerlog[0]}"
	assert_output "ps-work: coordinator ipc://coord is gone and did not \
come back within 5 s"
}

# scoring - start an evaluator that holds a cut, and waits for examples.
scoring() {
	mkfifo examples scores
	ps-eval -c ipc://coord "$@" --predict -B 1 - <examples >scores \
		2>eval.log 3>&- &
	eval=$!
	daemons+=("$eval")
	exec {examples}>examples {scores}<scores
	cat one.svm >&"$examples"
	read -r -t 20 line <&"$scores"
}

@test "SIGSTOP of a server of an evaluation: its name, and status 69" {
	lease=2s
	members
	worker_at 0
	steps 2
	scoring -w 3s
	kill -STOP "${server[@]}"
	cat one.svm >&"$examples"
	gone "$eval"
	assert_equal "$status" 69
	run -0 cat eval.log
	[[ $output == 'ps-eval: server '[01]' (ipc://s'[01]') is silent, '* ]]
}

@test "SIGSTOP of an evaluator that holds a cut: the run continues and ends" {
	lease=2s
	members --every=2
	worker_at 0
	steps 2
	scoring -w 3s
	kill -STOP "$eval"
	steps 4
	finishes 6
	run -0 ls ckpt
	assert_output $'ckpt-00000002\nckpt-00000004\nckpt-00000006'
	# The examples are in the pipe before the evaluator wakes up, since it
	# may end at once.
	cat one.svm >&"$examples"
	kill -CONT "$eval"
	gone "$eval"
	assert_equal "$status" 69
	run -0 cat eval.log
	# The reason is a server's silence, or the coordinator's message at the
	# end.
	[[ $output == 'ps-eval: server '[01]' (ipc://s'[01]') is silent, '* ||
		$output == "ps-eval: coordinator ipc://coord ended the run \
before the evaluation was over" ]]
}

@test "an evaluation whose coordinator is restarted ends with status 75" {
	members
	worker_at 0
	steps 2
	scoring
	dies "$coord"
	again_conducted
	gone "$eval"
	assert_equal "$status" 75
	run -0 cat eval.log
	assert_output "ps-eval: the run lost a program, and with it the values\
 of step 2 that were being scored"
	run -0 timeout 20 ps-eval -c ipc://coord one.svm
	assert_output --partial '{"step":2,"examples":1,'
	finishes 2
}

# second - start another coordinator of the run at another address, with a copy
# of the journal.  The first one is then $first, its messages come from $told
# and its results from $answers.
second() {
	first=$coord told=$messages answers=$results
	cp ckpt/journal copy
	rm requests results messages
	conduct -s ipc://s0,ipc://s1 --checkpoint=ckpt --lease="$lease" \
		--journal=copy -b ipc://coord2
}

@test "a coordinator that is stopped keeps its journal from another one" {
	members
	worker_at 0
	steps 2
	kill -STOP "$coord"
	mkdir ckpt/.tmp-ckpt-00000003	# as if it was being written
	waits_not 75 'ps-coord: ckpt/journal: another program has it open' \
		ps-coord -b ipc://c -s ipc://s0,ipc://s1 -m count.ps -B 1 \
		--checkpoint=ckpt one.svm
	assert_exists ckpt/.tmp-ckpt-00000003
	kill -CONT "$coord"
	steps 2
	finishes 4
}

@test "a coordinator that was replaced changes nothing when it wakes up" {
	lease=2s
	members
	fed_at 0
	ask 5
	give 0
	done_steps 1
	kill -STOP "$coord"
	second
	hears '*resuming a run that was interrupted: *'
	launch ps-work -c ipc://coord2 --repeat one.svm
	worker[1]=$pid
	done_steps 4
	# The worker now pushes the steps that the first coordinator leased.
	give 0
	give 0
	kill -CONT "$first"
	gone "$first"
	assert_equal "$status" 75
	run -0 tail -n 1 <&"$told"
	# The message comes from a server that knows the first coordinator, or
	# from one to which it connects again.
	assert_output --regexp "^ps-coord: server [01] \(ipc://s[01]\): \
(term 1 is over, 2 began: another coordinator has this run|\
this server belongs to another coordinator)$"
	run ! grep '"loss":' <&"$answers"
	gone "${worker[0]}"
	steps 2
	finishes 7
}

@test "a worker that was stopped changes nothing when it continues" {
	lease=2s
	members --min-workers=2
	in_flight
	kill -STOP "${worker[0]}"
	hears '*worker:0 is gone'
	for _ in 1 2 3 4; do
		give 0
		give 1
	done
	done_steps 4
	kill -CONT "${worker[0]}"
	ask 3
	for _ in 1 2 3; do
		give 0
		give 1
	done
	done_steps 3
	finishes 9
}

@test "a server that was replaced elsewhere changes nothing when it wakes up" {
	local i was
	lease=2s
	counting
	server=() worker=()
	conduct -s 2 --checkpoint=ckpt --lease="$lease"
	for i in 0 1; do
		start ps-serve -d ckpt -c ipc://coord -i "$i" --lease="$lease"
		server[i]=$pid
		[ "$i" = 1 ] || was=$log
	done
	worker_at 0
	steps 3
	kill -STOP "${server[0]}"
	hears '*server 0 (tcp://*) @(is gone|hangs): waiting 60 s for it'
	start ps-serve -d ckpt -c ipc://coord -i 0 --lease="$lease"
	steps 2
	kill -CONT "${server[0]}"
	gone "${server[0]}"
	assert_equal "$status" 75
	run -0 cat "$was"
	[[ $output == *' server 0 is alive already, at tcp://'* ]]
	server[0]=$pid
	steps 2
	finishes 7
}

@test "a coordinator without its journal begins anew at the checkpoint" {
	lease=2s
	members
	worker_at 0
	steps 3
	echo save >&"$requests"
	says '*"save"*'
	steps 2
	dies "$coord"
	rm ckpt/journal
	# The servers refuse other runs until their run has been silent for a
	# while.
	while :; do
		dies "${worker[0]}"
		again_conducted
		worker_at 0
		ask 1 || true	# the coordinator may have ended
		line=
		read -r -t 30 line <&"$results" || true
		[[ $line != *'"loss":'* ]] || break
		fails 75 '*: busy with another run, whose coordinator was *'
	done
	[[ $line == *'"step":3,'* ]] || fail "$line"
	finishes 4
}

@test "a server needs a damaged checkpoint: its file, byte, and status 65" {
	members --every=2
	worker_at 0
	steps 4
	echo save >&"$requests"
	says '*"checkpoint":"ckpt-00000004"*'
	dies "${server[1]}"
	truncate -s -100 ckpt/ckpt-00000004/shard-1-of-2.tar
	server_at 1
	fails 65 'ps-coord: server 1 (ipc://s1): ckpt/ckpt-00000004/shard-*'
	# The next run begins with the checkpoint before the damaged one.
	gone "${server[0]}"
	gone "${server[1]}"
	server_at 0
	server_at 1
	again_conducted
	hears '*ckpt-00000004/shard-1-of-2.tar: byte *: cut short*'
	worker_at 0
	ask 1
	says '*"step":2,*'
	steps 2
	finishes 5
}
