# The result of training, to the last digits: 100 steps from given weights,
# compared with NumPy in double precision (helper/exact.py).

load lib.bash

setup_file() {
	need_proc
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "/usr/bin/python3 has no numpy to compare with"
}

# train [COORD-OPTION...] - let one worker do 100 steps in order on data.csv,
# from initial.npz; writes the weights to weights.npz.
train() {
	rm -rf ckpt
	ps-ckpt import -q -m model.ps initial.npz ckpt >/dev/null
	echo train 100 | ps-local -q -C "$PWD/ckpt" -s "${servers:-1}" -- \
		--repeat "$PWD/data.csv" -- ps-coord -m model.ps -B 8 \
		--results=errors --checkpoint=ckpt "$@"
	ps-ckpt convert ckpt weights.npz
}

# exact MODEL OPTIMIZER... - compare the weights of one worker and one server
# with NumPy's.
exact() {
	exact.py make "$@"
	train
	exact.py compare expected.npz weights.npz >off || {
		cat off
		fail "$*"
	}
}

# each OPTIMIZER - compare all models.
each() {
	exact mlp "$@"
	exact tutorial "$@"
	exact wide "$@"
}

@test "sgd" {
	each "sgd learning_rate=0.1"
}

@test "sgd with momentum" {
	each "sgd learning_rate=0.1 momentum=0.9"
}

@test "sgd with Nesterov's momentum" {
	each "sgd learning_rate=0.1 momentum=0.9 nesterov=true"
}

@test "adagrad" {
	each "adagrad learning_rate=0.1"
}

@test "rmsprop" {
	each "rmsprop learning_rate=0.01"
}

@test "rmsprop with momentum" {
	each "rmsprop learning_rate=0.01 momentum=0.5"
}

@test "rmsprop, centered" {
	each "rmsprop learning_rate=0.01 centered=true"
}

@test "adam" {
	each "adam learning_rate=0.01"
}

@test "adam as amsgrad" {
	each "adam learning_rate=0.01 amsgrad=true"
}

@test "adamw" {
	each "adamw learning_rate=0.01"
}

@test "ftrl" {
	each "ftrl learning_rate=0.1"
	each "ftrl learning_rate=0.1 l1=0.001 l2=0.01 beta=0.1"
	local shrink=l2_shrinkage_regularization_strength=0.01
	exact mlp "ftrl learning_rate=0.1 learning_rate_power=-0.7 $shrink"
}

@test "the defaults of every optimizer are Keras's" {
	local optimizer
	for optimizer in sgd adagrad rmsprop adam adamw; do
		exact wide $optimizer
	done
	exact mlp ftrl
}

@test "an optimizer for each part of a model" {
	exact wide "ftrl for=wide/* learning_rate=0.1" \
		"adam learning_rate=0.01"
}

@test "clipping, by value and by the norm of one or all variables" {
	exact wide "sgd learning_rate=0.2 clipvalue=0.01"
	exact wide "adam learning_rate=0.01 clipnorm=0.05"
	exact wide "sgd learning_rate=0.2 global_clipnorm=0.05"
}

@test "weight decay, of the rows of a table when they occur" {
	exact wide "sgd learning_rate=0.1 weight_decay=0.05"
	exact wide "rmsprop learning_rate=0.01 weight_decay=0.05"
}

@test "regularizers add to the loss, and so to what is clipped" {
	exact mlp regular=l1:0.01 "adam learning_rate=0.01"
	exact wide regular=l2:0.02 "sgd learning_rate=0.2 global_clipnorm=0.05"
	exact tutorial regular=l1_l2:0.01:0.02 "adagrad learning_rate=0.1"
}

@test "schedules of the learning rate" {
	local rate=learning_rate=0.2 of
	of="decay_steps=30 decay_rate=0.5"
	exact mlp "sgd $rate schedule=exponential_decay $of"
	exact mlp "sgd $rate schedule=exponential_decay $of staircase=true"
	exact mlp "sgd $rate schedule=inverse_time_decay $of"
	of="decay_steps=50 power=2"
	exact mlp "sgd $rate schedule=polynomial_decay $of"
	of="decay_steps=60 alpha=0.1"
	exact mlp "sgd $rate schedule=cosine_decay $of"
	of="$of warmup_steps=20 warmup_target=0.2"
	exact mlp "sgd learning_rate=0.02 schedule=cosine_decay $of"
	of="boundaries=30,60 values=0.2,0.1,0.05"
	exact mlp "sgd schedule=piecewise_constant $of"
}

@test "any number of servers and shards gives the same bits" {
	exact.py make wide "ftrl for=wide/* learning_rate=0.1" \
		"adam learning_rate=0.01"
	train
	mv ckpt one
	for how in --partition=fixed:3 --partition=max:16 \
	    --place=round-robin --place='wide/*@1' --place='*/bias@0-2' \
	    --pack=7 --in-flight=9; do
		servers=4 train "$how"
		run -0 ps-ckpt diff --slots one ckpt
	done
}

# both BATCH OPTIMIZER - train with a table, and with a dense matrix whose
# gradient is mostly zero; check that the weights agree.
both() {
	printf '%s\n' "input word string[3] sep=| vocab=$words" \
		'label y string vocab=no,yes' \
		'wide = linear word' \
		'loss binary_crossentropy wide from_logits=true' \
		"optimizer $2" >sparse.ps
	sed 's/linear word/dense count units=1 kernel_initializer=zeros/
		3i count = category_encoding word output_mode=count' \
		sparse.ps >dense.ps
	rm -rf sparse dense
	for one in sparse dense; do
		mkdir "$one"
		echo train 100 | ps-local -q -C "$PWD/$one" -- \
			--repeat "$PWD/data.csv" -- ps-coord -m $one.ps \
			-B "$1" --results=errors --checkpoint="$one"
	done
	ps-ckpt diff --tolerance=1e-5 sparse dense >off || {
		cat off
		fail "$*"
	}
}

@test "sparse variables get the weights of dense ones" {
	exact.py make wide sgd
	words=$(sed -n 's/.*vocab=\(ape.*\)/\1/p' model.ps)
	both 4 "sgd learning_rate=0.1"
	both 4 "adagrad learning_rate=0.1"
	# Other optimizers agree if every row occurs in every batch.
	both 37 "sgd learning_rate=0.1 momentum=0.9"
	both 37 "rmsprop learning_rate=0.001"
	both 37 "adam learning_rate=0.01"
	both 37 "ftrl learning_rate=0.1"
}
