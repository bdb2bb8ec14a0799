# --cache: the same run with and without it, and the files of a cache.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'END'
		input     x sparse[50]
		label     y binary
		logit   = linear x
		loss      binary_crossentropy logit from_logits=true
		metric    auc logit
		optimizer adagrad learning_rate=0.5
	END
	awk 'BEGIN {
		srand(5)
		for (n = 0; n < 400; n++) {
			line = int(rand() * 2)
			for (id = 1; id <= 50; id++)
				if (rand() < 0.2)
					line = line " " id ":" rand() - 0.5
			print line
		}
	}' >train.svm
}

# train OPTION... - train one worker for a little more than three passes; writes
# the results of steps to result, the worker's messages to members.
train() {
	rm -f members
	ps-local -w 1 -s 1 --log=members -- -v --repeat --shuffle=64 "$@" \
		-- ps-coord -m model.ps -B 16 --seed=3 <<<'train 80' |
		sed 's/,"pull_us.*//; s/,"seconds.*//; s/"step":/\n&/' |
		grep -o '"loss":[^,]*' >result
	[ "$(wc -l <result)" -ge 80 ]
}

# the_cache - print the name of the only cache.
the_cache() {
	local all=(.train.svm-*.pscache)
	[ ${#all[@]} -eq 1 ] && [ -f "${all[0]}" ] && echo "${all[0]}"
}

@test "a run with a cache is the same, step by step" {
	train train.svm
	cp result plain
	train --cache train.svm
	cmp plain result
	run -0 grep -c pscache members
	assert_output 1
	run -0 grep -o 'made of 400 records' members
	run -0 the_cache
	train --cache train.svm
	cmp plain result
	run -1 grep pscache members
}

# The cache also keeps the data that are derived from a batch, unless it is
# small.
@test "a run with the batches of its cache is the same, and with others" {
	# pass SIZE OPTION... - train several passes with batches of this size.
	pass() {
		ps-local -w 1 -s 1 -- --repeat "${@:2}" train.svm \
			-- ps-coord -m model.ps -B "$1" --seed=3 <<<'train 9' |
			sed 's/,"pull_us.*//; s/,"seconds.*//' >result
		[ "$(wc -l <result)" -ge 9 ]
	}
	local size
	for size in 400 300 7; do
		pass "$size"
		cp result plain
		pass "$size" --cache
		cmp plain result
		pass "$size" --cache
		cmp plain result
		pass 400
		cp result plain
		pass 400 --cache
		cmp plain result
		rm "$(the_cache)"
	done
}

@test "a cache in a directory, for a compressed input" {
	gzip train.svm
	mkdir kept
	train train.svm.gz
	cp result plain
	train --cache=kept train.svm.gz
	cmp plain result
	run -0 ls kept
	assert_output --regexp '^train\.svm\.gz-[0-9a-f]{16}\.pscache$'
	run -2 ls .train*
}

@test "a damaged cache is refused, removed, and made again" {
	train --cache train.svm
	cp result plain
	cache=$(the_cache)
	cp "$cache" good
	damage "$cache" 3000
	train --cache train.svm
	cmp plain result
	run -0 grep -c 'damaged: a block at byte 128; reading train.svm' \
		members
	assert_output 1
	cmp "$cache" good
	truncate -s 500 "$cache"
	train --cache train.svm
	cmp plain result
	run -0 grep -c 'cut short; reading train.svm instead' members
	cmp "$cache" good
}

@test "a stale cache is made again" {
	train --cache train.svm
	cp "$(the_cache)" old
	sed -i 's/ 3:[-.0-9]*/ 3:9/' train.svm
	train train.svm
	cp result plain
	train --cache train.svm
	cmp plain result
	run -1 cmp -s old "$(the_cache)"
	run -0 grep -c 'made of 400 records' members
}

# refused WHY FOLDER - check that ps-work and ps-eval refuse the folder for a
# cache, at once.
refused() {
	local program
	for program in "ps-work -c ipc://none" "ps-eval -C ."; do
		# shellcheck disable=SC2086 # its words
		run -73 --separate-stderr $program --cache="$2" train.svm
		assert_output ""
		assert_equal "$stderr" \
			"${program%% *}: cannot keep a cache in $2: $1"
	done
}

@test "a directory that cannot have a cache is refused before any work" {
	refused "No such file or directory" nowhere
	refused "Not a directory" train.svm
	mkdir -m 500 sealed
	[ -w sealed ] || refused "Permission denied" sealed
}

@test "no cache is made without room, or without a file" {
	train train.svm
	cp result plain
	mkdir kept
	(ulimit -f 8 && train --cache=kept train.svm)
	cmp plain result
	run -0 grep -c 'File too large; continuing without a cache' members
	assert_output 1
	run -0 ls -A kept
	assert_output ""
	train --cache 'pipe:cat train.svm'
	cmp plain result
	run -0 grep 'pipe:cat train.svm: it is not a plain file' members
	run -1 the_cache
}

@test "two workers of one input may both keep a cache of it" {
	for _ in 1 2 3; do
		ps-local -w 2 -s 1 --log=members -- --repeat --shard=%i/%n \
			--cache train.svm -- ps-coord -m model.ps -B 8 \
			--results=errors <<<$'train 200\njoin' >got
		run -0 grep -o '"examples":[0-9]*' got
		assert_output '"examples":1600'
	done
	run -1 grep cache members
}

@test "ps-eval scores the same from a cache" {
	ps-local -C "$PWD/ckpts" -- train.svm -- \
		ps-coord -m model.ps -B 16 --checkpoint=ckpts --results=errors \
		<<<$'train 20\nsave' >/dev/null
	run -0 ps-eval -C ckpts --newest train.svm
	score=${output%,\"seconds*}
	for _ in 1 2; do
		run -0 ps-eval -C ckpts --newest --cache train.svm
		assert_equal "${output%,\"seconds*}" "$score"
		ps-eval -C ckpts --newest --predict train.svm >plain
		ps-eval -C ckpts --newest --predict --cache train.svm >kept
		cmp plain kept
	done
	run -0 bash -c 'ls -A | grep -c pscache'
	assert_output 2
}
