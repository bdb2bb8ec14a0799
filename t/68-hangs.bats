# A program whose main thread hangs does not answer, though its connections
# are open: the run continues without it, or ends with an error that names it.

load lib.bash
load counting.bash

times=(--lease=1s -w 2s)

# freezes PID - stop the main thread of a process until thaws.
freezes() {
	local one=$pid
	start freeze "$1"
	freezer=$pid pid=$one
}

thaws() {
	dies "$freezer"
}

# crew OPTION... - start a run with a server and two workers, and do 200 steps.
crew() {
	counting
	start ps-serve -d ckpt "${times[@]:0:1}"
	server=$pid at=$endpoint
	conduct -s "$at" --checkpoint=ckpt --min-workers=2 --patience=2s \
		"${times[@]}" "$@"
	for _ in 1 2; do
		launch ps-work -c ipc://coord --repeat "${times[@]}" \
			"${input-one.svm}"
	done
	worker=$pid workerlog=$log
	ask 400
	done_steps 200
}

# hung_worker OPTION... - let one of two workers hang, and check that the other
# does its steps.
hung_worker() {
	# A worker would wait longer for the coordinator than it hangs.
	local times=(--lease=1s -w 20s)
	crew "$@"
	freezes "${daemons[2]}"
	ask 400
	hears "*worker:? hangs: it has not answered for 1.? s"
	done_steps 600
	ask 1
	done_steps 1
	thaws
	hears "*worker:? answers again, after *.? s"
	ask 199
	done_steps 199
	ends
	wait "${daemons[2]}"
	counted "${counts-1000}"
}

@test "a worker hangs: others do its steps, and each counts once" {
	hung_worker
}

@test "a worker hangs, ssp: the others do not wait for it" {
	hung_worker --mode=ssp:2
}

@test "a worker hangs, sync: others do its replicas" {
	hung_worker --mode=sync
}

@test "all workers hang: the run ends with the name of one" {
	crew
	freezes "${daemons[2]}"
	local first=$freezer
	freezes "${daemons[3]}"
	ask 400
	status=0
	wait "$coord" || status=$?
	assert_equal "$status" 69
	cat <&"$messages" >heard
	run -0 grep -c 'worker:. hangs, last heard 3.* s ago: ' heard
	assert_output 1
	dies "$first"
	thaws
}

@test "a server hangs: its standby takes over, and the server ends later" {
	pair "${times[0]}"
	freezes "$server"
	ask 100
	hears "*server 0 ($at) hangs: its standby $other takes over"
	done_steps 300
	thaws
	status=0
	wait "$server" || status=$?
	assert_equal "$status" 75
	run -0 grep -v "without --key" "$serverlog"
	assert_output "ps-serve: the standby $other took over in term 2: start \
this one again with --standby-of"
	ends
	wait "$standby"
	counted 500
}

@test "a standby hangs: the server continues without it" {
	pair "${times[0]}"
	freezes "$standby"
	ask 100
	hears "*its standby $other hangs: it goes on without one"
	done_steps 300
	thaws
	hears "*server 0 ($at) has a standby at $other"
	ends
	wait "$server"
	counted 500
}

@test "a server hangs, and wakes up: the run continues" {
	crew --patience=30s
	freezes "$server"
	ask 400
	hears "*server 0 ($at) hangs: waiting 30 s for it"
	thaws
	hears "*server 0 ($at) is back after *.? s"
	done_steps 600
	ends
	wait "$server"
	counted 800
}

@test "a server with a log hangs, and wakes up: the run continues" {
	counting
	start ps-serve -d ckpt --durable=wal --lease=1s
	server=$pid at=$endpoint
	conduct -s "$at" --checkpoint=ckpt "${times[@]}"
	work
	ask 400
	done_steps 200
	freezes "$server"
	hears "*server 0 ($at) hangs: waiting 60 s for it"
	thaws
	hears "*server 0 ($at) is back after *.? s"
	done_steps 200
	ends
	wait "$server"
	counted 400
}

@test "a server hangs for good: the run ends with its name" {
	crew
	freezes "$server"
	ask 400
	status=0
	wait "$coord" || status=$?
	assert_equal "$status" 69
	cat <&"$messages" >heard
	run -0 grep -c "server 0 ($at) hangs, last heard [34].* s ago" heard
	assert_output 1
	thaws
}

@test "the coordinator hangs: workers end, and name it" {
	crew
	freezes "$coord"
	status=0
	wait "$worker" || status=$?
	assert_equal "$status" 69
	run -0 cat "$workerlog"
	assert_output --partial \
		"ps-work: coordinator ipc://coord hangs, last heard 2."
	thaws
}

@test "an evaluator hangs: its cut is released, and the run continues" {
	crew
	yes "$(cat one.svm)" | head -n 20000 >many.svm
	mkfifo scores
	ps-eval -c ipc://coord --predict -B 1 many.svm >scores \
		2>eval.log 3>&- &
	evaluator=$!
	daemons+=("$evaluator")
	exec {scores}<scores
	read -r -t 20 -u "$scores"	# the evaluator now has a cut
	freezes "$evaluator"
	ask 10
	hears "*evaluator:* hangs: it has not answered for 3.* s"
	done_steps 210
	thaws
	cat <&"$scores" >predictions
	status=0
	wait "$evaluator" || status=$?
	assert_equal "$status" 75
	run -0 cat eval.log
	assert_output --partial "ps-eval: server 0 ($at): "
	ends
	counted 410
}
