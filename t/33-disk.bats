# Full disks, limits on files, and kills at failpoints: the checkpoint fails
# with a message; training continues; older checkpoints stay complete.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	dir=$PWD/ckpt
	mkdir "$dir"
	cat >model.ps <<-'END'
		input    x float[100] columns=x*
		label    y binary
		hidden = dense x units=100
		logit  = dense hidden units=1
		loss     binary_crossentropy logit from_logits=true
		optimizer sgd
	END
	awk 'BEGIN {
		for (i = 0; i < 100; i++) printf "x%d,", i; print "y"
		for (i = 0; i < 100; i++) printf "%d,", i % 3; print 1
	}' >data.csv
}

teardown() {
	local one
	end_test
	for one in ckpt small; do
		if mountpoint -q "$BATS_TEST_TMPDIR/$one"; then
			umount "$BATS_TEST_TMPDIR/$one"
		fi
	done
}

# train STEPS [COORD-OPTION...] - train with one worker and two servers.
train() {
	echo train "$1" | timeout 60 ps-local --log=members -s 2 \
		-C "$dir" -- --repeat "$PWD/data.csv" -- \
		ps-coord -m model.ps -B 1 --checkpoint="$dir" "${@:2}"
}

# whole - print the checkpoints in dir; check that each is intact and that the
# folder has nothing else.
whole() {
	ps-ckpt verify "$dir"/ckpt-* >verified
	diff <(ls -A "$dir") <(sed 's/.*\/\(.*\): ok/\1/' verified)
	wc -l <verified
}

@test "a full disk costs only the checkpoints that do not fit" {
	mount -t tmpfs -o size=400k none "$dir" 2>why ||
		skip "no tmpfs can be mounted here: $(<why)"
	# The journal is on another disk: a run that cannot write it ends.
	run -74 --separate-stderr train 20 --every=1 --keep=0 \
		--journal="$PWD/journal"
	assert_equal "${#lines[@]}" 20
	refute_line --partial '"error"'
	[[ $stderr == *"no checkpoint of step 20: "*"No space left"* ]]
	grep -q "^ps-serve.* no checkpoint .*No space left on device" members
	run -0 whole
	many=$output
	[ "$many" -ge 3 ]
	[ "$many" -lt 15 ]
	# The next run resumes at the newest checkpoint, and pruning makes room
	# again.
	run -0 --separate-stderr train 20 --every=1 --keep=2
	assert_line --index 0 --partial "\"step\":$many,"
	run -0 whole
	assert_output 2
}

@test "a run reports results that the disk has no room for, and continues" {
	mkdir small
	mount -t tmpfs -o size=16k none small 2>why ||
		skip "no tmpfs can be mounted here: $(<why)"
	echo train 300 >requests
	run -74 --separate-stderr train 300 --every=1000 -o small/results \
		requests
	[[ $stderr == *"results"*"No space left"* ]]
	[[ $stderr == *"the same command resumes it"* ]]
	mount -o remount,size=1m small
	run -0 --separate-stderr train 300 --every=1000 -o small/results \
		requests
	grep -o '"step":[0-9]*,"worker"' small/results | sort -u >steps
	assert_equal "$(wc -l <steps)" 300
	assert_equal "$(grep -c '"worker"' small/results)" 300
}

@test "a limit on the size of files is an error, and kills no program" {
	train 2 >out
	ulimit -f 8
	run -74 --separate-stderr train 4 --every=1
	assert_equal "${#lines[@]}" 4
	[[ $stderr == *"no checkpoint of step 6: "*"File too large"* ]]
	run -0 whole
	assert_output 1
}

@test "a disk that is full before the run starts is refused" {
	mount -t tmpfs -o size=16k none "$dir" 2>why ||
		skip "no tmpfs can be mounted here: $(<why)"
	dd if=/dev/zero of="$dir/other" 2>/dev/null || true
	run -74 --separate-stderr train 2
	assert_output ""
	grep -q "^ps-serve.0.: cannot .*No space left on device" members
	assert_equal "$(ls -A "$dir")" other
}

@test "a folder that is removed during a run costs only its checkpoints" {
	mkfifo requests
	ps-local -q --log=members -s 2 -C "$dir" -- --repeat \
		"$PWD/data.csv" -- ps-coord -m model.ps -B 1 \
		--checkpoint="$dir" requests >results 2>said 3>&- &
	pid=$!
	daemons+=("$pid")
	exec 7>requests
	printf '%s\n' 'train 3' save >&7
	timeout 60 tail -n +1 -f results | grep -q -m 1 '"op":"save"'
	rm -r "$dir"
	echo lost >"$dir"
	printf '%s\n' 'train 3' >&7
	exec 7>&-
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" 73
	assert_equal "$(grep -c '"step":[0-9]*,"worker"' results)" 6
	grep -q "no checkpoint of step 6: .*Not a directory" said
}

@test "pruning leaves two intact checkpoints behind newer, damaged ones" {
	train 4 --every=1 --keep=0 >out
	for one in 3 4; do
		truncate -s -600 "$dir/ckpt-0000000$one/shard-1-of-2.tar"
	done
	run -0 --separate-stderr train 1 --keep=1
	# The run resumed at step 2, and made the checkpoint of step 3 again.
	assert_line --index 0 --partial '"step":2,'
	assert_equal "$(ls "$dir")" "$(printf '%s\n' ckpt-0000000{2,3,4})"
	run -0 ps-ckpt verify "$dir"/*{2,3}
	# verify and prune also find a flipped bit in an array.
	damage "$dir/ckpt-00000003/shard-0-of-2.tar" 1000
	ps-ckpt prune --keep=1 "$dir"
	assert_equal "$(ls "$dir")" "$(printf '%s\n' ckpt-0000000{2,3,4})"
}

@test "results that cannot be written end the program, with a status" {
	run -74 --separate-stderr train 2 -o /dev/full
	[[ $stderr == *"cannot write /dev/full: No space left on device"* ]]
	assert_output ""
}

# points - print the failpoints of a checkpoint: between each decision, its
# write to disk and its report.
points() {
	grep -rhoE 'failpoint\("[a-z-]+"' "$SRC/lib/store" "$SRC/lib/prog" |
		cut -d '"' -f 2 |
		grep -v -e log- -e journal- -e record- -e launch
}

@test "a kill at any failpoint leaves intact checkpoints to resume from" {
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
	[ "$(points | wc -l)" -ge 10 ]
	for point in $(points); do
		rm -rf "${dir:?}"/* members
		train 4 --every=1 --keep=2 >out 2>said
		mv members before
		# A failpoint of servers kills both servers; the other programs
		# then end.
		PS_FAIL=$point:3:kill run timeout 60 bash -c "
			$(declare -f train); dir=$dir
			train 1000000 --patience=500ms --every=1 --keep=2 \
				--results=none"
		[ "$status" != 0 ] || fail "$point was not met"
		[ "$status" != 124 ] || fail "$point: it hung"
		# Begin a new run in place of resuming that one.
		rm -f "$dir/journal"
		run -0 --separate-stderr train 1 --keep=2
		step=$(sed -n 's/.*"step":\([0-9]*\),.*/\1/p' <<<"$output")
		[ "$step" -ge 4 ] || fail "$point: back at $step"
		[ "$(whole)" -ge 2 ] || fail "$point: fewer than two left"
	done
}

@test "an error at any failpoint costs that checkpoint, and no step" {
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
	for point in $(points); do
		rm -rf "${dir:?}"/*
		PS_FAIL=$point:2:error run -0 --separate-stderr train 6 \
			--every=1 --keep=2
		assert_equal "${#lines[@]}" 6
		[[ $stderr == *"failpoint $point" ]] || fail "$point: $stderr"
		run -0 whole
	done
}

@test "a save that cannot be written costs that checkpoint, and its line" {
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
	PS_FAIL=publish-rename:1:error run -74 --separate-stderr \
		train $'2\nsave\ntrain 3'
	assert_equal "${#lines[@]}" 6
	assert_line --index 2 \
		'{"op":"save","step":2,"error":"failpoint publish-rename"}'
	refute_output --partial cancelled
	run -0 whole
	assert_output 1
}
