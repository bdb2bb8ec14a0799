# ps-eval: checkpoints, the live model, predictions.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'END'
		input     x sparse[20]
		label     y binary
		p       = linear x activation=sigmoid
		loss      binary_crossentropy p
		metric    accuracy p
		metric    auc p
		metric    log_loss p
		optimizer adagrad learning_rate=0.5
	END
	# Ids are 1 to 19; the label is the half with more ids, except in a few
	# records.
	awk 'BEGIN {
		srand(7)
		for (n = 0; n < 300; n++) {
			line = ""; high = 0; count = 0
			for (id = 1; id < 20; id++)
				if (rand() < 0.3) {
					line = line " " id ":1"
					high += id > 10
					count++
				}
			if (line == "")
				line = " 1:1"
			print (2 * high > count) != (rand() < 0.1), line
		}
	}' | sed 's/  / /' >train.svm
}

# in_cluster FUNCTION - run the function with three workers and two servers.
in_cluster() {
	local saves=()
	[[ $(declare -f "$1") != *--checkpoint=* ]] || saves=(-C "$PWD/ckpts")
	{
		declare -f session ask await "$1"
		echo "$1"
	} >script
	ps-local "${saves[@]}" -w 3 -s 2 -- --repeat --shard=%i/%n \
		"${examples:-train.svm}" -- bash -eu script
}

# session OPTIONS - start a coordinator that takes requests line by line.
session() {
	mkfifo requests results
	ps-coord -m model.ps -B 8 "$@" <requests >results &
	coord=$!
	exec 9>requests 8<results
}

# ask LINE... - send requests.
ask() {
	printf '%s\n' "$@" >&9
}

# await OP - set line to the next result of a request OP.
await() {
	while read -r -t 60 line <&8; do
		[[ $line != *"\"op\":\"$1\""* ]] || return 0
	done
	echo "no $1" >&2
	return 1
}

# train REQUEST... - do a run that saves checkpoints; its results are in
# results.
train() {
	printf '%s\n' "$@" | ps-local -C "$PWD/ckpts" -w 3 -s 2 -- --repeat \
		--shard=%i/%n "${examples:-train.svm}" -- ps-coord -m model.ps \
		-B 8 --checkpoint=ckpts --keep=0 >results
}

# numbers LINE - print the numbers of an evaluation, one a line.
numbers() {
	sed -E 's/.*("examples".*)\},"seconds".*/\1/; s/"metrics":\{//' \
		<<<"$1" | tr ',' '\n'
}

# agree LINE LINE - check that counts and auc are equal, and losses to 1e-6.
agree() {
	paste -d: <(numbers "$1") <(numbers "$2") | awk -F: '
		$1 ~ /loss/ { d = $2 - $4; if (d * d > 1e-12) bad = 1; next }
		$2 != $4 { bad = 1 }
		$1 == "\"examples\"" { seen++ }
		END { exit bad || !seen || NR < 3 }' || fail "$1
is not $2"
}

# await_stop_handler PID - wait until the process catches SIGTERM, signal 15.
await_stop_handler() {
	until [ $((0x$(sed -n 's/^SigCgt:.*\(........\)$/\1/p' \
			"/proc/$1/status") & 0x4000)) != 0 ]; do :; done
}

# ---- checkpoints ----

@test "checkpoints are scored in the order of steps, as workers score them" {
	train 'train 20' 'eval train.svm' save 'train 20' 'eval train.svm'
	mapfile -t asked < <(grep '"op":"eval"' results)
	run -0 --separate-stderr ps-eval -C ckpts train.svm
	assert_equal "$stderr" ""
	assert_equal "${#lines[@]}" 2
	[[ ${lines[0]} == '{"checkpoint":"ckpt-00000020","step":20,'* ]]
	[[ ${lines[0]} == *',"final":false,"examples":300,"loss":'* ]]
	[[ ${lines[1]} == '{"checkpoint":"ckpt-00000040","step":40,'* ]]
	[[ ${lines[1]} == *',"final":true,"examples":300,"loss":'* ]]
	agree "${lines[0]}" "${asked[0]}"
	agree "${lines[1]}" "${asked[1]}"
	run -0 ps-eval -C ckpts/ckpt-00000020/ train.svm
	agree "$output" "${asked[0]}"
	run -0 ps-eval -C ckpts --newest train.svm
	agree "$output" "${asked[1]}"
}

@test "scores have a checkpoint's name, however its path is written" {
	train 'train 10'
	cd ckpts/ckpt-00000010
	for path in . ../ckpt-00000010// "$PWD/"; do
		run -0 ps-eval -C "$path" ../../train.svm
		assert_output --partial '{"checkpoint":"ckpt-00000010",'
	done
}

@test "a model is scored whose files have names that are not UTF-8" {
	local name=$'caf\xe9'
	printf '%s\n' a b c >"$name"
	printf 'w,y\na,1\nb,0\nc,1\n' >train.csv
	cat >model.ps <<-END
		input     w string vocab_file=$name
		label     y binary
		p       = linear w activation=sigmoid
		loss      binary_crossentropy p
		optimizer sgd
	END
	examples=train.csv train 'train 5'
	run -0 --separate-stderr ps-eval -C ckpts train.csv
	assert_output --partial '"examples":3,'
	assert_equal "$stderr" ""
}

@test "scores do not depend on how examples are cut into batches" {
	cat >model.ps <<-'END'
		input     x sparse[20]
		label     y binary
		e = embedding x dim=4 combiner=mean embeddings_regularizer=l2:.1
		h = dense e units=5 activation=relu kernel_regularizer=l2:.01
		w       = linear x
		d       = dense h units=1
		s       = add w d
		p       = sigmoid s
		loss      binary_crossentropy p
		metric    accuracy p
		metric    auc p
		metric    precision p
		metric    recall p
		optimizer adam
	END
	train 'train 50' 'eval train.svm'
	asked=$(grep '"op":"eval"' results)
	for batch in 1 7 256 1024; do
		run -0 ps-eval -C ckpts -B "$batch" train.svm
		agree "$output" "$asked"
	done
}

@test "the three ways of an evaluation agree on real data" {
	need_data a9a.svm
	examples=$data/a9a.svm
	sed -i 's/sparse.20./sparse[124]/' model.ps
	live() {
		session --checkpoint=ckpts
		ask 'train 100' "eval $examples" save
		await eval
		echo "$line"
		await save
		ps-eval "$examples"
		ps-eval -C ckpts "$examples"
		exec 9>&-
		wait "$coord"
	}
	export examples
	run -0 --separate-stderr in_cluster live
	assert_equal "$stderr" ""
	assert_equal "${#lines[@]}" 3
	assert_output --partial '"examples":32561,'
	agree "${lines[0]}" "${lines[1]}"
	agree "${lines[0]}" "${lines[2]}"
}

@test "each evaluation reads its inputs again: compressed, pipes, several" {
	train 'train 10' save 'train 10'
	run -0 ps-eval -C ckpts train.svm
	one=$output
	gzip -k train.svm
	head -n 100 train.svm >first
	tail -n +101 train.svm >rest
	for input in train.svm.gz 'pipe:cat train.svm' 'first rest'; do
		if [ "$input" = 'first rest' ]; then
			run -0 ps-eval -C ckpts first rest
		else
			run -0 ps-eval -C ckpts "$input"
		fi
		assert_equal "${#lines[@]}" 2
		agree "${lines[0]}" "${one%%$'\n'*}"
		agree "${lines[1]}" "${one##*$'\n'}"
	done
	mkfifo fifo
	for input in - fifo; do
		run -64 ps-eval -C ckpts "$input"
		assert_output --partial "'$input' can be read only once"
	done
	mkdir single
	cp -r ckpts/ckpt-00000010 single
	run -64 ps-eval -C single - <train.svm
	assert_output --partial "'-' can be read only once"
	run -0 ps-eval -C single/ckpt-00000010 - <train.svm
	run -0 ps-eval -C ckpts --newest - <train.svm
	agree "$output" "${one##*$'\n'}"
}

@test "an evaluation takes no records from the steps of a worker" {
	local input
	mkfifo fifo
	for input in - fifo; do
		start ps-serve -b "ipc://serve"
		ps-work -c ipc://coord "$input" <train.svm 2>work.log 3>&- &
		work=$!
		daemons+=("$work")
		[ "$input" = - ] || cat train.svm >fifo 3>&- &
		run -66 --separate-stderr ps-coord --keep-going \
			-b ipc://coord -s ipc://serve -m model.ps -B 10 \
			<<<$'train 3\neval\neval '"$input"$'\ntrain 27\njoin'
		why="$input: it can be read only once, so it cannot be scored:\
 name files for eval"
		assert_equal "$(grep -c '"op":"eval"' <<<"$output")" 2
		assert_line --partial "\"worker:0\",\"error\":\"$why\"}"
		assert_line --partial '"op":"join","step":30,"steps":30,'
		assert_equal "${stderr_lines[-1]}" "ps-coord: $why"
		wait "$work" "$pid"
	done
}

# big - make a file with several batches for each worker.
big() {
	for _ in $(seq 10); do cat train.svm; done >big.svm
}

@test "a background evaluation scores its step, while training continues" {
	big
	background() {
		session --mode=sync --replicas=3
		ask 'train 20' 'eval big.svm background=true' 'train 60' \
			'{"id": "again", "op": "eval", "background": true}' \
			'train 60' 'eval train.svm' join
		for _ in 1 2 3; do
			await eval
			echo "$line"
		done
		await join
		exec 9>&-
		wait "$coord"
	}
	run -0 --separate-stderr in_cluster background
	assert_equal "$stderr" ""
	[[ ${lines[0]} == '{"op":"eval","step":20,"examples":3000,'* ]]
	[[ ${lines[1]} == '{"id":"again","op":"eval","step":80,'* ]]
	[[ ${lines[2]} == '{"op":"eval","step":140,"examples":300,'* ]]
}

# scores [BACKGROUND] - do a run with evaluations; its steps are the same each
# time.
scores() {
	printf '%s\n' 'train 20' "eval big.svm $1" 'train 10' join \
		'eval train.svm' |
		ps-local -w 3 -s 2 -- -- ps-coord -m model.ps -B 8 \
		--mode=sync --replicas=3 -d train.svm
}

@test "an evaluation in the background holds up no step" {
	local first second server
	start ps-serve -b ipc://serve
	server=$pid
	launch ps-work -c ipc://coord --repeat train.svm
	first=$pid
	launch ps-work -c ipc://coord --repeat train.svm
	second=$pid
	session -b ipc://coord -s ipc://serve --min-workers=2
	ask 'train 20' join
	await join
	# The stopped worker's part cannot be scored before it continues.
	kill -STOP "$second"
	ask 'eval train.svm background=true' 'train 30' join
	for _ in $(seq 10); do
		read -r -t 60 line <&8
		[[ $line == '{"op":"train","step":'[2-4][0-9]* ]]
	done
	kill -CONT "$second"
	await eval
	[[ $line == '{"op":"eval","step":20,"examples":300,'* ]]
	await join
	exec 9>&-
	wait "$coord" "$first" "$second" "$server"
}

@test "a join waits for background evaluations, whose scores are the same" {
	big
	scores >barriers
	scores background=true >results
	mapfile -t one < <(grep '"op":"eval"' results)
	mapfile -t other < <(grep '"op":"eval"' barriers)
	agree "${one[0]}" "${other[0]}"
	agree "${one[1]}" "${other[1]}"
	run -0 grep -oE '"op":"(eval|join)","step":[0-9]+' results
	assert_output '"op":"eval","step":20
"op":"join","step":30
"op":"eval","step":30'
}

@test "a background evaluation that fails reports the reason" {
	run -66 --separate-stderr ps-local -w 2 -- --repeat train.svm -- \
		ps-coord -m model.ps -B 8 --keep-going \
		<<<$'train 20\neval nix.svm background=true\ntrain 20\njoin'
	assert_line --regexp '^\{"op":"eval","step":20,"worker":"worker:.",'\
'"error":"nix.svm: No such file or directory"\}$'
	assert_line --partial '"op":"join","step":40,"steps":40,'
	assert_equal "$stderr" "ps-coord: nix.svm: No such file or directory"
	printf '+1 1:1\n+1 1:x\n' >bad.svm
	run -65 --separate-stderr ps-local -- --repeat train.svm -- \
		ps-coord -m model.ps -B 8 --results=errors \
		<<<$'eval bad.svm background=true\ntrain 20000\njoin'
	assert_line --partial "\"error\":\"bad.svm:2: '1:x' is not id:number\""
	assert_line '{"op":"join","cancelled":true}'
}

@test "a pruned checkpoint is skipped, one that is being read is scored" {
	train 'train 10' save 'train 10' save 'train 10'
	run -0 --separate-stderr ps-eval -C ckpts \
		'pipe:rm -r ckpts/ckpt-000000[12]0 2>&-; cat train.svm'
	assert_equal "${#lines[@]}" 2
	[[ ${lines[0]} == *'"step":10,'*'"examples":300,'* ]]
	[[ ${lines[1]} == *'"step":30,'*'"examples":300,'* ]]
	assert_equal "$stderr" "ps-eval: ckpts/ckpt-00000020 was removed \
before it was scored"
}

@test "a damaged checkpoint is reported, and the others are scored" {
	train 'train 10' save 'train 10' save 'train 10'
	damage ckpts/ckpt-00000010/shard-0-of-2.tar 700
	rm ckpts/ckpt-00000020/MANIFEST.json
	run -65 --separate-stderr ps-eval -C ckpts train.svm
	assert_equal "${#lines[@]}" 1
	[[ $output == *'"step":30,'* ]]
	assert_equal "${#stderr_lines[@]}" 3
	[[ ${stderr_lines[0]} == *ckpt-00000010/shard-0-of-2.tar* ]]
	[[ ${stderr_lines[1]} == *ckpt-00000020/MANIFEST.json* ]]
	run -0 --separate-stderr ps-eval -C ckpts --follow train.svm
	assert_equal "${#stderr_lines[@]}" 2
	[[ $output == *'"step":30,"final":true,'* ]]
	run -65 ps-eval -C ckpts/ckpt-00000010 train.svm
}

@test "--follow waits for the folder, and for checkpoints up to the final one" {
	follow() {
		mkfifo scored
		ps-eval -C ckpts --follow train.svm >scored 9>&- &
		car=$!
		exec 7<scored
		session --checkpoint=ckpts --keep=0
		for step in 10 20 30; do
			ask 'train 10' save
			read -r -t 60 line <&7
			echo "$line"
		done
		# The last checkpoint was published before, and becomes final
		# now.
		exec 9>&-
		wait "$coord"
		wait "$car"
		! read -r line <&7
	}
	run -0 --separate-stderr in_cluster follow
	assert_equal "$stderr" ""
	assert_equal "${#lines[@]}" 3
	for n in 0 1 2; do
		[[ ${lines[n]} == *"\"step\":$((n + 1))0,\"final\":false,"* ]]
	done
}

@test "--follow skips no checkpoint, however many there are, and then ends" {
	follow() {
		ps-eval -C ckpts --follow train.svm >scored &
		car=$!
		for n in {1..30}; do
			printf '%s\n' 'train 5' save
		done | ps-coord -m model.ps -B 8 --checkpoint=ckpts --keep=0 \
			--results=none
		wait "$car"
	}
	run -0 --separate-stderr in_cluster follow
	assert_equal "$stderr" ""
	sed -E 's/.*"step":([0-9]+),.*/\1/' scored >steps
	seq 5 5 150 | diff - steps
}

@test "--follow survives pruning" {
	follow() {
		ps-eval -C ckpts --follow train.svm >scored &
		car=$!
		for n in {1..30}; do
			printf '%s\n' 'train 2' save
		done | ps-coord -m model.ps -B 8 --checkpoint=ckpts --keep=1 \
			--results=none
		wait "$car"
	}
	run -0 --separate-stderr in_cluster follow
	sed -E 's/.*"step":([0-9]+),.*/\1/' scored >steps
	sort -nuc steps
	assert_equal "$(tail -n 1 steps)" 60
	# Of each gap, the last missing checkpoint is reported.
	awk '$1 > last + 2 { printf "ckpts/ckpt-%08d\n", $1 - 2 }
		{ last = $1 }' steps >gaps
	while read -r gap; do
		grep -q "$gap was removed before it was" <<<"$stderr" ||
			fail "$gap: $stderr"
	done <gaps
}

# ps-eval is stopped while checkpoints come, so it cannot have seen them.
@test "--follow reports checkpoints that were pruned before it saw them" {
	follow() {
		ps-eval -C ckpts --follow train.svm >scored &
		car=$!
		await_stop_handler "$car"
		kill -STOP "$car"
		printf '%s\n' 'train 2' save 'train 2' save 'train 2' save \
			'train 2' | ps-coord -m model.ps -B 8 --results=none \
			--checkpoint=ckpts --keep=2
		kill -CONT "$car"
		wait "$car"
	}
	eval "in_follow() { $(declare -f await_stop_handler)
		$(declare -f follow); follow; }"
	run -0 --separate-stderr in_cluster in_follow
	assert_equal "$stderr" "ps-eval: ckpts/ckpt-00000004 was removed before\
 it was scored, and perhaps older ones, too"
	sed -E 's/.*"step":([0-9]+),.*/\1/' scored >steps
	printf '%s\n' 6 8 | diff - steps
	# A second ps-eval knows from the file which checkpoints were scored.
	head -n 1 scored | sed 's/"step":6/"step":2/' >before
	run -0 --separate-stderr ps-eval -C ckpts --follow -o before train.svm
	[[ $stderr == *"ckpt-00000004 was removed before it was scored"* ]]
	head -n 1 scored | sed 's/"step":6/"step":4/' >before
	run -0 --separate-stderr ps-eval -C ckpts --follow -o before train.svm
	assert_equal "$stderr" ""
}

@test "--follow ends with the final checkpoint, even if that is removed" {
	train 'train 10' save 'train 10'
	run -0 timeout 60 ps-eval -C ckpts --follow 'pipe:
		[ ! -e once ] || rm -r ckpts/ckpt-00000020
		touch once
		cat train.svm'
	assert_equal "${#lines[@]}" 2
	assert_not_exist ckpts/ckpt-00000020
}

@test "--follow ends when it is asked to" {
	train 'train 10' save 'train 10'
	rm -r ckpts/ckpt-00000020
	mkfifo scored
	ps-eval -C ckpts --follow train.svm >scored 3>&- &
	pid=$!
	daemons+=("$pid")
	exec 7<scored
	read -r -t 60 line <&7
	stop
	run read -r line <&7
	assert_failure
}

@test "--follow waits for the final checkpoint for as long as --idle says" {
	train 'train 10' save 'train 10'
	rm -r ckpts/ckpt-00000020
	run -69 --separate-stderr timeout 60 \
		ps-eval -C ckpts --follow --idle=200ms train.svm
	assert_equal "${#lines[@]}" 1
	assert_equal "$stderr" "ps-eval: ckpts: no new checkpoint for 0.2 s,\
 and none of them was final: ps-eval ends (--idle)"
	mkdir none
	run -69 timeout 60 ps-eval -C none --follow --idle=200ms train.svm
	assert_output --partial "none: no new checkpoint for 0.2 s"
	run -64 ps-eval -C ckpts --idle=1s train.svm
	assert_output --partial "--idle: there is nothing to wait for"
	run -64 ps-eval -C ckpts --follow --idle=soon train.svm
	assert_output --partial "--idle: 'soon' is not a duration"
}

@test "--idle counts from the last checkpoint that came" {
	train 'train 10' save 'train 10'
	mv ckpts/ckpt-00000020 last
	mkfifo scored
	timeout 60 ps-eval -C ckpts --follow --idle=30s train.svm \
		>scored 3>&- &
	pid=$!
	daemons+=("$pid")
	exec 7<scored
	read -r -t 60 line <&7
	mv last ckpts/ckpt-00000020
	read -r -t 60 line <&7
	[[ $line == *'"final":true'* ]]
	wait "$pid"
}

@test "--follow scores a checkpoint that is copied there bit by bit" {
	train 'train 10' save 'train 10' save 'train 10'
	mv ckpts whole
	mkdir -p ckpts/ckpt-00000010
	cp whole/ckpt-00000010/MANIFEST.json ckpts/ckpt-00000010
	timeout 60 ps-eval -C ckpts --follow train.svm >scored 2>eval.log 3>&- &
	pid=$!
	daemons+=("$pid")
	until [ -s eval.log ]; do kill -0 "$pid"; done
	cp -r whole/ckpt-00000020 ckpts/.copy
	rm ckpts/.copy/MANIFEST.json
	mv ckpts/.copy ckpts/ckpt-00000020
	until grep -q 00000020 eval.log; do kill -0 "$pid"; done
	cp whole/ckpt-00000010/shard-* ckpts/ckpt-00000010
	until [ -s scored ]; do kill -0 "$pid"; done
	cp whole/ckpt-00000020/MANIFEST.json ckpts/ckpt-00000020
	until grep -q '"step":20,' scored; do kill -0 "$pid"; done
	cp -r whole/ckpt-00000030 ckpts
	wait "$pid"
	sed -E 's/.*"step":([0-9]+),.*/\1/' scored >steps
	printf '%s\n' 10 20 30 | diff - steps
	assert_equal "$(grep -c ckpt-00000010 eval.log)" 1
	assert_equal "$(grep -c ckpt-00000020 eval.log)" 1
}

@test "a filter ends when it is asked to, though its input is silent" {
	train 'train 10'
	for bytes in '' "$(head -n 1 train.svm)"; do
		mkfifo in out
		ps-eval --predict -B 1 -C ckpts - <in >out 3>&- &
		pid=$!
		daemons+=("$pid")
		exec 6>in 7<out
		[ -z "$bytes" ] || {
			echo "$bytes" >&6
			read -r -t 60 line <&7
		}
		await_stop_handler "$pid"
		status=0
		stop || status=$?
		assert_equal "$status" 75
		exec 6>&- 7<&-
		rm in out
	done
}

@test "a ps-eval that is stopped before all is scored reports that" {
	train 'train 10'
	mkfifo more
	for predict in '' --predict; do
		# shellcheck disable=SC2086
		ps-eval $predict -B 10 -C ckpts -F svmlight \
			'pipe:head -n 100 train.svm; cat more' \
			>scored 2>eval.log 3>&- &
		exec 9>more	# ps-eval has begun to read
		[ -z "$predict" ] ||
			until [ "$(wc -l <scored)" -ge 80 ]; do kill -0 $!; done
		kill -TERM $!
		status=0
		wait $! || status=$?
		exec 9>&-
		assert_equal "$status" 75
		assert_equal "$(<eval.log)" \
			"ps-eval: stopped before all records were scored"
	done
}

@test "--follow waits for a removed folder as for one that does not exist yet" {
	mkdir none
	ps-eval -C none --follow -w 30s train.svm >scored 2>eval.log 3>&- &
	await_stop_handler $!
	rmdir none
	train 'train 10'
	mv ckpts none
	wait $!
	run -0 cat scored
	assert_output --partial '"final":true'
	mkdir gone
	ps-eval -C gone --follow -w 100ms train.svm 2>eval.log 3>&- &
	await_stop_handler $!
	until grep -qs inotify "/proc/$!/fdinfo/"*; do :; done
	rmdir gone
	status=0
	wait $! || status=$?
	assert_equal "$status" 66
	assert_equal "$(<eval.log)" \
		"ps-eval: cannot open gone: No such file or directory"
}

@test "--until ends at the first checkpoint that is good enough, or with 1" {
	train 'train 10' save 'train 10' save 'train 10'
	run -0 ps-eval -C ckpts --until='auc >= 0.1' train.svm
	assert_equal "${#lines[@]}" 1
	run -0 ps-eval -C ckpts --until='loss<10' train.svm
	assert_equal "${#lines[@]}" 1
	run -1 --separate-stderr ps-eval -C ckpts --until='auc>1' train.svm
	assert_equal "${#lines[@]}" 3
	assert_equal "$stderr" ""
	run -1 ps-eval -C ckpts --follow --until='accuracy<=0' train.svm
	for bad in ' ' auc 'auc>' 'auc=1' '>=1' 'auc>=x' 'auc>=1x' 'a<nan'; do
		run -64 ps-eval -C ckpts --until="$bad" train.svm
		assert_output --partial "--until: '$bad' is not a condition"
	done
	run -64 --separate-stderr ps-eval -C ckpts --until='f1>1' train.svm
	assert_equal "$output" ""
	assert_equal "$stderr" "ps-eval: --until: the model has no metric 'f1';\
 there are loss, accuracy, auc, log_loss"
}

@test "ps-ckpt keeps the best checkpoints by the lines of ps-eval" {
	train 'train 10' save 'train 10' save 'train 10'
	ps-eval -C ckpts train.svm >scores
	best=$(sed -E 's/.*"checkpoint":"([^"]*)".*"loss":([^,]*).*/\2 \1/' \
		scores | sort -g | head -n 1 | cut -d' ' -f2)
	ps-ckpt prune --keep=1 --best=log_loss --metrics=scores ckpts
	run ls ckpts
	assert_output "$best"
}

# ---- a file of scores ----

# bare [FILE] - print the lines without the seconds.
bare() {
	sed 's/,"seconds":.*//' "$@"
}

@test "a ps-eval that was killed resumes after the last line of -o FILE" {
	train 'train 10' save 'train 10' save 'train 10'
	ps-eval -C ckpts train.svm | bare >whole
	true >scores
	for n in 0 1 2; do
		run -137 ps-eval -C ckpts --follow -o scores "pipe:
			[ \$(wc -l <scores) -lt $n ] || kill -KILL \$PPID
			cat train.svm"
		bare scores | diff <(head -n "$n" whole) -
	done
	for n in 1 2; do
		run -0 --separate-stderr ps-eval -C ckpts --follow -o scores \
			train.svm
		assert_equal "$output$stderr" ""
		bare scores | diff whole -
	done
	# All is scored, and no further checkpoint will come.
	rm -r ckpts/*
	run -0 --separate-stderr timeout 60 ps-eval -C ckpts --follow \
		-o scores train.svm
	assert_equal "$output$stderr" ""
	bare scores | diff whole -
}

@test "an incomplete line of -o FILE is removed, and scored again" {
	train 'train 10' save 'train 10'
	ps-eval -C ckpts -o scores train.svm
	mv scores whole
	first=$(head -n 1 whole | wc -c)
	all=$(wc -c <whole)
	for size in 1 14 15 $((first - 1)) $((first + 1)) $((all - 1)); do
		head -c "$size" whole >scores
		run -0 --separate-stderr ps-eval -C ckpts -o scores train.svm
		torn=$((size > first ? size - first : size))
		assert_equal "$stderr" "ps-eval: scores: $torn torn bytes at \
its end are cut off"
		bare scores | diff <(bare whole) -
	done
}

@test "zeros that a power cut left at the end of -o FILE are removed" {
	train 'train 10' save 'train 10'
	ps-eval -C ckpts -o scores train.svm
	mv scores whole
	first=$(head -n 1 whole | wc -c)
	for size in 0 1 $first $((first + 30)) $(wc -c <whole); do
		head -c "$size" whole >scores
		truncate -s +5000 scores
		run -0 --separate-stderr ps-eval -C ckpts -o scores train.svm
		torn=$((size > first ? size - first : size))
		[[ $size != "$first" && $size != $(wc -c <whole) ]] || torn=0
		assert_equal "$stderr" "ps-eval: scores: $((torn + 5000)) torn\
 bytes at its end are cut off"
		bare scores | diff <(bare whole) -
	done
}

@test "--follow resumes, and ends when the last of -o FILE becomes final" {
	follow() {
		session --checkpoint=ckpts --keep=0
		for n in 1 2; do
			ask 'train 10' save
			await save
			ps-eval -C ckpts -o scores train.svm
		done
		true >said
		timeout 60 ps-eval -v -C ckpts --follow -o scores train.svm \
			2>>said 9>&- &
		car=$!
		timeout 60 tail -n +1 -f said | grep -q -m 1 'after step 20'
		exec 9>&-
		wait "$coord"
		wait "$car"
	}
	run -0 --separate-stderr in_cluster follow
	assert_equal "$stderr" ""
	bare scores | cut -d, -f1-3 | diff - <(printf '%s\n' \
		'{"checkpoint":"ckpt-00000010","step":10,"final":false' \
		'{"checkpoint":"ckpt-00000020","step":20,"final":false')
}

@test "with -o FILE, checkpoints no newer than its lines are not scored" {
	train 'train 10' save 'train 10' save 'train 10'
	for what in ckpts/ckpt-00000020 ckpts/ckpt-00000020 \
		ckpts/ckpt-00000010; do
		ps-eval -C "$what" -o scores train.svm
	done
	for n in 1 2; do
		ps-eval -C ckpts --newest -o scores train.svm
	done
	assert_equal "$(cut -d, -f2 scores)" $'"step":20\n"step":30'
}

@test "a line of -o FILE counts for --until" {
	train 'train 10' save 'train 10' save 'train 10'
	for n in 1 2; do
		run -0 ps-eval -C ckpts --until='auc>=0.1' -o scores train.svm
		run -0 ps-eval -C ckpts --until='loss<10' -o scores train.svm
		assert_equal "$(wc -l <scores)" 1
	done
	run -64 --separate-stderr ps-eval -C ckpts --until='step>1' -o scores \
		train.svm
	assert_equal "$stderr" \
		"ps-eval: --until: the model has no metric 'step'"
	for until in 'auc>1' 'accuracy>1'; do
		ps-eval -C ckpts -o scores train.svm
		run -1 ps-eval -C ckpts --until="$until" -o scores train.svm
	done
	assert_equal "$(wc -l <scores)" 3
}

@test "another program's file is refused for -o, and is not changed" {
	train 'train 10' save 'train 10'
	ps-eval -C ckpts/ckpt-00000010 -o scores train.svm
	for line in '' '# notes' '[1]' '{"step":70,"examples":300}' \
		'{"checkpoint":"ckpt-00000020"}' '\000\000' \
		'{"checkpoint":"a","step":-1}' '{"checkpoint":"a","step":"1"}' \
		'{"checkpoint":"a","step":1} {"checkpoint":"b","step":2}'; do
		{ cat scores; printf "$line\n"; } >file
		cp file before
		bad 65 "ps-eval: file:2: not the scores of a checkpoint" \
			-C ckpts -o file train.svm
		cmp file before
	done
	# A last line without a newline counts as incomplete only if it begins
	# as the lines of ps-eval do.
	for text in notes '{"step":70' '{"checkpoints'; do
		printf '%s' "$text" >file
		bad 65 "file:1: not the scores" -C ckpts -o file train.svm
		assert_equal "$(<file)" "$text"
	done
}

@test "a file that another program writes to is refused for -o" {
	train 'train 10'
	mkfifo begun in
	ps-eval -C ckpts -o scores 'pipe:echo >begun; cat in' 3>&- &
	pid=$!
	daemons+=("$pid")
	read -r -t 60 line <begun
	bad 75 "scores: another program has it open" \
		-C ckpts -o scores train.svm
	echo '{"checkpoint":"ckpt-00000001","step":1}' >scores
	run -75 --separate-stderr ps-coord -m model.ps -s ipc://nobody \
		-o scores /dev/null
	assert_equal "$stderr" \
		"ps-coord: scores: another program has it open"
	assert_equal "$(<scores)" '{"checkpoint":"ckpt-00000001","step":1}'
	stop || [ $? = 75 ]
	exec 5<>in 5>&-		# the command, whose reader has ended
}

@test "a full disk at -o FILE is an error, until there is room again" {
	for n in {1..8}; do
		echo train 5
		echo save
	done >requests
	train "$(<requests)"
	bad 73 "cannot write nowhere/scores: No such file" -C ckpts \
		-o nowhere/scores train.svm
	bad 74 "cannot write /dev/full: No space left" -C ckpts \
		-o /dev/full train.svm
	ps-eval -C ckpts train.svm | bare >whole
	(
		ulimit -f 1
		bad 74 "cannot write scores: File too large" -C ckpts \
			-o scores train.svm
	)
	assert_equal "$(wc -c <scores)" 1024
	run -0 ps-eval -C ckpts -o scores train.svm
	bare scores | diff whole -
}

# ---- the live model ----

@test "the live model is scored at one step, while training continues" {
	live() {
		session --results=all
		ask 'train 20' join
		await join
		mkfifo in out
		ps-eval --predict -B 1 - <in >out 9>&- &
		eval=$!
		exec 6>in 7<out
		head -n 1 train.svm >&6
		read -r -t 60 before <&7
		ask 'train 50' join
		await join
		head -n 1 train.svm >&6
		read -r -t 60 during <&7
		exec 6>&-
		wait "$eval"
		after=$(head -n 1 train.svm | ps-eval --predict -)
		[ "$before" = "$during" ]
		[ "$before" != "$after" ]
		ps-eval train.svm
		exec 9>&-
		wait "$coord"
	}
	run -0 --separate-stderr in_cluster live
	assert_equal "$stderr" ""
	[[ $output == '{"step":70,"examples":300,"loss":'* ]]
}

@test "--until works on the live model" {
	live() {
		session
		ask 'train 20' join
		await join
		ps-eval --until='auc>0.01' train.svm
		! ps-eval --until='auc>1' train.svm
		exec 9>&-
		wait "$coord"
	}
	run -0 --separate-stderr in_cluster live
	assert_equal "${#lines[@]}" 2
	assert_equal "$stderr" ""
}

@test "an evaluator releases its cut, also when it is killed" {
	live() {
		session
		ask 'train 5' join
		await join
		mkfifo in
		for n in {1..70}; do	# more cuts than a server would hold
			ps-eval --predict -B 1 - <in >out 9>&- &
			eval=$!
			exec 6>in
			head -n 1 train.svm >&6
			until [ -s out ]; do :; done
			kill -KILL "$eval"
			wait "$eval" 2>/dev/null || true
			exec 6>&-
		done
		ps-eval train.svm
		ask 'train 5' join
		await join
		exec 9>&-
		wait "$coord"
	}
	run -0 --separate-stderr in_cluster live
	[[ $output == '{"step":5,"examples":300,'* ]]
}

@test "a run that ends before its evaluation is an error of the evaluation" {
	live() {
		session
		ask 'train 5' join
		await join
		mkfifo in out
		ps-eval --predict -B 1 - <in >out 9>&- &
		eval=$!
		exec 6>in 7<out
		head -n 1 train.svm >&6
		read -r -t 60 line <&7
		exec 9>&-
		wait "$coord"
		wait "$eval"
	}
	run -69 --separate-stderr in_cluster live
	[[ $stderr == "ps-eval: coordinator ipc://"*"ended the run"* ]]
}

@test "a coordinator that does not run is an error that names it" {
	run -69 --separate-stderr ps-eval -w 300ms -c ipc://nobody train.svm
	assert_equal "$stderr" "ps-eval: coordinator ipc://nobody does not \
answer within 0.3 s"
	run -69 --separate-stderr env PS_COORD=ipc://nobody2 \
		ps-eval -w 300ms train.svm
	[[ $stderr == *"coordinator ipc://nobody2 does"* ]]
	run -69 --separate-stderr ps-eval -w 300ms -t evaluator:0 -f '{
		"cluster": { "chief": ["127.0.0.1:1"], "ps": ["127.0.0.1:2"],
		"worker": ["127.0.0.1:3"] } }' train.svm
	[[ $stderr == *"coordinator tcp://127.0.0.1:1 does"* ]]
	run -64 ps-eval -t worker:0 -c ipc://nobody train.svm
	assert_output --partial "the task is worker, not evaluator"
}

# ---- predictions ----

@test "--predict prints a line for each example, labelled or not" {
	train 'train 40'
	run -0 --separate-stderr ps-eval --predict -C ckpts train.svm
	assert_equal "${#lines[@]}" 300
	assert_equal "$stderr" ""
	labelled=$output
	cut -d' ' -f2- train.svm >bare.svm
	run -0 ps-eval --predict -C ckpts -B 7 - <bare.svm
	assert_output "$labelled"
	# A file that is not svmlight is refused, though its lines could be
	# labels without features.
	tr ' ' , <train.svm | tr : . >comma.svm
	run -65 --separate-stderr ps-eval --predict -C ckpts comma.svm
	assert_output ""
	[[ $stderr == "ps-eval: comma.svm:1: '"*"' is not a label, which is a\
 number; the file is read as svmlight: for csv say -F csv" ]]
	# The accuracy is the share of predictions on the right side of 0.5.
	right=$(paste <(printf '%s\n' "$labelled") train.svm |
		awk '($1 >= 0.5) == $2 { n++ } END { printf "%.9g", n / NR }')
	run -0 ps-eval -C ckpts train.svm
	assert_output --partial "\"accuracy\":$right,"
}

# predicts CHECKPOINT - check the next prediction of the stream on descriptors 6
# and 7.
predicts() {
	head -n 1 train.svm >&6
	read -r -t 60 line <&7
	assert_equal "$line" "$(head -n 1 train.svm |
		ps-eval --predict -C "$1" -)"
}

# predict_live - begin a stream with the first checkpoint, copied to live.
predict_live() {
	cp -R ckpts/ckpt-00000010 live
	mkfifo in out
	ps-eval --predict -C live -B 1 - <in >out 2>log 3>&- &
	pid=$!
	daemons+=("$pid")
	exec 6>in 7<out
	predicts ckpts/ckpt-00000010
}

@test "--predict of a stream changes to the newest checkpoint" {
	train 'train 10' save 'train 10' save 'train 10'
	mkdir live others
	predict_live
	# A new checkpoint is renamed into the folder, and a pruned one removed.
	cp -R ckpts/ckpt-00000020 live/.tmp-new
	mv live/.tmp-new live/ckpt-00000020
	rm -r live/ckpt-00000010
	predicts ckpts/ckpt-00000020
	# A damaged checkpoint is reported once, and another model's is not
	# used.
	cp -R ckpts/ckpt-00000030 live/.tmp-new
	damage live/.tmp-new/shard-0-of-2.tar 600
	mv live/.tmp-new live/ckpt-00000030
	predicts ckpts/ckpt-00000020
	sed 's/sparse.20./sparse[30]/' model.ps >other.ps
	printf '%s\n' 'train 40' | ps-local -C "$PWD/others" -- --repeat \
		train.svm -- ps-coord -m other.ps --checkpoint=others \
		--results=none
	mv others/ckpt-00000040 live
	predicts ckpts/ckpt-00000020
	rm -r live/ckpt-000000[34]0
	cp -R ckpts/ckpt-00000030 live/.tmp-new
	mv live/.tmp-new live/ckpt-00000030
	predicts ckpts/ckpt-00000030
	# ps-eval has read the checkpoint, so the folder may be removed.
	rm -r live
	predicts ckpts/ckpt-00000030
	exec 6>&-
	wait "$pid"
	exec 7<&-
	run -0 cat log
	assert_line --index 0 \
		"ps-eval: live/ckpt-00000020 predicts from record 2 on"
	assert_line --index 1 --partial "live/ckpt-00000030"
	assert_line --index 2 "ps-eval: live/ckpt-00000040 is of another \
model: predictions are still made with live/ckpt-00000020"
	assert_line --index 3 \
		"ps-eval: live/ckpt-00000030 predicts from record 5 on"
	assert_equal "${#lines[@]}" 4
}

@test "--predict of a stream changes to a checkpoint whose copy is complete" {
	train 'train 10' save 'train 10'
	mkdir live
	predict_live
	mkdir live/ckpt-00000020
	cp ckpts/ckpt-00000020/MANIFEST.json live/ckpt-00000020
	for word in shard-0-of-2.tar "predicts from"; do
		until grep -q "$word" log; do
			head -n 1 train.svm >&6
			read -r -t 60 line <&7
		done
		cp -n ckpts/ckpt-00000020/shard-* live/ckpt-00000020
	done
	predicts ckpts/ckpt-00000020
	exec 6>&-
	wait "$pid"
	exec 7<&-
	run -0 cat log
	assert_line --index 0 --partial "live/ckpt-00000020/shard-0-of-2.tar: "
	assert_line --index 1 --partial "live/ckpt-00000020 predicts from"
	assert_equal "${#lines[@]}" 2
}

# The command adds the newer checkpoint between the records of one input.
@test "--predict of files, and with --newest, uses one checkpoint" {
	train 'train 10' save 'train 10'
	ps-eval --predict -C ckpts/ckpt-00000010 train.svm >of10
	ps-eval --predict -C ckpts/ckpt-00000020 train.svm >of20
	comes='head -n 1 train.svm; mv later/ckpt-00000020 ckpts
		tail -n +2 train.svm'
	mkdir later
	mv ckpts/ckpt-00000020 later
	ps-eval --predict --newest -C ckpts -B 1 "pipe:$comes" | diff of10 -
	mv ckpts/ckpt-00000020 later
	ps-eval --predict -C ckpts -B 1 "pipe:$comes" 2>log >mixed
	from=$(sed -n 's/.*20 predicts from record \([0-9]*\) on$/\1/p' log)
	[ "$from" -le 300 ]
	{
		head -n $((from - 1)) of10
		tail -n +"$from" of20
	} | diff - mixed
	mv ckpts/ckpt-00000020 later
	mkfifo out
	ps-eval --predict -C ckpts -B 1 train.svm >out &
	{
		read -r line	# only one line; head would read more
		echo "$line"
		mv later/ckpt-00000020 ckpts
		cat
	} <out | diff of10 -
	wait $!
}

@test "--predict prints the probabilities of classes with tabs" {
	cat >model.ps <<-'END'
		input     x float[2] columns=a,b
		label     c id
		p       = dense x units=3 activation=softmax
		loss      sparse_categorical_crossentropy p
		optimizer sgd learning_rate=0.1
	END
	printf 'a,b,c\n1,2,0\n2,1,1\n0,0,2\n' >three.csv
	examples=three.csv
	# Each of three workers has one of the three records.
	train 'train 9'
	printf 'b,a\n2,1\n0,0\n' >new.csv
	run -0 ps-eval --predict -C ckpts -F csv - <new.csv
	assert_equal "${#lines[@]}" 2
	awk -F'\t' '{ d = $1 + $2 + $3 - 1; if (NF != 3 || d * d > 1e-12)
		exit 1 }' <<<"$output"
	run -0 ps-eval --predict -C ckpts three.csv
	assert_line --index 0 --regexp "^${lines[0]}$"
}

@test "ps-eval ends without a message when the reader of predictions ends" {
	train 'train 10'
	for n in {1..100}; do cat train.svm; done >long.svm
	run -0 --separate-stderr bash -o pipefail -c \
		'ps-eval --predict -C ckpts long.svm | head -n 1;
		[ "${PIPESTATUS[0]}" = 141 ] || echo "${PIPESTATUS[0]}" >&2'
	assert_equal "${#lines[@]}" 1
	assert_equal "$stderr" ""
}

# ---- errors ----

# bad STATUS TEXT OPTIONS... - check that ps-eval fails with one line that has
# the text.
bad() {
	run "-$1" --separate-stderr ps-eval "${@:3}"
	assert_equal "$output" ""
	assert_equal "${#stderr_lines[@]}" 1
	[[ $stderr == *"$2"* ]] || fail "$stderr"
}

@test "a command line that makes no sense is refused" {
	bad 64 "no input" -C .
	bad 64 "say -C or -c" train.svm
	bad 64 "not both" -C . -c ipc://x train.svm
	bad 64 "--follow: where" -c ipc://x --follow train.svm
	bad 64 "--newest: where" -c ipc://x --newest train.svm
	bad 64 "-o: where" -c ipc://x -o scores train.svm
	bad 64 "--predict" -C . --predict -o scores train.svm
	bad 64 "all of them, or one" -C . --follow --newest train.svm
	bad 64 "--predict" -C . --predict --follow train.svm
	bad 64 "--predict" -C . --predict --until='loss<1' train.svm
	bad 64 "'x' is none of csv " -C . -F x train.svm
	bad 64 "-B: '0'" -C . -B 0 train.svm
}

@test "a folder without checkpoints is an error" {
	mkdir empty
	bad 66 "empty: no checkpoint" -C empty train.svm
	bad 66 "empty: no whole checkpoint" -C empty --newest train.svm
	bad 66 "empty: no whole checkpoint" -C empty --predict train.svm
	bad 66 "cannot open nowhere: No such file" -C nowhere train.svm
	bad 66 "cannot open nowhere" -C nowhere --follow -w 1ms train.svm
	bad 66 "cannot open train.svm: Not a directory" -C train.svm train.svm
}

@test "bad examples are an error that names file and line" {
	train 'train 10'
	bad 66 "nofile" -C ckpts nofile
	true >empty
	bad 66 "empty: it has no records" -C ckpts empty
	(cat train.svm; echo '1 3:nan') >nan
	bad 65 "nan:301" -C ckpts nan
	(cat train.svm; echo 'seven 3:1') >label
	bad 65 "label:301" -C ckpts label
	(cat train.svm; echo '2 3:1') >range
	bad 65 "range:301" -C ckpts range
	echo '1 99:1' >id
	bad 65 "id:1" -C ckpts --predict id
	bad 64 "is a checkpoint" -C ckpts/ckpt-00000010 --follow train.svm
}

@test "lost output is an error" {
	train 'train 10'
	for option in --newest --predict; do
		run -74 --separate-stderr bash -c \
			"ps-eval -C ckpts $option train.svm >/dev/full"
		[[ $stderr == "ps-eval: cannot write standard output: "* ]]
		assert_equal "${#stderr_lines[@]}" 1
	done
}
