# Bad input of every kind: the program that finds it prints one line, with the
# file, the line or the option, and exits with the right status.  Nothing
# hangs, and no file or process is left.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'END'
		input  x sparse[4]
		label  y binary
		logit = linear x
		loss   binary_crossentropy logit from_logits=true
		optimizer sgd
	END
	cat >csv.ps <<-'END'
		input  a float
		label  y binary
		logit = dense a units=1
		loss   binary_crossentropy logit from_logits=true
		optimizer sgd
	END
	echo '+1 1:1 2:1' >train.svm
}

# one STATUS LINE COMMAND... - check that the command ends with the status and
# prints only this line.
one() {
	run "-$1" --separate-stderr timeout 30 "${@:3}"
	assert_equal "$stderr" "$2"
}

# cluster MODEL INPUT... - train the model; the messages of ps-coord go to
# standard error, those of the workers to the file members.
cluster() {
	ps-local --log=members -- --repeat "${@:2}" -- \
		ps-coord -m "$1" <<<$'train 3\njoin'
}
export -f cluster

# bad_model MESSAGE - check that model.ps is refused with this message, before
# ps-coord waits for servers or workers.
bad_model() {
	one 78 "ps-coord: model.ps:$1" ps-coord -m model.ps -s ipc://none \
		/dev/null
	assert_output ""
}

# bad_data STATUS MESSAGE MODEL FILE - check that a run over the file ends with
# the status and the message.
bad_data() {
	one "$1" "ps-coord: $4$2" bash -c "cluster $3 $4"
	assert_line --index 0 --partial '"error":'
	run -0 cat members
	assert_output "ps-work[0]: $4$2"
	rm members
}

# bad_rows MESSAGE ROW... - the same for rows of svmlight.
bad_rows() {
	printf '%s\n' "${@:2}" >bad.svm
	bad_data 65 "$1" model.ps bad.svm
}

# bad_table MESSAGE ROW... - the same for rows of CSV.
bad_table() {
	printf '%s\n' "${@:2}" >bad.csv
	bad_data 65 "$1" csv.ps bad.csv
}

@test "an unknown layer" {
	sed -i 's/linear x/liner x/' model.ps
	bad_model "3: unknown layer 'liner'; did you mean linear?"
}

@test "a shape mismatch" {
	cat >model.ps <<-'END'
		input a float[3]
		input b float[2]
		label y binary
		c = add a b
	END
	bad_model "4: c: add takes inputs of one shape, but a is [3] and b\
 is [2]"
}

@test "a metric of classes, for a label that is a number" {
	sed -i 's/y binary/y float/; s/binary_cross.*/huber logit/' model.ps
	echo metric auc >>model.ps
	bad_model "6: auc takes a label of kind binary, but y (model.ps:2) is\
 a float"
}

@test "a layer that does not lead to the loss is a warning" {
	echo 'side = linear x units=3' >>model.ps
	one 0 "ps-coord: model.ps:6: side leads to neither the loss nor a\
 metric; it can be left out" ps-coord -m model.ps -s 1 --plan
	assert_output --partial side/kernel
}

@test "a vocabulary file that is missing" {
	sed -i '1s/.*/input x string vocab_file=words/' model.ps
	run -66 --separate-stderr ps-coord -m model.ps -s ipc://none /dev/null
	[[ $stderr == "ps-coord: model.ps:1: "*words* ]] || fail "$stderr"
	assert_equal "${#stderr_lines[@]}" 1
	sed -i '1s/=.*/=/' model.ps
	bad_model "1: vocab_file= names no file"
}

@test "vocabulary files that are too large for a model" {
	yes "$(printf %01000d 0)" | head -n 35000 | nl -nrz >words
	sed 's/$/ more/' words >more
	printf '%s\n' 'input x string vocab_file=words' \
		'input z string vocab_file=more' 'label y float' \
		'a = embedding x dim=1' 'b = embedding z dim=1' \
		'p = add a b' 'loss mean_squared_error p' >model.ps
	one 78 "ps-coord: the model and the files that it names have 68 MiB,\
 more than 64: the largest is more, with 34 MiB" \
		ps-coord -m model.ps -s ipc://none /dev/null
}

@test "a binary file in place of text" {
	local kind
	while read -r bytes kind; do
		# shellcheck disable=SC2059 # with bytes
		printf "$bytes\\0\\1 and more\n" | tee other.svm >other.csv
		bad_data 65 ": it is no text, but $kind" model.ps other.svm
		bad_data 65 ": it is no text, but $kind" csv.ps other.csv
	done <<-'E'
		PK\3\4 a zip archive: unpack it
		PAR1 a Parquet file: write it as CSV
		ARROW1 an Arrow file: write it as CSV
		\211HDF\r\n\32\n an HDF5 file: write it as .npy
		\223NUMPY an array of NumPy: say -F npy
	E
}

@test "malformed svmlight" {
	bad_rows ":2: '1-1' is not id:number" '+1 1:1' '+1 1-1'
	bad_rows ":1: label: '1-1' is not a finite number" 1-1
	bad_rows ":1: '5:x' is not id:number" '+1 5:x'
	bad_rows ":1: id 2 after 3; they must ascend" '+1 3:1 2:1'
}

# Each program that ends because of the record reports it, and only once.
@test "each program reports a bad record once, whatever else it reports" {
	local why="bad.svm:2: '1-1' is not id:number"
	printf '%s\n' '+1 1:1' '+1 1-1' '+1 1:1' >bad.svm
	start ps-serve -b "ipc://$PWD/s"
	launch ps-work -q -c "ipc://$PWD/c" --log=worker bad.svm
	one 65 "ps-coord: $why" ps-coord -b "ipc://$PWD/c" -B 1 --log=coord \
		-s "ipc://$PWD/s" -m model.ps --keep-going <<-'END'
			train 3
			join
		END
	local status=0
	wait "$pid" || status=$?
	assert_equal "$status" 65
	for log in coord worker; do
		assert_equal "$(cut -d' ' -f2- $log)" "$why"
	done
	run -0 cat "$PWD"/ps-work.1.log
	assert_output "ps-work: $why"
	one 65 "ps-coord: $why" ps-local --log=members ps-coord -B 1 \
		-m model.ps -d bad.svm --keep-going <<<'epoch 3'
	run -0 cat members
	assert_output "ps-work[0]: $why"
}

@test "a CSV row with the wrong number of fields" {
	bad_table ":3: 1 field instead of 2" a,y 1,0 1
}

@test "a column that no input can find" {
	bad_table ":1: no column a for a (csv.ps:1); there are: b, y" b,y 1,0
	bad_table ":1: no column y for y (csv.ps:2); there are: 2.5, 0; if\
 that is a record, say --no-header" 2.5,0 1,0
}

@test "a label out of range" {
	bad_rows ":1: label: 2 is neither 0 or 1 nor -1 or +1" '2 1:1'
	bad_table ":2: y: 2 is neither 0 or 1 nor -1 or +1" a,y 1,2
}

@test "NaN in the data" {
	bad_rows ":1: '1:nan' is not id:number" '+1 1:nan'
	bad_table ":2: a: 'nan' is not a finite number" a,y nan,1
}

@test "empty input" {
	touch empty.svm
	bad_data 66 ": it has no records" model.ps empty.svm
	touch empty.csv
	bad_data 66 ": it is empty" csv.ps empty.csv
}

@test "truncated gzip" {
	yes '+1 1:1' | head -n 20000 | gzip | head -c 60 >short.svm.gz
	bad_data 65 ": truncated gzip input" model.ps short.svm.gz
}

@test "a cluster description that is not valid" {
	local ps='"ps":["127.0.0.1:2"]' worker='"worker":["127.0.0.1:3"]'
	local one='"chief":["127.0.0.1:1"]'
	local two='"chief":["127.0.0.1:1","127.0.0.1:4"]'
	local cases=(
	"{oops" "line 1: no JSON: string or '}' expected near 'oops'"
	"{\"cluster\":{$two,$ps,$worker}}"
	"cluster: there is more than one chief"
	"{\"cluster\":{$one,$ps,$worker},\"task\":{\"type\":\"boss\"}}"
	"task: 'boss' is not a task type: chief, worker, ps, evaluator or relay"
	"{\"cluster\":{$one,$ps}}" "cluster: there is no worker"
	)
	local k program
	for ((k = 0; k < ${#cases[@]}; k += 2)); do
		for program in ps-serve "ps-work x" "ps-coord -m x" "ps-eval x"
		do
			# shellcheck disable=SC2086 # its words
			TF_CONFIG=${cases[k]} one 78 \
				"${program%% *}: TF_CONFIG: ${cases[k + 1]}" \
				$program
		done
	done
}

@test "a cluster without the chief, for programs that need its address" {
	local why="TF_CONFIG: cluster: there is no chief, which is the \
coordinator: add it, or say"
	local members='"worker":["h1:1"],"ps":["h2:1"],"relay":["h3:1"]'
	export TF_CONFIG="{\"cluster\":{$members}}"
	one 78 "ps-work: $why -c" ps-work x
	one 78 "ps-eval: $why -C or -c" ps-eval x
	one 78 "ps-relay: $why -c" ps-relay
	# A program that gets the address in another way needs no chief.
	PS_COORD=ipc://none run -0 ps-work --check none.svm
}

@test "a worker's command line is checked without a run" {
	run -0 --separate-stderr ps-work --check -c ipc://none none.svm
	assert_equal "$output$stderr" ""
	one 64 "ps-work: -F: 'xml' is none of csv idx npy npz svmlight tar\
 tsv; try 'ps-work --help'" \
		ps-work --check -c ipc://none -F xml none.svm
	one 64 "ps-work: 'none' is neither tcp://HOST:PORT nor ipc://PATH" \
		ps-work --check -c none none.svm
	one 66 "ps-work: cannot open none.key: No such file or directory" \
		ps-work --check -c ipc://none --key=none.key none.svm
}

# For each of the programs that take an endpoint.
@test "an endpoint that is not valid" {
	local at=tcp://127.0.0.1:99999
	local why="'$at' has no usable port: '99999' is not a number from"
	one 64 "ps-serve: $why 0 to 65535" ps-serve -b $at
	one 64 "ps-coord: $why 0 to 65535" \
		ps-coord -m model.ps -s ipc://none -b $at /dev/null
	one 64 "ps-coord: server 0: $why 1 to 65535" \
		ps-coord -m model.ps -b ipc://c -s $at /dev/null
	one 64 "ps-work: $why 1 to 65535" ps-work -c $at train.svm
	one 64 "ps-eval: $why 1 to 65535" ps-eval -c $at train.svm
}

@test "options about checkpoints, without a directory for them" {
	local option
	for option in every=10 every=5m keep=3 restore=latest; do
		one 64 "ps-coord: --${option%=*} needs --checkpoint; try\
 'ps-coord --help'" ps-coord -m model.ps -s ipc://none "--$option" /dev/null
	done
}

@test "a run that may be suspended, without a place for its journal" {
	one 64 "ps-coord: --suspend needs --checkpoint or --journal; try\
 'ps-coord --help'" ps-coord -m model.ps -s ipc://none --suspend /dev/null
}

@test "checkpoints of servers without a directory, before the first step" {
	run -78 --separate-stderr ps-local -s 2 -- --repeat train.svm -- \
		ps-coord -m model.ps --checkpoint=ckpt <<<train
	[[ $stderr == "ps-coord: server "?" (ipc://"*"): this server has no"*\
" directory for checkpoints: start it with -d, or ps-local with -C" ]] ||
		fail "$stderr"
	refute_output --partial '"step":'
	run ls ckpt
	assert_output ""
}

@test "servers that have another directory for checkpoints, too" {
	mkdir other
	run -78 --separate-stderr ps-local -s 2 -C "$PWD/other" -- --repeat \
		train.svm -- ps-coord -m model.ps --checkpoint=ckpt <<<train
	[[ $stderr == "ps-coord: server "?" (ipc://"*"): this server's -d is"*\
"/other, which is not the directory of --checkpoint: it has no journal" \
	]] || fail "$stderr"
	refute_output --partial '"step":'
	run ls ckpt other
	refute_output --partial ckpt-
	# With the journal in another place only a checkpoint shows the
	# difference.
	run -66 --separate-stderr ps-local -s 2 -C "$PWD/other" -- --repeat \
		train.svm -- ps-coord -m model.ps --checkpoint=ckpt \
		--journal=journal <<<train
	assert_output --partial '"step":'
}

@test "servers have a directory for checkpoints, and the coordinator has none" {
	run -0 --separate-stderr ps-local -s 2 -C "$PWD/other" -- --repeat \
		train.svm -- ps-coord -m model.ps <<<train
	assert_equal "$stderr" "ps-serve[0]: this run saves nothing in \
$PWD/other: ps-coord has no --checkpoint"
	run -0 --separate-stderr ps-local -s 2 -C "$PWD/other" -- --repeat \
		train.svm -- ps-coord -m model.ps --checkpoint=other <<<train
	assert_equal "$stderr" ""
	run -0 --separate-stderr ps-local -q -C "$PWD/other" -- --repeat \
		train.svm -- ps-coord -m model.ps <<<train
	assert_equal "$stderr" ""
}

@test "--plan refuses what a run refuses before it waits for members" {
	local cases=(
	64 "server 0: 'foo' is neither tcp://HOST:PORT nor ipc://PATH" "-s foo"
	64 "server 1: 'tcp://a' has no port" "-s tcp://b:1,tcp://a"
	64 "'foo' is neither tcp://HOST:PORT nor ipc://PATH" "-s 1 -b foo"
	66 "none.svm: No such file or directory" "-s 1 -d none.svm"
	66 ".: it is not a plain file" "-s 1 -d ."
	64 "pipe:ls: the coordinator's data are read more than once, and by\
 the workers: they must be files" "-s 1 -d pipe:ls"
	)
	local k words
	echo train >requests
	for ((k = 0; k < ${#cases[@]}; k += 3)); do
		read -ra words <<<"${cases[k + 2]}"
		one "${cases[k]}" "ps-coord: ${cases[k + 1]}" \
			ps-coord -m model.ps "${words[@]}" --plan
		assert_output ""
		one "${cases[k]}" "ps-coord: ${cases[k + 1]}" ps-coord \
			-m model.ps "${words[@]}" --checkpoint=new requests
		assert_not_exists new
	done
	run -0 ps-coord -m model.ps --plan -s tcp://b:1 -d train.svm
	one 64 "ps-coord: for how many servers? say -s, such as -s 2; try \
'ps-coord --help'" ps-coord -m model.ps --plan
}

@test "a file of requests that does not exist" {
	one 66 "ps-coord: .: it is a directory" \
		ps-coord -m model.ps -s ipc://none .
	one 66 "ps-coord: cannot open none: No such file or directory" \
		ps-coord -m model.ps -s ipc://none none
}

# A start that fails is not a run that can be resumed: the next start may use
# another model.
@test "a start that fails leaves no journal" {
	local why="cannot write none/results: No such file or directory"
	one 73 "ps-coord: $why" ps-coord -m model.ps -s ipc://none \
		--checkpoint=ck -o none/results /dev/null
	assert_not_exists ck/journal
	start ps-serve -b "ipc://$PWD/s"
	one 69 "ps-coord: cannot listen on $endpoint: another program does" \
		ps-coord -m model.ps -s ipc://none -b "$endpoint" \
		--journal=journal /dev/null
	assert_not_exists journal
	stop
}

@test "a journal that is another program's file, which is not changed" {
	printf 'notes of %s\n' 1 2 3 >notes
	cp notes before
	one 65 "ps-coord: notes: holds something other than records" \
		ps-coord -m model.ps -s ipc://none --journal=notes /dev/null
	cmp notes before
	cp model.ps before
	one 65 "ps-coord: model.ps: holds something other than records" \
		ps-coord -m model.ps -s ipc://none --journal=model.ps /dev/null
	cmp model.ps before
}

@test "results in a file that the program reads, which is not changed" {
	echo train >requests
	ln requests same
	for file in requests same model.ps train.svm; do
		cp "$file" before
		one 64 "ps-coord: -o: $file is what is read;\
 try 'ps-coord --help'" ps-coord -m model.ps -s ipc://none -d train.svm \
			-o "$file" requests
		cmp "$file" before
	done
	touch journal
	one 64 "ps-coord: -o: journal is what is read; try 'ps-coord --help'" \
		ps-coord -m model.ps -s ipc://none --journal=journal \
		-o journal requests
}

@test "an ipc endpoint at the path of another file, which is not changed" {
	echo notes >notes
	one 73 "ps-serve: cannot listen on ipc://notes: it is not a socket" \
		ps-serve -b ipc://notes
	assert_equal "$(<notes)" notes
	assert_not_exist notes.lock
	echo notes >s.lock
	one 73 "ps-coord: cannot make s.lock: it exists, and is not a lock" \
		ps-coord -b ipc://s -m model.ps -s ipc://none /dev/null
	assert_equal "$(<s.lock)" notes
	mkfifo listens
	launch /usr/bin/perl -MIO::Socket::UNIX -e '
		my $s = IO::Socket::UNIX->new(Local => "other", Listen => 1);
		open my $f, ">", "listens"; close $f; sleep 60'
	read -r _ <listens || true
	one 69 "ps-serve: cannot listen on ipc://other: another program does" \
		ps-serve -b ipc://other
	kill -KILL "$pid"
	wait "$pid" || true
	start ps-serve -b ipc://other
	stop
}

@test "requests after a byte order mark" {
	printf '\xef\xbb\xbftrain 2\njoin\n' >requests
	run -0 --separate-stderr ps-local -- --repeat train.svm -- \
		ps-coord -m model.ps requests
	assert_output --partial '"op":"join","step":2,'
}

@test "a server that is named twice" {
	local why="servers 0 and 2 are the same: ipc://a"
	one 64 "ps-coord: $why; try 'ps-coord --help'" \
		ps-coord -m model.ps -s ipc://a,ipc://b,ipc://a /dev/null
	export TF_CONFIG='{"cluster":{"worker":["ipc://w"],
		"ps":["ipc://a","ipc://b","ipc://a"]}}'
	one 64 "ps-coord: $why; try 'ps-coord --help'" \
		ps-coord -m model.ps /dev/null
}

# A server's address in place of the coordinator's, or the other way round, does
# the program there no harm; the status says that a second try is useless.
@test "the address of another kind of program" {
	local why="it is a server, not a coordinator"
	start ps-serve -b "ipc://$PWD/s"
	one 78 "ps-work: coordinator ipc://s: $why" \
		ps-work -c ipc://s train.svm
	one 78 "ps-eval: coordinator ipc://s: $why" \
		ps-eval -c ipc://s train.svm
	one 78 "ps-serve: the coordinator refuses us: $why" \
		ps-serve -q -c ipc://s -i 0
	why="it is a coordinator, not a server"
	mkfifo requests
	launch ps-coord -m model.ps -b ipc://c -s "$endpoint" requests
	exec 4>requests
	one 78 "ps-coord: server 0 (ipc://c): $why" bash -c \
		'ps-coord -m model.ps -b ipc://d -s ipc://c <<<train'
	one 78 "ps-serve: ipc://c refuses this standby: $why" \
		ps-serve -q --standby-of=ipc://c
	exec 4>&-
	wait "$pid"
	wait "${daemons[0]}"
	run -0 cat ps-*.log
	assert_output ""
}

@test "a host that has no address" {
	local at=tcp://nohost.invalid:1
	local why="$at: no host is called nohost.invalid"
	one 69 "ps-serve: $why" ps-serve -q --insecure -w 50ms -b $at
	one 69 "ps-coord: $why" \
		ps-coord -q --insecure -w 50ms -m model.ps -b $at -s ipc://s
	one 69 "ps-work: $why" ps-work -w 50ms -c $at train.svm
	one 69 "ps-eval: $why" ps-eval -w 50ms -c $at train.svm
	one 69 "ps-coord: $why" \
		ps-coord -w 50ms -m model.ps -b ipc://c -s $at /dev/null
}

@test "a lease, or a timeout, of zero" {
	local why="'0' is not a duration such as 500ms, 5s, 2m; try"
	for program in ps-serve ps-work ps-coord; do
		one 64 "$program: --lease: $why '$program --help'" \
			$program --lease=0
		one 64 "$program: -w: $why '$program --help'" $program -w 0
	done
	one 64 "ps-coord: --patience: $why 'ps-coord --help'" \
		ps-coord --patience=0
}

@test "a cluster description that has no end" {
	one 78 "ps-work: endless: more than 16 MiB" bash -c '
		mkfifo endless && { yes >endless & } && ps-work -f endless -'
}

@test "variables that exceed any memory" {
	sed 's/sparse.*/sparse[1099511627776]/' model.ps >large.ps
	run -78 --separate-stderr timeout 30 ps-local -- train.svm -- \
		ps-coord -m large.ps <<<train
	[[ $stderr == "ps-coord: server 0 (ipc://"*"): its variables need "*\
" GiB, all its memory is "*" GiB: take more servers, and cut variables into\
 parts for them (ps-coord --partition), or fewer rows" ]]
}

@test "a step that makes weights infinite" {
	sed 's/binary_cross.*/mean_squared_error logit/; s/binary/float/' \
		csv.ps >square.ps
	printf 'a,y\n1e30,-1e30\n' >large.csv
	run -65 --separate-stderr cluster square.ps large.csv
	assert_equal "$stderr" "ps-coord: step 0: the gradient of logit/kernel\
 has infinite numbers or NaNs; a smaller learning_rate or a clipnorm may help"
	assert_line --index 0 --partial '"step":0,"worker":"worker:0","error":'
}

@test "data that are not UTF-8: the results name the place" {
	printf 'a,y\nr\xe9sum\xc3\xa9\xe9,1\n' >bad.csv
	run -65 --separate-stderr cluster csv.ps bad.csv
	assert_line --index 0 --partial \
		"\"error\":\"bad.csv:2: a: 'r?sumé?' is not a finite number\""
}

@test "a port that is taken" {
	start ps-serve -b 'tcp://127.0.0.1:*'
	local why="cannot listen on $endpoint: Address already in use"
	one 69 "ps-serve: $why" ps-serve -b "$endpoint"
	one 69 "ps-coord: $why" \
		ps-coord -m model.ps -s ipc://none -b "$endpoint" /dev/null
}

@test "an address that strangers can reach" {
	local at='tcp://*:*'
	local why="$at can be reached by strangers: listen on 127.0.0.1 or\
 ipc://, or say --key or --insecure"
	one 77 "ps-serve: $why" ps-serve -b "$at"
	one 77 "ps-coord: $why" \
		ps-coord -m model.ps -s ipc://none -b "$at" /dev/null
}

# Workers on other machines would connect to their own machine.
@test "an address that workers cannot use is not published" {
	local at why
	for at in 'tcp://*:4000' tcp://0.0.0.0:4000; do
		why="-b: others are to call $at: say which address of this"
		why="ps-serve: $why machine it is; try 'ps-serve --help'"
		one 64 "$why" ps-serve --insecure -b "$at" -c ipc://c -i 0
		one 64 "$why" \
			ps-serve --insecure -b "$at" --standby-of=ipc://s
	done
}

@test "no server within --timeout" {
	one 69 "ps-coord: server 0 (ipc://none) does not answer within\
 0.05 s: is it running?" bash -c \
		'ps-coord -w 50ms -m model.ps -b ipc://c -s ipc://none <<<train'
	assert_output '{"op":"train","steps":1,"cancelled":true}'
}

@test "the coordinator prints its endpoint if the system chose it" {
	local bind
	for bind in "" "-b tcp://127.0.0.1:*"; do
		# shellcheck disable=SC2086 # an option or none
		run -69 --separate-stderr ps-coord -w 50ms -m model.ps $bind \
			-s ipc://none <<<train
		assert_equal "${#stderr_lines[@]}" 3
		[[ ${stderr_lines[0]} == \
"ps-coord: tcp://127.0.0.1:"+([0-9])": without --key any user "* ]]
		[[ ${stderr_lines[1]} == \
"ps-coord: listening on tcp://127.0.0.1:"+([0-9]) ]]
	done
}

@test "no worker within --timeout" {
	start ps-serve -b "ipc://$PWD/s"
	local why="no worker within 3 s at ipc://c, 0 steps were done"
	one 69 "ps-coord: $why" bash -c \
		"ps-coord -w 3s -m model.ps -b ipc://c -s ipc://$PWD/s <<<train"
	assert_output '{"op":"train","steps":1,"cancelled":true}'
	wait "$pid"
}

@test "lines about cancelled requests do not hide the error of a bad record" {
	printf '%s\n' '+1 1:1' '-1 2:x' >bad.svm
	one 65 "ps-coord: bad.svm:2: '2:x' is not id:number" bash -c \
		'yes train 2>/dev/null | head -n 5000 | ps-local --log=members \
			-- --repeat bad.svm -- ps-coord -m model.ps -B 1 \
			--in-flight=1 --results=errors'
	assert_line --index 0 --partial '"step":1,"worker":"worker:0","error":'
	same='"steps":([0-9]*),"requests":\1,"cancelled":true'
	assert_line --index 1 --regexp "^\{\"op\":\"train\",$same}\$"
	assert_equal "${#lines[@]}" 2
	# A long series of errors, as of a loop, has one line for each kind.
	one 65 "ps-coord: bad.svm:2: '2:x' is not id:number" bash -c \
		'for ((i = 0; i < 1000; i++)); do
			printf "%s\n" "train 2" "eval train.svm" join
		done | ps-local --log=members -- --repeat bad.svm -- ps-coord \
			-m model.ps -B 1 --in-flight=1 --results=errors'
	assert_line --index 0 --partial '"step":1,"worker":"worker:0","error":'
	assert_equal "$(cut -d, -f1 <<<"$output" | tail -n +2 | tr '\n' ' ')" \
		'{"op":"eval" {"op":"join" {"op":"train" '
}

@test "a checkpoint directory that a server cannot write" {
	touch file
	one 73 "ps-serve: cannot create file/x: Not a directory" \
		ps-serve -b ipc://s -d file/x
	assert_output ""
	assert_not_exists s
	assert_not_exists s.lock
}

@test "a second server at an address touches no file" {
	start ps-serve -b "ipc://$PWD/s" -d ckpts --durable=wal
	find ckpts >files
	one 69 "ps-serve: cannot listen on $endpoint: another program does" \
		ps-serve -b "$endpoint" -d ckpts --durable=wal -i 1
	find ckpts | diff files -
	one 69 "ps-serve: cannot listen on $endpoint: another program does" \
		ps-serve -b "$endpoint" -d other --durable=wal
	assert_not_exists other
	stop
}

@test "the index of a server, where no option uses it" {
	one 64 "ps-serve: -i: of use with -c or --durable=wal alone; try\
 'ps-serve --help'" ps-serve -i 3
}

@test "standard output that is full" {
	local why="cannot write standard output: No space left on device"
	one 74 "ps-serve: $why" bash -c "ps-serve >/dev/full"
	one 74 "ps-coord: $why" bash -c \
		"ps-coord -m model.ps -s 2 --plan >/dev/full"
	one 74 "ps-coord: $why" bash -c \
		"yes train | cluster model.ps train.svm >/dev/full"
}

@test "a request line that is not a request" {
	local cases=(
	"trian 5" "'trian' is not a request (train, epoch, eval, join, save,\
 status, cancel, stop, a bare id or a JSON object); did you mean train?"
	'{"op":"fly"}' "\"op\" is 'fly', which is not a request"
	'{"op":' "not JSON: unexpected token near end of file"
	'{"id":"a\u0000b"}' '"id" has a NUL in it'
	'{"op":"eval","files":["train.svm\u0000"]}' '"files" has a NUL in it'
	"join now" "'now' behind join"
	"train x" "train 'x': not a number of steps"
	)
	local k line
	for ((k = 0; k < ${#cases[@]}; k += 2)); do
		echo "${cases[k]}" >requests
		one 65 "ps-coord: request 1: ${cases[k + 1]}" \
			ps-local -- train.svm -- ps-coord -m model.ps requests
		assert_line --index 0 --partial '"error":"request 1: '
	done
	for line in 'train 1\0 0\n' 'train\0' 'an\0id\n' '\0\n' \
		'{"id":"a"}\0\n'; do
		printf '%b' "$line" >requests
		one 65 "ps-coord: request 1: a line with a NUL in it is not a \
request" ps-local -- train.svm -- ps-coord -m model.ps requests
	done
	printf '# not\0hing\ntrain\n' >requests
	run -0 ps-local -- train.svm -- ps-coord -m model.ps requests
}

@test "a vocabulary that is not in the model's folder" {
	local why="model/m.ps:1: vocab_file=../words is not in the model's \
folder; --vocab-anywhere takes it from where it is"
	mkdir model
	printf '%s\n' a b >words
	printf 'w,y\na,1\nb,0\n' >train.csv
	sed 's/^ *//' >model/m.ps <<-'END'
		input w string vocab_file=../words
		label y binary
		p = linear w activation=sigmoid
		loss binary_crossentropy p
	END
	one 77 "ps-coord: $why" ps-coord -m model/m.ps -s ipc:///tmp/a
	run -0 ps-local -C ckpt -- train.csv -- ps-coord -m model/m.ps \
		--vocab-anywhere --checkpoint=ckpt <<<train
	# The file is not read again: its words have come with the model.
	rm words
	run -0 ps-eval -C ckpt train.csv
	ps-ckpt convert ckpt m.npz
	printf '%s\n' a b >words
	one 77 "ps-ckpt: $why" ps-ckpt import -m model/m.ps m.npz new
	run -0 ps-ckpt import --vocab-anywhere -m model/m.ps m.npz new
	one 64 "ps-ckpt: --vocab-anywhere: not for show; \
try 'ps-ckpt --help'" ps-ckpt show --vocab-anywhere ckpt
}

@test "control characters of a terminal reach neither logs nor results" {
	local evil=$'a\x1b[31m\xc2\x9b31m\xe2\x80\xaeb\x9b\x7f' file
	local seen='a?[31m?31m?b??'
	printf 'input x float\nlabel y float\np = linear x
loss mean_squared_error p\n' >c.ps
	file=$evil.csv
	printf 'x,y\n%s,1\n' "$evil" >"$file"
	run -65 --separate-stderr ps-local --log="$PWD/logs" -- "$file" -- \
		ps-coord -m c.ps --status=status <<<$'{"id":"e\xc2\x9b\x7f"}'
	assert_output --partial '"id":"e\u009b\u007f"'
	assert_output --partial "$seen.csv:2: x: '$seen' is not"
	printf '%s\n' "$output" >out
	printf '%s\n' "$stderr" >err
	# Texts of a request, of a model and of the command line.
	printf '%s\n' "train $evil" >requests
	run -65 --separate-stderr ps-local -- train.svm -- \
		ps-coord -m model.ps requests
	printf '%s\n' "$output" >>out
	printf '%s\n' "$stderr" >>err
	printf 'input x float\n%s = dense x\n' "$evil" >evil.ps
	one 78 "ps-coord: evil.ps:2: '$seen' is not a name: it takes letters, \
digits, _ - . and at most 63 of them" ps-coord -m evil.ps -s ipc:///tmp/a
	one 66 "ps-coord: cannot open $seen.ps: No such file or directory" \
		ps-coord -m "$evil.ps" -s ipc:///tmp/a
	one 64 "ps-eval: -B: '$seen' is not a whole number from 1 to 1048576; \
try 'ps-eval --help'" ps-eval -B "$evil" -C c train.svm
	run -0 grep -qF "$seen" logs
	for file in out err status logs; do
		run -1 env LC_ALL=C grep -aP \
			'[^\x20-\x7e\n\t\r]|\r[^\n]' "$file"
	done
}

# dirty N FILE - write N records, of which every 50th is bad.
dirty() {
	awk -v n="$1" 'BEGIN { srand(1)
		for (i = 1; i <= n; i++)
			print i % 50 ? i % 2 " 1:1 2:" rand() : "? 1:1" }' >"$2"
}

@test "malformed records, up to the limit, are skipped" {
	dirty 1000 a.svm
	grep -v '?' a.svm >good.svm
	run -0 --separate-stderr ps-local -C ckpt -- --max-bad=20 a.svm -- \
		ps-coord -m model.ps -B 100 --checkpoint=ckpt \
		<<<$'train 9\neval a.svm'
	assert_output --partial '"op":"eval","step":9,"examples":980'
	[[ $stderr == *"a.svm:500: label: '?' is not a finite number; \
passed over"* ]]
	[[ $stderr != *"a.svm:550: "* ]]
	[[ $stderr == *"20 malformed records passed over"* ]]

	# The score is the same as without the malformed records.
	run -0 --separate-stderr ps-eval -C ckpt good.svm
	local scores=${output/,\"seconds\"*/}
	run -0 --separate-stderr ps-eval -C ckpt --max-bad=20 a.svm
	assert_output --partial "$scores"
	one 65 "ps-eval: a.svm:50: label: '?' is not a finite number" \
		ps-eval -C ckpt a.svm
	one 65 "ps-eval: a.svm:1000: label: '?' is not a finite number, and \
19 before it were malformed, too" ps-eval -q -C ckpt --max-bad=19 a.svm
	one 64 "ps-eval: --predict: each record has its line, none can be \
passed over; try 'ps-eval --help'" ps-eval -C ckpt --predict --max-bad=1 a.svm
}

@test "malformed records of the coordinator's data" {
	dirty 1000 a.svm
	run -0 --separate-stderr ps-local -w 2 -- --max-bad=40 -- \
		ps-coord -m model.ps -B 100 -d a.svm --shuffle \
		<<<$'epoch 2'
	run -0 grep '"op":"epoch"' <<<"$output"
	assert_line --index 0 --partial '"examples":980,'
	assert_line --index 1 --partial '"examples":980,'
	assert_output --partial '"records":1000,"missed":20'
	# Records that cannot even be cut into fields are counted, too.
	awk 'BEGIN { print "x,y"; for (i = 1; i <= 1000; i++)
		print i % 50 ? "1,0" : "1" }' >c.csv
	printf 'input x float\nlabel y float\np = linear x
loss mean_squared_error p\n' >c.ps
	run -0 --separate-stderr ps-local -w 2 -- --max-bad=40 -- \
		ps-coord -m c.ps -B 100 -d c.csv <<<'epoch 2'
	run -0 grep '"op":"epoch"' <<<"$output"
	assert_line --index 0 --partial '"examples":980,'
	sed '101,200s/.*/? 1:1/' a.svm >b.svm
	run -65 --separate-stderr ps-local -q -- --max-bad=200 -- \
		ps-coord -m model.ps -B 100 -d b.svm <<<'epoch'
	[[ $stderr == *"ps-coord: none of a step's 100 records is good"* ]]
}

@test "a peer of another version of the protocol, or of another build" {
	local build="76 protocol version 2, but with other messages: use \
programs of one build"
	local other="76 protocol version 9, not 2: use programs of one release"
	start ps-serve
	run -0 stranger "$endpoint" 3 9
	assert_output "$other"
	run -0 stranger "$endpoint" 1 2 other
	assert_output "$build"
	# The called program logs this, too, but not once for each caller.
	assert_equal "$(grep -v -e --key "$log")" \
		"ps-serve: refused: ${other#* }"
	echo train >requests
	launch ps-coord -b "ipc://$PWD/coord" -s "$endpoint" -m model.ps \
		requests
	run -0 stranger "ipc://$PWD/coord" 3 2 other
	assert_output "$build"
	run -0 stranger "ipc://$PWD/coord" 3 9
	assert_output "$other"
	run -0 cat "$log"
	assert_line "ps-coord: refused: ${build#* }"
	refute_line "ps-coord: refused: ${other#* }"
	# Both programs still answer.
	run -0 stranger "ipc://$PWD/coord" 3 2
	assert_output WELCOME
	run -0 timeout 30 ps-work -c "ipc://$PWD/coord" train.svm
	wait "$pid"
}

@test "threads that the system does not start are an error of -j" {
	# Each thread would have a stack that exceeds any machine.
	run -71 bash -c 'export OPENBLAS_NUM_THREADS=1; ulimit -s 1000000000 &&
		exec ps-work -j 3 -c ipc://nobody train.svm'
	assert_output "ps-work: -j 3: cannot start 3 threads, only 1: Resource\
 temporarily unavailable"
}
