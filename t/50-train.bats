# Whole runs on real data with real processes: the results are as good as the
# published ones for these data.

load lib.bash

# metric NAME - print a score of the evaluation, the last line of the output.
metric() {
	tail -n 1 <<<"$output" | jq_number "$1"
}

# jq_number NAME - print the number of that name in a line of JSON.
jq_number() {
	sed -nE "s/.*\"$1\":([0-9.e+-]+).*/\1/p"
}

# holds EXPRESSION - whether the expression of awk is true.
holds() {
	awk "BEGIN { exit !($1) }" || fail "not $1"
}

@test "a9a: 3 workers and 2 servers come within 1 % of the optimum" {
	need_data a9a.svm
	run -0 --separate-stderr "$SRC/examples/a9a/run" \
		"$data/a9a.svm" "$data/a9a.svm"
	holds "$(metric log_loss) < 1.01 * 0.32307"
	holds "$(metric examples) == 32561"
	assert_equal "$stderr" ""
}

@test "a9a: rows that were not trained on are ranked, also from gzip" {
	need_data a9a.svm
	head -n 24000 "$data/a9a.svm" | gzip >train.gz
	tail -n +24001 "$data/a9a.svm" | gzip >test.gz
	run -0 "$SRC/examples/a9a/run" train.gz test.gz
	holds "$(metric auc) >= 0.900"
	holds "$(metric log_loss) < 1.01 * 0.32307"
	holds "$(metric examples) == 8561"
}

@test "a9a: the rows may come out of a pipe" {
	need_data a9a.svm
	tail -n +24001 "$data/a9a.svm" >test.svm
	run -0 "$SRC/examples/a9a/run" \
		"pipe:head -n 24000 '$data/a9a.svm'" test.svm
	holds "$(metric auc) >= 0.900"
	holds "$(metric log_loss) < 1.01 * 0.32307"
}

@test "w6a: wide & deep beats the best that a linear model can do" {
	need_data w6a.svm
	run -0 "$SRC/examples/wide-deep/run" \
		"$SRC/examples/wide-deep/model.ps" \
		"$data/w6a.svm" "$data/w6a.svm"
	holds "$(metric log_loss) < 0.9 * 0.02802"
}

@test "w6a: a factorization machine beats the best linear model, too" {
	need_data w6a.svm
	run -0 "$SRC/examples/fm/run" "$data/w6a.svm" "$data/w6a.svm"
	holds "$(metric log_loss) < 0.9 * 0.02802"
}

# descend NAME LEARNING_RATE BATCH LOSS_SETTING... - do a step of gradient
# descent on NAME.csv; the checkpoint is in NAME.
descend() {
	local name=$1 rate=$2 batch=$3
	shift 3
	cat >"$name.ps" <<-END
		input     x float[2] columns=*
		input     w float
		label     y binary
		p       = dense x units=1 activation=sigmoid
		loss      binary_crossentropy p $*
		metric    accuracy weighted=true
		optimizer sgd learning_rate=$rate
	END
	mkdir "$name"
	printf '%s\n' train join |
		ps-local -q -C "$PWD/$name" -- "$name.csv" -- \
			ps-coord -m "$name.ps" -B "$batch" --seed=1 \
			--checkpoint="$PWD/$name" | tail -n 1
}

@test "an example, or a class, of weight 3 counts three times" {
	printf '%s\n' a,b,w,y 1,2,2,0 2,-1,1,1 5,5,0,1 -1,1,3,0 >by-weight.csv
	printf '%s\n' a,b,w,y 1,2,1,0 1,2,1,0 2,-1,1,1 -1,1,1,0 -1,1,1,0 \
		-1,1,1,0 >by-number.csv
	weight=$(descend by-weight 0.4 4 sample_weight=w)
	number=$(descend by-number 0.6 6 sample_weight=w)
	run -0 ps-ckpt diff --tolerance=1e-6 by-weight by-number
	holds "($(jq_number loss <<<"$weight") * 4 - \
		$(jq_number loss <<<"$number") * 6) ^ 2 < 1e-10"
	assert_equal "$(jq_number accuracy <<<"$weight")" \
		"$(jq_number accuracy <<<"$number")"

	# A column with the weights of classes equals class_weight.
	printf '%s\n' a,b,w,y 1,2,0.5,0 2,-1,3,1 5,5,3,1 -1,1,0.5,0 >column.csv
	sed 's/,[0-9.]*\(,[01]\)$/,1\1/' column.csv >class.csv
	descend column 0.4 4 sample_weight=w
	descend class 0.4 4 sample_weight=w class_weight=0.5,3
	run -0 ps-ckpt diff column class

	# Predictions need no labels, and no weights.
	cut -d, -f1,2 column.csv >bare.csv
	run -0 ps-eval --predict -C column column.csv
	labelled=$output
	run -0 ps-eval --predict -C column bare.csv
	assert_output "$labelled"
	run -65 ps-eval -C column bare.csv
	assert_line --partial "no column y for y"
}

# shared ROWS - print the losses of training with one table for two inputs.
shared() {
	local from=embeddings_initializer=constant:0.1
	local weigh=kernel_initializer=constant:0.3
	cat >shared.ps <<-END
		input     seen id[3] columns=s* rows=$1
		input     item id rows=$1
		label     y binary
		u       = embedding seen dim=2 combiner=mean $from
		v       = embedding item share=u
		w       = concat u v
		p       = dense w units=1 activation=sigmoid $weigh
		loss      binary_crossentropy p
		optimizer sgd learning_rate=0.5
	END
	printf '%s\n' s1,s2,s3,item,y 0,1,1,1,1 2,3,0,0,0 4,4,4,5,1 1,2,5,6,0 \
		>shared.csv
	for _ in 1 2 3 4; do printf 'train 2\njoin\n'; done |
		ps-local -q -s 2 -- --repeat shared.csv -- \
			ps-coord -m shared.ps -B 2 | grep join | jq_number loss
}

@test "two inputs may share a table, which learns from both as in Keras" {
	keras=$'0.695921302\n0.679441571\n0.662249207\n0.641253173'
	for rows in 7 hash; do
		paste <(shared $rows) - <<<"$keras" | awk '
			{ d = $1 - $2; bad += d * d > 1e-12 }
			END { exit bad || NR != 4 }' || fail "$(shared $rows)"
	done
}

# accuracies WORKERS SERVERS - print the mean accuracy of 5 seeds on digits that
# were not trained on.
accuracies() {
	local seed
	for seed in 1 2 3 4 5; do
		printf '%s\n' "train 1250" "eval test.images test.labels" |
			ps-local -q -w "$1" -s "$2" -- -F idx --shuffle \
				--repeat train.images train.labels -- \
				ps-coord -m "$SRC/examples/mnist/model.ps" \
				--seed="$seed" | tail -n 1
	done | jq_number accuracy | awk '{ sum += $1 } END { print sum / NR }'
}

# The label: is the item in the list?  The mean of the list does not show it.
@test "attention finds what is like the query, and a mean does not" {
	awk 'BEGIN {
		srand(3)
		print "y,item,seen"
		for (i = 0; i < 4000; i++) {
			n = 1 + int(rand() * 20)
			seen = ""
			for (k = 0; k < n; k++) {
				id[k] = int(rand() * 100)
				seen = seen (k ? "|" : "") id[k]
			}
			item = id[int(rand() * n)]
			if (rand() < .5)
				item = int(rand() * 100)
			for (y = k = 0; k < n; k++)
				y = y || id[k] == item
			print y "," item "," seen
		}
	}' >seen.csv
	cat >seen.ps <<-END
		input seen id[] sep=| rows=100
		input item id rows=100
		label y binary
		i = embedding item dim=16
		s = attention seen i share=i
		b = multiply i s
		h = dense b units=16 activation=relu
		logit = dense h units=1
		loss binary_crossentropy logit from_logits=true
		metric accuracy logit
		optimizer adam learning_rate=0.01
	END
	sed 's/attention seen i share=i/embedding seen share=i combiner=mean/' \
		seen.ps >mean.ps
	local model
	head -n 3000 seen.csv >train.csv
	sed '2,3000d' seen.csv >test.csv
	for model in seen mean; do
		ps-local -C "$model" -w 2 -s 2 ps-coord -m "$model.ps" -B 64 \
			-d train.csv --shuffle --checkpoint="$model" \
			<<<'epoch 12' >/dev/null
	done
	run -0 ps-eval --newest -C seen --until='accuracy>=0.93' test.csv
	run ! ps-eval --newest -C mean --until='accuracy>=0.85' test.csv
}

@test "batches are normalized by their own, records by the moving averages" {
	cat >bn.ps <<-'END'
		input  x float[2]
		label  y float
		norm = batch_normalization x momentum=0.9
		p    = dense norm units=1 use_bias=false kernel_initializer=ones
		loss   mean_squared_error p
		optimizer sgd learning_rate=0 for=p/*
		optimizer adam learning_rate=0
	END
	printf '1 1:1 2:10\n2 1:2 2:20\n3 1:6 2:60\n' >x.svm
	for mode in async sync; do
		run -0 ps-local -q -w 2 -s 2 -C "$PWD" -- --repeat x.svm -- \
			ps-coord -m bn.ps -B 3 --mode=$mode --min-workers=2 \
			--checkpoint=. --results=none <<<'train 4'
		run -0 ps-eval -C . --newest --predict x.svm
		echo "$output" >scores
		# After four steps the batches have weight 0.3439 in the moving
		# averages, the initial values have the rest.
		awk '{
			x = NR == 1 ? 1 : NR == 2 ? 2 : 6
			left = 0.9 ^ 4
			part = 1 - left
			a = (x - 3 * part) / sqrt(left + .001 + 14 / 3 * part)
			b = 10 * (x - 3 * part)
			b /= sqrt(left + .001 + 1400 / 3 * part)
			if ((a + b - $1) ^ 2 > 1e-9)
				exit 1
		} END { if (NR != 3) exit 1 }' scores
		rm -r ckpt-*
	done
}

@test "samples of a tar train as lines of a CSV file do" {
	cat >model.ps <<-'END'
		input  x float[3] sep=" "
		input  word string[] vocab=low,high sep=" "
		label  y binary
		bag  = embedding word dim=2 combiner=sum
		both = concat x bag
		p    = dense both units=1 activation=sigmoid
		loss   binary_crossentropy p
		metric accuracy p
		optimizer adam
	END
	mkdir set.1
	awk 'BEGIN {
		print "x,word,y"
		for (i = 1; i < 300; i++) {
			x = i * 7 % 11 " " i * 5 % 13 / 4 " " i / 300
			word = i % 3 ? i % 2 ? "low low" : "high" : ""
			print x "," word "," i % 2
			name = sprintf("set.1/%03d", i)
			print x >(name ".x.txt")
			print i % 2 >(name ".y.cls")
			print "{\"word\":\"" word "\",\"z\":[]}" >(name ".json")
			print "is passed over" >(name ".jpg")
			close(name ".x.txt"); close(name ".y.cls")
			close(name ".json"); close(name ".jpg")
		}
	}' >s.csv
	tar --sort=name -czf s.tar.gz set.1
	for data in s.csv s.tar.gz; do
		run -0 ps-local -w 1 -C "$PWD" -- --repeat --cache "$data" -- \
			ps-coord -m model.ps -B 10 --checkpoint=. <<<'train 100'
		sed 's/,"seconds".*//' <<<"$output" >"$data.losses"
		run -0 ps-eval -C . --newest --predict "$data"
		echo "$output" >"$data.scores"
		rm -r ckpt-*
	done
	assert_equal "$(wc -l <s.csv.losses)" 100
	assert_equal "$(wc -l <s.csv.scores)" 299
	cmp s.csv.losses s.tar.gz.losses
	cmp s.csv.scores s.tar.gz.scores
}

@test "mnist: many members learn to read digits as well as two" {
	images=mnist10k-images-idx3-ubyte.gz
	labels=mnist10k-labels-idx1-ubyte.gz
	need_data $images $labels
	[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3"
	# Digits are in order, so every fifth one is held out: 2,000 for
	# testing.
	idx-split.py "$data/$images" 5 train.images test.images
	idx-split.py "$data/$labels" 5 train.labels test.labels
	many=$(accuracies 3 2)
	one=$(accuracies 1 1)
	echo "many $many, one $one"
	holds "$many >= 0.93"
	holds "$one >= 0.93"
	holds "$many - $one < 0.01 && $one - $many < 0.01"
}

@test "a batch that needs more rows than one message holds fails at once" {
	cat >wide.ps <<-'END'
		input  x id rows=2100
		label  y float
		w    = embedding x dim=8192
		p    = dense w units=1
		loss   mean_squared_error p
	END
	{ echo x,y; seq -f %.0f,1 0 2099; } >wide.csv
	why="66 MiB of rows of w/embeddings are needed from server 0 at once, "
	why+="more than 64: take a smaller batch, or more shards (ps-coord "
	why+="--partition)"
	start ps-serve
	server=$endpoint
	mkfifo requests
	ps-coord --keep-going -b ipc://c -s "$server" -m wide.ps -B 2000 \
		requests >results 2>coord.log 3>&- &
	coordinator=$!
	daemons+=("$coordinator")
	exec 7>requests
	run -78 --separate-stderr timeout 20 ps-eval -c ipc://c -B 2100 \
		wide.csv
	assert_equal "$stderr" "ps-eval: $why"
	launch ps-work -c ipc://c --repeat wide.csv
	printf '%s\n' 'train batch=2100' 'eval wide.csv' 'train' stop >&7
	exec 7>&-
	status=0
	wait "$coordinator" || status=$?
	assert_equal "$status" 78
	grep -F "\"error\":\"step 0: $why\"" results
	# Requests of the size of a batch fit.
	grep '"op":"eval".*"examples":2100' results
	grep '"op":"train","step":1,.*"examples":2000' results
}

# 0.9 times 4 of the smallest denormal numbers rounds to 4.
@test "a momentum without further gradients decays to zero" {
	printf '%s\n' 'input x float' 'label y float' \
		'p = dense x units=1 use_bias=false kernel_initializer=zeros' \
		'loss mean_squared_error p' 'optimizer sgd momentum=0.9' \
		>fade.ps
	{
		echo x,y
		echo 1,1
		yes 0,0 | head -n 1199
	} >fade.csv
	run -0 ps-local -C fade -- fade.csv -- ps-coord -B 1 -m fade.ps \
		--checkpoint=fade --results=errors <<<'train 1200'
	run -0 bash -c "ps-ckpt cat fade p/kernel@momentum | tail -c 4 |
		od -An -tx4"
	assert_output " 00000000"
}

# padded KIND PAD SHORT FULL LAYER - check that the file SHORT gives the
# predictions of the file FULL.
padded() {
	printf '%s\n' "input w $1 sep=\" \" pad=$2" 'label y float' \
		"$5" 'p = dense f units=1' 'loss mean_squared_error p' \
		>pad.ps
	rm -rf pad
	ps-ckpt -q import -m pad.ps none.safetensors pad >made
	printf "$3" >short.csv
	printf "$4" >full.csv
	run -0 ps-eval -C pad --predict full.csv
	full=$output
	run -0 ps-eval -C pad --predict short.csv
	assert_equal "$output" "$full"
	[ "$(sort -u <<<"$output" | wc -l)" = "${#lines[@]}" ]
}

@test "pad= pads lists that are too short, and cuts those that are too long" {
	printf '\2\0\0\0\0\0\0\0{}' >none.safetensors
	local emb='e = embedding w dim=2
f = flatten e'
	padded 'string[3] vocab=a,b mask_token=-' - \
		'w,y\na b a,1\nb,1\n,1\na a b zz zz,1\n' \
		'w,y\na b a,1\nb - -,1\n- - -,1\na a b,1\n' "$emb"
	padded 'string[2] hash=100' z 'w,y\na,1\na b c,1\n' \
		'w,y\na z,1\na b,1\n' "$emb"
	padded 'id[3] rows=9' 0 'w,y\n1 2,1\n4 5 6 x,1\n' \
		'w,y\n1 2 0,1\n4 5 6,1\n' "$emb"
	padded 'float[3]' -1.5 'w,y\n1 2,1\n4 5 6 7,1\n' \
		'w,y\n1 2 -1.5,1\n4 5 6,1\n' 'f = dense w units=2'
	# pad= is also for lists in samples.
	mkdir in
	echo '{"w":[1,2],"y":0}' >in/a.json
	echo '{"w":[4,[5,6],7],"y":0}' >in/b.json
	tar cf short.tar -C in a.json b.json
	run -0 ps-eval -C pad --predict short.tar
	assert_output "$full"
	# Without pad= another number of values is an error.
	sed -i 's/ pad=-1.5//' pad.ps
	ps-ckpt -q import -m pad.ps none.safetensors exact >made
	run -65 ps-eval -C exact --predict short.csv
	assert_output "ps-eval: short.csv:2: w: 2 values instead of 3"
}

@test "pad= is a value that the input can have" {
	pad() {
		printf '%s\n' "input w $1" 'label y float' 'e = linear w' \
			'loss mean_squared_error e' >pad.ps
		run -78 ps-coord -m pad.ps -s 1 --plan
		assert_output "ps-coord: pad.ps:1: w: $2"
	}
	pad 'string[2] vocab=a,b pad=c' \
		'pad=c is not a value that it can have'
	pad 'id[2] rows=3 pad=3' 'pad=3 is not a value that it can have'
	pad 'float[2] pad=x' 'pad=x is not a value that it can have'
	pad 'string[] hash=3 pad=x' \
		'pad= is for a number of values, as string[3] has'
	pad 'id rows=3 pad=0' 'pad= is for a number of values, as string[3] has'
}

# swapped NAME - train two workers, on NAME0.csv and NAME1.csv, then resume with
# a pass over the coordinator's data, in these files; the checkpoints are in
# NAME.
swapped() {
	mkdir "$1"
	ps-local -q -w 2 -C "$1" -- --repeat "$1%i.csv" -- \
		ps-coord -q -m swapped.ps -B 4 --seed=1 --min-workers=2 \
		--mode=sync --checkpoint="$1" <<<'train 8'
	ps-local -q -C "$1" ps-coord -q -m swapped.ps -B 4 --seed=1 \
		-d "$1[01].csv" --checkpoint="$1" <<<epoch
}

# scored DIR [OPTION...] FILE... - print the score of the newest checkpoint, and
# predictions.
scored() {
	ps-eval -q --newest -C "$@" | sed 's/,"seconds.*//'
	ps-eval -q --newest -C "$@" --predict
}

@test "a pattern takes columns by their names, in any order in a file" {
	cat >swapped.ps <<-'END'
		input     x float[3] columns=f*
		input     both string columns=w[12] cross=true hash=100
		label     y float
		e       = embedding both dim=2
		all     = concat x e
		p       = dense all units=1
		loss      mean_squared_error p
		optimizer sgd learning_rate=0.02
	END
	printf '%s\n' f1,f2,f10,w1,w2,y 1,2,-1,a,b,1 3,-1,0,b,a,0 0,1,2,a,a,1 \
		-2,0,1,b,b,0 >same0.csv
	cp same0.csv same1.csv
	cp same0.csv other0.csv
	awk -F, -v OFS=, '{ print $5, $3, $6, $2, $1, $4 }' same0.csv \
		>other1.csv
	run -0 head -n 2 other1.csv
	assert_output $'w2,f10,y,f2,f1,w1\nb,-1,1,2,1,a'
	swapped same >/dev/null
	swapped other >/dev/null
	run -0 ps-ckpt diff --tolerance=1e-6 same other
	run -0 scored other other0.csv
	score=$output
	[ "$(tail -n 4 <<<"$score" | sort -u | wc -l)" = 4 ]
	for _ in 1 2; do
		run -0 scored other --cache other1.csv
		assert_output "$score"
	done
}
