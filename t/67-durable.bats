# A server with a log is killed, and has the same state when it is started
# again.

load lib.bash
load counting.bash

# serve [OPTION...] - start the server at its old address, if it has one.
serve() {
	start ps-serve -b "${at:-tcp://127.0.0.1:*}" --durable=wal -d ckpt "$@"
	server=$pid
	at=$endpoint
}

@test "kill -9 of a server with a log: nothing is lost, nothing run again" {
	counting
	serve
	conduct -s "$at" --checkpoint=ckpt
	work
	for round in 1 2 3; do
		ask 400
		done_steps 50
		dies "$server"
		serve
		ask 10
		done_steps 360
	done
	ends
	wait "$server"
	counted 1230
	run ! grep 'run again' heard
}

@test "a checkpoint lets a server remove the older log" {
	counting
	serve
	conduct -s "$at" --checkpoint=ckpt --every=100
	work
	ask 250
	done_steps 250
	timeout 30 sh -c 'until [ -e ckpt/ckpt-00000200 ]; do sleep 0.01; done'
	dies "$server"
	run -0 ls ckpt/log-0
	[ "${#lines[@]}" -le 3 ]
	serve
	ask 100
	done_steps 100
	ends
	wait "$server"
	counted 350
}

@test "two servers, one of them without a log: each gets what it lacks" {
	counting
	serve
	local first=$at
	start ps-serve -d ckpt
	local plain=$pid second=$endpoint
	conduct -s "$first,$second" --checkpoint=ckpt --every=100
	work
	ask 300
	done_steps 250
	dies "$server"
	dies "$plain"
	serve
	start ps-serve -b "$second" -d ckpt
	ask 100
	done_steps 150
	ends
	wait "$server"
	wait "$pid"
	counted 400
	run -0 grep -c 'server 1 .* steps are run again' heard
	run ! grep 'server 0 .* run again' heard
}

@test "a log that cannot be written ends the server; with room it resumes" {
	counting
	serve_limited() { ulimit -f 40 && exec ps-serve "$@"; }
	start serve_limited --durable=wal -d ckpt
	server=$pid at=$endpoint
	local limited=$log
	conduct -s "$at" --checkpoint=ckpt
	work
	ask 600
	status=0
	wait "$server" || status=$?
	assert_equal "$status" 74
	run -0 cat "$limited"
	assert_output --partial \
		": cannot write ckpt/log-0/00000001: File too large"
	serve
	done_steps 600
	ends
	wait "$server"
	counted 600
}

@test "a server whose log folder is gone ends with 74, and can begin again" {
	counting
	serve
	local lost=$log
	conduct -s "$at" --checkpoint=ckpt --every=200
	work
	ask 150
	done_steps 150
	rm -r ckpt/log-0
	ask 250
	status=0
	wait "$server" || status=$?
	assert_equal "$status" 74
	run -0 cat "$lost"
	assert_output --partial "cannot open ckpt/log-0"
	serve
	done_steps 250
	ends
	wait "$server"
	counted 400
}

@test "a log can have only one server" {
	serve
	run -75 ps-serve --durable=wal -d ckpt
	assert_output "ps-serve: ckpt/log-0/lock: another program has it open"
	run -75 ps-serve --durable=wal -d ckpt -i 0
	local one=$pid
	start ps-serve --durable=wal -d ckpt -i 1
	stop
	stop "$one"
}

@test "a log that is damaged before its end is refused" {
	counting
	serve
	conduct -s "$at" --checkpoint=ckpt
	work
	ask 100
	done_steps 100
	dies "$server"
	damage ckpt/log-0/00000001 2000
	run -65 ps-serve -b "$at" --durable=wal -d ckpt
	assert_output --regexp \
		"^ps-serve: ckpt/log-0/00000001: damaged at byte [0-9]+ of "
	rm ckpt/log-0/00000001
	serve
	hears "*without its variables: it goes back to initial values; 100\
 steps are run again"
	ends
	wait "$server"
	counted 100
}

@test "a log needs a folder, and a standby may not have one" {
	run -64 ps-serve --durable=wal
	assert_output --partial "--durable=wal: where is the log to be? say -d"
	run -64 ps-serve --durable=wal -d ckpt --standby-of=ipc://x
	assert_output --partial "--standby-of: not with --durable=wal"
	run -64 ps-serve --durable=never
	assert_output --partial "--durable"
}

@test "a log does not begin from a checkpoint of an earlier run" {
	counting
	serve
	conduct -s "$at" --checkpoint=ckpt --every=10
	work
	ask 10
	done_steps 10
	ends
	wait "$server"
	rm requests results messages

	sed -i s/learning_rate=1/learning_rate=2/ count.ps
	serve
	conduct -s "$at" --checkpoint=ckpt --every=10 --restore=none
	work
	ask 5
	done_steps 5
	dies "$server"
	serve
	ask 15
	done_steps 15
	ends
	wait "$server"
	counted 40
}

# breaks_off N - do N steps of a run with a journal of its own, and kill all
# programs.
breaks_off() {
	serve
	conduct -s "$at" --checkpoint=ckpt --every=100 --journal="journal.$1"
	work
	ask "$1"
	done_steps "$1"
	if [ "$1" -gt 100 ]; then
		timeout 30 sh -c \
			'until [ -e ckpt/ckpt-00000100 ]; do sleep 0.01; done'
	fi
	dies "$server" "$coord" "$worker"
	rm requests results messages
}

# another OPTION... - do another run of 10 steps; sets said to the messages of
# the server.
another() {
	serve
	local heard=$log
	conduct -s "$at" --checkpoint=ckpt "$@"
	work
	ask 10
	done_steps 10
	ends
	wait "$server"
	rm requests results messages
	said=$(sed "/ without --key /d" "$heard")
}

@test "the log of a run that did not end is kept when another one begins" {
	counting
	breaks_off 150
	another --restore=none
	local id=${said#*of run }
	id=${id%%,*}
	assert_equal "$said" "ps-serve: ckpt/log-0: held steps 100 to 149 of\
 run $id, which did not end: moved to ckpt/log-0.old"
	run -0 ps-ckpt show ckpt/ckpt-00000100
	assert_line "run$(printf '\t')$id"
	counted 10 ckpt/ckpt-00000010

	# With the old log in place again, the first run resumes where it was.
	rm -r ckpt/log-0
	mv ckpt/log-0.old ckpt/log-0
	serve
	conduct -s "$at" --checkpoint=ckpt --every=100 --journal=journal.150
	work
	ask 10
	done_steps 10
	ends
	wait "$server"
	run ! grep 'run again' heard
	counted 160
	assert_not_exists ckpt/log-0.old
}

@test "only the newest such log is kept, which is reported" {
	counting
	breaks_off 30
	breaks_off 20
	another --restore=none
	[[ $said == *": held steps 0 to 19 of run "*", which did not end: moved\
 to ckpt/log-0.old, whose former contents are removed" ]]
}

@test "no log of a run that has ended is kept or reported" {
	counting
	another
	another
	assert_equal "$said" ""
	another --restore=none
	assert_equal "$said" ""

	# This is so even without a checkpoint, and if the server is killed
	# afterwards.
	serve
	conduct -s "$at" --keep-servers
	work
	ask 10
	done_steps 10
	ends
	dies "$server"
	rm requests results messages
	another
	assert_equal "$said" ""
	assert_not_exists ckpt/log-0.old
}

# shorten HOW - cut or remove the newest segment, $newest, of the log of a
# server that is down, or put back an older log.
shorten() {
	case $1 in
	cut)	truncate -s -3000 "$newest" ;;
	gone)	rm "$newest" ;;
	older)	rm -r ckpt/log-0 && mv log-before ckpt/log-0 ;;
	esac
}

@test "a log that has lost its end: the lost steps are run again" {
	local how newest
	for how in cut gone older; do
		mkdir "$how"
		cd "$how"
		unset at
		counting
		serve
		conduct -s "$at" --checkpoint=ckpt --every=200
		work
		ask 100
		done_steps 100
		cp -r ckpt/log-0 log-before
		ask 300
		done_steps 300
		timeout 30 sh -c \
			'until [ -e ckpt/ckpt-00000400 ]; do sleep 0.01; done'
		ask 50		# only the newest segment has these
		done_steps 50
		dies "$server"
		newest=$(printf '%s\n' ckpt/log-0/0* | tail -n 1)
		shorten "$how"
		serve
		hears "*server 0 ($at) is back * steps are run again"
		ask 50
		done_steps 50
		ends
		wait "$server"
		counted 500
		cd ..
	done
}

@test "a journal that is older than the servers' state is refused, and kept" {
	counting
	start ps-serve -d ckpt
	server=$pid
	seq 300 >some
	seq 300 >>some
	local args=(-b ipc://coord -m count.ps -B 1 -s "$endpoint"
		--checkpoint=ckpt --lease=20s -o out)	# all in one term
	mkfifo requests
	ps-coord "${args[@]}" requests 3>&- 2>said &
	coord=$!
	daemons+=("$coord")
	exec {requests}>requests
	work
	cat some >&"$requests"
	timeout 30 sh -c 'until [ "$(grep -c loss out)" = 600 ]; do :; done'
	cp ckpt/journal before
	# These are so many steps that servers receive watermarks, and with them
	# the number of the journal's records.
	cat some some >&"$requests"
	timeout 30 sh -c 'until [ "$(grep -c loss out)" = 1800 ]; do :; done'
	dies "$coord"
	exec {requests}>&-
	mv ckpt/journal whole
	cp before ckpt/journal
	for _ in 1 2; do
		run ps-coord "${args[@]}" </dev/null
		[ "$status" = 65 ] || fail "$status: $output"
		assert_output --partial "records of this run's journal, which \
has "
		assert_output --partial "the run has not ended"
	done
	mv whole ckpt/journal
	ps-coord "${args[@]}" </dev/null
	wait "$worker"
	wait "$server"
	assert_equal "$(grep -c loss out)" 1800
	counted 1800
}

@test "a checkpoint that was replaced by another run's is not loaded" {
	mkdir other
	cd other
	counting
	start ps-serve -d ckpt
	server=$pid
	conduct -s "$endpoint" --checkpoint=ckpt --every=100
	work
	ask 100
	done_steps 100
	ends
	wait "$server"
	cd ..
	counting
	start ps-serve -d ckpt
	server=$pid at=$endpoint
	conduct -s "$at" --checkpoint=ckpt --every=100
	work
	ask 150
	done_steps 150
	timeout 30 sh -c 'until [ -e ckpt/ckpt-00000100 ]; do sleep 0.01; done'
	dies "$server"
	rm -r ckpt/ckpt-00000100
	cp -r other/ckpt/ckpt-00000100 ckpt
	start ps-serve -b "$at" -d ckpt
	hears "*ckpt/ckpt-00000100 is of another run: put back the checkpoint\
 of *"
	status=0
	wait "$coord" || status=$?
	assert_equal "$status" 65
	wait "$pid"
	wait "$worker" || true
}
