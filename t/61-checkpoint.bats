# Checkpoints of running clusters: they are made while training continues, and
# the next run reads them with any number of servers.

load lib.bash
load counting.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	dir=$PWD/ckpt
	mkdir "$dir"
	cat >model.ps <<-'END'
		input    word string[3] sep=| vocab=a,b,c,d,e,f,g,h,i,j,k
		label    good string    vocab=no,yes
		wide   = linear word
		emb    = embedding word dim=6
		mean   = reduce_mean emb
		deep   = dense mean units=1
		logit  = add wide deep
		loss     binary_crossentropy logit from_logits=true
		metric   accuracy logit
		optimizer ftrl for=wide/* learning_rate=0.1
		optimizer adam learning_rate=0.01
	END
	awk 'BEGIN {
		print "word,good"
		for (i = 0; i < 50; i++) {
			word = substr("abcdefghijk", i * 7 % 11 + 1, 1) "|" \
				substr("abcdefghijk", i * 5 % 11 + 1, 1) "|" \
				substr("abcdefghijk", i * i % 11 + 1, 1)
			print word "," (word ~ /[aei]/ ? "yes" : "no")
		}
	}' >data.csv
}

# train SERVERS REQUESTS [COORD-OPTION...] - do a run of one worker, which reads
# the data in order, with checkpoints in $dir.
train() {
	local servers=$1 requests=$2
	shift 2
	printf '%s\n' "$requests" | ps-local -q -C "$dir" -s "$servers" -- \
		--repeat "$PWD/data.csv" -- ps-coord -m model.ps -B 8 \
		--checkpoint="$dir" "$@"
}

# names - print the names of the checkpoints, a star after the final one.
names() {
	ps-ckpt ls "$dir" | awk '{ print $1 ($5 == "final" ? "*" : "") }'
}

@test "a run resumes at the step of its newest checkpoint, with its state" {
	run -0 train 2 'train 10'
	assert_line --index 0 --partial '"step":0,'
	run -0 train 2 'train 10' -o -
	assert_line --index 0 --partial '"step":10,'
	assert_line --index 9 --partial '"step":19,'
	run -0 names
	assert_output "$(printf '%s\n' ckpt-00000010* ckpt-00000020*)"
	run -0 ps-ckpt show "$dir"
	assert_line --partial "$(printf 'emb/embeddings\t[11, 6]')"
	run -0 grep -c '20 updates' <(ps-ckpt show "$dir")
	assert_output 15	# 5 variables with two slots each
}

@test "--restore takes a directory, a name or "none"" {
	train 1 'train 6' --every=2 >out
	run -0 train 1 'train 1' --restore=ckpt-00000002
	assert_output --partial '"step":2,'
	run -0 train 1 'train 1' --restore="$dir/ckpt-00000004"
	assert_output --partial '"step":4,'
	for path in "$dir/ckpt-00000002/" "$dir//./ckpt-00000002" \
		ckpt-00000002/ ckpt/ckpt-00000002; do
		run -0 train 1 'train 1' --restore="$path"
		assert_output --partial '"step":2,'
	done
	cp -r "$dir" other
	run -64 train 1 'train 1' --restore=other/ckpt-00000002/
	assert_output --partial "other/ckpt-00000002/ is not in $dir, where"
	run -0 train 1 'train 1' --restore=none
	assert_output --partial '"step":0,'
	run -66 train 1 'train 1' --restore=ckpt-00000099
	assert_output --partial "$dir/ckpt-00000099"
}

@test "a run that goes back keeps its checkpoints, and reports later ones" {
	train 1 'train 30' --every=10 --keep=2 >out
	run -0 --separate-stderr train 1 'train 9' --every=3 --keep=2 \
		--restore=none --results=errors
	assert_equal "$stderr" "ps-coord: $dir has checkpoints of later \
steps, up to ckpt-00000030, which stays the newest until this run has passed\
 it: remove them if they are not wanted"
	run -0 names
	assert_output "$(printf 'ckpt-000000%s\n' 06 09* 20 30*)"
	train 1 'train 1' --keep=2 --restore=ckpt-00000006 --results=none
	run -0 names
	assert_output "$(printf 'ckpt-000000%s\n' 06 07* 09* 20 30*)"
}

@test "a checkpoint is kept every --every steps, and the last is final" {
	train 2 'train 30' --every=5 --keep=3 >out
	run -0 names
	assert_output "$(printf '%s\n' ckpt-00000020 ckpt-00000025 \
		ckpt-00000030*)"
	run -0 ps-ckpt verify "$dir"/*
	rm -r "$dir"/*
	train 2 'train 30' --every=5 --keep=0 >out
	run -0 names
	assert_line --index 0 ckpt-00000005
	assert_equal "${#lines[@]}" 6
}

@test "a run that fails at once, again and again, loses no checkpoint" {
	printf '%s\n' 'input x float' 'label y float' 'p = dense x units=1' \
		'loss mean_squared_error p' \
		'optimizer sgd learning_rate=1e15' >wild.ps
	printf '%s\n' x,y 1,2 2,3 3,4 >wild.csv
	for _ in 1 2 3; do
		run -65 --separate-stderr ps-local -q -C wild ps-coord -B 1 \
			-m wild.ps -d wild.csv --checkpoint=wild --every=1 \
			--keep=2 <<<'epoch 5'
		assert_output --partial 'a smaller learning_rate'
		[ -e before ] || ls wild >before
		run -0 diff before <(ls wild)
	done
	run -0 wc -l <before
	assert_output 2
}

@test "save is a barrier: its line comes when the checkpoint is safe" {
	run -0 train 2 $'train 7\nsave\ntrain 2\nsave\njoin'
	assert_line --index 7 \
		'{"op":"save","step":7,"checkpoint":"ckpt-00000007"}'
	assert_line --index 10 \
		'{"op":"save","step":9,"checkpoint":"ckpt-00000009"}'
	run -0 names
	assert_output "$(printf '%s\n' ckpt-00000007 ckpt-00000009*)"
}

# restored FROM FROM-HOW TO TO-HOW - check that a model that FROM servers saved
# and TO servers restored is trained on to the same weights and slots.
restored() {
	rm -rf "$dir" first again
	mkdir "$dir"
	train "$1" 'train 10' "$2" >out
	cp -r "$dir" first
	train "$1" 'train 10' "$2" >out
	mv "$dir" again
	mv first "$dir"
	train "$3" 'train 10' "$4" >out
	ps-ckpt diff --slots again "$dir" >off || {
		cat off
		fail "$*"
	}
}

@test "C1 C2 C3 a checkpoint is restored into any number of shards" {
	restored 4 --partition=fixed:4 1 --partition=fixed:1
	restored 1 --partition=fixed:1 4 --partition=fixed:4
	restored 4 --partition=fixed:4 2 --partition=fixed:2
	restored 3 --partition=fixed:7 2 --partition=max:30
	restored 3 '--place=*@1-2' 2 '--place=*/kernel@0'
}

@test "C4 a variable exists from the plan on, before the restore" {
	train 1 'train 2' >out
	# The coordinator sends the model to servers that do not have it.
	run -0 train 3 'join'
	assert_output --partial '"step":2,"steps":0,'
}

@test "C5 training after a restore does not change the checkpoint" {
	train 2 'train 5' --partition=fixed:2 >out
	cp -r "$dir" first
	train 2 'train 5' --partition=fixed:2 >out
	run -0 ps-ckpt diff --slots first "$dir/ckpt-00000005"
	run -1 ps-ckpt diff first "$dir/ckpt-00000010"
	train 4 'train 5' --restore=ckpt-00000005 --partition=fixed:4 >out
	run -0 ps-ckpt diff --slots first "$dir/ckpt-00000005"
}

@test "C6 each shard has its variable's full name, and its rows" {
	train 2 'train 2' --partition=fixed:2 >out
	run -0 bash -c 'for f in ckpt/ckpt-00000002/*.tar; do
		tar tf "$f"; done | grep embeddings | sort'
	assert_line --index 0 --regexp '^emb/embeddings/0-5.npy$'
	assert_line --regexp '^emb/embeddings/6-10.npy$'
}

# content CHECKPOINT - print the hash of the variable free in a checkpoint.
content() {
	ps-ckpt cat "$dir/$1" free | sha256sum
}

@test "a variable that no layer uses does not change with any optimizer" {
	local mode first
	sed -i '/^optimizer/d' model.ps
	cat >>model.ps <<-'END'
		variable free [300,1000]
		optimizer ftrl for=free learning_rate=0.1
		optimizer adamw weight_decay=0.1
	END
	for mode in async sync; do
		rm -rf "$dir"/ckpt-*
		run -0 train 3 "$(printf '%s\n' save 'train 10')" \
			--mode="$mode" --partition=fixed:2
		run -0 content ckpt-00000000
		first=$output
		run -0 content ckpt-00000010
		assert_output "$first"
		run -0 train 2 "$(printf '%s\n' 'train 5' 'eval data.csv')" \
			--mode="$mode"
		run -0 content ckpt-00000015
		assert_output "$first"
		run -0 ps-ckpt show "$dir/ckpt-00000015"
		assert_line "$(printf 'array\tfree\t[300, 1000]\t1 shard\t%s' \
			'0 updates')"
	done
}

@test "a model that uses no variable is scored without waiting" {
	cat >model.ps <<-'END'
		variable free [3]
		input    x float
		label    y float
		loss     mean_squared_error x
		optimizer sgd weight_decay=0.1
	END
	printf '%s\n' x,y 1,2 3,4 >data.csv
	SECONDS=0
	run -0 train 1 "$(printf '%s\n' save 'train 300' 'eval data.csv')"
	assert_line --partial '"op":"eval","step":300,"examples":2,"loss":1,'
	((SECONDS < 20))	# no step waits for an answer, or a tick
	run -0 content ckpt-00000300
	assert_output "$(content ckpt-00000000)"
}

@test "after kill -9 of all programs the run resumes at the checkpoint" {
	mkfifo requests results
	for i in 0 1; do
		start ps-serve -b "ipc://$PWD/s$i" -d "$dir"
	done
	launch ps-work -c "ipc://$PWD/c" --repeat data.csv
	ps-coord -b "ipc://$PWD/c" -s "ipc://$PWD/s0,ipc://$PWD/s1" \
		-m model.ps -B 8 --checkpoint="$dir" requests >results 3>&- &
	daemons+=($!)
	exec 8<results 7>requests
	printf '%s\n' 'train 12' save 'train 1000000' >&7
	grep -q -m 1 '"op":"save"' <&8
	dies "${daemons[@]}"
	exec 7>&- 8<&-
	run -0 names
	assert_output ckpt-00000012
	run -78 train 3 'train 3'
	assert_output "ps-coord: $dir/journal: it is the journal of a run with\
 another number of servers: give the options of that run, or remove the\
 journal to begin anew"
	rm "$dir/journal"
	run -0 train 3 'train 3'
	assert_line --index 0 --partial '"step":12,'
	run -0 names
	assert_line --index 1 'ckpt-00000015*'
}

@test "the files of an interrupted writer are removed" {
	mkdir "$dir/.tmp-ckpt-00000009"
	touch "$dir/.tmp-ckpt-00000009/shard-0-of-2.tar"
	train 1 'train 2' >out
	run -0 ls -A "$dir"
	assert_output ckpt-00000002
}

@test "a checkpoint of another model is refused, with the reason" {
	train 1 'train 2' >out
	sed -i 's/dim=6/dim=5/' model.ps
	run -65 --separate-stderr train 1 'train 2'
	assert_output ""
	assert_equal "$stderr" "ps-coord: $dir/ckpt-00000002 is of another\
 model: its emb/embeddings is [11, 6], not [11, 5]"
	sed -i 's/^emb /bag /; s/mean emb/mean bag/' model.ps
	run -65 --separate-stderr train 1 'train 2'
	[[ $stderr == *" has no bag/embeddings (--restore=none begins anew)" ]]
}

# words STATUS [OPTION...] - train words.ps in the folder words, and check the
# status.
words() {
	run "-$1" --separate-stderr ps-local -q -C words -- --repeat words.csv \
		-- ps-coord -q -B 1 -m words.ps --checkpoint=words \
		--results=errors "${@:2}" <<<'train 2'
}

@test "rows that would belong to other words are refused without an option" {
	printf '%s\n' 'input c string vocab=a,b,c' 'label t string vocab=x,y' \
		'e = embedding c dim=2' 'o = dense e units=2' \
		'loss sparse_categorical_crossentropy o from_logits=true' \
		>words.ps
	printf '%s\n' c,t a,x b,y >words.csv
	words 0
	words 0
	cp words.ps first.ps
	sed -i 's/=a,b/=b,a/; s/=x,y/=y,x/' words.ps
	words 78
	assert_output ""
	assert_equal "$stderr" "ps-coord: words/ckpt-00000004: was trained \
with other inputs, so its rows would stand for other things: words.ps:1: c: \
its words, or their order, words.ps:2: t: its words, or their order; restore\
 those inputs, or begin anew with --restore=none, or say --restore-as-is"
	words 0 --restore-as-is
	assert_equal "$stderr" ""
	# The new checkpoint has the words of this model.
	words 0
	cp first.ps words.ps
	words 78
	words 0 --restore=none
}

# meaning WHAT FROM TO - check that a checkpoint with the input line FROM is
# refused for TO, since WHAT differs.
meaning() {
	rm -rf words
	printf '%s\n' "$2" 'label y float' 'e = linear c' \
		'loss mean_squared_error e' >words.ps
	ps-ckpt -q import -m words.ps none.safetensors words >imported
	sed -i "1s/.*/$3/" words.ps
	words 78
	assert_equal "$stderr" "ps-coord: words/ckpt-00000000: was trained \
with other inputs, so its rows would stand for other things: words.ps:1: c: \
$1; restore those inputs, or begin anew with --restore=none, or say\
 --restore-as-is"
}

@test "every setting that gives rows their meaning is compared" {
	printf '%s\n' c,y 1,1 >words.csv
	printf '\2\0\0\0\0\0\0\0{}' >none.safetensors
	meaning "its words, or their order" 'input c string vocab=a,b' \
		'input c string vocab=a,c'
	meaning "its words, or their order" \
		'input c string vocab=a,b mask_token=m' \
		'input c string vocab=a,b mask_token=n'
	meaning "its num_oov_indices" 'input c string vocab=a,b,c' \
		'input c string vocab=a,b num_oov_indices=1'
	meaning "its mask_token" 'input c string vocab=a,b,c' \
		'input c string vocab=a,b mask_token=c'
	meaning "its kind" 'input c string vocab=a,b' 'input c string hash=2'
	meaning "its kind" 'input c string hash=2' 'input c id rows=2'
	meaning "its kind" 'input c string rows=hash' 'input c id rows=hash'
	meaning "its kind" 'input c sparse[2]' 'input c id[] rows=2'
	meaning "its bin_boundaries" 'input c id bin_boundaries=1,2' \
		'input c id bin_boundaries=1,3'
	meaning "its bin_boundaries" 'input c id bin_boundaries=1,2' \
		'input c id rows=3'
	meaning "its zero_based" 'input c sparse[2]' \
		'input c sparse[2] zero_based=true'
	meaning "its zero_based" 'input c sparse[hash]' \
		'input c sparse[hash] zero_based=true'
	meaning "its cross" 'input c string columns=a,b cross=true hash=5' \
		'input c string columns=a hash=5'
	meaning "the order of its columns" \
		'input c string columns=a,b cross=true hash=5' \
		'input c string columns=b,a cross=true hash=5'
	meaning "the order of its columns" \
		'input c string columns=a,b cross=true rows=hash' \
		'input c string columns=a,b,d cross=true rows=hash'
	meaning "the order of its columns" 'input c float[2] columns=a,b' \
		'input c float[2] columns=b,a'
}

@test "the order in which a layer has its inputs side by side is compared" {
	printf '%s\n' 'input c float' 'input d float' 'label y float' \
		'h = dense c units=1' 'both = concat h d' \
		'e = linear both' 'loss mean_squared_error e' >words.ps
	printf '%s\n' c,d,y 1,2,1 >words.csv
	words 0
	sed -i 's/concat h d/concat d h/' words.ps
	words 78
	assert_equal "$stderr" "ps-coord: words/ckpt-00000002: was trained \
with other inputs, so its rows would stand for other things: words.ps:5: both:\
 the order of its inputs; restore those inputs, or begin anew with \
--restore=none, or say --restore-as-is"
	words 0 --restore-as-is
	# Another input in its place is allowed.
	sed -i 's/concat d h/concat c h/' words.ps
	words 0
}

@test "a table is compared even if its input has another name" {
	printf '%s\n' 'input c string vocab=a,b' 'label y float' \
		'e = linear c' 'loss mean_squared_error e' >words.ps
	printf '%s\n' c,d,y a,a,1 >words.csv
	words 0
	sed -i 's/input c .*/input d string vocab=b,a/; s/linear c/linear d/' \
		words.ps
	words 78
	[[ $stderr == *": words.ps:1: d: its words, or their order; "* ]]
	# Other columns, and other names of inputs, are allowed.
	sed -i 's/vocab=b,a/vocab=a,b columns=c/' words.ps
	words 0
}

@test "variables that the model or the checkpoint lacks are reported" {
	printf '%s\n' 'input i id rows=hash' 'input x float' \
		'label y binary' 'a = embedding i dim=2' \
		'z = dense a units=1' 'w = dense x units=1' 'o = add z w' \
		'loss binary_crossentropy o from_logits=true' >both.ps
	printf '%s\n' i,x,y 7,1,0 >both.csv
	both() {
		run -0 --separate-stderr ps-local -q -C both -- \
			--repeat both.csv -- ps-coord -B 1 -m both.ps \
			--checkpoint=both --results=errors <<<'train 2'
	}
	both
	sed -i 's/^a =/b =/; s/dense a/dense b/; s/ o / z /
		/^[wo] =/d; /input x/d' both.ps
	both
	local told="ps-coord: both/ckpt-00000002: "
	local in="because the model does not have them"
	assert_equal "${#stderr_lines[@]}" 2
	assert_equal "${stderr_lines[0]}" "${told}not restored, $in:\
 a/embeddings, w/kernel, w/bias"
	assert_equal "${stderr_lines[1]}" "${told}starting from initial values,\
 because the checkpoint does not have them:\
 b/embeddings"
	both
	assert_equal "$stderr" ""
	# Slots of another optimizer are reported, and an added slot of the same
	# one.
	echo 'optimizer adagrad' >>both.ps
	both
	told=${told/02/06}
	assert_equal "${#stderr_lines[@]}" 2
	assert_equal "${stderr_lines[0]}" "${told}not restored, $in:\
 b/embeddings@velocity, z/kernel@velocity, z/bias@velocity"
	assert_equal "${stderr_lines[1]}" "${told}starting from initial values,\
 because the checkpoint does not have them:\
 b/embeddings@accumulator, z/kernel@accumulator, z/bias@accumulator"
	sed -i 's/^optimizer.*/optimizer rmsprop momentum=.9/' both.ps
	both
	told=${told/06/08}
	assert_equal "${#stderr_lines[@]}" 2
	assert_equal "${stderr_lines[0]}" "${told}not restored, $in:\
 b/embeddings@accumulator, z/kernel@accumulator, z/bias@accumulator"
	[[ ${stderr_lines[1]} == *"b/embeddings@velocity"*"z/bias@momentum" ]]
	sed -i 's/momentum=.9//' both.ps
	both
	told=${told/08/10}
	assert_equal "$stderr" "${told}not restored, $in:\
 b/embeddings@momentum, z/kernel@momentum, z/bias@momentum"
	both
	assert_equal "$stderr" ""
}

@test "when the newest checkpoint is damaged the previous one is used" {
	train 2 'train 6' --every=3 >out
	truncate -s -100 "$dir/ckpt-00000006/shard-1-of-2.tar"
	run -0 --separate-stderr train 2 'train 1'
	assert_output --partial '"step":3,'
	[[ $stderr == *"$dir/ckpt-00000006/shard-1-of-2.tar: "* ]]
	[[ $stderr == *"ckpt-00000006 is incomplete: the run starts from\
 ckpt-00000003, the newest complete one"* ]]
	for one in "$dir"/*; do
		truncate -s 100 "$one/MANIFEST.json"
	done
	run -65 train 2 'train 1'
	assert_output --partial "$dir"
}

@test "a directory that cannot be written is refused before any step" {
	touch file
	dir=$PWD/file/ckpt
	printf '%s\n' 'train 2' >requests
	run -73 --separate-stderr ps-coord -m model.ps --checkpoint="$dir" \
		-s ipc://nobody requests
	assert_output ""
	[[ $stderr == "ps-coord: "*"$dir"* ]]
	assert_equal "${#stderr_lines[@]}" 1
}

@test "servers without a directory make a checkpoint a clear error" {
	run -78 --separate-stderr ps-local -q -- --repeat "$PWD/data.csv" -- \
		ps-coord -m model.ps --checkpoint="$dir" <<<'train 2'
	[[ $stderr == *"start it with -d"* ]]
	run -0 names
	assert_output ""
}

# hold_up [OPTION...] - request 20 steps, with a cut every 10; stop the worker
# that has one of the first ten, then start another worker.
hold_up() {
	counting
	for i in 0 1; do
		start ps-serve -b "ipc://s$i" -d ckpt "$@"
	done
	conduct -s ipc://s0,ipc://s1 --checkpoint=ckpt --every=10 --keep=0 \
		--in-flight=1 "$@"
	launch ps-work -c ipc://coord --repeat one.svm "$@"
	held=$pid
	ask 1
	done_steps 1
	kill -STOP "$held"
	ask 19
	launch ps-work -c ipc://coord --repeat one.svm "$@"
	worker=$pid
}

# exact - check that both cuts have each of their steps once.
exact() {
	echo save >&"$requests"
	read -r -t 30 line <&"$results"
	assert_equal "$line" \
		'{"op":"save","step":20,"checkpoint":"ckpt-00000020"}'
	counted 10 ckpt/ckpt-00000010
	counted 20 ckpt/ckpt-00000020
}

@test "a cut waits for a worker, but no worker waits for the cut" {
	hold_up --lease=60s
	done_steps 18		# all steps above the cut are among these
	assert_not_exists ckpt/ckpt-00000010
	kill -CONT "$held"
	done_steps 1
	exact
	ends
	wait "$held"
}

@test "a worker that is stopped delays a cut at most until its lease ends" {
	hold_up --lease=2s
	done_steps 19
	exact
	kill -CONT "$held"
	ends
}

@test "another worker does the step of a cut that a killed worker had" {
	hold_up --lease=60s
	done_steps 18
	kill -KILL "$held"
	done_steps 1
	exact
	ends
}

# said NAME CHECKPOINT - print the value of this name in the manifest.
said() {
	sed -n "s/^ *\"$1\": //p" "$2/MANIFEST.json" | grep .
}

@test "a checkpoint has the data position and examples of its cut" {
	counting
	for i in {1..20}; do
		cat one.svm
	done >all.svm
	mkdir plain
	printf '%s\n' 'train 1' epoch | ps-local -q -C "$PWD/plain" -s 2 -- -- \
		ps-coord -m count.ps -B 1 -d all.svm --checkpoint=plain \
		--every=10 --keep=0 --results=none
	start ps-serve -b ipc://s0 -d ckpt
	conduct -s ipc://s0 --checkpoint=ckpt --every=10 --keep=0 -B 1 \
		--in-flight=1 -d all.svm --lease=60s
	launch ps-work -c ipc://coord --lease=60s
	held=$pid
	ask 1
	done_steps 1
	kill -STOP "$held"
	echo epoch >&"$requests"
	launch ps-work -c ipc://coord --lease=60s
	worker=$pid
	done_steps 12		# some of these are above the cut
	kill -CONT "$held"
	done_steps 7
	ends
	for each in ledger examples step; do
		assert_equal "$(said "$each" ckpt/ckpt-00000010)" \
			"$(said "$each" plain/ckpt-00000010)"
	done
	mkdir again
	cp -r ckpt/ckpt-00000010 again
	echo epoch | ps-local -q -C "$PWD/again" -s 2 -- -- ps-coord \
		-m count.ps -B 1 -d all.svm --checkpoint=again >out
	run -0 tail -n 1 out
	assert_output --partial '"steps":10,"examples":10,'
	refute_output --partial missed
	counted 20 again
}

# t/storm 300 is the full test.
@test "whenever its writer is killed, a checkpoint is intact or absent" {
	run -0 --separate-stderr timeout 200 "$SRC/t/storm" 30
	assert_output --partial "30 writers and 3 clusters killed"
	assert_equal "$stderr" ""
}

# one RATE [OPTIMIZER] - write a model of one weight and one row of a table.
one() {
	printf '%s\n' 'input x float' 'input u id rows=hash' 'label y float' \
		'w = dense x units=1 use_bias=false kernel_initializer=zeros' \
		'e = linear u use_bias=false' 'p = add w e' \
		'loss mean_squared_error p' \
		"optimizer ${2-sgd} for=w/* learning_rate=${3-0}" \
		"optimizer ${2-sgd} for=e/* learning_rate=$1" >model.ps
	printf '%s\n' x,u,y 1,7,1 >data.csv
}

# diverges VARIABLE STEP - check that the last run reported the divergence of
# the variable, and that the newest checkpoint is that of step 3.
diverges() {
	local why="server 0 \\(.*\\): $1 has numbers that are not finite: \
the run has diverged"
	output=$stderr
	mapfile -t lines <<<"$stderr"
	assert_line --index -1 --regexp "^ps-coord: $why\$"
	assert_line --index -2 --regexp "^ps-coord: no checkpoint of step $2: \
$why; the newest is ckpt-00000003\$"
	run -0 names
	assert_output 'ckpt-00000003*'
}

@test "a run that has diverged saves no checkpoint" {
	one 0.1 sgd 0.1
	run -0 --separate-stderr train 1 'train 3' --results=none
	run -0 names
	assert_output 'ckpt-00000003*'
	one 1e30
	run -65 --separate-stderr train 1 'train 2'
	assert_line --index 1 --partial '"step":4,"worker":"worker:0","attempt"'
	diverges e/kernel 5
	one 0 sgd 1e30
	run -65 --separate-stderr train 1 'train 2'
	diverges w/kernel 5
	# This includes checkpoints by --every, and by a save.
	run -65 --separate-stderr train 1 $'train 2\nsave' --every=5
	assert_line --partial '{"op":"save","step":5,"error":"server 0 ('
	assert_line --partial 'w/kernel has numbers that are not finite'
	diverges w/kernel 5
	# A new run resumes from the good checkpoint.
	one 0.1 sgd 0.1
	run -0 --separate-stderr train 2 'train 1'
	assert_line --partial '"step":3,'
	assert_equal "$stderr" ""
	run -0 names
	assert_output $'ckpt-00000003*\nckpt-00000004*'
}

# The square of 1e20 is infinite as a float.
@test "a slot may be infinite, as long as the values are not" {
	one 0.1 adagrad 0.1
	printf '%s\n' x,u,y 1e20,7,1 >data.csv
	run -0 train 1 'train 1' --results=none
	run -0 names
	assert_output 'ckpt-00000001*'
	run -0 bash -c 'ps-ckpt cat "$1" w/kernel@accumulator | tail -c 4 |
		od -An -tx4' - "$dir"
	assert_output " 7f800000"
	run -0 ps-ckpt verify "$dir"
	ps-ckpt convert --slots "$dir" all.npz
	run -0 ps-ckpt import -m model.ps all.npz again
	run -0 ps-ckpt diff --slots "$dir" again
}

# The average of squares is inf after the first step, and inf - inf after the
# second, while the largest average so far stays inf.
@test "a slot that is no number is not saved, though the values are finite" {
	one 0.1 'adam amsgrad=true' 0.1
	printf '%s\n' x,u,y 1e25,7,1 1,7,1 >data.csv
	run -65 --separate-stderr train 1 'train 2' --results=none
	assert_regex "$stderr" "w/kernel@velocity has numbers that are not \
finite: the run has diverged"
	run -0 names
	assert_output ""
}

@test "a diverged checkpoint that was saved nevertheless is recognized" {
	cp -r "$SRC/t/golden/diverged/." "$dir"
	one 0.1
	run -65 ps-ckpt verify "$dir"
	assert_output "ps-ckpt: $dir/ckpt-00000001: w/kernel has numbers that \
are not finite"
	run -0 --separate-stderr ps-eval -C "$dir" data.csv
	assert_output --partial '"loss":null'
	assert_equal "$stderr" "ps-eval: $dir/ckpt-00000001: w/kernel has \
values that are not finite: predictions from them are useless"
}
