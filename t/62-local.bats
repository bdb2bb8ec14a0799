# Local steps: a worker trains its own copies with several batches, and pushes
# the change of these copies.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
}

need_numpy() {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "/usr/bin/python3 has no numpy to compare with"
}

# steps SERVERS WORKERS [COORD-OPTION...] - do 100 steps of 4 batches; worker I
# reads slotI.csv, and results are in rest.
steps() {
	local servers=$1 workers=$2
	shift 2
	rm -rf ckpt
	ps-ckpt import -q -m model.ps initial.npz ckpt >/dev/null
	ps-local -q -s "$servers" -w "$workers" -C ckpt -- \
		--prefetch=0 slot%i.csv -- \
		ps-coord -m model.ps -B 2 --min-workers="$workers" \
		--partition=fixed:3 --checkpoint=ckpt "$@" \
		<<<'train 100' >rest
}

# as_expected WORD... - compare the checkpoint with NumPy's.
as_expected() {
	ps-ckpt convert ckpt weights.npz
	exact.py compare expected.npz weights.npz >off || {
		cat off
		fail "$*"
	}
}

# published MODEL ALGORITHM INNER OUTER [REGULARIZER] - compare 3 replicas of 4
# batches with the published algorithm in NumPy's double precision.
published() {
	exact.py local "$1" "$2" 3 4 "${@:3}"
	steps 2 3 --mode=sync --replicas=3
	as_expected "$@"
}

# alone MODEL ALGORITHM INNER OUTER - the same for one worker in mode async.
alone() {
	exact.py local "$1" "$2" 1 4 "$3" "$4"
	steps 2 1
	as_expected "$@"
}

@test "local SGD: the published algorithm, for dense variables and tables" {
	need_numpy
	published mlp average "sgd learning_rate=0.1" "sgd learning_rate=1"
	grep -q '"slots":3,"batches":4,"examples":24,' rest
	published tutorial average "sgd learning_rate=0.5 momentum=0.5" \
		"sgd learning_rate=1"
	published wide average "adagrad learning_rate=0.1 clipnorm=0.3" \
		"sgd learning_rate=1"
}

@test "SlowMo: the published algorithm, for dense variables and tables" {
	need_numpy
	published mlp slowmo "sgd learning_rate=0.1" \
		"sgd learning_rate=1 momentum=0.5"
	published tutorial slowmo "sgd learning_rate=0.5" \
		"sgd learning_rate=0.8 momentum=0.6"
}

@test "DiLoCo: the published algorithm, with slots that begin anew" {
	need_numpy
	# Adam magnifies rounding errors of gradients near zero.
	published mlp diloco "adamw learning_rate=0.005 epsilon=0.001" \
		"sgd learning_rate=0.7 momentum=0.9 nesterov=true"
	published wide diloco "adam learning_rate=0.005 epsilon=0.001" \
		"sgd learning_rate=0.7 momentum=0.9 nesterov=true"
}

@test "GEO: one worker in mode async equals one that trains alone" {
	need_numpy
	alone mlp average "sgd learning_rate=0.1" "sgd learning_rate=1"
	grep -q '"batches":4,"examples":8,' rest
	alone wide average "sgd learning_rate=0.1" "sgd learning_rate=1"
	alone tutorial slowmo "sgd learning_rate=0.1" "sgd learning_rate=0.5"
}

@test "slots=keep: the optimizer's slots stay from step to step" {
	need_numpy
	alone mlp average "sgd learning_rate=0.05 momentum=0.8 slots=keep" \
		"sgd learning_rate=1"
	alone mlp average "adam learning_rate=0.01 epsilon=0.001 slots=keep" \
		"sgd learning_rate=1"
}

@test "local steps: have regularizers and decay, schedules count pushes" {
	need_numpy
	published mlp average "sgd learning_rate=0.2 weight_decay=0.1 \
schedule=exponential_decay decay_steps=30 decay_rate=0.5" \
		"sgd learning_rate=1" l1_l2:0.01:0.02
}

# words MODEL-LINE... - write a model with a dense variable and a table.
words() {
	printf '%s\n' 'input w id[2] rows=50 sep=|' \
		'input x float[3] columns=x*' 'label y float' \
		'emb = embedding w dim=4 combiner=sum' 'all = concat emb x' \
		'out = dense all units=1' 'loss mean_squared_error out' \
		"$@" >model.ps
}

@test "the lines of ps-model(5) for four algorithms learn something" {
	local n mode=(sync sync sync async)
	awk 'BEGIN {
		srand(1)
		print "w,x1,x2,x3,y"
		for (i = 0; i < 800; i++) {
			a = int(rand() * 50); b = int(rand() * 50); x = rand()
			printf "%d|%d,%.3f,%.3f,%.3f,%.3f\n", a, b, x, x * x,
				1 - x, (a + b) / 50 + x
		}
	}' >rows.csv
	sed -nE 's/^[.]Dl ((local|optimizer) .*)/\1/p' "$SRC/man/ps-model.5" |
		split -a 1 -l 2 --numeric-suffixes=1 - lines
	assert_file_not_exist lines5
	for n in 1 2 3 4; do
		mapfile -t lines <"lines$n"
		words "${lines[@]}"
		ps-local -q -s 2 -w 2 -- --repeat rows.csv -- \
			ps-coord -m model.ps -B 8 --min-workers=2 \
			--mode="${mode[n - 1]}" <<<'train 20' >rest
		# The loss of the last steps is smaller than that of the first.
		sed 's/.*"loss":\([0-9.e+-]*\).*/\1/' rest | awk -v n="$n" '
			NR <= 4 { first += $1 } NR > 16 { last += $1 }
			END { print n, NR, first, last
				exit !(NR == 20 && last < first) }'
	done
}

@test "local steps with -j: the same bits for any number of threads" {
	local n
	words 'local adam steps=2' 'optimizer sgd learning_rate=1'
	awk 'BEGIN { print "w,x1,x2,x3,y"
		for (i = 0; i < 16384; i++)
			printf "%d|%d,%d,%.2f,1,%.2f\n", i % 50, i * 7 % 50,
				i % 3, i % 11 / 11, i % 13 / 13 }' >rows.csv
	for n in 1 3; do
		rm -rf ckpt
		echo train 4 | ps-local -q -s 1 -w 1 -C ckpt -- -j "$n" \
			--repeat rows.csv -- ps-coord -m model.ps -B 4096 \
			--checkpoint=ckpt --results=errors
		[ -e whole ] || mv ckpt whole
	done
	run -0 ps-ckpt diff --slots whole ckpt
}

@test "local steps of a click log send the bytes of --plan, to 5 %" {
	"$SRC/examples/wide-deep/clicks" 11000 1 >train.svm
	sed 's/^optimizer.*//' "$SRC/examples/wide-deep/model.ps" >model.ps
	printf '%s\n' 'local adagrad learning_rate=0.05 steps=8' \
		'optimizer sgd learning_rate=1' >>model.ps
	run -0 ps-coord --plan -s 2 -m model.ps -B 64 -d train.svm
	assert_line "a step of 512 examples in 8 batches pulls and pushes at\
 most 11448 bytes each way, 2862 in all for each batch"
	printf 'train 20\njoin\n' | ps-local -q -s 2 -w 1 -- -- \
		ps-coord -m model.ps -B 64 -d train.svm --shuffle \
		--results=errors |
		sed 's/.*"pushed":\([0-9]*\),"pulled":\([0-9]*\),.*/\1 \2/' |
		awk '{ each = 11448 * 20; print
			exit !($1 > .95 * each && $1 <= each && $1 == $2) }'
}

# refused [OPTION...] - check that each model on standard input is refused.  An
# empty line ends a case; its lines are the message, and, after a bar, the last
# lines of the model.
refused() {
	local line message="" lines=()
	while read -r line; do
		case $line in
		"| "*) lines+=("${line#| }") ;;
		?*) message+="${message:+ }$line" ;;
		"")
			words "${lines[@]}"
			run -78 ps-coord --plan -s 1 -m model.ps "$@"
			assert_output "ps-coord: $message"
			message="" lines=() ;;
		esac
	done
}

@test "local steps: each error is one line" {
	refused <<-'END'
		model.ps:8: unknown optimizer 'sdg', there are: adadelta
		adagrad adam adamax adamw ftrl lion nadam rmsprop sgd; did you
		mean sgd?
		| local sdg steps=4
		| optimizer sgd

		model.ps:8: after how many batches is there a push? say steps=K
		| local sgd
		| optimizer sgd

		model.ps:8: steps=0 is not a whole number from 1 to 4294967295
		| local sgd steps=0
		| optimizer sgd

		model.ps:8: steps=5000: a step has 4096 batches at most
		| local sgd steps=5000
		| optimizer sgd

		model.ps:8: for=none/* matches no variable that is trained
		| local sgd steps=4 for=none/*
		| optimizer sgd

		model.ps:9: out/bias has a local line already, model.ps:8
		| local sgd steps=4 for=out/*
		| local adam steps=4 for=*/bias
		| optimizer sgd

		model.ps:9: a second local line without for=; the first is
		model.ps:8
		| local sgd steps=4
		| local adam steps=4
		| optimizer sgd

		model.ps:9: no variable is left for it
		| local sgd steps=4 for=*
		| local adam steps=4
		| optimizer sgd

		model.ps:9: steps=8, but model.ps:8 has 4: all variables are
		pushed together
		| local sgd steps=4 for=out/*
		| local sgd steps=8 for=emb/*
		| optimizer sgd

		model.ps:8: slots=stay: say keep; without slots=keep they start
		anew in each step
		| local adam steps=4 slots=stay
		| optimizer sgd

		model.ps:8: slots=keep: emb/embeddings is a table, whose rows
		are others in each step; leave it out with for=
		| local adam steps=4 slots=keep
		| optimizer sgd

		model.ps:8: emb/embeddings has no optimizer line: what do
		servers do with what the local steps come to? 'optimizer sgd
		learning_rate=1' averages it
		| local sgd steps=4

		model.ps:8: the optimizer of emb/embeddings has
		weight_decay=0.004: beside local steps that is a setting of
		this line
		| local sgd steps=4
		| optimizer adamw

		model.ps:8: the optimizer of emb/embeddings clips gradients:
		beside local steps that is a setting of this line
		| local sgd steps=4
		| optimizer sgd clipnorm=1

	END
	refused --accumulate=2 <<-'END'
		--accumulate: model.ps:8: local steps are batches of a step,
		too: say one of both
		| local sgd steps=4
		| optimizer sgd

	END
	refused --mode=sync --replicas=2 <<-'END'
		--mode=sync: model.ps:8: slots=keep: a replica would depend on
		which worker computes it; say async or ssp:N
		| local adam steps=4 for=out/* slots=keep
		| optimizer sgd

	END
	words 'local sgd steps=4096' 'optimizer sgd'
	run -64 ps-coord -B 4097 -m model.ps -s tcp://a:1
	assert_output "ps-coord: model.ps:8: 4096 batches of 4097 examples are\
 more than 16777216"
	printf '%s\n' 'input x float[3]' 'variable w [3]' 'step sum x' \
		'local sgd steps=4' 'optimizer sgd' >model.ps
	run -78 ps-coord --plan -s 1 -m model.ps
	assert_output "ps-coord: model.ps:4: a local line and a step line, at\
 model.ps:3: a program computes a step at once"
}

@test "a new schedule of a local line counts the steps before, and is told of" {
	printf '%s\n' x,y 1,1e9 >data.csv
	cat >model.ps <<-'M'
		input x float
		label y float
		o = dense x units=1 use_bias=false kernel_initializer=zeros
		loss mean_absolute_error o
		optimizer sgd learning_rate=1
	M
	local part by='schedule=piecewise_constant boundaries=3 values=1,0.125'
	for part in 1 2 3; do
		run -0 --separate-stderr ps-local -C ckpt -- --repeat \
			data.csv -- ps-coord -m model.ps -B 1 \
			--checkpoint=ckpt --results=none <<<'train 10'
		if [ $part = 2 ]; then
			assert_equal "$stderr" "ps-coord: ckpt/ckpt-00000010:\
 the schedules of these have changed, and continue at step 10: o/kernel (local)"
		else
			assert_equal "$stderr" ""
			[ $part = 3 ] || echo "local sgd steps=2 $by" >>model.ps
		fi
	done
	# Ten steps at 1, and twenty of two batches at 0.125.
	run -0 od -An -tf4 <(ps-ckpt cat ckpt o/kernel | tail -c 4)
	assert_output "$(printf '%16s' 15)"
}
