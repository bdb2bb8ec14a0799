# Requests of several users: submitters at an address, writers of a named pipe.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'END'
		input    x     sparse[4]
		label    y     binary
		logit  = linear x
		loss     binary_crossentropy logit from_logits=true
		metric   accuracy logit
		optimizer adagrad learning_rate=1.0
	END
	printf '%s\n' '+1 1:1 2:1' '-1 3:1' '+1 1:1 4:1' '-1 2:1 3:1' >train.svm
	printf '%s\n' '+1 1:1' '-1 2:1' '+1 1:x' >bad.svm
	queue=ipc://$PWD/q
}

# run_with [COORD-OPTION...] - start a run with two workers that takes requests
# at $queue; its workers read $input.
run_with() {
	launch ps-local -w 2 ${local:-} -- --repeat "${input:-train.svm}" -- \
		ps-coord -m model.ps -B 4 --queue="$queue" "$@"
	job=$pid
	job_out=$out
	job_log=$log
}

# submit [OPTION...] - submit the lines of standard input.
submit() {
	timeout 60 ps-submit -Q "$queue" "$@"
}

# ends STATUS - ask the run to end, and check its status.
ends() {
	local status=0
	submit <<<stop || status=$?
	assert_equal "$status" 0
	status=0
	wait "$job" || status=$?
	assert_equal "$status" "$1"
}

# begins FILE PID - wait until the file has output or the process has ended.
begins() {
	: >>"$1"
	timeout 60 grep -q . <(tail -n +1 -f "$1" --pid="$2" 2>/dev/null) ||
		fail "$1: nothing has come"
}

# count PATTERN FILE - print the number of lines that match.
count() {
	grep -c -- "$1" "$2" || true
}

@test "each submitter gets the results of its own requests, and its own join" {
	local i pids=()
	run_with
	for i in 1 2 3 4 5 6; do
		{
			for _ in $(seq 20); do
				echo "{\"id\":\"s$i\",\"steps\":$i}"
			done
			echo join
		} | submit >"out.$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in 1 2 3 4 5 6; do
		assert_equal "$(count '"op":"train"' "out.$i")" $((20 * i))
		assert_equal "$(count "^{\"id\":\"s$i\"" "out.$i")" $((20 * i))
		tail -n 1 "out.$i" >last
		assert_equal "$(cut -d, -f1,3,4 last)" \
			"{\"op\":\"join\",\"steps\":$((20 * i)),\
\"examples\":$((80 * i))"
	done
	ends 0
	# Each step belongs to one submitter, and was done once.
	cat out.* | grep -o '"step":[0-9]*,"worker"' | sort -u >steps
	assert_equal "$(wc -l <steps | tr -d ' ')" 420
	assert_equal "$(<"$job_out")" ""
}

@test "a submitter with many requests does not hold up another" {
	run_with
	ps-submit -Q "$queue" < <(seq 100000) >many &
	local many=$!
	begins many $many
	run -0 submit <<<mine
	assert_output --partial '{"id":"mine","op":"train"'
	run -0 submit <<<status
	assert_output --regexp '"requests":0,"pending":4[0-9]{3},"workers":.}$'
	# The submitter with many requests is still busy.
	kill -0 $many
	dies $many
	ends 0
}

@test "an error is reported only to the submitter of the request" {
	run_with
	{ echo train 50; echo join; } | submit >good &
	local good=$!
	run -65 submit <<-'END'
		train 2
		no request
		later
		join
	END
	assert_line --index 2 --partial \
		"{\"op\":\"request\",\"error\":\"request 2: 'no' is not a "
	assert_line --index 3 \
		'{"id":"later","op":"train","steps":1,"cancelled":true}'
	assert_line --index 4 '{"op":"join","cancelled":true}'
	wait $good
	assert_equal "$(count '"op":"train"' good)" 50
	run -65 submit --keep-going <<-'END'
		no request
		later
		join
	END
	assert_line --index 1 --partial '{"id":"later","op":"train","step":'
	assert_line --index 2 --partial '"steps":1,'
	run -66 submit <<<'eval missing.svm'
	assert_output --partial '"op":"eval","worker":"worker:'
	ends 0
}

@test "a step that fails cancels what its own submitter has pending" {
	local status
	input=bad.svm local='-w 1'
	printf '%s\n' '+1 1:1' '-1 2:1' >more.svm
	run_with -B 3
	run -65 submit <<-'END'
		train 5
		more
		join
	END
	assert_line --regexp '"op":"train",.*"error":".*1:x.* is not id:number'
	assert_line --regexp \
		'^\{"op":"train","steps":[0-9]+,"cancelled":true\}$'
	assert_line '{"id":"more","op":"train","steps":1,"cancelled":true}'
	assert_line '{"op":"join","cancelled":true}'
	# The run continues for others, and does not end with this error.
	run -0 submit <<<'eval more.svm'
	assert_output --partial '"op":"eval"'
	# The worker's data end with that record.  A run without data ends, and
	# notifies all submitters that wait.
	status=0
	submit <<-'END' >waits || status=$?
		train 2
		join
	END
	assert_equal "$status" 66
	printf '%s\n' '{"op":"train","steps":2,"cancelled":true}' \
		'{"op":"join","cancelled":true}' | diff - waits
	status=0
	wait "$job" || status=$?
	assert_equal "$status" 66
}

@test "a step that fails cancels no request of another submitter" {
	mkfifo feed
	printf '%s\n' '+1 1:1' '-1 2:1' >good.svm
	# One of two workers reads the bad record.
	launch ps-coord -b "ipc://$PWD/c" -s 1 -m model.ps -B 1 \
		--queue="$queue"
	job=$pid
	launch ps-serve -c "ipc://$PWD/c" -i 0
	launch ps-work -c "ipc://$PWD/c" --repeat good.svm
	{ for _ in $(seq 300); do echo train 1; done; echo join; } |
		submit --keep-going >good &
	local good=$!
	{ seq 300; echo join; } | submit --keep-going >bad &
	local bad=$!
	begins bad $bad
	launch ps-work -c "ipc://$PWD/c" --repeat bad.svm
	wait $bad || true
	wait $good || true
	# Each request has its line: done, failed, or cancelled with others.
	local file
	for file in good bad; do
		awk -F'"steps":' '/"op":"train"/ {
			n += /"cancelled"/ ? $2 + 0 : 1 } END { print n }' \
			$file >sum
		assert_equal "$(<sum)" 300
	done
	submit <<<stop
	wait "$job" || true
}

@test "requests with priority go first, and an id can be cancelled" {
	run_with
	{
		for _ in $(seq 40); do echo train 100; done
		echo '{"id":"late","steps":1000}'
		echo '{"id":"late"}'
		echo '{"op":"cancel","id":"c","request":"late"}'
		echo cancel nothing
	} | submit >low
	assert_equal "$(count '"id":"late".*"cancelled":true' low)" 2
	grep -q '{"id":"c","op":"cancel","requests":2}' low
	grep -q '{"op":"cancel","requests":0}' low
	assert_equal "$(count '"op":"train","step"' low)" 4000
	{ echo train 1000; } | submit >low &
	local low=$!
	begins low $low
	submit <<<'train 50 priority=1' >high
	# Few steps of other requests came between.
	local first last
	first=$(head -n 1 high | grep -oE '"step":[0-9]+' | cut -d: -f2)
	last=$(tail -n 1 high | grep -oE '"step":[0-9]+' | cut -d: -f2)
	[ $((last - first)) -lt 70 ] || fail "$first to $last"
	wait $low
	ends 0
}

@test "submitters have evaluations in the background, and can cancel them" {
	for _ in $(seq 400); do cat train.svm; done >big.svm
	run_with
	{
		echo 'train 10'
		printf '{"id":"%s","op":"eval",%s,%s}\n' \
			e '"background":true' '"files":["big.svm"]' \
			f '"background":true' '"files":["big.svm"]'
		echo 'train 10'
		echo cancel f
		echo join
	} | submit >one &
	local one=$!
	submit <<<$'train 20\neval train.svm background=true\njoin' >other
	wait "$one"
	run -0 grep -v '"op":"train"' other
	assert_line --index 0 --regexp \
		'^\{"op":"eval","step":[0-9]+,"examples":4,'
	assert_line --index 1 --partial '"op":"join"'
	assert_equal "${#lines[@]}" 2
	run -0 grep -v '"op":"train"' one
	assert_line --index 0 '{"id":"f","op":"eval","cancelled":true}'
	assert_line --index 1 '{"op":"cancel","requests":1}'
	assert_line --index 2 --regexp \
		'^\{"id":"e","op":"eval","step":[0-9]+,"examples":1600,'
	assert_line --index 3 --partial '"op":"join"'
	assert_equal "${#lines[@]}" 4
	ends 0
}

@test "epochs and data are one submitter's at a time" {
	launch ps-local -w 2 -- -- ps-coord -m model.ps -B 2 -d train.svm \
		--queue="$queue"
	job=$pid
	echo epoch 20 | submit >a &
	local a=$!
	echo epoch 20 | submit >b
	wait $a
	local all
	all=$(cat a b | grep -oE '"op":"epoch","epoch":[0-9]+' | cut -d: -f3 |
		sort -n | tr '\n' ' ')
	assert_equal "$all" "$(seq 0 39 | tr '\n' ' ')"
	# Twenty in a row.
	grep -oE '"op":"epoch","epoch":[0-9]+' a | cut -d: -f3 |
		awk 'NR > 1 && $1 != last + 1 { exit 1 } { last = $1 }'
	ends 0
}

@test "save is for the whole run, and stop ends it" {
	launch ps-local -C saved -- --repeat train.svm -- ps-coord -m model.ps \
		--checkpoint=saved --queue="$queue"
	job=$pid
	run -0 submit <<-'END'
		train 3
		save
	END
	assert_output --partial \
		'{"op":"save","step":3,"checkpoint":"ckpt-00000003"}'
	mkfifo more
	submit <more >waits 2>waits.log &
	local waits=$!
	exec 5>more
	echo train 2 >&5
	begins waits $waits
	timeout 60 grep -q '"step":4' <(tail -n +1 -f waits --pid=$waits)
	ends 0
	wait $waits
	exec 5>&-
	assert_equal "$(ps-ckpt ls saved | tail -n 1 | grep -o 'ckpt-[0-9]*')" \
		ckpt-00000005
	assert [ ! -e saved/journal ]
}

@test "standard input is a submitter, too" {
	mkfifo requests
	launch ps-local -- --repeat train.svm -- ps-coord -m model.ps -B 4 \
		--queue="$queue" requests
	job=$pid
	job_out=$out
	{ echo train 3; echo join; } >requests
	run -0 submit <<-'END'
		train 2
		join
	END
	assert_line --index 2 --partial '"steps":2,'
	timeout 60 grep -q '"op":"join"' <(tail -f "$job_out" --pid="$job")
	tail -n 1 "$job_out" >last
	assert_equal "$(cut -d, -f3 last)" '"steps":3'
	ends 0
	# An error of standard input is the status of the run, and cancels only
	# its own requests.
	echo no request >file
	launch ps-local -- --repeat train.svm -- ps-coord -m model.ps -B 4 \
		--queue="$queue" file
	job=$pid
	run -0 submit <<<train
	ends 65
}

@test "a submitter that is killed and started again has each result once" {
	local i status
	run_with
	seq 2000 >requests
	echo join >>requests
	# Each try lives longer, until one gets to its end.
	for i in $(seq 60); do
		status=0
		timeout -s KILL "$(printf 0.%03d $((50 + 20 * i)))" \
			ps-submit -Q "$queue" -n me --detach -o results \
			requests 2>log || status=$?
		[ $status != 0 ] || break
		assert_equal $status 137
	done
	assert_equal $status 0
	assert_equal "$(count '"op":"train"' results)" 2000
	grep -oE '^\{"id":"[0-9]+"' results | sort -u >ids
	assert_equal "$(wc -l <ids | tr -d ' ')" 2000
	assert_equal "$(count '"op":"join"' results)" 1
	assert_equal "$(tail -n 1 results | cut -d, -f3)" '"steps":2000'
	ends 0
}

# coordinator - start a coordinator at ipc://c that has a journal.
coordinator() {
	launch ps-coord -b "ipc://$PWD/c" -s 1 -m model.ps -B 4 \
		--queue="$queue" --journal=journal -o own "$@" requests
	job=$pid
	job_log=$log
}

@test "the coordinator is killed, and submitters get each result once" {
	local i k
	printf '%s\n' 'train 3' join >requests
	coordinator
	launch ps-serve -c "ipc://$PWD/c" -i 0
	launch ps-work -c "ipc://$PWD/c" --repeat train.svm
	for i in 1 2 3; do
		{
			for k in $(seq 400); do
				echo "{\"id\":\"$i.$k\",\"steps\":2}"
			done
			echo '{"id":"end","op":"join"}'
		} >"asked.$i"
		launch ps-submit -Q "$queue" -n "s$i" --detach -o "out.$i" \
			"asked.$i"
		submitter[i]=$pid
	done
	for k in 1 2 3 4 5; do
		timeout 60 grep -q -m "$((40 * k))" . \
			<(tail -n +1 -F out.1 --pid="${submitter[1]}" \
				2>/dev/null)
		dies "$job"
		coordinator
	done
	wait "${submitter[@]}"
	grep -q 'resuming a run that was interrupted' "$job_log"
	for i in 1 2 3; do
		assert_equal "$(count '"op":"train"' "out.$i")" 800
		assert_equal "$(grep '"op":"train"' "out.$i" | cut -d, -f1 |
			sort | uniq -c | grep -c '^ *2 ')" 400
		tail -n 1 "out.$i" >last
		assert_equal "$(cut -d, -f1,2,4,5 last)" \
			'{"id":"end","op":"join","steps":800,"examples":3200'
	done
	assert_equal "$(cut -d, -f1,3 own | tail -n 1)" '{"op":"join","steps":3'
	ends 0
	# Each step belongs to one submitter, and was done once.
	cat own out.* | grep -o '"step":[0-9]*,"worker"' | sort | uniq -d >twice
	assert_equal "$(<twice)" ""
	assert [ ! -e journal ]
}

@test "a journal is only resumed with the queue that it was made with" {
	: >requests
	coordinator
	launch ps-serve -c "ipc://$PWD/c" -i 0
	submit <<<status >/dev/null
	dies "$job"
	run -78 ps-coord -b "ipc://$PWD/c" -s 1 -m model.ps -B 4 \
		--journal=journal requests
	assert_output "ps-coord: journal: it is the journal of a run with\
 another queue (only one of the two has --queue=ENDPOINT): give the options of\
 that run, or remove the journal to begin anew"
	coordinator
	submit <<<status | grep -q '"op":"status","step":0'
}

# detached - kill a submitter with --detach; its requests stay.
detached() {
	mkfifo pipe
	ps-submit -Q "$queue" -n me --detach -o results <pipe &
	local me=$!
	exec 5>pipe
	seq 3 >&5
	timeout 60 grep -q -m 3 . <(tail -n +1 -F results --pid=$me 2>/dev/null)
	dies $me
	exec 5>&-
}

@test "a submitter that returns with other requests is refused" {
	run_with
	detached
	printf '%s\n' 1 2 other more >requests
	run -65 submit -n me --detach -o results requests
	assert_output "ps-submit: requests: the first 3 requests are not those\
 that me sent before: put those back, or take another name"
	# A submitter gets the results again that it has not acknowledged.
	: >results
	seq 4 >requests
	run -0 submit -n me --detach -o results requests
	assert_equal "$(count '"op":"train"' results)" 4
	ends 0
}

@test "a submitter that returns with a pipe reports the requests taken" {
	run_with
	detached
	run -0 --separate-stderr submit -n me --detach -o results <<<4
	assert_equal "$stderr" "ps-submit: 3 requests of me were accepted\
 before; lines after these that were read from the pipe are lost"
	assert_equal "$(count '"op":"train"' results)" 4
	ends 0
}

@test "requests of a lost submitter are given up, except with --detach" {
	run_with --lease=300ms
	mkfifo pipe
	ps-submit -Q "$queue" <pipe >lost &
	local lost=$!
	exec 5>pipe
	echo train 100000 >&5
	begins lost $lost
	dies $lost
	for _ in $(seq 600); do
		submit <<<status >status
		! grep -q '"pending":0' status || break
	done
	grep -q '"pending":0' status
	exec 5>&-
	ends 0
}

@test "requests of a submitter that is stopped are given up" {
	local stopped pending=1
	run_with --lease=1s
	ps-submit -Q "$queue" -n me <<<"train 10000000" >many &
	stopped=$!
	begins many "$stopped"
	# Its connection fills up: libzmq's own heartbeats no longer notice it.
	kill -STOP "$stopped"
	for ((i = 0; i < 300 && pending > 0; i++)); do
		run -0 submit <<<status
		pending=$(sed 's/.*"pending":\([0-9]*\),.*/\1/' <<<"$output")
	done
	assert_equal "$pending" 0
	run -0 grep "submitter me" "$job_log"
	assert_output --partial "hangs: it has not answered for 1 s"
	kill -KILL "$stopped"
	wait "$stopped" || :
	ends 0
}

@test "of two submitters of one name the second one replaces the first" {
	run_with
	mkfifo pipe
	submit -n me <pipe >first 2>first.log &
	local first=$! status=0
	exec 5>pipe
	echo one >&5
	begins first $first
	run -0 submit -n me <<<two
	assert_output --partial '{"id":"two"'
	wait $first || status=$?
	exec 5>&-
	assert_equal "$status" 75
	assert_equal "$(<first.log)" "ps-submit: coordinator $queue: another\
 submitter has the name me now"
	ends 0
}

# one STATUS LINE COMMAND... - check that the command ends with the status and
# prints only this line.
one() {
	run "-$1" timeout 20 "${@:3}" </dev/null
	assert_output "$2"
}

@test "impossible requests and options are refused in one line" {
	: >file
	one 66 "ps-coord: --queue: file is not a FIFO (mkfifo(1) makes one; an\
 address is ipc://PATH or tcp://HOST:PORT)" \
		ps-coord -m model.ps -s 1 -b ipc://c --queue=file
	one 66 "ps-coord: --queue: cannot open none: No such file or\
 directory" \
		ps-coord -m model.ps -s 1 -b ipc://c --queue=none
	one 73 "ps-coord: cannot listen on ipc://file: it is not a socket" \
		ps-coord -m model.ps -s 1 -b ipc://c --queue=ipc://file
	one 77 "ps-coord: tcp://192.0.2.1:2222 can be reached by strangers:\
 listen on 127.0.0.1 or ipc://, or say --key or --insecure" \
		ps-coord -m model.ps -s 1 -b ipc://c \
		--queue=tcp://192.0.2.1:2222
	one 64 "ps-submit: where does ps-coord take requests? say -Q; try\
 'ps-submit --help'" ps-submit
	one 64 "ps-submit: -o needs a name, by which a later start goes on:\
 say -n; try 'ps-submit --help'" ps-submit -Q ipc://q -o out
	one 64 "ps-submit: --detach needs a name, by which a later start gets\
 the results: say -n; try 'ps-submit --help'" ps-submit -Q ipc://q --detach
	one 64 "ps-submit: -o: file is what is read; try 'ps-submit --help'" \
		ps-submit -Q ipc://q -n me -o file file
	one 64 "ps-submit: 'b': one file of requests is enough; try 'ps-submit\
 --help'" ps-submit -Q ipc://q a b
	for name in 'a b' 'a"b' 'a\b' é "$(printf 'x%.0s' {1..64})"; do
		one 64 "ps-submit: -n: '$name' is not a name of 1 to 63\
 characters without blanks, quotes and backslashes; try 'ps-submit --help'" \
			ps-submit -Q ipc://q -n "$name"
	done
	one 66 "ps-submit: cannot open none: No such file or directory" \
		ps-submit -Q ipc://q none
	one 69 "ps-submit: coordinator ipc://nobody does not answer within\
 0.2 s" ps-submit -Q ipc://nobody -w 200ms
	run_with
	ends 0
	launch ps-local -- --repeat train.svm -- ps-coord -m model.ps \
		-b "$queue" <(exec sleep 20 3>&-)
	one 78 "ps-submit: coordinator $queue: it takes no requests from\
 submitters: start it with ps-coord --queue" ps-submit -Q "$queue"
}

@test "garbage and strangers do not disturb submitters" {
	queue=tcp://127.0.0.1:$((20000 + $$ % 12000))
	run_with --insecure
	mkfifo pipe
	submit <pipe >mine &
	local mine=$!
	exec 5>pipe
	echo first >&5
	begins mine $mine
	local port=${queue##*:}
	for _ in 1 2 3; do
		(exec 4<>"/dev/tcp/127.0.0.1/$port" &&
			head -c 100000 /dev/urandom >&4) 2>/dev/null || true
	done
	echo second >&5
	exec 5>&-
	wait $mine
	assert_equal "$(count '"op":"train"' mine)" 2
	ends 0
}

@test "over tcp, with a key, submitters need the key" {
	head -c 30 /dev/urandom | base64 >key
	head -c 30 /dev/urandom | base64 >other
	chmod 600 key other
	queue=tcp://127.0.0.1:$((20000 + $$ % 12000))
	PS_KEY=key run_with
	run -0 submit --key=key <<<one
	assert_output --partial '{"id":"one"'
	run -77 submit --key=other -w 2s <<<one
	assert_output "ps-submit: $queue: the program that listens there does\
 not have our\
 --key"
	run -77 submit -w 2s <<<one
	assert_output "ps-submit: $queue: the program that listens there wants\
 a --key"
	PS_KEY=key ends 0
}

@test "a port that the system chooses is printed" {
	queue='tcp://127.0.0.1:*'
	run_with --insecure
	queue=$(timeout 60 grep -m 1 -o 'taking requests at .*' \
		<(tail -n +1 -f "$job_log" --pid="$job"))
	queue=${queue##* }
	run -0 submit <<<one
	assert_output --partial '{"id":"one"'
	ends 0
}

@test "a named pipe has writers that come and go" {
	local i writers=()
	mkfifo pipe
	echo train 1 >file
	launch ps-local -- --repeat train.svm -- ps-coord -m model.ps -B 4 \
		--queue=pipe file
	job=$pid
	job_out=$out
	for i in 1 2 3 4; do
		(for _ in $(seq 25); do echo "w$i" >pipe; done) &
		writers+=($!)
	done
	wait "${writers[@]}"
	echo join >pipe
	timeout 60 grep -q '"op":"join"' <(tail -f "$job_out" --pid="$job")
	echo status >pipe
	echo stop >pipe
	wait "$job"
	assert_equal "$(count '"op":"train"' "$job_out")" 101
	for i in 1 2 3 4; do
		assert_equal "$(count "\"id\":\"w$i\"" "$job_out")" 25
	done
	assert_equal "$(grep '"op":"join"' "$job_out" | cut -d, -f3)" \
		'"steps":101'
	grep -q '{"op":"status","step":101,"steps":101' "$job_out"
}

@test "requests that were read from a pipe and not taken are reported" {
	run_with
	# These are more requests than a submitter may have pending; all are
	# read.
	(yes 'train 1000' | head -n 5000; exec sleep 20 3>&-) |
		ps-submit -Q "$queue" >mine 2>mine.log &
	local mine=$! status=0
	begins mine $mine
	stop $mine || status=$?
	assert_equal "$status" 75
	grep -qE "^ps-submit: told to end: [0-9]+ requests were read but not\
 accepted, and 4[0-9]{3} have no result yet$" mine.log
	# An error of the submitter ends it before it has sent all its requests.
	{ echo no request; yes 'train 1' | head -n 100000; } >requests
	status=0
	submit < <(cat requests) >mine 2>mine.log || status=$?
	assert_equal "$status" 65
	grep -qE "^ps-submit: requests that were read, but not accepted by the\
 coordinator: [0-9]+$" \
		mine.log
	ends 0
}

@test "a run that ends reports the requests of a file that were not taken" {
	run_with
	yes 'train 1' | head -n 100000 >many
	submit many >mine 2>mine.log &
	local mine=$! status=0
	begins mine $mine
	ends 0
	wait $mine || status=$?
	assert_equal "$status" 75
	grep -qE "^ps-submit: the run has ended: [0-9]{5} requests were not\
 accepted, and [0-9]+ have no result yet$" mine.log
}

@test "a stop by a submitter reports that further requests are not read" {
	yes 'train 1' | head -n 100000 >many
	run_with many
	begins "$job_out" "$job"
	ends 0
	grep -qE "^ps-coord: submitter [^ ]+ has stopped the run: requests\
 that ps-coord has not read yet will not be done$" "$job_log"
}

@test "lines after a stop are not requests" {
	run_with
	submit < <(printf 'train 2\nstop\ntrain 3\n') >mine
	assert_equal "$(count '"op":"train"' mine)" 2
	wait "$job"
	assert_equal "$(count . "$job_log")" 0
}

@test "a run that fails notifies a submitter that it was not its fault" {
	local status=0
	# The submitter waits for the run, so its requests arrive in time.
	submit <<<'train 5' >mine 2>mine.log &
	local mine=$!
	launch ps-coord -b "ipc://$PWD/c" -s "ipc://$PWD/nobody" -m model.ps \
		-w 3s --queue="$queue"
	job=$pid
	wait $mine || status=$?
	assert_equal "$status" 69
	assert_equal "$(<mine)" '{"op":"train","steps":5,"cancelled":true}'
	assert_equal "$(<mine.log)" "ps-submit: the run has failed, with\
 status 69: pending requests were cancelled; the messages of its ps-coord have\
 the reason"
	status=0
	wait "$job" || status=$?
	assert_equal "$status" 69
}
