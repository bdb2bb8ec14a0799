# Steps that send fewer bytes (--wire, --push, --pull) train as well, and lose
# no step.

load lib.bash
load counting.bash

# number NAME - print the last number of that name in $output, which is JSON.
number() {
	sed -nE "s/.*\"$1\":([0-9.e+-]+).*/\1/p" <<<"$output" | tail -n 1
}

# holds EXPRESSION - whether the expression of awk is true.
holds() {
	awk "BEGIN { exit !($1) }" || fail "not $1"
}

@test "--wire, --push and --pull take a known codec" {
	run -64 ps-coord -m model.ps -s 1 --wire=float16
	assert_output \
		"ps-coord: --wire: 'float16' is none of float32, bfloat16,\
 int8, onebit, topk:P; try 'ps-coord --help'"
	run -64 ps-coord -m model.ps -s 1 --wire=
	assert_output \
		"ps-coord: --wire: needs an argument; try 'ps-coord --help'"
	for few in topk topk:0 topk:2; do
		run -64 ps-coord -m model.ps -s 1 --mode=sync --push=$few
		assert_output --partial "--push: '$few' has no P from 0.001"
	done
	for few in topk topk: topk:0 topk:2 topk:x topk:-1 topk:nan; do
		run -64 ps-coord -m model.ps -s 1 --mode=sync \
			--pull=delta:$few
		assert_output --partial "--pull: '$few' has no P from 0.001 to\
 0.5, the share of the numbers that are sent, as topk:0.01; try"
	done
	run -64 ps-coord -m model.ps -s 1 --mode=sync --pull=delta:onebit:1
	assert_output --partial "--pull: 'onebit:1' is none of float32"
	run -64 ps-coord -m model.ps -s 1 --pull=int4
	assert_output --partial "--pull: 'int4' is none of float32, bfloat16"
}

@test "a pattern of a codec matches a variable, or is refused in a line" {
	printf '%s\n' 'input x float[100]' 'input u id rows=1000' \
		'label y float' 'a = dense x units=64' \
		'b = embedding u dim=32' 'j = concat a b' \
		'z = dense j units=1' 'loss mean_squared_error z' >model.ps
	echo 'optimizer adam' >>model.ps
	coord() { ps-coord --plan -m model.ps -s 1 "$@"; }
	run -64 coord --push=int8,from=x
	assert_output --partial \
		"--push: 'from=x' is not from=STEP, the first step that"
	run -64 coord --push=int8@
	assert_output --partial "--push: 'int8@' has no pattern behind its @"
	run -78 coord --push=int8@c/*
	assert_output "ps-coord: --push: c/* matches no variable"
	run -78 coord --wire=int8@a/* --push=int8@a/kernel
	assert_output "ps-coord: --push: a/kernel matches no variable but those\
 that patterns before it match"
	run -78 coord --pull=int8@a/kernel
	assert_output "ps-coord: --pull: a/kernel: a/kernel is not a table: its\
 values cannot be pulled as int8, but as delta:int8 in rounds"
	run -78 coord --pull=int8@a/* --pull=int8@b/*
	assert_output --partial "--pull: a/*: a/kernel is not a table: "
	run -0 coord --pull=int8@?/*
	assert_line "ps-coord: --pull: ?/*: a/kernel is not a table: its values\
 cannot be pulled as int8, but as delta:int8 in rounds"
	assert_line "int8 is for 13.5 % of the floats that are pulled"
	sed '/ u /d; /concat/d; s/dense j/dense a/' model.ps >dense.ps
	run -78 ps-coord --plan -m dense.ps -s 1 --pull=int8
	assert_output "ps-coord: --pull: int8: a/kernel is not a table: its \
values cannot be pulled as int8, but as delta:int8 in rounds"
	run -0 ps-coord --plan -m dense.ps -s 1 --wire=int8
	for few in onebit topk:0.01; do
		for way in pull wire; do
			run -64 coord --mode=sync --$way=$few
			assert_output --partial "--$way: '$few' is for\
 gradients and for what rounds change: --push=$few, or --pull=delta:$few, with\
 --mode=sync"
		done
		for mode in async ssp:3; do
			run -64 coord --mode=$mode --push=$few
			assert_output --partial "--push=$few needs --mode=sync:\
 where steps overlap a push takes no time that this could save"
		done
		run -78 coord --mode=sync --push=$few@b/*
		assert_output "ps-coord: --push: b/*: b/embeddings is a table,\
 or waits for no round: ${few%:*} is not for it"
		run -78 coord --mode=sync --push=$few@c/*
		assert_output "ps-coord: --push: c/* matches no variable"
		run -0 coord --mode=sync --push=$few
		assert_line "${few%:*} is for 84.4 % of the floats that are\
 pushed"
		assert_line "ps-coord: --push=$few: the optimizer adam of\
 a/kernel divides by the codec's error, too: sgd and adagrad are better for it"
		run -64 coord --pull=delta:$few
		assert_output --partial "--pull=delta: needs --mode=sync"
		run -78 coord --mode=sync --pull=delta:$few@b/*
		assert_output "ps-coord: --pull: b/*: b/embeddings is a table,\
 or waits for no round: delta:${few%:*} is not for it"
		run -0 coord --mode=sync --pull=delta:$few@?/*
		assert_line "ps-coord: --pull: ?/*: b/embeddings is a table,\
 or waits for no round: delta:${few%:*} is not for it"
		assert_line "${few%:*} is for 84.4 % of the floats that are\
 pulled"
	done
	run -64 coord --pull=delta:int8
	assert_output --partial "--pull=delta: needs --mode=sync"
	run -64 coord --mode=ssp:3 --pull=delta:int8@a/*
	assert_output --partial "--pull=delta: needs --mode=sync"
	run -64 coord --mode=sync --push=delta:int8
	assert_output --partial "--push: 'delta:int8' is for --pull alone: a\
 gradient is not a difference"
	run -64 coord --mode=sync --pull=delta:float32
	assert_output --partial "'delta:float32': differences in float32 are as\
 large as values"
	run -78 coord --mode=sync --pull=delta:int8@b/*
	assert_output "ps-coord: --pull: b/*: b/embeddings is a table, or waits\
 for no round: delta:int8 is not for it"
	run -78 coord --push=int8@*/bias
	assert_output "ps-coord: --push: */bias: a/bias has fewer than 4096\
 bytes, is a bias or a moving average, or has l1 or ftrl, and always travels as\
 floats"
	run -0 coord --wire=int8@b/* --push=bfloat16,from=7@a/* \
		--push=float32
	assert_line "int8 is for 13.5 % of the floats that are pushed"
	assert_line "bfloat16 is for 85.2 % of the floats that are pushed, from\
 step 7 on"
	assert_line "int8 is for 13.5 % of the floats that are pulled"
	run -0 coord --mode=sync --pull=delta:int8@a/* --pull=int8
	assert_line --partial " pulls at most $((6600 + 256 + 384 + 4 + 32 * 34\
)) bytes and pushes"
	assert_line "int8 is for 97.9 % of the floats that are pulled"
}

# wide - write a model of 6400 + 65 + 66 floats, and an example for it.
wide() {
	printf '%s\n' 'input x float[100] columns=x*' 'label y float' \
		'a = dense x units=64' 'z = dense a units=1' \
		'loss mean_squared_error z' 'optimizer sgd' >model.ps
	awk 'BEGIN {
		for (i = 0; i < 100; i++) printf "x%d,", i
		print "y"
		for (i = 0; i < 100; i++) printf ".01,"
		print 1
	}' >train.csv
}

# From the tenth step on 6400 of 6400 + 65 + 66 floats take a byte each, and two
# bytes for the scale of 64 of them.
@test "join reports the bytes sent, and the effect of a codec" {
	wide
	run -0 ps-local -w 1 -s 1 -- --repeat train.csv -- \
		ps-coord -m model.ps -B 4 --push=int8,from=10@a/* \
		--results=errors --status=status <<<$'train 20\njoin'
	assert_output --partial "\"pushed\":$((10 * 26116 + \
10 * (26116 - 25600 + 6600))),\"pushed_floats\":522320,\
\"pushed_coded\":0.4901"
	assert_output --partial ",\"pulled\":522320,"
	holds "$(number gradient_error) > 1e-5"
	holds "$(number gradient_error) < 1e-2"
	run -0 cat status
	assert_line --partial "pskit_gradient_coded_bytes_total"
	assert_line --regexp \
		'pskit_gradient_float_bytes_total.* 522320( |$)'
}

@test "a codec whose first step comes after the end is reported" {
	model mean_squared_error sgd
	printf '%s\n' x,y 1,1 >one.csv
	run -0 --separate-stderr bash -c 'echo train 3 | ps-local -q -w 1 -- \
		--repeat one.csv -- ps-coord -m model.ps -B 1 \
		--wire=bfloat16,from=4'
	assert_equal "$stderr" "ps-coord: --wire=bfloat16,from=4: the run ended\
 at step 3, so this never took effect"
	run -0 --separate-stderr bash -c 'echo train 3 | ps-local -q -w 1 -- \
		--repeat one.csv -- ps-coord -m model.ps -B 1 \
		--wire=bfloat16,from=2'
	assert_equal "$stderr" ""
}

@test "codecs are as in the manual, byte for byte" {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "/usr/bin/python3 has no numpy to compare with"
	run -0 bash -c '"$BUILD/t/unit/int8" cases | codecs.py'
	assert_output '120 cases'
	run -0 bash -c '"$BUILD/t/unit/onebit" cases | codecs.py'
	assert_output '60 cases'
	run -0 bash -c '"$BUILD/t/unit/delta" rounds | codecs.py'
	assert_output '15 cases'
	run -0 bash -c '"$BUILD/t/unit/residuals" pushes | codecs.py'
	assert_output '2 cases'
}

@test "--plan prints the share of int8 in each direction" {
	printf '%s\n' 'input x float[100]' 'input u id rows=1000' \
		'input v id rows=1000' 'label y float' \
		'a = dense x units=64' 'b = embedding u dim=32' \
		'c = embedding v dim=4' 'j = concat a b c' \
		'z = dense j units=1' 'loss mean_squared_error z' \
		'optimizer adam' >model.ps
	# Dense: 6400 floats of 4 bytes, biases 65, the last kernel 100.
	# Rows: 10 of 32 floats, 10 of 4 floats.
	run -0 ps-coord --plan -m model.ps -s 1 -B 10
	assert_line "a step of 10 examples pulls and pushes at most\
 $((25600 + 260 + 400 + 1280 + 160)) bytes each way"
	run -0 ps-coord --plan -m model.ps -s 1 -B 10 --push=int8
	assert_line "a step of 10 examples pulls at most 27700 bytes and pushes\
 at most $((6400 + 200 + 260 + 400 + 340 + 80))"
	run -0 ps-coord --plan -m model.ps -s 1 -B 10 --push=int8 --pull=int8
	assert_line "a step of 10 examples pulls at most\
 $((25600 + 260 + 400 + 340 + 80)) bytes and pushes at most 7680"
	# Pushed as int8: all but biases and the last kernel.  Pulled: only
	# rows.
	assert_line "int8 is for 97.6 % of the floats that are pushed"
	assert_line "int8 is for 5.2 % of the floats that are pulled"
	run -0 ps-coord --plan -m model.ps -s 1 -B 10 --wire=int8 \
		--push=float32
	assert_line "a step of 10 examples pulls at most 26680 bytes and pushes\
 at most 27700"
}

@test "--plan prints the bytes of a step, and the memory of a server" {
	printf '%s\n' 'input x float[100]' 'input u id rows=1000' \
		'input v id rows=hash' 'label y float' 'a = linear x' \
		'b = linear u use_bias=false' 'c = linear v use_bias=false' \
		'z = add a b c' 'loss mean_squared_error z' 'optimizer adam' \
		>model.ps
	run -0 ps-coord --plan -m model.ps -s 1 -B 10
	assert_line "a step of 10 examples pulls and pushes at most 484 bytes\
 each way"
	assert_line --regexp '^0 +- +4 +13212 +484$'
	run -0 ps-coord --plan -m model.ps -s 1 -B 10 --wire=float32
	assert_line --regexp '^0 +- +4 +13212 +484$'
	run -0 ps-coord --plan -m model.ps -s 1 -B 10 --wire=bfloat16
	assert_line "a step of 10 examples pulls and pushes at most 242 bytes\
 each way"
	assert_line --regexp '^0 +- +4 +13212 +242$'
}

# 6400 of 6400 + 65 + 66 floats take a byte each, and two bytes for the scale of
# 64.
@test "a worker reports the bytes that it sent, and the bytes of floats" {
	wide
	run -0 ps-local --log=members -w 1 -s 1 -- -v --repeat train.csv -- \
		ps-coord -m model.ps -B 4 --push=int8 <<<$'train 100\njoin'
	run -0 cat members
	assert_output --partial "100 steps, 400 examples, 0.712 MB of gradients\
 (2.61 as floats), 2.6"
}

# last LINES OPTION... - print the last LINES lines of a plan for 2 servers.
last() {
	run -0 bash -c 'ps-coord --plan -m model.ps -s 2 -B 10 "${@:2}" |
		tail -n "$1"' bash "$@"
}

@test "--plan counts the rows of a bag by the data, or prints a bound" {
	printf '%s\n' 'input u id[] rows=1000 columns=u sep=" "' \
		'input v string[] rows=hash columns=u sep=" "' \
		'label y float' 'a = embedding u dim=2 combiner=mean' \
		'c = embedding v dim=4 combiner=mean' \
		'ad = dense a units=1' 'cd = dense c units=1' \
		'z = add ad cd' 'loss mean_squared_error z' \
		'optimizer sgd' >model.ps
	last 7
	assert_line --index 0 --regexp '^0 .* [0-9]+\+$'
	last 3
	assert_line --index 0 "a step of 10 examples pulls and pushes 32 \
bytes each way, and the rows that it meets of these, which the model does not \
tell:"
	assert_line --index 1 \
		"a/embeddings: 8 bytes a row, 8000 if it meets all"
	assert_line --index 2 "c/embeddings: 16 bytes a row"
	# Examples have at most 3 ids, so 10 examples have 30 rows of each
	# table.
	printf '%s\n' u,y '1 2 3,0' '4,1' >train.csv
	last 2 -d train.csv
	assert_line --index 0 "a step of 10 examples pulls and pushes at most \
$((30 * 8 + 30 * 16 + 32)) bytes each way"
	assert_line --index 1 "no example has more ids than one of all the 2 \
records of the data"
	# The bound is never more than the rows of the table.
	last 2 -d train.csv -B 1000
	assert_line --index 0 --partial "at most $((8000 + 48000 + 32)) bytes"
	{
		echo u,y
		yes '1,0' | head -n 20000
	} >large.csv
	last 1 -d large.csv
	assert_output "no example has more ids than one of the first 10000 \
records of the data"
	# Data that a run would refuse are refused.
	echo 'x,1' >>train.csv
	run -65 ps-coord --plan -m model.ps -s 2 -d train.csv
	assert_output --partial "train.csv:4: u: 'x' is not a"
}

@test "--plan prints the bytes of a round" {
	printf '%s\n' 'input x float[100]' 'label y float' \
		'z = linear x' 'loss mean_squared_error z' >model.ps
	last 1 --mode=sync
	assert_output "a step of 10 examples pulls and pushes at most 404 \
bytes each way"
	last 6 --mode=sync --replicas=100
	assert_line --index 0 "a round of 100 steps, 1000 examples, pulls and \
pushes at most 40400 bytes each way"
	last 6 --mode=sync --replicas=100 --backup=2
	assert_line --index 0 "a round of 100 steps, 1000 examples, pulls and \
pushes at most 40400 bytes each way, and 808 more if 2 of them are computed \
twice"
}

# model LOSS OPTIMIZER [LINE] - write a model of one weight, which begins at 0.
model() {
	printf '%s\n' 'input x float' 'label y float' "${3-}" \
		"p = dense x units=1 use_bias=false \
kernel_initializer=zeros" "loss $1 p" "optimizer $2" >model.ps
}

# train STATUS STEPS OPTIONS... - train $workers workers (1) on one.csv, and
# check the status.
train() {
	run "-$1" --separate-stderr bash -c 'echo train "$1" |
		ps-local -q -w "${workers:-1}" -- --repeat one.csv -- \
		ps-coord -m model.ps -B 1 "${@:2}"' - "${@:2}"
}

# fails STEP MESSAGE - check that the step has a line with its error, and that
# no program failed.
fails() {
	assert_line --partial "\"step\":$1,\"worker\":\"worker:"
	assert_line --partial "\"error\":\"step $1: $2; a smaller \
learning_rate or a clipnorm may help\""
	assert_equal "$stderr" "ps-coord: step $1: $2; a smaller \
learning_rate or a clipnorm may help"
}

# The gradient is -x; from 2^128 - 2^119 on it is infinite as bfloat16.
@test "a gradient that is infinite only in the codec is its step's error" {
	local too_large="the gradient of p/kernel is too large for bfloat16"
	model mean_absolute_error 'sgd learning_rate=1e-38'
	printf '%s\n' x,y 3.3961776e38,1 >one.csv
	train 65 1 --wire=bfloat16
	fails 0 "$too_large"
	train 65 1 --wire=bfloat16 --mode=sync
	fails 0 "$too_large"
	train 0 1
	printf '%s\n' x,y 3.3961773e38,1 >one.csv
	train 0 1 --wire=bfloat16
	# A clipped gradient is small when it is encoded.
	printf '%s\n' x,y 3.4e38,1 >one.csv
	model mean_absolute_error 'sgd learning_rate=1e-38 clipvalue=1'
	train 0 1 --wire=bfloat16
}

@test "a row's gradient that is infinite only in the codec is an error, too" {
	printf '%s\n' 'input u id rows=hash' 'input x float' 'label y float' \
		'e = embedding u dim=1 embeddings_initializer=ones' \
		'p = dot e x' 'loss mean_absolute_error p' \
		'optimizer sgd learning_rate=1e-38' >model.ps
	printf '%s\n' u,x,y 7,3.4e38,0 >one.csv
	train 65 1 --wire=bfloat16
	fails 0 "the gradient of e/embeddings is too large for bfloat16"
	train 0 1
}

@test "values that are infinite only in the codec are their step's error" {
	model mean_absolute_error 'sgd learning_rate=3.4e38'
	printf '%s\n' x,y 1,1 >one.csv
	train 65 3 --wire=bfloat16
	assert_line --partial '"step":0,"worker":"worker:0","attempt":1'
	fails 1 "p/kernel has values that are infinite, or too large for \
bfloat16"
	train 0 3
}

# Each gradient is finite, but not their sum.  Workers must detect this: when a
# server does, other servers may already have applied the round.
@test "gradients that are infinite only in a round's sum are an error, too" {
	local wire
	model mean_absolute_error 'sgd learning_rate=1e-38'
	printf '%s\n' x,y 3e38,1 >one.csv
	for wire in float32 bfloat16; do
		workers=2 train 65 1 --mode=sync --replicas=2 --wire="$wire"
		fails 0 "the gradient of p/kernel is too large for a sum over \
2 replicas"
	done
	printf '%s\n' x,y 8e37,1 >one.csv
	workers=2 train 0 1 --mode=sync --replicas=2
}

# optimum MODEL - check that the loss on a9a is within 1 % of the optimum.
optimum() {
	need_data a9a.svm
	run -0 --separate-stderr bash -c '
		for i in 1 2 3 4 5 6; do echo train 500; done |
			cat - <(echo join; echo eval "$1") |
			ps-local -w 3 -s 2 -- --shuffle --repeat \
				--shard=%i/%n "$1" -- ps-coord -B 100 \
				-m "$2" --results=errors --wire=bfloat16' \
		- "$data/a9a.svm" "$1"
	holds "$(number log_loss) < 1.01 * 0.32307"
	holds "$(number examples) == 32561"
	assert_equal "$stderr" ""
}

# The same as in 50-train, where floats are sent.
@test "a9a: 3 workers and 2 servers come within 1 % of the optimum" {
	optimum "$SRC/examples/a9a/model.ps"
}

@test "a9a: a hashed table comes within 1 % of the optimum, too" {
	sed 's/sparse\[[0-9]*\]/sparse[hash]/' \
		"$SRC/examples/a9a/model.ps" >hashed.ps
	run ! diff hashed.ps "$SRC/examples/a9a/model.ps"
	optimum hashed.ps
}

# The weight of the server is 1 + 2^-20, which is not a bfloat16.
@test "an evaluation scores the exact floats of the servers" {
	printf '%s\n' 'input x float' 'label y float' \
		'p = dense x units=1 use_bias=false kernel_initializer=zeros' \
		'loss mean_squared_error p' \
		'optimizer sgd learning_rate=0.5000004768371582' >model.ps
	printf '%s\n' x,y 1,1 >one.csv
	printf '%s\n' 'train 1' join 'eval one.csv' >requests
	run -0 ps-local -C "$PWD/ckpt" -- one.csv -- ps-coord -m model.ps \
		-B 1 --checkpoint="$PWD/ckpt" --wire=bfloat16 \
		--results=errors requests
	holds "$(number loss) > 9e-13 && $(number loss) < 9.2e-13"
	run -0 bash -c 'ps-ckpt cat ckpt p/kernel | tail -c 4 | od -An -tx4'
	assert_output " 3f800008"
}

@test "kill -9 of a server with a log: nothing is lost, nothing run again" {
	local at='tcp://127.0.0.1:*' round
	counting
	for round in 1 2 3; do
		start ps-serve -b "$at" --durable=wal -d ckpt
		at=$endpoint server=$pid
		if [ "$round" = 1 ]; then
			conduct -s "$at" --checkpoint=ckpt --wire=bfloat16
			work
		fi
		ask 400
		done_steps 300
		[ "$round" = 3 ] || dies "$server"
	done
	ends
	wait "$server"
	counted 1200
	run ! grep 'run again' heard
}

@test "kill -9 of a server: its standby takes over" {
	counting
	start ps-serve -d ckpt
	server=$pid at=$endpoint
	start ps-serve -d ckpt --standby-of="$at"
	standby=$pid other=$endpoint
	conduct -s "$at" --checkpoint=ckpt --wire=bfloat16
	work
	hears "*server 0 ($at) has a standby at $other"
	ask 400
	done_steps 200
	dies "$server"
	ask 100
	hears "*server 0: its standby $other took over after *.?? s"
	done_steps 300
	ends
	wait "$standby"
	counted 500
}

@test "a run may be resumed with another codec" {
	local wire
	counting
	start ps-serve -d ckpt
	server=$pid at=$endpoint
	conduct -s "$at" --checkpoint=ckpt
	work
	for wire in bfloat16 float32; do
		ask 400
		done_steps 200
		dies "$coord"
		exec {requests}>&- {results}<&- {messages}<&-
		rm requests results messages
		conduct -s "$at" --checkpoint=ckpt --wire="$wire"
		hears '*resuming a run that was interrupted*'
	done
	ask 100
	ends
	wait "$server"
	counted 900
}
