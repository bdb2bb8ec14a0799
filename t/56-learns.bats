# Models that cannot learn, or parts of which are frozen, and data that are
# easily misread: each result is compared with one that is computed by hand.

load lib.bash

# values CKPT ARRAY - print the numbers of an array in a line.
values() {
	ps-ckpt cat "$1" "$2" >"$BATS_TEST_TMPDIR/values.npy"
	# The header ends at a multiple of 64 bytes.
	local head
	head=$(od -An -tu2 -j 8 -N 2 "$BATS_TEST_TMPDIR/values.npy")
	tail -c +$((head + 11)) "$BATS_TEST_TMPDIR/values.npy" | od -An -f
}

@test "no request changes frozen variables, nor does an earlier momentum" {
	cat >model.ps <<-'END'
		input x float
		label y float
		h = linear x use_bias=false kernel_initializer=ones
		p = linear h use_bias=false kernel_initializer=ones
		loss mean_squared_error p
		optimizer sgd learning_rate=0.01 momentum=0.9 for=h/*
		optimizer sgd learning_rate=0.01
	END
	printf '%s\n' x,y 1,10 >data.csv
	one() {
		run -0 --separate-stderr ps-local -q -C ckpt -- \
			--repeat data.csv -- ps-coord -B 1 -m model.ps \
			--checkpoint=ckpt --results=none <<<"$1"
		assert_equal "$stderr" ""
	}
	# d/dp (hp - 10)^2 = 2 * -9 at first.
	one 'train 1'
	run -0 values ckpt h/kernel
	assert_output --regexp '^ +1\.18$'
	sed -i 's/0.01 momentum/0 momentum/' model.ps
	local request
	for request in train 'train 1 learning_rate=0.01' \
		'train 1 learning_rate_scale=3' \
		'{"learning_rate":0.01,"steps":2}'; do
		one "$request"
		run -0 values ckpt h/kernel
		assert_output --regexp '^ +1\.18$'
	done
	run -0 values ckpt p/kernel
	refute_output --regexp '^ +1\.18$'
}

@test "a request's learning_rate is for all variables, its scale for each" {
	cat >model.ps <<-'END'
		input x float
		label y float
		a = linear x use_bias=false
		b = linear x use_bias=false
		p = add a b
		loss mean_squared_error p
		optimizer sgd learning_rate=0.1 for=a/*
		optimizer sgd learning_rate=0.001
	END
	printf '%s\n' x,y 1,1 >data.csv
	one() {
		rm -rf ckpt
		run -0 --separate-stderr ps-local -C ckpt -- \
			--repeat data.csv -- ps-coord -B 1 -m model.ps \
			--checkpoint=ckpt --results=none <<<"$1"
		a=$(values ckpt a/kernel) b=$(values ckpt b/kernel)
	}
	# The gradient of both is 2 (0 - 1).
	one train
	assert_equal "${a// /} ${b// /}" "0.2 0.002"
	assert_equal "$stderr" ""
	one 'train 1 learning_rate_scale=0.5'
	assert_equal "${a// /} ${b// /}" "0.1 0.001"
	assert_equal "$stderr" ""
	one '{"learning_rate_scale":4}'
	assert_equal "${a// /} ${b// /}" "0.8 0.008"
	assert_equal "$stderr" ""
	one 'train 1 learning_rate=0.25'
	assert_equal "${a// /} ${b// /}" "0.5 0.5"
	assert_equal "$stderr" "ps-coord: request 1: learning_rate=0.25 is now\
 the rate of all optimizers, though the model gives them different rates;\
 learning_rate_scale= multiplies each"
}

@test "a model that cannot learn is refused, a doubtful one is a warning" {
	cat >model.ps <<-'END'
		input x sparse[4]
		label y binary
		p = linear x
		loss binary_crossentropy p
		metric auc
		optimizer adagrad learning_rate=1
	END
	printf '%s\n' '+1 1:1 2:1' '-1 3:1' '+1 1:1 4:1' '-1 2:1 3:1' >train.svm
	local why="ps-coord: model.ps:4: p does not end in a sigmoid, so it is\
 not a probability, and what it gives beyond 0 and 1 has no gradient; say\
 from_logits=true, or activation=sigmoid"
	run -78 --separate-stderr ps-local -q -- train.svm -- \
		ps-coord -q -m model.ps -B 4 <<<train
	assert_equal "$stderr" "$why"
	assert_output ""
	run -78 --separate-stderr ps-coord -m model.ps -s 1 --plan
	assert_equal "$stderr" "$why"
	# The model learns after the change that the message proposes.
	sed -i 's/entropy p$/entropy p from_logits=true/' model.ps
	run -0 --separate-stderr ps-local -C ckpt -- --repeat train.svm -- \
		ps-coord -m model.ps -B 4 --checkpoint=ckpt --results=none \
		<<<'train 100'
	assert_equal "$stderr" ""
	run -0 ps-eval -C ckpt train.svm
	assert_output --partial '"auc":1}'
	sed -i 's/linear x/linear x activation=relu/' model.ps
	run -0 --separate-stderr ps-coord -m model.ps -s 1 --plan
	assert_equal "${stderr_lines[0]}" "ps-coord: model.ps:4: p gives 0 or\
 more, so as the input of a sigmoid it cannot give every probability"
	assert_equal "${stderr_lines[1]}" "ps-coord: these variables are 0 and\
 stay 0, because both factors of a product, or the input of a relu, are 0 at\
 the start: p/kernel, p/bias; give one of them another initializer"
}

@test "labels of -1, 0 and 1 are three classes for every program" {
	cat >model.ps <<-'END'
		input x sparse[4]
		label y binary
		logit = linear x
		loss binary_crossentropy logit from_logits=true
	END
	printf '%s\n' '-1 1:1' '0 2:1' '1 3:1' >train.svm
	local three="-1, 0 and 1 are three classes, and binary is 0 and 1, or\
 -1 and 1"
	run -65 --separate-stderr ps-local -q -- --repeat train.svm -- \
		ps-coord -q -m model.ps -B 3 <<<'train 1'
	grep -qxF "ps-coord: train.svm:2: label: 0, where others are -1:\
 $three" <<<"$stderr" || fail "$stderr"
	# The labels come from the coordinator's data, then from the cache of
	# them.
	for i in 1 2; do
		run -65 --separate-stderr ps-local -q -- --cache -- \
			ps-coord -q -m model.ps -B 3 -d train.svm <<<epoch
		grep -q "^ps-coord: .*train.svm.*$three$" <<<"$stderr" ||
			fail "$stderr"
	done
	printf '%s\n' '-1 1:1' '1 2:1' >sound.svm
	run -0 ps-local -q -C ckpt -- --repeat sound.svm -- \
		ps-coord -q -m model.ps -B 2 --checkpoint=ckpt <<<'train 1'
	run -65 --separate-stderr ps-eval -C ckpt train.svm
	assert_equal "$stderr" "ps-eval: train.svm:2: label: 0, where others\
 are -1: $three"
	# Each worker has a file of its own, which alone is valid.
	cp sound.svm part-0.svm
	printf '%s\n' '0 1:1' '1 2:1' >part-1.svm
	local mode
	for mode in async sync; do
		run -65 --separate-stderr ps-local -q -w 2 -- --repeat \
			part-%i.svm -- ps-coord -q -m model.ps -B 2 \
			--mode=$mode --min-workers=2 <<<'train 10000'
		told='"op":"data","worker":"worker:'
		[[ $output == *"{$told"[01]'","error":"'* ]]
		grep -qE "^ps-coord: worker:[01] has labels of (0|-1), where\
 others are (0|-1): $three$" <<<"$stderr" || fail "$stderr"
	done
	run -65 --separate-stderr ps-local -q -w 2 ps-coord -q -m model.ps \
		-B 2 -d part-0.svm -d part-1.svm <<<epoch
	grep -q "^ps-coord: .*, where others are .*: $three$" <<<"$stderr" ||
		fail "$stderr"
	# Training and scoring may have different labels for the negative class.
	printf '%s\n' '0 1:1' '1 2:1' >other.svm
	run -0 ps-eval -C ckpt other.svm
}

@test "each record has one prediction" {
	cat >model.ps <<-'END'
		input x sparse[4]
		label y binary
		logit = linear x
		loss binary_crossentropy logit from_logits=true
		optimizer sgd learning_rate=1
	END
	printf '%s\n' '1 1:1' '0 2:1' >train.svm
	run -0 ps-local -q -C ckpt -- --repeat train.svm -- \
		ps-coord -q -m model.ps -B 2 --checkpoint=ckpt <<<'train 8'
	printf '%s\n' '' 1:1 '' 2:1 '' >new.svm
	run -0 ps-eval -C ckpt --predict new.svm
	assert_equal "${#lines[@]}" 5
	# The bias is 0, as there are as many positive as negative labels.
	for i in 0 2 4; do
		assert_equal "${lines[i]}" 0.5
	done
	[[ ${lines[1]} == 0.79* && ${lines[3]} == 0.20* ]]
	run -0 ps-eval -C ckpt --predict -B 2 - <new.svm
	assert_equal "${#lines[@]}" 5
	# In a file with labels an empty line is not a record.
	printf '%s\n' '' '1 1:1' '' '0 2:1' '' >labelled.svm
	run -0 ps-eval -C ckpt --predict labelled.svm
	assert_equal "${#lines[@]}" 2
	run -64 ps-eval -C ckpt --predict --max-bad=1 new.svm
}

# OpenBLAS has kernels for each processor; on one with AVX-512 OPENBLAS_CORETYPE
# can choose others.
@test "sums have the same digits with each kernel of OpenBLAS" {
	local of="Sandybridge"
	[ -x "$BUILD/t/unit/kinks" ] || skip "t/unit/kinks is not built"
	grep -qw avx2 /proc/cpuinfo && of+=" Haswell Zen"
	grep -qw avx512vl /proc/cpuinfo && of+=" SkylakeX Cooperlake"
	[ "$(uname -m)" = x86_64 ] || of=""
	for core in "" $of; do
		run -0 env OPENBLAS_CORETYPE="$core" "$BUILD/t/unit/kinks"
		refute_line --regexp "^not ok"
	done
}
