# How every program ends.  A program that is asked to stop does what it can,
# and exits within ten seconds, whichever other programs are away, with 0 if
# nothing was lost.  A program that is asked twice exits at once.  No file or
# process is left.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'END'
		input  x float
		label  y binary
		logit = dense x units=1
		loss   binary_crossentropy logit from_logits=true
		optimizer sgd
	END
	printf '%s\n' x,y 1,0 2,1 >data.csv
	at=ipc://$PWD
}

# gone PID [SECONDS] - wait until the process has ended, for SECONDS at most
# (20: the machine may be busy); sets its status.
gone() {
	timeout "${2:-20}" tail -s 0.05 --pid="$1" -f /dev/null ||
		fail "still there after ${2:-20} s: $(ps -o args= "$1")"
	status=0
	wait "$1" || status=$?
}

# has_status STATUS - check the status that gone has set; print all logs if it
# differs.
has_status() {
	[ "$status" = "$1" ] || tail -n 20 ./*.log
	assert_equal "$status" "$1"
}

# ends_well PID - check that the process ends by itself with status 0.
ends_well() {
	gone "$1"
	has_status 0
}

# ends PID [STATUS] - send $signal (TERM) and check that the process ends with
# this status (0).
ends() {
	kill "-${signal:-TERM}" "$1"
	gone "$1"
	has_status "${2:-0}"
}

# cluster [COORD-OPTION...] - start a server, a worker and a coordinator that
# have done a step and have more to do than the test waits for; sets the pids
# serve, work and coord.  Requests go to descriptor 7, results come from 8.  $by
# is a command that runs each program.
cluster() {
	start ${by:-} ps-serve -b "$at/s" -d "$PWD/ckpt"
	serve=$pid
	launch ${by:-} ps-work --lease=2s -c "$at/c" --repeat data.csv
	work=$pid
	[ -p requests ] || mkfifo requests results
	${by:-} ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 1 --lease=2s \
		"$@" requests >results 2>coord.log 3>&- &
	coord=$!
	daemons+=("$coord")
	exec 8<results 7>requests
	echo "train ${steps:-1000000}" >&7
	read -r -t 60 _ <&8
	# No program may wait for this test to read its lines.
	: >lines
	cat <&8 >>lines 3>&- &
	reader=$!
	daemons+=("$reader")
}

# leftovers - print the files that the programs have left behind.
leftovers() {
	find . ! -name '*.log' ! -name '*.out' ! -name 'separate-*' \
		! -name model.ps ! -name data.csv ! -name requests \
		! -name results ! -name lines ! -path './ckpt*' -type f -o \
		-type s
}

# listening PID - wait until the process has started its program and catches
# SIGTERM.
listening() {
	local mask
	until [[ $(<"/proc/$1/comm") == ps-* ]]; do :; done
	while mask=$(sed -n 's/^SigCgt:\t*//p' "/proc/$1/status"); do
		((0x$mask & 0x4000)) && return
	done
}

# steps_done - print the number of steps with a result.
steps_done() {
	wc -l <lines
}

@test "a terminal that hangs up ends a run as SIGTERM does, even twice" {
	by="env --default-signal=HUP" cluster --checkpoint="$PWD/ckpt"
	kill -HUP "$coord"
	kill -HUP "$coord" || true	# it may have ended
	ends_well "$coord"
	ends_well "$work"
	ends_well "$serve"
	run -0 ps-ckpt verify ckpt/*
}

@test "a program that ignores SIGHUP survives a terminal that hangs up" {
	local before
	by="env --ignore-signal=HUP" cluster --checkpoint="$PWD/ckpt"
	before=$(steps_done)
	kill -HUP "$coord" "$work" "$serve"
	until [ "$(steps_done)" -gt $((before + 1000)) ]; do
		kill -0 "$coord" "$work" "$serve"
	done
	ends "$coord"
	ends_well "$work"
	ends_well "$serve"
}

@test "each role ends when no other program runs" {
	mkfifo never unwritten
	exec 6<>never
	echo train >requests
	while read -r end command; do
		for signal in TERM INT HUP; do
			# shellcheck disable=SC2086
			launch env --default-signal=INT,HUP $command </dev/null
			listening "$pid"
			ends "$pid" "$end"
		done
	done <<-END
		0 ps-serve -b $at/s
		0 ps-serve -b $at/s -c $at/nobody -i 0
		0 ps-work -c $at/nobody data.csv
		75 ps-eval -c $at/nobody data.csv
		0 ps-eval -C . --follow data.csv
		0 ps-coord -m model.ps -s $at/nobody -b $at/c requests
		0 ps-coord -m model.ps -s $at/nobody -b $at/c never
		0 ps-coord -m model.ps -s $at/nobody -b $at/c unwritten
		0 ps-submit -Q $at/nobody unwritten
	END
	run -0 leftovers
	assert_output ""
}

@test "each role ends in the midst of a run, and the others notice it" {
	cluster --checkpoint="$PWD/ckpt"
	ends "$coord"
	ends_well "$work"
	ends_well "$serve"
	wait "$reader"
	# The last checkpoint has only the steps that were reported as done, and
	# those that were given up.
	run -0 ps-ckpt ls ckpt
	assert_output --partial final
	[[ $(ls ckpt) =~ ^ckpt-0*([1-9][0-9]*)$ ]]
	[ "$(grep -c '"worker"' lines)" -lt "${BASH_REMATCH[1]}" ]
	run -0 leftovers
	assert_output ""
}

@test "programs that end after a worker report no missing worker" {
	cluster --checkpoint="$PWD/ckpt"
	ends "$work"
	ends "$coord"
	ends_well "$serve"
}

@test "a command that has no output ends when its reader ends" {
	launch ps-work -c "$at/c" -F csv \
		'pipe:echo $$ >command; cat data.csv; exec sleep 1000'
	work=$pid
	start ps-serve -b "$at/s"
	echo 'train 2' | ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 1 \
		--results=errors
	ends_well "$work"
	timeout 20 tail -s 0.05 --pid="$(<command)" -f /dev/null
}

@test "a server that ends is an error that names it" {
	cluster --patience=1s
	ends "$serve"
	gone "$coord"
	assert_equal "$status" 69
	grep -q "server 0 (ipc://.*/s)" coord.log
	ends_well "$work"
}

@test "each role ends when asked, though all others were killed" {
	local who
	for who in serve work coord; do
		cluster --checkpoint="$PWD/ckpt"
		for one in "$serve" "$work" "$coord"; do
			[ "$one" = "${!who}" ] || dies "$one"
		done
		# Without the servers there is no last checkpoint.
		[ "$who" = coord ] || ends "${!who}"
	done
	ends "$coord" 74
	grep -q "no last checkpoint could be saved: the newest is" coord.log
}

@test "each role ends when asked, though all others are stopped" {
	local who
	for who in serve work coord; do
		cluster --checkpoint="$PWD/ckpt"
		for one in "$serve" "$work" "$coord"; do
			[ "$one" = "${!who}" ] || kill -STOP "$one"
		done
		[ "$who" = coord ] || ends "${!who}"
		[ "$who" != coord ] || ends "$coord" 74
		dies "$serve" "$work" "$coord"
	done
	# The coordinator has named the server that did not answer.
	grep -q "ps-coord: server 0 (ipc://.*/s)" coord.log
}

@test "a run that ends does not wait for steps that have not begun" {
	mkfifo feed.svm
	exec 6<>feed.svm
	start ps-serve -b "$at/s" -d "$PWD/ckpt"
	serve=$pid
	sed -i 's/x float/x sparse[4]/; s/dense x.*/linear x/' model.ps
	launch ps-work -c "$at/c" feed.svm
	work=$pid
	echo '+1 1:1' >&6
	echo 'train 1000' >requests
	: >results
	launch ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 1 \
		--checkpoint="$PWD/ckpt" requests
	coord=$pid
	timeout 20 sh -c "until grep -q loss '$out'; do sleep .1; done"
	ends "$coord"
	ends_well "$serve"
	ends_well "$work"
	run -0 cat "$out"
	assert_line --partial '"steps":999,"cancelled":true'
	run -0 ps-ckpt ls ckpt
	assert_output --partial final
}

@test "each role that is asked to end twice ends at once" {
	local who
	for who in serve work coord; do
		cluster --checkpoint="$PWD/ckpt"
		for one in "$serve" "$work" "$coord"; do
			[ "$one" = "${!who}" ] || kill -STOP "$one"
		done
		# Both signals arrive before the program can handle the first.
		kill -STOP "${!who}"
		kill -TERM "${!who}"
		kill -INT "${!who}"
		kill -CONT "${!who}"
		gone "${!who}" 5
		[ "$status" = 130 ] || [ "$status" = 143 ]
		dies "$serve" "$work" "$coord"
	done
}

# timeout(1) sends two signals: to its child, then to the group of the child.
@test "the same signal twice at once ends each role as one signal does" {
	cat >ask.py <<-'EOT'
		import os, signal, subprocess, sys, time
		for _ in range(20):
		    one = subprocess.Popen(["ps-serve", "-b", "ipc://twice"],
		                           stdout=subprocess.PIPE)
		    one.stdout.readline()
		    one.send_signal(signal.SIGTERM)
		    until = time.monotonic() + 0.001
		    while time.monotonic() < until:
		        pass
		    one.send_signal(signal.SIGTERM)
		    if one.wait() != 0:
		        sys.exit(1)
	EOT
	run -0 python3 ask.py
}

@test "a resumed run that is asked to end at once ends in the usual way" {
	cluster --checkpoint="$PWD/ckpt"
	dies "$coord"
	wait "$reader"
	echo 'train 1000000' >again
	launch ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 1 --lease=2s \
		--checkpoint="$PWD/ckpt" again
	listening "$pid"
	ends "$pid"
	grep -q 'resuming a run that was interrupted' "$log"
	ends_well "$work"
	ends_well "$serve"
	run -0 ps-ckpt ls ckpt
	assert_output --partial final
}

@test "a full pipe without a reader keeps no program from ending" {
	cluster
	kill -STOP "$reader"
	dd if=/dev/zero of=results oflag=nonblock bs=1 2>/dev/null || true
	ends "$coord" 74
	assert_equal "$(tail -n 1 coord.log)" \
		"ps-coord: results are lost: nobody reads them"
	gone "$work"
	gone "$serve"
	# This holds for a filter, too.
	printf '\2\0\0\0\0\0\0\0{}' >none.safetensors
	ps-ckpt -q import -m model.ps none.safetensors ckpt >/dev/null
	dd if=/dev/zero of=results oflag=nonblock bs=1 2>/dev/null || true
	(cat data.csv; seq -f %g,1 2000) >large.csv
	ps-eval --predict -C ckpt large.csv >results 2>eval.log 3>&- &
	daemons+=($!)
	listening $!
	kill -TERM $!
	gone $!
	[ "$status" = 75 ] || [ "$status" = 74 ]
}

@test "SIGTERM in the middle of a checkpoint: it is complete, or absent" {
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
	for point in disk-write disk-sync disk-rename part-told \
	    publish-rename publish-renamed publish-told; do
		export PS_FAIL=$point:2:sleep
		cluster --checkpoint="$PWD/ckpt" --every=2
		echo save >&7
		ends "$coord"
		ends_well "$serve"
		ends_well "$work"
		run -0 ps-ckpt verify ckpt/*
		assert_equal "$(find ckpt -name '.tmp*')" ""
		rm -r ckpt
	done
}

# policies - print the scheduling policies of the program that was started last,
# and of its thread that carries messages, once that thread has its name.
policies() {
	timeout 20 sh -c "until grep -qx ZMQbg/IO/0 /proc/$pid/task/*/comm
		do sleep 0.1; done"
	carrier=$(grep -lx ZMQbg/IO/0 /proc/"$pid"/task/*/comm)
	for task in "$pid" "$(basename "${carrier%/comm}")"; do
		chrt -p "$task" | sed -n 's/.*policy: //p'
	done
}

@test "only the threads that carry messages preempt others" {
	command -v chrt || skip "no chrt"
	start ps-serve -b ipc://server
	assert_equal "$(policies)" $'SCHED_BATCH\nSCHED_OTHER'
	start chrt --batch 0 ps-serve -b ipc://other
	assert_equal "$(policies)" $'SCHED_BATCH\nSCHED_BATCH'
}

@test "a server ends while it makes its variables" {
	cat >model.ps <<-'END'
		input  x sparse[1000000000]
		label  y binary
		logit = linear x kernel_initializer=random_normal
		loss   binary_crossentropy logit from_logits=true
		optimizer sgd
	END
	start ps-serve -b "$at/s"
	serve=$pid
	echo train >requests
	launch ps-coord -m model.ps -s "$at/s" -b "$at/c" --patience=1s \
		requests
	until held=$(ps -o rss= "$serve") && [ "$held" -gt 200000 ]; do
		sleep 0.1
	done
	kill -TERM "$serve"
	for _ in {1..400}; do
		now=$(ps -o rss= "$serve") && [ "$now" -gt 0 ] || break
		held=$now
		sleep 0.05
	done
	ends_well "$serve"
	[ "$held" -lt 2000000 ] || fail "it made $held KiB of 4000000"
	# The coordinator, which waits for the variables, reports that, though
	# no step was done.
	gone "$pid"
	assert_equal "$status" 69
	grep -q "server 0 ($at/s) is gone: waiting 1 s for it" "$log"
}

@test "ps-ckpt ends in the midst of its work, and reports a failure" {
	printf '\2\0\0\0\0\0\0\0{}' >none.safetensors
	ps-ckpt -q import -m model.ps none.safetensors ckpt >/dev/null
	# shellcheck disable=SC2046 # many
	launch ps-ckpt verify $(yes ckpt | head -n 20000)
	until [ -s "$out" ]; do sleep 0.01; done
	ends "$pid" 75
	[ "$(wc -l <"$out")" -lt 20000 ]
	assert_equal "$(wc -l <"$log")" 1
	grep -q ': not read to its end: asked to stop$' "$log"
}

@test "when the reader of results has ended the last checkpoint is made" {
	local to
	for to in '| head -n 3' '>&-' '-o /dev/full'; do
		mkdir ckpt
		run bash -c "echo train 5000 | ps-local -q -C '$PWD/ckpt' -- \
			--repeat data.csv -- ps-coord -m model.ps -B 1 \
			--checkpoint=ckpt $to"
		refute_output --partial "no last checkpoint"
		run -0 ps-ckpt verify ckpt/*
		rm -r ckpt
	done
}

@test "a coordinator that a signal ends reports the requests it has not read" {
	start ps-serve -b "$at/s"
	launch ps-work -c "$at/c" --repeat data.csv
	yes 'train 1000' | head -n 100000 >requests
	mkfifo results
	ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 1 requests \
		>results 2>coord.log 3>&- &
	coord=$!
	daemons+=("$coord")
	{ read -r _; cat >rest & } <results
	ends "$coord" 0
	run -0 cat coord.log
	assert_output --regexp "^ps-coord: requests given up: [0-9]+,\
 and those that were not read yet$"
}

@test "the last checkpoint is made though the reader of results does not read" {
	start ps-serve -b "$at/s" -d "$PWD/ckpt"
	launch ps-work -c "$at/c" --repeat data.csv
	mkfifo results
	exec 8<>results
	echo 'train 1000000' >requests
	ps-coord -b "$at/c" -s "$at/s" -m model.ps -B 1 --checkpoint=ckpt \
		requests >results 2>coord.log 3>&- 8<&- &
	coord=$!
	daemons+=("$coord")
	read -r -t 60 _ <&8
	timeout 1 cat /dev/zero >&8 || true	# there is no room for more
	ends "$coord" 74
	run -0 cat coord.log
	assert_line --index 0 "ps-coord: requests given up: 1"
	assert_line --index 1 "ps-coord: results are lost: nobody reads them"
	assert_equal "${#lines[@]}" 2
	run -0 ps-ckpt verify ckpt/*
}

# /proc alone shows the bytes that a socket has not sent yet.
@test "without /proc the last messages of a program arrive, too" {
	local alone="unshare --mount --map-root-user"
	[ -x "$BUILD/t/unit/net" ] || skip "t/unit/net is not built"
	! grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "the sanitizers need /proc"
	$alone mount -t tmpfs none /proc 2>/dev/null ||
		skip "no folder can be put over /proc"
	# shellcheck disable=SC2086,SC2016 # a list of words; of that shell
	run -0 $alone sh -c 'mount -t tmpfs none /proc && exec "$0"' \
		"$BUILD/t/unit/net"
	assert_line --partial "# SKIP /proc is not mounted"
}
