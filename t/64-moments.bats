# A program is killed between a decision, the write to disk and the report: the
# coordinator at each record of its journal, a server at each record of its log.

load lib.bash
load counting.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
}

# run_in FOLDER - make the folder with the model, data and requests, and start a
# worker there.
run_in() {
	mkdir "$BATS_TEST_TMPDIR/$1"
	cd "$BATS_TEST_TMPDIR/$1" || return
	counting
	printf '%s\n' 'train 20' save 'train 20' >requests
	work
}

conduct() {
	timeout 60 ps-coord -b ipc://coord -s ipc://server -m count.ps -B 1 \
		--checkpoint=ckpt -o results "$@" requests
}

# exact - check that each of 40 steps has one result, and was applied once.
exact() {
	wait "$worker"
	wait "$server"
	counted 40
	run -0 sort -un \
		<(sed -n '/worker/s/.*"step":\([0-9]*\),.*/\1/p' results)
	assert_equal "${#lines[@]}" 40
	assert_equal "$(grep -c worker results)" 40
	assert_equal "$(grep -c '"save"' results)" 1
}

# dies_at POINT COUNT [OPTION...] - kill the coordinator when it passes the
# failpoint for the COUNTth time; then let another one resume the run.
dies_at() {
	run_in "$1-$2"
	start ps-serve -b ipc://server -d ckpt
	server=$pid
	PS_FAIL=$1:$2:exit run -70 conduct "${@:3}"
	run -0 conduct "${@:3}"
	exact
}

# The first records are RUN, TERM, SERVERS, LINES, ENDS, CUT, ENDS.
@test "whenever the coordinator is killed, each step has one result" {
	for point in journal-add journal-added; do
		for count in 1 2 3 4 5 6 7; do
			dies_at "$point" "$count"
		done
	done
}

# The third checkpoint is the first that shortens the journal.
@test "the coordinator is killed while it shortens the journal: the same" {
	for point in record-rename record-renamed; do
		for count in 1 2; do
			dies_at "$point" "$count" --every=4
			run -0 ls ckpt
			refute_line --partial journal
		done
	done
}

# The first checkpoint is that of the save, the second is the last.
@test "the coordinator is killed while it publishes a checkpoint: the same" {
	for point in publish-manifest publish-rename publish-renamed \
	    publish-told; do
		for count in 1 2; do
			dies_at "$point" "$count"
		done
	done
}

@test "steps are done, and reported, while a slow disk publishes" {
	run_in slow
	echo 'train 39' >requests
	touch results
	start ps-serve -b ipc://server -d ckpt
	server=$pid
	PS_FAIL=publish-rename:1:sleep conduct --every=20 &
	coord=$!
	timeout 60 tail -n +1 -f results | grep -q -m 1 '"step":38,'
	[ ! -e ckpt/ckpt-00000020 ]
	wait "$coord"
	wait "$worker"
	wait "$server"
	run -0 ps-ckpt verify ckpt/*20 ckpt/*39
}

@test "an evaluation waits for its turn while a slow disk publishes" {
	run_in slow
	rm requests
	mkfifo requests
	start ps-serve -b ipc://server -d ckpt
	server=$pid
	PS_FAIL=publish-manifest:1:sleep,publish-rename:1:sleep,\
publish-renamed:1:sleep,publish-told:1:sleep conduct --every=4 &
	coord=$!
	exec {asks}>requests
	echo 'train 4' >&"$asks"
	until grep -qs '"step":3,' results; do
		sleep 0.05
	done
	run -0 ps-eval -c ipc://coord -w 2s one.svm
	assert_output --partial '"step":4,"examples":1,'
	exec {asks}>&-
	wait "$coord"
	wait "$worker"
	wait "$server"
}

@test "whenever a server with a log is killed, each step counts once" {
	for point in log-sync log-synced; do
		for count in 1 2 3 5 20 50; do
			run_in "$point-$count"
			serve() {
				start ps-serve -b ipc://server -i 0 -d ckpt \
					--durable=wal
				server=$pid
			}
			PS_FAIL=$point:$count:exit serve
			dies=$server
			conduct 2>said &
			coord=$!
			status=0
			wait "$dies" || status=$?
			assert_equal "$status" 70
			serve
			wait "$coord"
			exact
		done
	done
}
