# The key that the programs of a cluster share, and programs without the key.

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
		optimizer sgd
	END
	printf '%s\n' x,y 1,0 2,1 >data.csv
	make_key >key
	make_key >other
	chmod 600 key other
}

make_key() {
	head -c 30 /dev/urandom | base64
}

# conduct - start a coordinator that trains; sets at to its endpoint.
conduct() {
	mkfifo requests
	start ps-serve --key=key
	at=ipc://$PWD/coord
	launch ps-coord --key=key -m model.ps -B 2 -s "$endpoint" -b "$at" \
		requests
	coord=$pid
	exec 7>requests
	launch ps-work --key=key -c "$at" --repeat data.csv 7>&-
}

# finish STEPS - end the run, and check the number of its steps.
finish() {
	exec 7>&-
	wait "$coord"
	run -0 grep -c '"worker"' "${out%/*}"/ps-coord.*.out
	assert_output "$1"
}

# denied LINE COMMAND... - check that the command ends with status 77 and this
# line.
denied() {
	run -77 --separate-stderr timeout 20 "${@:2}"
	assert_equal "$stderr" "$1"
}

@test "programs with the key train and score" {
	conduct
	printf '%s\n' train train train join >&7
	run -0 ps-eval --key=key -c "$at" data.csv
	assert_output --partial '"examples":2'
	PS_KEY=key run -0 ps-eval -c "$at" data.csv
	finish 3
}

@test "programs without the key receive nothing, and disturb no run" {
	local why="the program that listens there does not have our --key"
	conduct
	printf '%s\n' train join >&7
	for words in --key=other ''; do
		[ "$words" ] || why="the program that listens there wants a\
 --key"
		# shellcheck disable=SC2086 # an option or none
		denied "ps-eval: $at: $why" \
			ps-eval $words -w 2s -c "$at" data.csv
		# shellcheck disable=SC2086
		denied "ps-work: $at: $why" \
			ps-work $words -w 2s -c "$at" data.csv
		# shellcheck disable=SC2086
		denied "ps-coord: $endpoint: $why" ps-coord $words -w 2s \
			-m model.ps -s "$endpoint" -b ipc://b <<<train
	done
	printf '%s\n' train train >&7
	finish 3
}

@test "programs with a key do not join a cluster without one" {
	start ps-serve
	denied "ps-coord: $endpoint: the program that listens there does not\
 have our\
 --key" ps-coord --key=key -w 2s -m model.ps -s "$endpoint" -b ipc://b <<<train
}

@test "with a key, a program may listen at an address of the network" {
	# This address is reserved for documentation, so no machine has it.
	run -69 --separate-stderr ps-serve --key=key -b tcp://192.0.2.1:22222
	assert_equal "$stderr" "ps-serve: cannot listen on\
 tcp://192.0.2.1:22222: Cannot assign requested address"
}

@test "a key that is not valid, or that other users can read" {
	local none="a key is one line of 40 characters: head -c 30\
 /dev/urandom | base64"
	chmod 640 other
	denied "ps-serve: other: others may read or write this key: chmod\
 600" ps-serve --key=other
	chmod 600 data.csv
	run -65 ps-serve --key=data.csv
	assert_output "ps-serve: data.csv: $none"
	run -65 ps-serve --key=/dev/null
	assert_output "ps-serve: /dev/null: $none"
	(cat key key) >twice
	chmod 600 twice
	run -65 ps-serve --key=twice
	assert_output "ps-serve: twice: $none"
	tr 'A-Za-z0-9' '"' <key >other
	chmod 600 other
	run -65 ps-work --key=other -c ipc://coord data.csv
	assert_output "ps-work: other: this is not a key: a key has only\
 letters, digits, + and /"
	run -66 ps-coord --key=absent -m model.ps -s ipc://none <<<train
	assert_output "ps-coord: cannot open absent: No such file or directory"
}

# says LINE OPTION... - check that the log of a server is this line, or empty.
says() {
	start ps-serve "${@:2}"
	stop "$pid"
	assert_equal "$(<"$log")" "${1/AT/$endpoint}"
}

@test "a port without a key is a warning, other endpoints are none" {
	local what="can stop the run, read its values and change them"
	says "ps-serve: AT: without --key any user of this machine $what; \
ipc:// or --key keeps them out"
	says "ps-serve: AT: without --key whoever can reach it $what; \
--key keeps them out" --insecure -b 'tcp://0.0.0.0:*'
	says "" --key=key
	says "" -q
	says "" -b "ipc://$PWD/serve"
	# The coordinator warns of it, too.
	start ps-serve -b "ipc://$PWD/serve"
	run -0 --separate-stderr ps-coord -m model.ps -s "$endpoint" </dev/null
	[[ $stderr == *"ps-coord: tcp://127.0.0.1:"*": without --key any "* ]]
}

@test "the sockets of ps-local are in a folder that is closed to other users" {
	umask 0
	run -0 --separate-stderr ps-local sh -c 'folder=${PS_COORD#ipc://}
		stat -c "%a %F" "${folder%/*}" "${folder%/*}/server.0"'
	assert_output $'700 directory\n700 socket'
	[[ $stderr != *"without --key"* ]]
}
