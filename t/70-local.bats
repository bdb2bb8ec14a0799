# ps-local and ps-node: the programs that they start, the lines that they pass
# on, and what they remove at the end.
#
# Most of these tests are about processes and lines, so stand-ins take the
# place of servers and workers: a stand-in prints its arguments, and waits to
# be stopped.

load lib.bash

stand_in() {
	cat >"bin/$1"
	chmod +x "bin/$1"
}

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	mkdir bin tmp
	stand_in ps-serve <<-'EOT'
		#!/bin/sh
		echo $$ >>pids
		echo "ps-serve: given $*" >&2
		echo "$*" | grep -o 'ipc://.*/server\.[0-9]*'
		exec tail -f /dev/null >/dev/null
	EOT
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		echo $$ >>pids
		echo "ps-work: given $*" >&2
		[ ! -p begun ] || echo >begun
		exec tail -f /dev/null
	EOT
	# await N - wait until N workers have written to begun.
	stand_in await <<-'EOT'
		#!/bin/bash
		exec 9<>begun
		for ((n = 0; n < $1; n++)); do read -r <&9; done
	EOT
	mkfifo begun
	export TMPDIR=$PWD/tmp
	real=$PATH
	PATH=$PWD/bin:$PATH
}

# alive PID - whether the process runs, and is not a zombie.
alive() {
	grep -q '^State:[[:space:]][^ZX]' "/proc/$1/status" 2>/dev/null
}

# ends_with STATUS - wait for the last program, and check its status.
ends_with() {
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" "$1"
}

# assert_clean - check that no process of pids, and no file, is left.  A process
# that has closed its files may still need a moment to end.
assert_clean() {
	local one moment
	while read -r one; do
		for ((moment = 0; moment < 200; moment++)); do
			alive "$one" || continue 2
		done
		fail "$one is still there"
	done <pids
	run ls -A tmp
	assert_output ""
}

@test "the command gets the addresses, and all files are removed" {
	run -0 --separate-stderr ps-local -w 3 -s 2 sh -c 'await 3
		echo "$PS_SERVERS"; echo "$PS_COORD"; stat -c %a "$TMPDIR"/*'
	assert_line --index 0 --regexp \
		"^ipc://$TMPDIR/[^,]*/server.0,ipc://$TMPDIR/[^,]*/server.1$"
	assert_line --index 1 --regexp "^ipc://$TMPDIR/.*/coord$"
	assert_line --index 2 700
	assert_equal "$(wc -l <pids)" 5
	assert_clean
}

@test "servers beside workers come first, and the command gets their number" {
	beside() {
		run -0 --separate-stderr ps-local "$@" \
			sh -c 'echo "$PS_BESIDE $PS_SERVERS"'
		run awk -F, '{ print $1 + 0, NF }' <<<"$output"
		rm -f pids
	}
	beside -w 3 -s 2 --beside
	assert_output "3 5"
	beside -w 3 --beside
	assert_output "3 3"
	beside -w 3 --beside=2 -s 1
	assert_output "2 3"
	beside -w 3 -s 2
	assert_output "0 2"
	run -64 ps-local -w 3 --beside=4 true
	assert_output "ps-local: --beside=4: there are only 3 workers; try \
'ps-local --help'"
}

@test "standard input, output and status are the command's own" {
	run -7 --separate-stderr sh -c \
		"echo hello | ps-local sh -c 'cat; exit 7'"
	assert_output hello
	run -127 ps-local no-such-program
	assert_output --partial "no-such-program: not found"
	# For a path, the error is that of the file.
	echo true >script
	run -127 ps-local ./script
	assert_output "ps-local: cannot run ./script: Permission denied"
	run -127 ps-local ./none
	assert_output "ps-local: cannot run ./none: No such file or directory"
	run -127 ps-local ./
	assert_output "ps-local: cannot run ./: Is a directory"
	printf '#!/no/such/shell\n' | stand_in scriptless
	run -127 ps-local -w 0 -s 0 scriptless
	assert_output "ps-local: cannot run scriptless: No such file or \
directory"
	PATH=$PATH: run -127 ps-local -w 0 -s 0 scriptless
	cp bin/scriptless here
	PATH=$PATH: run -127 ps-local -w 0 -s 0 here
	assert_output "ps-local: cannot run here: No such file or directory"
	run -74 --separate-stderr ps-local sh -c 'exit 74'
}

@test "lines of members have their role and index in front" {
	run -0 --separate-stderr ps-local -w 2 -s 1 await 2
	assert_output ""
	[[ $'\n'$stderr == *$'\nps-serve[0]: given -b ipc://'* ]]
	[[ $'\n'$stderr == *$'\nps-work[1]: given -c ipc://'* ]]
	assert_equal "${#stderr_lines[@]}" 3
}

@test "the last lines of a member are not lost" {
	stand_in ps-work <<-'EOT'
		#!/bin/bash
		echo $$ >>pids
		tail -f /dev/null &
		trap 'seq -f "ps-work: %g" 2000 >&2; kill $!; exit' TERM
		echo >begun
		wait
	EOT
	run -0 --separate-stderr ps-local await 1
	assert_equal "${#stderr_lines[@]}" 2001
	assert_equal "${stderr_lines[2000]}" "ps-work[0]: 2000"
	assert_clean
}

@test "--log takes the members' lines, -v and -C reach them" {
	run -0 --separate-stderr ps-local --log=log -v -C "a b" \
		sh -c 'echo x >&2'
	assert_equal "$stderr" x
	run -0 cat log
	assert_output --regexp "ps-serve\[0\]: given -v -b ipc://.* -d a b"
	run -73 ps-local --log=/nonexistent/log true
	assert_output --partial "/nonexistent/log"
}

@test "a log that is moved away, or removed, is begun again" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		[ "$1" != --check ] || exit 0
		exec <<-END
			1
			2
			3
		END
		while read -r line; do
			echo "ps-work: line $line" >&2
			until [ -e "go$line" ]; do :; done
		done
		exit 0
	EOT
	run -0 ps-local --log=turned -w 1 sh -c '
		until grep line turned; do :; done 2>/dev/null
		mv turned turned.1
		touch go1
		until grep line turned; do :; done 2>/dev/null
		rm turned
		touch go2
		until grep line turned; do :; done 2>/dev/null
		touch go3'
	run -0 grep -h line turned.1 turned
	assert_output $'ps-work[0]: line 1\nps-work[0]: line 3'
}

@test "the workers' options reach each of them, with its index" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		[ "$1" != --check ] || exit 0
		echo $$ >>pids
		shift 2
		printf '<%s>' "$@" >"given.$2"
		echo >begun
		exec tail -f /dev/null
	EOT
	# shellcheck disable=SC2016
	run -0 ps-local -w 2 -- --shard=%i/%n "it's" '' '$x `y` "z" *' \
		-- await 2
	assert_equal "$(cat given.0)" \
		"<-i><0><--shard=0/2><it's><><\$x \`y\` \"z\" *>"
	assert_equal "$(cat given.1)" \
		"<-i><1><--shard=1/2><it's><><\$x \`y\` \"z\" *>"
	assert_clean
}

@test "a server that does not get ready ends all, and its lines are printed" {
	stand_in ps-serve <<-'EOT'
		#!/bin/sh
		echo "ps-serve: no room" >&2
		exit 73
	EOT
	touch pids
	run -73 --separate-stderr ps-local -s 2 echo never
	assert_output ""
	[[ $stderr == *"ps-local: server 0 did not become ready"* ]]
	[[ $stderr == *"ps-serve[1]: no room"* ]]
	assert_clean
}

@test "options that workers refuse end ps-local before the command" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		echo "ps-work: not $*" | sed 's/ipc:[^ ]*/X/' >&2
		exit 64
	EOT
	touch pids
	run -64 --separate-stderr ps-local -w 2 --log=log -- --oops=%i \
		-- echo never
	assert_output ""
	assert_equal "$stderr" "ps-work: not --check -c X -i 1 --oops=1"
	assert_clean
}

@test "options that the real workers refuse are reported once, at once" {
	PATH=$real
	command -v ps-work && command -v ps-serve || skip "not built"
	refused() {
		run "-$1" --separate-stderr timeout 20 \
			ps-local -w 2 -- "${@:3}" -- tail -f /dev/null
		assert_output ""
		assert_equal "$stderr" "ps-work: $2"
	}
	local try="; try 'ps-work --help'"
	refused 64 "no option --nosuch$try" --nosuch x
	refused 64 "--shard: '1/1' is not I/N, with I from 0 to N - 1$try" \
		--shard=%i/1 x
	refused 64 "--repeat, --shard and --shuffle are for inputs, and none\
 is named$try" --repeat
	refused 73 "cannot keep a cache in nowhere: No such file or directory" \
		--cache=nowhere x
	run ls -A tmp
	assert_output ""
}

@test "SIGTERM, SIGINT and SIGHUP reach the command; no file is left" {
	# A shell may miss a signal that comes just as it begins to wait.
	cat >waiting <<-'EOT'
		import os, signal, sys
		number = getattr(signal, "SIG" + sys.argv[1])
		if signal.getsignal(number) == signal.SIG_IGN:
		    sys.exit(4)
		signal.pthread_sigmask(signal.SIG_BLOCK, [number])
		print(os.getpid(), file=open("pids", "a"))
		print("waiting", flush=True)
		signal.sigwait([number])
		sys.exit(3)
	EOT
	for signal in TERM INT HUP; do
		start env --default-signal=TERM,INT,HUP ps-local -w 2 -s 2 \
			python3 waiting "$signal"
		assert_equal "$endpoint" waiting
		kill -s "$signal" "$pid"
		ends_with 3
		assert_clean
	done
}

@test "a signal that comes twice at once reaches the command once" {
	cat >counting <<-'EOT'
		import signal, time
		heard = []
		signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
		print("waiting", flush=True)
		while not heard:
		    pass
		time.sleep(0.1)
		raise SystemExit(len(heard))
	EOT
	cat >asking <<-'EOT'
		import os, sys, time
		os.kill(int(sys.argv[1]), 15)
		until = time.monotonic() + 0.001
		while time.monotonic() < until:
		    pass
		os.kill(int(sys.argv[1]), 15)
	EOT
	for _ in {1..5}; do
		start ps-local -w 0 -s 0 python3 counting
		python3 asking "$pid"
		ends_with 1
	done
}

@test "ps-local that is asked to stop while it starts ends at once, with all" {
	for ms in {00..30}; do
		ps-local -w 3 -s 2 --grace=60s sleep 60 3>&- &
		pid=$!
		sleep "0.0$ms"
		kill -TERM "$pid"
		timeout 20 tail -s 0.05 --pid="$pid" -f /dev/null
		ends_with 143
	done
	assert_clean
}

@test "without a standard input the command has an empty one" {
	ps-local cat <&- >read 3>&-
	assert_equal "$(wc -c <read)" 0
	assert_clean
}

@test "without a standard error the command has one that it can write" {
	run -3 sh -c 'ps-local 2>&- 3>&- \
		sh -c "echo said; echo lost >&2 || exit 4; exit 3"'
	assert_output said
	assert_clean
}

@test "without a standard output members still have time to end" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		trap 'kill $!; sleep 0.2; echo ended >&2; exit' TERM
		echo $$ >>pids
		tail -f /dev/null &
		echo >begun
		wait
	EOT
	ps-local await 1 >&- 2>log 3>&-
	run -0 grep -v given log
	assert_output "ps-work[0]: ended"
	assert_clean
}

@test "a reader that does not read the lines keeps no program from ending" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		echo $$ >>pids
		echo >begun
		exec yes "ps-work: noise" >&2
	EOT
	mkfifo unread
	exec 9<>unread
	ps-local --grace=1s sh -c \
		'echo $$ >>pids; await 1; exec tail -f /dev/null' 2>&9 3>&- &
	pid=$!
	timeout 20 sh -c 'until [ "$(wc -l <pids)" = 3 ]; do sleep 0.05; done'
	for _ in 1 2; do
		sleep 0.3
		kill -TERM "$pid"
	done
	timeout 20 tail -s 0.05 --pid="$pid" -f /dev/null
	ends_with 143
	assert_clean
	read -r line <&9
	assert_equal "${line%% *}" "ps-serve[0]:"
}

# poll() may report a terminal as writable that takes only a part of a write.
@test "a terminal without a reader keeps no program from ending" {
	need_terminal
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		echo $$ >>pids
		echo >begun
		exec yes "ps-work: noise" >&2
	EOT
	cat >terminal <<-'EOT'
		import os, pty, signal, subprocess, sys, time
		unread, terminal = pty.openpty()
		p = subprocess.Popen(["ps-local", "--grace=500ms", "sh", "-c",
		    "await 1; echo said; exec tail -f /dev/null"],
		    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
		    stderr=terminal)
		p.stdout.readline()
		for _ in range(2):
		    time.sleep(0.3)
		    p.send_signal(signal.SIGTERM)
		print(p.wait(20))
	EOT
	run -0 timeout 30 python3 terminal
	assert_output 143
	assert_clean
}

# All lines are written before the end, so no member needs the grace.
@test "a slow reader gets all lines, unless ps-local is asked to end" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		echo $$ >>pids
		seq -f "ps-work: %05g" 4000 >&2
		echo >begun
		exec tail -f /dev/null
	EOT
	mkfifo read
	ps-local --grace=100ms -w 3 -s 0 await 3 2>read 3>&- &
	pid=$!
	run -0 bash -c 'sleep 1.5
		grep -c "^ps-work.[0-2].: [0-9]*$"' <read
	assert_output 12000
	ends_with 0
	rm pids
	ps-local --grace=100ms -w 3 -s 0 await 3 2>read 3>&- &
	pid=$!
	exec 9<read
	timeout 20 sh -c 'until [ "$(wc -l <pids)" = 3 ]; do sleep 0.05; done
		for pid in $(cat pids); do
			tail -s 0.05 --pid="$pid" -f /dev/null
		done' 2>/dev/null
	kill -TERM "$pid"
	timeout 20 tail -s 0.05 --pid="$pid" -f /dev/null
	ends_with 0
	assert_clean
}

@test "lines of members and of the command are not torn" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		echo $$ >>pids
		echo >begun
		seq -f "ps-work: number %g" 4000 >&2
		exec tail -f /dev/null
	EOT
	run -0 ps-local -w 2 -s 0 bash -c 'await 2
		for i in {1..4000}; do echo "said $i" >&2; done; sleep 0.1'
	printf '%s\n' "${lines[@]}" >all
	run -1 grep -vE '^(ps-work\[[01]\]: number|said) [0-9]+$' all
	assert_equal "$(wc -l <all)" 12000
}

@test "a fifo without a reader is refused as a log" {
	mkfifo log
	touch pids
	run -73 timeout 20 ps-local --log=log true
	assert_output "ps-local: cannot write the log log: No such device or \
address"
	assert_clean
}

@test "the command has the descriptors of its caller, and no others" {
	cat >descriptors <<-'EOT'
		for fd in /proc/$$/fd/*; do
			[ "${fd##*/}" -ge 64 ] || echo "${fd##*/}"
		done
	EOT
	run -0 bash descriptors 7<descriptors
	own=$output
	run -0 --separate-stderr ps-local bash descriptors 7<descriptors
	assert_output "$own"
}

# A path for sockets may not be too long, nor have a comma, which separates
# addresses; then they are in /tmp.  The command's TMPDIR does not change.
@test "all programs get their addresses with any name of TMPDIR" {
	local name
	TMPDIR=tmp run -0 --separate-stderr ps-local -w 0 \
		sh -c 'echo "$TMPDIR $PS_COORD"'
	assert_output --partial "tmp ipc:///tmp/ps-local."
	for name in "two words" "it's" 'a$(b)' "a,b" "$(printf '%0200d')"; do
		mkdir -p "tmp/$name"
		TMPDIR=$PWD/tmp/$name run -0 --separate-stderr ps-local \
			-s 2 sh -c 'await 1
			echo "$TMPDIR"; echo "$PS_COORD"; echo "$PS_SERVERS"'
		assert_line --index 0 "$PWD/tmp/$name"
		case $name in
		*,* | *00*) dir=/tmp ;;
		*) dir=$PWD/tmp/$name ;;
		esac
		assert_line --index 1 --partial "ipc://$dir/ps-local."
		assert_equal "$(tr -dc , <<<"${lines[2]}")" ,
		grep -qF "ps-work[0]: given -c ${lines[1]} -i 0" <<<"$stderr"
		rmdir "tmp/$name"
	done
	assert_clean
}

@test "no program outlives ps-local, even when it is killed" {
	start ps-local -w 2 -s 2 sh -c \
		'echo $$ >>pids; await 2; echo waiting
		exec tail -f /dev/null >/dev/null'
	kill -KILL "$pid"
	timeout 20 sh -c 'while ls tmp | grep -q .; do sleep 0.05; done'
	assert_clean
}

@test "all programs of a pipeline end with the command" {
	start ps-local sh -c \
		'tail -f /dev/null >/dev/null & echo $! >>pids
		echo waiting; wait'
	kill -TERM "$pid"
	ends_with 143
	assert_clean
}

# A shell that is asked to stop does not wait for its child.
@test "members run until all programs that were asked to stop have ended" {
	stand_in slow <<-'EOT'
		#!/bin/bash
		trap 'trap "" TERM; sleep 0.3; xargs kill -0 <pids &&
			echo ended >said
			exit' TERM
		echo waiting
		tail -f /dev/null >/dev/null &
		wait
	EOT
	start ps-local -w 2 -s 2 sh -c 'await 2; slow; true'
	kill -TERM "$pid"
	ends_with 143
	assert_equal "$(<said)" ended
	assert_clean
}

# Python's subprocess gives its child only the standard descriptors, and timeout
# makes a process group of its own.
@test "members run until the programs that the command left have ended" {
	stand_in slow <<-'EOT'
		#!/bin/bash
		trap 'trap "" TERM; sleep 0.3; xargs kill -0 <pids &&
			echo ended >>said
			exit' TERM
		echo waiting
		tail -f /dev/null >/dev/null &
		wait
	EOT
	start ps-local -w 2 -s 2 sh -c 'await 2
		python3 -c "import subprocess as s; s.run(\"slow\")"; true'
	kill -TERM "$pid"
	ends_with 143
	rm pids
	start ps-local -w 2 -s 2 sh -c 'await 2; timeout 100 slow; true'
	kill -TERM "$pid"
	ends_with 143
	rm pids
	start ps-local -w 2 -s 2 sh -c 'await 2; slow; true'
	kill -KILL "$pid"
	timeout 20 sh -c 'while ls tmp | grep -q .; do sleep 0.05; done'
	assert_equal "$(<said)" $'ended\nended\nended'
	assert_clean
}

@test "ps-local does not wait for a program in a session of its own" {
	touch pids
	run -0 --separate-stderr timeout 20 ps-local -w 0 -s 0 --grace=60s \
		sh -c 'setsid sh -c "echo \$\$ >left
			exec tail -f /dev/null >/dev/null" &
		until [ -s left ]; do sleep 0.01; done'
	assert_equal "$stderr" ""
	kill "$(<left)"
	assert_clean
}

@test "a program in another group than the command's is killed with it" {
	run -0 ps-local -w 0 -s 0 --grace=100ms sh -c '
		timeout 100 sh -c "trap : TERM; echo \$\$ >>pids
			while :; do sleep 0.1; done" &
		until [ -s pids ]; do sleep 0.01; done'
	assert_output --partial "ps-local: killing programs that do not stop"
	assert_clean
}

@test "ps-local does not wait for a background job that ignores SIGINT" {
	start env --default-signal=INT ps-local --grace=60s sh -c \
		'tail -f /dev/null >/dev/null & echo $! >>pids
		echo waiting; exec tail -f /dev/null >/dev/null'
	kill -INT "$pid"
	timeout 20 tail -s 0.05 --pid="$pid" -f /dev/null
	ends_with 130
	assert_clean
}

@test "a signal that comes just before the command starts is not lost" {
	grep -q '#define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
	for signal in INT TERM; do
		PS_FAIL=launch:1:sleep launch env --default-signal=INT \
			ps-local -s 0 -w 0 tail -f /dev/null
		sleep 0.3
		kill -s "$signal" "$pid"
		timeout 20 tail -s 0.05 --pid="$pid" -f /dev/null
		ends_with $((128 + $(kill -l "$signal")))
	done
	touch pids
	assert_clean
}

@test "programs that the command leaves in the background end, too" {
	run -0 ps-local sh -c 'tail -f /dev/null & echo $! >>pids'
	assert_clean
}

@test "a member that will not stop is killed, with its children" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		trap '' TERM
		echo $$ >>pids
		tail -f /dev/null &
		echo $! >>pids
		echo >begun
		wait
	EOT
	run -0 ps-local --grace=100ms await 1
	assert_output --partial "ps-local: killing programs that do not stop"
	assert_clean
}

@test "too many members for the system are an error, and none is left" {
	run -75 --separate-stderr bash -c '
		ulimit -n 40
		exec ps-local --grace=60s -w 50 echo never 3>&-'
	assert_output ""
	[[ $stderr == *"ps-local: cannot "*": Too many open files"* ]]
	assert_clean
}

@test "killed members are restarted in their places, up to --restart times" {
	stand_in ps-work <<-'EOT'
		#!/bin/bash
		[ "$1" != --check ] || exit 0
		echo $$ >>pids
		echo "$*" >>"given.$4"
		echo "ps-work: here" >&2
		if [ "$4" = 1 ]; then
			(($(wc -l <given.1) > $(cat dies))) || kill -9 $$
			echo >begun
		fi
		exec tail -f /dev/null
	EOT
	echo 2 >dies
	run -0 --separate-stderr ps-local -w 2 --restart=3 -- --repeat -- \
		await 1
	assert_equal "$(wc -l <given.0)" 1
	assert_equal "$(wc -l <given.1)" 3
	assert_equal "$(sort -u given.1 | wc -l)" 1
	assert_equal "$(grep -c '^ps-work\[1\]: here$' <<<"$stderr")" 3
	grep '^ps-local' <<<"$stderr" | diff - <(printf 'ps-local: %s\n' \
		"ps-work 1 was ended by signal 9" \
		"ps-work 1 is started again, 1 of 3" \
		"ps-work 1 was ended by signal 9" \
		"ps-work 1 is started again, 2 of 3")
	assert_clean
	# A worker that is killed more often is not restarted.
	rm given.*
	stand_in await <<-'EOT'
		#!/bin/bash
		until [ "$(wc -l <given.1)" = 2 ]; do :; done
		until ! kill -0 "$(tail -n 1 pids)" 2>/dev/null; do :; done
	EOT
	echo 99 >dies
	run -0 ps-local -w 2 --restart=1 -- --repeat -- await
	assert_equal "$(wc -l <given.1)" 2
	assert_line --index -1 "ps-local: ps-work 1 was ended by signal 9"
}

@test "a member that fails is restarted if its status allows a retry" {
	stand_in ps-work <<-'EOT'
		#!/bin/bash
		echo "$4" >>starts
		exit "$(cat status)"
	EOT
	local status
	for status in 0 64 65 66 69 70 71 73 74 75 76 77 78; do
		echo "$status" >status
		ps-local --restart=2 sh -c 'until [ -s "$PS_WORKERS_ENDED" ]
			do :; done; cat "$PS_WORKERS_ENDED"' >ended 2>said
		case $status in
		0)	assert_equal "$(cat ended)" \
				"69 ps-work 0 ended with status 0" ;;
		*)	assert_equal "$(cat ended)" \
				"$status ps-work 0 ended with status $status" ;;
		esac
		echo "$status $(wc -l <starts) $(wc -l <said)"
		rm starts
	done >counts
	diff counts - <<-'EOT'
		0 1 1
		64 1 1
		65 1 1
		66 1 1
		69 3 3
		70 3 3
		71 3 3
		73 1 1
		74 3 3
		75 3 3
		76 1 1
		77 1 1
		78 1 1
	EOT
}

@test "a server that is killed before it is ready is not restarted" {
	stand_in ps-serve <<-'EOT'
		#!/bin/sh
		echo $$ >>pids
		kill -9 $$
	EOT
	run -137 ps-local --restart=5 true
	assert_line "ps-local: ps-serve 0 was ended by signal 9"
	assert_line "ps-local: server 0 did not become ready"
	refute_output --partial again
}

@test "kills of all members cost no step, if they are restarted" {
	PATH=$real
	command -v ps-coord && command -v ps-work || skip "not built"
	least_job
	# The reader of the results kills the members.
	cat >killer <<-'EOT'
		n=0
		while read -r line; do
			echo "$line"
			n=$((n + 1))
			case $n in
			300)	which=ps-work ;;
			600)	which=ps-serve ;;
			900)	which=. ;;
			*)	continue ;;
			esac
			for pid in $(cat /proc/"$1"/task/*/children); do
				if grep -q "$which" "/proc/$pid/comm" &&
				   ! grep -q '^sh$' "/proc/$pid/comm"; then
					kill -9 "$pid"
				fi
			done
		done
	EOT
	yes train | head -n 2000 >requests
	run -0 --separate-stderr timeout 60 ps-local -w 2 -s 2 --restart=2 \
		-- --repeat train.svm -- sh -c '
		ps-coord -m model.ps -B 1 requests | sh killer $PPID >results'
	assert_equal "$(grep -c '"op":"train"' results)" 2000
	assert_equal "$(grep -o '"step":[0-9]*' results | sort -u | wc -l)" 2000
	assert_equal "$(grep -c 'ps-work . is started again, . of 2' \
		<<<"$stderr")" 4
	assert_equal "$(grep -c 'ps-serve . is started again, . of 2' \
		<<<"$stderr")" 4
}

@test "the coordinator's endpoint is printed before the command runs" {
	run -0 --separate-stderr ps-local --print-endpoint \
		sh -c 'await 1; echo "$PS_COORD"'
	assert_equal "${#lines[@]}" 2
	assert_equal "${lines[0]}" "${lines[1]}"
	assert_line --index 0 --regexp "^ipc://$TMPDIR/.*/coord$"
	# The file exists while the command runs.
	seq 1000 >where
	run -0 --separate-stderr ps-local --print-endpoint=where \
		sh -c 'await 1; echo "$PS_COORD" | diff - where && echo same'
	assert_output same
	assert_not_exists where
	run -0 --separate-stderr bash -c 'ps-local --print-endpoint=/dev/fd/3 \
		sh -c "await 1" 3>&1 | cat'
	assert_output --regexp "^ipc://$TMPDIR/.*/coord$"
	assert_clean
}

@test "an endpoint that cannot be printed ends ps-local before the command" {
	mkfifo unread
	run -73 ps-local -w 0 -s 0 --print-endpoint=unread touch ran
	assert_output "ps-local: cannot write the endpoint to unread: No such \
device or address"
	run -73 ps-local -w 0 -s 0 --print-endpoint=/nonexistent/where touch ran
	assert_output "ps-local: cannot write the endpoint to \
/nonexistent/where: No such file or directory"
	run -74 ps-local -w 0 -s 0 --print-endpoint=/dev/full touch ran
	assert_output "ps-local: cannot write the endpoint to /dev/full: No \
space left on device"
	run -74 bash -c \
		'ps-local -w 0 -s 0 --print-endpoint touch ran >/dev/full'
	assert_output "ps-local: cannot write the endpoint to standard output: \
No space left on device"
	assert_not_exists ran
	assert_exists unread
}

@test "a command line that makes no sense is refused" {
	touch pids
	for words in "" "-w x true" "-s -1 true" "-w 99999 true" "-w 1x true" \
		"--grace=5x true" "--grace=5m3 true" "-- true" "-w 1 -- a --" \
		"--workers true" "-C --" "--pin -zq true" "-- - -- true" \
		"--restart true" "--restart=x true" "--restart=-1 true" \
		"--print-endpoint= true"; do
		# shellcheck disable=SC2086
		run -64 --separate-stderr ps-local $words
		assert_equal "${#stderr_lines[@]}" 1
	done
	assert_clean
}

@test "an error has the option as it was written; an argument may be --" {
	run -64 ps-local --pin -zq true
	assert_output --partial "ps-local: no option -z;"
	run -64 ps-local --pin=x true
	assert_output --partial "ps-local: --pin: takes no argument;"
	run -0 --separate-stderr ps-local -w 0 -C -- echo said
	assert_output said
	assert_clean
}

@test "two clusters at the same time do not disturb each other" {
	run -0 --separate-stderr ps-local sh -c 'await 1; ps-local await 1'
	assert_equal "$(wc -l <pids)" 4
	assert_clean
}

# given - make stand-ins that print their arguments on standard error, the only
# output of a server; --print-task is passed on to the real ps-coord.
given() {
	local program
	for program in ps-coord ps-work ps-serve ps-eval; do
		stand_in "$program" <<-'EOT'
			#!/bin/sh
			[ "$1" != --print-task ] || [ -z "$TASK" ] ||
				exec echo "$TASK"
			exec >&2
			printf '%s' "${0##*/}"
			printf ' <%s>' "$@"
		EOT
	done
}

@test "a node becomes the program of its role, with its options" {
	given
	words=(-f c.json -q --log=l --ps -d "a b" --chief -m m '' --worker x
		--ps -v)
	TASK="ps 1" run -0 ps-node "${words[@]}"
	assert_output "ps-serve <-f> <c.json> <-q> <--log=l> <-d> <a b> <-v>"
	TASK="chief 0" run -0 ps-node "${words[@]}"
	assert_output "ps-coord <-f> <c.json> <-q> <--log=l> <-m> <m> <>"
	TASK="worker 1" run -0 ps-node "${words[@]}"
	assert_output "ps-work <-f> <c.json> <-q> <--log=l> <x>"
	TASK="evaluator 0" run -0 ps-node "${words[@]}"
	assert_output "ps-eval <-f> <c.json> <-q> <--log=l>"
}

@test "a node without a task, or with options for no role, is refused" {
	given
	TASK="none" run -78 ps-node
	assert_output "ps-node: no task is given, by -t or in TF_CONFIG"
	run -64 ps-node x --ps
	assert_output --partial "'x' belongs behind --chief"
	run -64 ps-node -B 7 --chief
	assert_output --partial "no option -B"
}

# cpus WORKERS OPTION... - print the CPUs of a server and of WORKERS workers, a
# line each.
cpus() {
	ps-local -w "$@" sh -c 'await "$0"
		for pid in $(cat pids); do
			sed -n "s/^Cpus_allowed_list:[[:space:]]*//p" \
				/proc/$pid/status
		done' "$1" 2>/dev/null
	rm pids
}

# tally - print the counts of equal lines, the largest first.
tally() {
	sort | uniq -c | sort -rn | awk '{ print $1 }'
}

@test "members that share CPUs are pinned to one each, in turn" {
	command -v taskset || skip "no taskset"
	count=$(env -u OMP_NUM_THREADS nproc)
	all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
	one=${all%%[,-]*}
	cpus "$count" >shared
	assert_equal "$(grep -c '[-,]' shared)" 0
	assert_equal "$(tally <shared)" \
		"$(echo 2; yes 1 | head -n $((count - 1)))"
	assert_equal "$(cpus "$count" --no-pin | sort -u)" "$all"
	assert_equal "$(taskset -c "$one" bash -c "$(declare -f cpus)
		cpus 3" | sort | uniq -c | tr -s ' ')" " 4 $one"
}

@test "a server beside a worker is on its CPU" {
	command -v taskset || skip "no taskset"
	[ "$(env -u OMP_NUM_THREADS nproc)" -ge 2 ] || skip "one CPU"
	local program
	for program in ps-serve ps-work; do
		sed -i '3i cpu=$(taskset -cp $$); echo "$* $cpu" >>said' \
			"bin/$program"
	done
	ps-local -w 2 -s 1 --beside --pin sh -c 'await 2'
	assert_equal "$(wc -l <said)" 5
	sed -E 's/^.*(server\.| -i )([0-9]).*: (.*)$/\2 \3/' said |
		grep '^[01]' | sort -u >pairs
	assert_equal "$(cut -d ' ' -f 1 pairs)" "$(printf '0\n1')"
	assert_equal "$(cut -d ' ' -f 2 pairs | sort -u | wc -l)" 2
}

@test "members with enough CPUs are not pinned" {
	count=$(env -u OMP_NUM_THREADS nproc)
	all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
	assert_equal "$(cpus $((count - 1)) | uniq -c | tr -s ' ')" \
		" $count $all"
	assert_equal "$(cpus $((count - 1)) --pin | tally)" \
		"$(yes 1 | head -n "$count")"
}

@test "a worker of several threads is not pinned, and counts several times" {
	command -v taskset || skip "no taskset"
	count=$(env -u OMP_NUM_THREADS nproc)
	[ "$count" -ge 2 ] || skip "one CPU"
	all=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
	sed -i '2i case "$*" in *--check*) exit 0 ;; esac' bin/ps-work
	local j
	for j in -j2 "-j 2" --threads=3 "--threads 0"; do
		# shellcheck disable=SC2086 # they may be two
		cpus "$((count - 1))" --pin -- $j -- >kept
		assert_equal "$(grep -cxF "$all" kept)" "$((count - 1))"
	done
	# The same without --pin: there are more threads than CPUs.
	cpus "$((count - 1))" -- -j2 -- >kept
	assert_equal "$(grep -c '[-,]' kept)" "$((count - 1))"
	cpus "$((count - 1))" -- -j1 -- >kept
	assert_equal "$(sort -u kept)" "$all"
}

@test "a node reports errors of the cluster description" {
	PATH=$real
	command -v ps-coord || skip "not built"
	TF_CONFIG="nonsense" run -78 --separate-stderr ps-node
	assert_equal "${#stderr_lines[@]}" 1
	assert_equal "${stderr%%:*}" ps-node
	TF_CONFIG='{"cluster":{"worker":["h:1"],"ps":["h:2"]},"task":{"type":
		"cook"}}' run -78 ps-node
	assert_output --partial "'cook' is not a task type"
	TF_CONFIG='{"cluster":{"worker":["h:1"],"ps":["h:2"]}}' run -64 ps-node
	assert_output --partial "TF_CONFIG has no task: say -t"
	echo '{"cluster":{"worker":["h:1"],"ps":["h:2"]}}' >two.json
	run -64 ps-node -f two.json
	assert_output --partial "two.json has no task: say -t"
	run -64 ps-coord --print-task
	assert_output --partial "there is no task: say -t, or TF_CONFIG"
}

# least_job - write a small model and its data.
least_job() {
	cat >model.ps <<-'EOT'
		input x sparse[2]
		label y binary
		z = linear x
		loss binary_crossentropy z from_logits=true
	EOT
	echo '1 1:1' >train.svm
}

@test "the scripts have the version of the other programs" {
	version=$(sed -n 's/#define PACKAGE_VERSION "\(.*\)"/\1/p' \
		"$BUILD/config.h")
	for script in $(scripts); do
		run -0 "$script" -V
		assert_output "$script (pskit) $version"
	done
}

@test "a cluster of the real programs starts and ends" {
	PATH=$real
	command -v ps-serve && command -v ps-work || skip "not built"
	run -0 ps-local -w 3 -s 2 -- /dev/null -- sh -c '
		folder=${PS_COORD#ipc://}
		test -S "${folder%/*}/server.1"'
	assert_output ""
	run ls -A tmp
	assert_output ""
}

@test "a pipeline that a worker reads ends with it" {
	PATH=$real
	command -v ps-coord && command -v ps-work || skip "not built"
	least_job
	echo train >requests
	run -0 timeout 20 ps-local --grace=60s -- \
		'pipe:tail -n +1 -f train.svm | cat' -- \
		ps-coord -m model.ps -B 1 --results=errors requests
	refute_output --partial killing
	# The parent of ps-work may have set SIGCHLD to be ignored.
	cat >ignoring <<-'EOT'
		import os, signal, sys
		signal.signal(signal.SIGCHLD, signal.SIG_IGN)
		os.execvp(sys.argv[1], sys.argv[1:])
	EOT
	run -0 timeout 20 ps-local -w 0 sh -c '
		python3 ignoring ps-work "pipe:cat train.svm" &
		echo train 2 | ps-coord -m model.ps -B 1 --results=errors
		wait $!'
	assert_output --partial "used up its data: 1 records"
	run ls -A tmp
	assert_output ""
}

# ps-local and ps-node find programs in their own folder, in the build and
# installed.
@test "programs in its folder are found without PATH, and before others" {
	PATH=$real
	command -v ps-coord && command -v ps-work || skip "not built"
	least_job
	echo train 3 >requests
	clean=(env -i PATH=/usr/bin:/bin "TMPDIR=$TMPDIR")
	job=(-- --repeat train.svm -- ps-coord -m model.ps -B 1
		--results=errors requests)
	for name in $(programs) ps-local; do
		ln -sf "$(command -v "$name")" there-"$name"
	done
	run -0 "${clean[@]}" "$BUILD/bin/ps-local" "${job[@]}"
	# This works by a link to ps-local, too; and a shell that it runs finds
	# the programs.
	run -0 "${clean[@]}" ./there-ps-local "${job[@]}"
	run -0 "${clean[@]}" "$BUILD/bin/ps-local" -w 0 sh -c \
		'command -v ps-coord; command -v sh; echo "$PATH"'
	assert_line --index 0 "$BUILD/bin/ps-coord"
	assert_line --index 2 "/usr/bin:/bin:$BUILD/bin"
	# Programs of another release come first on PATH.
	mkdir other
	for name in ps-local ps-serve ps-work ps-coord; do
		printf '#!/bin/sh\necho another; exit 9\n' >"other/$name"
		chmod +x "other/$name"
	done
	clean[2]=PATH=$PWD/other:/usr/bin:/bin
	run -0 "${clean[@]}" "$BUILD/bin/ps-local" "${job[@]}"
	# A wrapper that is first on PATH is used.
	clean[2]=PATH=$PWD/other:$BUILD/bin:/usr/bin:/bin
	rm other/ps-local
	run -9 "${clean[@]}" "$BUILD/bin/ps-local" "${job[@]}"
}

@test "a node finds the programs in its folder" {
	PATH=$real
	command -v ps-coord || skip "not built"
	mkdir beside
	cp "$SRC/bin/ps-node" beside
	printf '#!/bin/sh\necho "$0 $*"\n' >beside/ps-coord
	chmod +x beside/ps-coord
	run -78 env -i PATH=/usr/bin:/bin TF_CONFIG='' beside/ps-node
	assert_output "ps-node: no task is given, by -t or in TF_CONFIG"
	(cd beside && PATH=/usr/bin:/bin run -78 sh ps-node)
	PATH=$PWD/other:/usr/bin:/bin run -78 beside/ps-node
	ln -s beside/ps-node linked
	run -78 env -i PATH=/usr/bin:/bin ./linked
}

# forsaken STATUS WHY COMMAND... - check that the run ends with the status since
# no worker is left, before its patience ends.
forsaken() {
	local want=$1 why=$2
	shift 2
	run -"$want" --separate-stderr timeout 30 "$@"
	[[ $stderr == *"ps-coord: no worker is left, "*"$why"* ]] ||
		fail "$stderr"
}

@test "when all workers have ended the run does not wait for one" {
	PATH=$real
	command -v ps-coord && command -v ps-work || skip "not built"
	least_job
	yes train | head -n 1000 >requests
	coord=(ps-coord -m model.ps -B 1 --results=errors)
	# The workers end in the midst of the run.
	dies='pipe:yes "1 1:1" | head -n 400; kill -9 $PPID'
	for how in '' --mode=sync --mode=ssp:2; do
		forsaken 69 "was ended by signal 9" ps-local -w 2 -- "$dies" \
			-- "${coord[@]}" ${how:+"$how"} requests
	done
	# Workers that ended well do not come back for another run.
	forsaken 69 "ps-work 0 ended with status 0" \
		ps-local -w 2 -- --repeat train.svm -- \
		sh -c '"$@" --keep-servers; "$@"' sh "${coord[@]}" requests
	# The workers end before the coordinator starts, with workers' data or
	# the coordinator's.
	mkdir early
	cat >early/ps-work <<-'EOT'
		#!/bin/sh
		echo "it was in no mood"
		echo "ps-work: nothing works here" >&2
		echo "as ever" >&2
		exit 65
	EOT
	chmod +x early/ps-work
	PATH=$PWD/early:$PATH
	for how in requests '-d train.svm'; do
		# shellcheck disable=SC2086 # two words
		echo epoch | forsaken 65 \
			"ended with status 65: nothing works here" \
			ps-local -w 3 "${coord[@]}" $how
	done
}

@test "a run does not wait for one of two workers that has ended" {
	PATH=$real
	command -v ps-coord && command -v ps-work || skip "not built"
	least_job
	yes train | head -n 1000 >requests
	cat >some <<-'EOT'
		[ "$1" = 1 ] || exec yes "1 1:1"
		yes "1 1:1" | head -n 100
		kill -9 $PPID
	EOT
	run -0 --separate-stderr timeout 60 ps-local -w 2 -- \
		'pipe:set -- %i; . ./some' -- \
		ps-coord -m model.ps -B 1 --results=errors requests
	[[ $stderr == *"ps-work 1 was ended by signal 9"* ]]
	[[ $stderr != *"no worker is left"* ]]
}

@test "a run whose workers have all ended can be resumed" {
	PATH=$real
	command -v ps-coord && command -v ps-work || skip "not built"
	least_job
	yes train | head -n 1000 >requests
	job=(ps-coord -m model.ps -B 1 --checkpoint=saved --every=50 -o results
		requests)
	forsaken 69 "was ended by signal 9" ps-local -w 2 -C saved -- \
		'pipe:yes "1 1:1" | head -n 400
			until [ -s results ]; do :; done
			kill -9 $PPID' -- "${job[@]}"
	[[ $stderr == *"the run has not ended: the same command"* ]]
	run -0 timeout 60 ps-local -w 2 -C saved -- --repeat train.svm -- \
		"${job[@]}"
	assert_equal "$(grep -c '"op":"train"' results)" 1000
	assert_equal "$(grep -o '"step":[0-9]*' results | sort -u | wc -l)" 1000
}
