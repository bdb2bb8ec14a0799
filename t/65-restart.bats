# Programs that are killed and started again: each step takes effect once.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	dir=$PWD/ckpt
	mkdir "$dir"
	# Every gradient is -1, so every weight counts its steps.
	cat >model.ps <<-'END'
		input  i id[2] rows=4
		input  x float[3] columns=x*
		label  y float
		d    = dense x units=1 kernel_initializer=zeros
		e = embedding i dim=1 combiner=sum embeddings_initializer=zeros
		p    = add d e
		loss   mean_absolute_error p
		optimizer sgd learning_rate=1
	END
	cat >data.csv <<-'END'
		i1,i2,x1,x2,x3,y
		0,1,1,1,1,1e6
		2,3,1,1,1,1e6
	END
	sed -i 's/id\[2\]/id[2] columns=i*/' model.ps
	: >results
	servers=ipc://$PWD/s0,ipc://$PWD/s1
}

# serve I [OPTION...] - start server I.
serve() {
	start ps-serve -b "ipc://$PWD/s$1" -d "$dir" "${@:2}"
	eval "server$1=$pid"
}

work() {
	launch ps-work -c "ipc://$PWD/c" --repeat data.csv
}

# coord [OPTION...] - start a coordinator in the background.
coord() {
	launch ps-coord -b "ipc://$PWD/c" -s "$servers" -m model.ps -B 2 \
		--checkpoint="$dir" --partition=fixed:2 "$@"
	coord=$pid
}

# counted N - check that every weight has counted N steps.
counted() {
	ps-ckpt convert "$dir" weights.npz
	/usr/bin/python3 - "$1" <<-'END'
		import sys, numpy as np
		for name, value in np.load("weights.npz").items():
		    assert (value == float(sys.argv[1]) *
		            (.5 if "emb" in name else 1)).all(), (name, value)
	END
}

# lines N - wait until there are N results.
lines() {
	rm -f written
	mkfifo written
	tail -n +1 -f results >written 2>tail 3>&- &
	head -n "$1" <written >/dev/null
	kill "$!" 2>gone || true
}

need_numpy() {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "/usr/bin/python3 has no numpy"
}

@test "a server that is killed comes back: weights count each step once" {
	need_numpy
	serve 0
	serve 1
	work
	work
	echo train 12000 >requests
	coord -o results --every=2000 requests
	lines 2500
	dies "$server1"
	serve 1
	lines 5000
	dies "$server0" "$server1"
	serve 0
	serve 1
	wait "$coord"
	counted 12000
	run -0 wc -l <results
	assert_output 12000
	run -0 sort -u <(sed 's/.*"step":\([0-9]*\).*/\1/' results)
	assert_equal "${#lines[@]}" 12000
	run -0 grep -c "without its variables: it goes back to ckpt-" \
		"$PWD/ps-coord.4.log"
}

@test "without checkpoints a server's steps are run again from the first" {
	serve 0
	serve 1
	work
	echo train 4000 >requests
	launch ps-coord -b "ipc://$PWD/c" -s "$servers" -m model.ps -B 2 \
		-o results requests
	coord=$pid
	lines 300
	dies "$server1"
	serve 1
	wait "$coord"
	run -0 grep -c "initial values; [0-9]* steps are run again" \
		"$PWD/ps-coord.3.log"
}

@test "a coordinator that is killed resumes: each result is there once" {
	need_numpy
	serve 0
	serve 1
	work
	work
	printf '%s\n' 'train 8000' join 'train 4000' join >requests
	for at in 1200 3600 6000 9200; do
		coord -o results requests
		lines "$at"
		dies "$coord"
	done
	coord -o results requests
	wait "$coord"
	counted 12000
	run -0 grep -c train results
	assert_output 12000
	run -0 sort -u <(sed -n '/train/s/.*"step":\([0-9]*\).*/\1/p' results)
	assert_equal "${#lines[@]}" 12000
	run -0 grep join results
	assert_line --index 0 --partial '"step":8000,"steps":8000,'
	assert_line --index 1 --partial '"step":12000,"steps":4000,'
	run -0 awk -F '"pairs":\\[\\[' '{
		sum = 0
		sub(/\]\].*/, "", $2)
		n = split($2, met, /\],\[/)
		for (i = 1; i <= n; i++) {
			sub(/.*,/, "", met[i])
			sum += met[i]
		}
		print sum
	}' <(grep join results)
	assert_output $'8000\n4000'
	assert_not_exists "$dir/journal"
}

# resumes MODE OTHER THIRD - a run of MODE cannot be resumed as OTHER, but as
# THIRD.
resumes() {
	rm -rf "${dir:?}"/*
	: >results
	serve 0
	serve 1
	work
	coord -o results --mode="$1" requests
	lines 200
	dies "$coord"
	run -78 ps-coord -b "ipc://$PWD/c" -s "$servers" -m model.ps -B 2 \
		--checkpoint="$dir" --partition=fixed:2 -o results \
		--mode="$2" requests
	assert_output --partial "with another mode (only one of the two has \
--mode=sync): give"
	coord -o results --mode="$3" requests
	wait "$coord"
	counted 600
}

@test "ps-coord resumes rounds by --mode=sync only, other runs by any other" {
	need_numpy
	echo train 600 >requests
	resumes sync async sync
	resumes async sync ssp:2
}

@test "ps-coord refuses a file of requests with fewer lines than were read" {
	need_numpy
	serve 0
	serve 1
	work
	seq 600 >requests
	coord -o results requests
	lines 200
	dies "$coord"
	mv requests all
	seq 601 605 >requests
	run -65 ps-coord -b "ipc://$PWD/c" -s "$servers" -m model.ps -B 2 \
		--checkpoint="$dir" --partition=fixed:2 -o results requests
	assert_output --regexp "requests: [0-9]+ lines of requests were read \
before, and it has only 5: put them back, or remove the journal"
	assert_exists "$dir/journal"
	# More lines are new requests; the last one may lack its newline.
	{ cat all; printf 601; } >requests
	coord -o results requests
	wait "$coord"
	counted 601
}

@test "a background evaluation is done again, and has one result" {
	need_numpy
	sed 1q data.csv >big.csv
	awk "NR > 1 { for (i = 0; i < 60000; i++) print }" data.csv >>big.csv
	serve 0
	serve 1
	work
	work
	printf '%s\n' 'train 1000' 'eval data.csv' \
		'eval big.csv background=true' 'train 1000' \
		'eval data.csv background=true' 'train 4000' join >requests
	for at in 1003 1400 2200; do
		coord -o results requests
		lines "$at"
		dies "$coord"
	done
	coord -o results requests
	wait "$coord"
	counted 6000
	run -0 awk -F '"(step|examples|loss)":' '
		/"eval"/ { printf "%d %.4g\n", $3, (1e6 - $4) / $2 }
		/"join"/ { print "join" }' results
	assert_line --index 0 --regexp '^2 '
	by=${lines[0]#* }
	assert_equal "$(sort <<<"$output")" "120000 $by
2 $by
2 $by
join"
	assert_line --index 3 join
}

# gives_up - start a coordinator that lacks members, and check that it ends and
# leaves the run resumable.
gives_up() {
	local status=0
	coord -w 3s -o results requests
	wait "$coord" || status=$?
	assert_equal "$status" 69
	run -0 cat "$log"
	assert_line "ps-coord: the run has not ended: the same command resumes\
 it"
	run ! grep cancelled results
	assert_exists "$dir/journal"
}

@test "a resumed run without servers, or workers, can be resumed again" {
	need_numpy
	serve 0
	serve 1
	# The worker has only these data until it is killed.
	for _ in {1..150}; do
		tail -n 2 data.csv
	done >half.csv
	launch ps-work -c "ipc://$PWD/c" -F csv \
		'pipe:head -n 1 data.csv; cat half.csv
			exec tail --pid=$PPID -f /dev/null'
	worker=$pid
	printf '%s\n' 'train 300' join >requests
	coord -o results requests
	lines 100
	dies "$coord" "$server0" "$server1" "$worker"
	gives_up
	serve 0
	serve 1
	gives_up
	work
	coord -o results requests
	wait "$coord"
	counted 300
	run -0 grep -c '"op":"train"' results
	assert_output 300
}

@test "a coordinator that is killed after it sent STOP ends as usual" {
	local status=0
	serve 0
	serve 1
	work
	# The coordinator waits for the second worker, which never comes.
	echo '{"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1", "d:1"]}}' \
		>cluster.json
	printf '%s\n' 'train 300' join 'train 0' >requests
	coord -f cluster.json -o results requests
	wait "$server0" "$server1"
	dies "$coord"
	cp results before
	assert_exists "$dir/journal"
	coord -f cluster.json -o results requests
	wait "$coord" || status=$?
	assert_equal "$status" 65
	run -0 tail -n 1 "$log"
	assert_output "ps-coord: request 3: train '0': not a number of steps"
	run -0 cmp before results
	assert_not_exists "$dir/journal"
}

@test "a run whose journal cannot be written can be resumed" {
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
	local status=0
	need_numpy
	serve 0
	serve 1
	work
	printf '%s\n' 'train 2000' join >requests
	PS_FAIL=journal-add:6:error coord -o results requests
	wait "$coord" || status=$?
	assert_equal "$status" 74
	run -0 tail -n 2 "$log"
	assert_line --index 0 --partial "the run has not ended: the same\
 command"
	assert_line --index 1 "ps-coord: failpoint journal-add"
	coord -o results requests
	wait "$coord"
	counted 2000
	run -0 grep -c '"op":"train"' results
	assert_output 2000
}

@test "a run is resumed with the requests that were read, and more" {
	need_numpy
	serve 0
	serve 1
	work
	printf '%s\n' '# two phases' 'train 2000' join >requests
	coord -o results --every=300 requests
	lines 500
	dies "$coord"
	for line in 's/2000/1000/' '1s/two/2/' '1d' '3d'; do
		sed "$line" requests >other
		coord -o results --every=300 other
		status=0
		wait "$coord" || status=$?
		assert_equal "$status" 65
	done
	run -0 cat "$log"
	assert_output "ps-coord: other: 3 lines of requests were read before, \
and it has only 2: put them back, or remove the journal to begin anew"
	run -0 grep -h "are not those" ps-coord.*.log
	assert_line --index 0 "ps-coord: other: the first 3 lines of requests \
are not those that were read before: put them back, or remove the journal to \
begin anew"
	assert_equal "${#lines[@]}" 2
	echo 'train 10' >>requests
	coord -o results --every=300 requests
	wait "$coord"
	counted 2010
}

@test "a run with --queue that is resumed reads requests that were added" {
	need_numpy
	serve 0
	serve 1
	work
	echo train 2000 >requests
	coord -o results --every=300 --queue="ipc://$PWD/q" requests
	lines 500
	dies "$coord"
	printf '%s\n' 'train 10' stop >>requests
	coord -o results --every=300 --queue="ipc://$PWD/q" requests
	wait "$coord"
	counted 2010
}

# visiting - write data, and a model in which each record adds 1 to a weight of
# its own.
visiting() {
	cat >visit.ps <<-'END'
		input  record id rows=16384
		label  far float
		count = embedding record dim=1 embeddings_initializer=zeros
		loss   mean_absolute_error count
		optimizer sgd learning_rate=8
	END
	for part in 0 1 2 3; do
		(echo record,far; seq $((part * 4096)) $((part * 4096 + 4095)) |
			sed 's/$/,1e6/') >part-$part.csv
	done
}

visitor() {
	launch ps-work -c "ipc://$PWD/c" "$@"
	workers+=("$pid")
}

# visits - print the number of records with each number of visits, by the newest
# checkpoint.
visits() {
	ps-ckpt cat "$dir" count/embeddings | tail -c 65536 |
		od -An -v -t f4 -w4 | sort | uniq -c | tr -s ' '
}

# epochs OPTION... - start a coordinator with data.
epochs() {
	coord -o results -m visit.ps -B 8 -d 'part-*' --split=9k --shuffle=700 \
		--pack=3 "$@" requests
}

@test "a coordinator that is killed within an epoch visits each record once" {
	local at
	visiting
	serve 0
	serve 1
	visitor
	visitor
	printf '%s\n' 'train 100' 'epoch 3' join 'train 500' epoch >requests
	for at in 50 700 1900 3000 4100 5500 6500 7000; do
		epochs --every=$((at % 900 + 600))
		lines "$at"
		dies "$coord"
		visitor		# the next epoch has more streams
		[ "$at" != 3000 ] || kill -KILL "${workers[0]}"
		[ "$at" != 1900 ] || {
			dies "$server1"
			serve 1
		}
	done
	epochs
	wait "$coord"
	run -0 visits
	assert_output " 16384 4"
	run -0 sort -u <(sed -n '/train/s/.*"step":\([0-9]*\).*/\1/p' results)
	assert_equal "${#lines[@]}" 8192
	run -0 grep -c train results
	assert_output 8192
	run -0 grep -c '"records":16384}$' results
	assert_output 4
	run -0 grep '"op":"epoch"' results
	assert_line --index 2 --partial '"steps":2048,"examples":16384,'
	assert_line --index 3 --partial '"steps":2048,"examples":16384,'
	assert_not_exists "$dir/journal"
}

# refused STATUS MESSAGE [OPTION...] - ps-coord does not resume the run.
refused() {
	run "-$1" ps-coord -b "ipc://$PWD/c" -s "$servers" -m visit.ps -B 8 \
		-d 'part-*' --split=9k --shuffle=700 --checkpoint="$dir" \
		--partition=fixed:2 -o results "${@:3}" requests
	assert_output --partial "$2"
}

@test "ps-coord resumes a run only with the data that it began with" {
	local bytes
	visiting
	serve 0
	serve 1
	visitor
	echo 'epoch 2' >requests
	epochs
	lines 500
	dies "$coord"
	kill "${workers[0]}"
	mkdir kept
	cp part-* kept
	for data in part-1.csv part-0.csv; do
		bytes=$(wc -c <"$data")
		echo 7,1e6 >>"$data"
		refused 65 "$data has $((bytes + 6)) bytes, and had $bytes \
when its records were counted: a run is resumed with the data that it began \
with"
		cp "kept/$data" .
	done
	# The files are as long as before.
	(head -n 1 kept/part-0.csv; sed 1d kept/part-0.csv | tac) >part-0.csv
	refused 65 "part-0.csv has other bytes than when its records were \
counted: a run is resumed with the data that it began with"
	cp kept/part-0.csv .
	printf 7 | dd of=part-3.csv bs=1 seek=$(($(wc -c <part-3.csv) - 6)) \
		conv=notrunc 2>/dev/null
	refused 65 "part-3.csv has other bytes than when"
	cp kept/part-3.csv .
	# What is not as before is named.
	local cut="the data are of other files, or were cut otherwise: the\
 inputs, their order and --split must be as before"
	refused 78 "$cut" --split=4k
	refused 78 "$cut" -d visit.ps
	refused 78 "the data were read with another --batch, which must be as\
 before" -B 4
	refused 78 "the data were read with another --shuffle" --shuffle=70
	refused 78 "the journal of a run with another seed (--seed)" --seed=2
	refused 78 "with another number of batches of a step (--accumulate" \
		--accumulate=2
	refused 78 "with another mode (only one of the two has --mode=sync)" \
		--mode=sync --replicas=1
	refused 78 "with shards elsewhere (--partition" --partition=fixed:3
	refused 78 "with another queue (only one" --queue="ipc://$PWD/q"
	sed 's/rate=8/rate=4/' -i visit.ps
	refused 78 "is the journal of a run with another model: give"
	sed 's/rate=4/rate=8/' -i visit.ps
	# These are copies, and newer.
	mv kept/part-* .
	touch part-*
	visitor
	epochs
	wait "$coord"
	run -0 visits
	assert_output " 16384 2"
}

# pairing - write two data sets of different lengths, and a program in which
# each record of both adds 1 to a weight of its own.
pairing() {
	workers=()
	cat >pairs.ps <<-'END'
		input  record id rows=4096
		label  far float
		input  item   id rows=1000 from=second
		count = embedding record dim=1 embeddings_initializer=zeros
		twice = embedding item dim=1 embeddings_initializer=zeros
		step   pair count far twice
		step   first count far
		optimizer sgd learning_rate=8
	END
	cat >pairs.py <<-'END'
		import array, json, math, sys
		into, out = sys.stdin.buffer, sys.stdout.buffer
		for line in iter(into.readline, b""):
		    r = json.loads(line)
		    for a in r["sent"]:
		        into.read(4 * math.prod(a["shape"]))
		    out.write(json.dumps({"loss": 0.5}).encode() + b"\n")
		    for a in r["wanted"]:
		        out.write(array.array("f", [-1.0] *
		                              math.prod(a["shape"])))
		    out.flush()
	END
	(echo record,far; seq 0 2999 | sed 's/$/,1e6/') >part-0.csv
	(echo record,far; seq 3000 4095 | sed 's/$/,1e6/') >part-1.csv
	(echo item; seq 0 999) >items.csv
}

# visited LAYER COUNT - print the number of records with each number of visits.
visited() {
	ps-ckpt cat "$dir" "$1/embeddings" |
		tail -c $((4 * $2)) | od -An -v -t f4 -w4 | sort | uniq -c |
		tr -s ' '
}

@test "a coordinator that is killed visits records of two data sets once" {
	local at
	pairing
	serve 0
	serve 1
	visitor --step='/usr/bin/python3 pairs.py'
	visitor --step='/usr/bin/python3 pairs.py'
	printf '%s\n' '{"steps":30,"step":"first"}' '{"op":"epoch"}' \
		'{"op":"epoch","step":"pair","data":"second"}' join >requests
	for at in 20 90 250 400 530; do
		coord -o results -m pairs.ps -B 8 -B second:3 --shuffle=96 \
			-d 'part-*' --input=second:items.csv --split=9k \
			--pack=3 --every=$((at % 200 + 60)) requests
		lines "$at"
		dies "$coord"
		visitor --step='/usr/bin/python3 pairs.py'
		[ "$at" != 250 ] || kill -KILL "${workers[0]}"
		[ "$at" != 400 ] || {
			dies "$server1"
			serve 1
		}
	done
	coord -o results -m pairs.ps -B 8 -B second:3 --shuffle=96 \
		-d 'part-*' --input=second:items.csv --split=9k --pack=3 \
		requests
	wait "$coord"
	# 30 + 482 steps, 482 of which took 3 of the second data set: one of
	# its epochs and 148 steps of the next, which are 444 records; then
	# the 186 that were left of that.
	run -0 visited count 4096
	assert_output " 2608 1
 1488 2"
	run -0 visited twice 1000
	assert_output " 1000 2"
	run -0 sed -nE '/"op":"epoch"/{s/"loss.*"records"//; s/.*"ep/"ep/p}' \
		results
	assert_line --index 0 \
		'"epoch":0,"step":512,"steps":512,"examples":4096,:4096}'
	assert_line --index 1 '"epoch":1,"data":"second","step":698,'\
'"steps":334,"examples":2672,:1000}'
	assert_not_exists "$dir/journal"
}

# journal_is_short - wait until the journal is short: it grows while a
# checkpoint is made, and is then cut.
journal_is_short() {
	for _ in {1..500}; do
		[ "$(wc -c <"$dir/journal")" -ge 1600000 ] || return 0
		sleep .01
	done
	return 1
}

@test "the journal of a long run stays short, and is always correct" {
	need_numpy
	serve 0
	serve 1
	work
	work
	long=$(printf %0100d)
	(seq 15000; echo join; seq 30000 | sed "s/.*/{\"id\": \"$long&\"}/"
		echo join) >requests
	for at in 8000 16000 28000; do
		coord -o results --every=500 --keep=2 requests
		lines "$at"
		journal_is_short
		dies "$coord"
	done
	coord -o results --every=500 --keep=2 requests
	wait "$coord"
	counted 45000
	run -0 sort -u <(sed -n '/train/s/.*"step":\([0-9]*\).*/\1/p' results)
	assert_equal "${#lines[@]}" 45000
	assert_equal "$(grep -c "\"$long[0-9]*\",\"op\":\"train\"" results)" \
		30000
	run -0 grep join results
	assert_line --index 0 --partial '"step":15000,"steps":15000,'
	assert_line --index 1 --partial '"step":45000,"steps":30000,'
	run -0 ls "$dir"
	refute_line --partial journal
}

@test "a run whose servers or workers stay away can be resumed" {
	need_numpy
	serve 0
	serve 1
	work
	worker=$pid
	echo train 6000 >requests
	away() {
		status=0
		wait "$coord" || status=$?
		assert_equal "$status" 69
		run -0 tail -n 2 "$PWD/ps-coord.$1.log"
		assert_line --index 0 "ps-coord: the run has not ended: the\
 same command resumes it"
		assert_line --index 1 --regexp "^ps-coord: $2"
	}
	same="--every=1000 --patience=1s -w 1s -o results requests"
	# shellcheck disable=SC2086
	coord $same
	lines 1500
	dies "$server1"
	away 3 'server 1 .* is gone'
	serve 1
	coord $same
	lines 3500
	dies "$worker"
	away 5 'no worker within 1 s at .*, [0-9]* steps were done'
	work
	coord --restore=none $same
	wait "$coord"
	counted 6000
	run -0 grep -c '"loss"' results
	assert_output 6000
	run -0 grep -c -e "--restore=none is ignored: the run in $dir/journal\
 did not end, and is resumed; remove it to begin another" "$PWD/ps-coord.7.log"
}

@test "a run that is killed while it ends has ended, or can be resumed" {
	seq 8000 >requests
	cat >task <<-'END'
		ps-coord -m model.ps -B 2 --checkpoint=ckpt -o results \
			requests & echo $! >pid; wait $!
	END
	for ms in 1 3 5 8 12; do
		rm -rf ckpt results
		mkdir ckpt
		: >results
		ps-local -q -C ckpt -- --repeat data.csv -- sh task 3>&- &
		local=$!
		lines 500
		kill -TERM "$(<pid)"
		sleep "$(printf '0.%03d' "$ms")"
		kill -KILL "$(<pid)" || true
		wait "$local" || true
		[ ! -e ckpt/journal ] || run -0 --separate-stderr ps-local \
			-q -C ckpt -- --repeat data.csv -- sh task
		run -0 awk '/cancelled/ { void++; next } void { exit 1 }
			END { exit !void && NR != 8000 }' results
	done
}

# saved - check that the newest checkpoint has all steps that were done.
saved() {
	local done
	done=$(grep train results | grep -c '"loss"')
	run -0 sh -c 'ls "$0" | grep ckpt | tail -n 1' "$dir"
	assert_output "$(printf ckpt-%08d "$done")"
}

# suspended [LOG] - check that the coordinator ended, and that the run can be
# resumed.
suspended() {
	status=0
	wait "$coord" || status=$?
	assert_equal "$status" 75
	run -0 tail -n 1 "${1:-$log}"
	assert_output "ps-coord: the run has not ended: the same command\
 resumes it"
	assert_exists "$dir/journal"
	run ! grep cancelled results
}

@test "a run that is asked to end before its servers are back is unchanged" {
	local same="--every=1000 --grace=100ms -w 20s -o results requests"
	serve 0
	serve 1
	work
	echo train 100000000 >requests
	# shellcheck disable=SC2086
	coord $same
	lines 1500
	dies "$coord" "$server1"
	# shellcheck disable=SC2086
	coord $same
	until grep -q "resuming a run that was interrupted" "$log"; do
		kill -0 "$coord"
	done
	kill "$coord"
	suspended
}

@test "a suspended run is saved, and resumes with any members" {
	need_numpy
	serve 0
	serve 1
	work
	work
	worker=$pid
	printf '%s\n' 'train 4000' join 'train 36000' save join >requests
	for time in 1 2 3; do
		before=$(wc -l <results)
		coord --suspend --pack=5 -o results requests
		lines "$((before + 600))"
		kill -TERM "$coord"
		suspended
		saved
		[ "$time" != 2 ] || {
			dies "$server0" "$server1" "$worker"
			serve 0
			serve 1
			work
		}
	done
	coord --suspend --pack=5 -o results requests
	wait "$coord"
	counted 40000
	run ! grep -E ' [1-9][0-9]* steps are run again|not all' \
		"$PWD"/ps-coord.*.log
	run -0 sort -u <(sed -n '/train/s/.*"step":\([0-9]*\).*/\1/p' results)
	assert_equal "${#lines[@]}" 40000
	run -0 grep -v '"train"' results
	assert_equal "${#lines[@]}" 3
	assert_line --index 0 --partial '"step":4000,"steps":4000,'
	assert_line --index 1 --partial '"checkpoint":"ckpt-00040000"'
	assert_line --index 2 --partial '"step":40000,"steps":36000,'
	assert_not_exists "$dir/journal"
}

# suspend_job COMMAND [OPTION...] - suspend a job twice by this command, and let
# it finish.  All programs have the options.  Each time the job gets another
# epoch to do; its requests stay open, so it does not end before the signal.
suspend_job() {
	local before mode time tell=$1
	shift
	visiting
	mkfifo requests
	for mode in --mode=async "--mode=sync --replicas=2 -B 4"; do
		rm -r "$dir"
		mkdir "$dir"
		: >results
		for time in 1 2 3; do
			before=$(wc -l <results)
			serve 0 "$@"
			serve 1 "$@"
			workers=()
			visitor "$@"
			visitor "$@"
			# shellcheck disable=SC2086 # an option or two
			epochs --suspend "$@" --every=500 --min-workers=2 $mode
			exec 6>requests
			echo epoch >&6
			[ "$time" != 3 ] || break
			lines "$((before + 400))"
			"$tell"
			exec 6>&-
		done
		exec 6>&-
		wait "$coord"
		run -0 visits
		assert_output " 16384 3"
	done
}

@test "a job of which all programs are asked to end is resumed" {
	notify_all() {
		kill -TERM "$coord" "$server0" "$server1" "${workers[@]}"
		suspended
	}
	suspend_job notify_all
}

@test "a job whose members have a grace is saved when it is asked to end" {
	notify_each() {
		local member
		kill -TERM "$server0" "$server1" "${workers[@]}"
		sleep 0.2	# machines get the signal at different times
		kill -TERM "$coord"
		suspended
		saved
		for member in "$server0" "$server1" "${workers[@]}"; do
			wait "$member"
		done
	}
	suspend_job notify_each --grace=1h
	run ! grep -E ' [1-9][0-9]* steps are run again' "$PWD"/ps-coord.*.log
}

# A member that is asked to end continues as long as its run does.
@test "a member's grace ends with the run, with its time, or at once" {
	local none
	echo train 1000000 >requests
	serve 0 --grace=1h
	none=$pid			# has no run
	stop "$none"
	serve 0 --grace=1h
	serve 1 --grace=300ms
	launch ps-work -c "ipc://$PWD/c" --repeat --grace=1h data.csv
	worker=$pid
	coord -o results requests
	lines 100
	kill -TERM "$server0" "$server1" "$worker"
	wait "$server1"			# its grace has ended
	run -0 kill -0 "$server0" "$worker"
	serve 1
	lines "$(($(wc -l <results) + 100))"	# the members are at work
	kill -TERM "$server0"		# a second signal
	status=0
	wait "$server0" || status=$?
	assert_equal "$status" 143
	dies "$coord"
	wait "$worker"
}

@test "an end takes no longer than the coordinator's grace" {
	serve 0
	serve 1
	work
	worker=$pid
	echo train 1000000 >requests
	coord --grace=300ms -o results requests
	lines 100
	kill -STOP "$worker"
	kill -TERM "$coord"
	status=0
	wait "$coord" || status=$?
	assert_equal "$status" 74
	run -0 grep -c "not all steps in flight have ended within 0.3 s: steps\
 given up" \
		"$log"
	dies "$worker"
}

@test "a run without checkpoints is suspended, also before it has begun" {
	suspensible() {
		launch ps-coord -b "ipc://$PWD/c" -s "$servers" -m model.ps \
			-B 2 --suspend --journal="$dir/journal" -o results \
			-w 1h requests
		coord=$pid
	}
	echo train 12000 >requests
	suspensible
	serve 0
	until [ -e "$dir/journal" ]; do sleep .01; done
	kill -TERM "$coord"
	suspended "$PWD/ps-coord.0.log"
	suspensible
	serve 1
	work
	work
	lines 1000
	kill -TERM "$coord"
	suspended "$PWD/ps-coord.2.log"
	suspensible
	wait "$coord"
	run ! grep 'not all' "$PWD"/ps-coord.*.log
	run -0 sort -u <(sed 's/.*"step":\([0-9]*\).*/\1/' results)
	assert_equal "${#lines[@]}" 12000
	run -0 wc -l <results
	assert_output 12000
}
