# Options about the model: a model from standard input, values for names in it,
# and partitioners and places for some of its variables.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	cat >model.ps <<-'EOT'
		# ${rate} is the value to set
		input    x     sparse[4]
		label    y     binary
		logit  = linear x
		loss     binary_crossentropy logit from_logits=true
		metric   accuracy logit
		optimizer sgd learning_rate=${rate}
	EOT
	printf '%s\n' '1 1:1 2:1' '0 3:1' '1 1:1 4:1' '0 2:1 3:1' >train.svm
	echo 'train 3' >requests
}

# trained DIRECTORY OPTION... - train, with checkpoints in the directory.
trained() {
	ps-local -C "$1" -- --repeat train.svm -- ps-coord -B 4 --results=none \
		--checkpoint="$1" "${@:2}"
}

# one STATUS LINE COMMAND... - check that the command ends with the status and
# prints only this line.
one() {
	run "-$1" --separate-stderr "${@:3}"
	assert_equal "$stderr" "$2"
	assert_output ""
}

@test "a name in the model has the value of -D, which checkpoints keep" {
	sed 's/\${rate}/0.25/' model.ps >plain.ps
	trained plain -m plain.ps requests
	trained by-name -m model.ps -D rate=0.25 requests
	run -0 ps-ckpt diff plain by-name
	# Another rate gives other weights.
	trained other -m model.ps --define=rate=0.5 requests
	run -1 ps-ckpt diff plain other
	# A program that reads the checkpoint needs no -D.
	rm model.ps
	run -0 ps-ckpt show by-name
	assert_line --partial model.ps
	assert_line $'definition\trate\t0.25'
	run -0 ps-ckpt show --json by-name
	assert_output --partial '"definitions": {"rate": "0.25"},'
	run -0 ps-ckpt show plain
	refute_output --partial definition
	run -0 ps-eval -C by-name train.svm
	assert_output --partial '"metrics":{"accuracy":1}'
	run -0 grep -c 'learning_rate=0.25' by-name/ckpt-00000003/*.json
	assert_output 1
}

@test "a value may have several words, and another value is reported" {
	sed -i 's/optimizer .*/optimizer ${how}/' model.ps
	trained ckpt -m model.ps -D 'how=sgd momentum=0.5' requests
	run -0 --separate-stderr trained ckpt -m model.ps \
		-D 'how=sgd momentum=0.5' requests
	[ "$stderr" = "" ] || fail "$stderr"
	run -0 --separate-stderr trained ckpt -m model.ps -D how=adam requests
	[[ $stderr == *"starting from initial values, because the checkpoint\
 does not have them: logit/kernel@momentum"* ]]
	[[ $stderr == *": saved with -D how=sgd momentum=0.5; now how=adam"* ]]
}

@test "definitions that are wrong are refused, with their line" {
	one 78 "ps-coord: model.ps:7: \${rate} is not defined: \
say -D rate=VALUE" ps-coord -m model.ps -s 1
	one 78 "ps-coord: -D rates: there is no \${rates} in model.ps" \
		ps-coord -m model.ps -s 1 -D rate=1 -D rates=2
	sed 's/\${rate}/${1rate}/' model.ps >bad.ps
	one 78 "ps-coord: bad.ps:7: a \${ without a name and a } behind it; \
\$\${ is a plain \${" ps-coord -m bad.ps -s 1
	local try="; try 'ps-coord --help'"
	one 64 "ps-coord: -D: 'rate' is not NAME=VALUE$try" \
		ps-coord -m model.ps -s 1 -D rate
	one 64 "ps-coord: -D: 'a b' is not a name of letters, digits and _, \
which begins with no digit$try" ps-coord -m model.ps -s 1 -D 'a b=1'
	one 64 "ps-coord: -D: rate has a value already$try" \
		ps-coord -m model.ps -s 1 -D rate=1 -D rate=1
	one 64 "ps-ckpt: --define: not for ls; try 'ps-ckpt --help'" \
		ps-ckpt ls -D rate=1 .
}

@test "a literal \${ is written \$\${" {
	printf 'x,y\n${a},1\nb,0\n' >train.csv
	printf '%s\n' 'input x string vocab=$${a},b num_oov_indices=0' \
		'label y binary' 'z = linear x' \
		'loss binary_crossentropy z from_logits=true' >words.ps
	run -0 ps-local -- train.csv -- ps-coord -m words.ps -B 2 <<<train
	assert_output --partial '"examples":2'
	sed -i 's/\$\${a}/a/' words.ps
	run -65 ps-local -- train.csv -- ps-coord -m words.ps -B 2 <<<train
	assert_output --partial '${a}'
}

@test "a model comes from standard input, if the requests do not" {
	trained plain -m model.ps -D rate=1 requests
	trained input -m - -D rate=1 requests <model.ps
	run -0 ps-ckpt diff plain input
	run -0 --separate-stderr bash -c \
		'ps-coord --plan -s 1 -m - -D rate=1 <model.ps | grep total'
	assert_output --partial "total 20 bytes"
	one 64 "ps-coord: -m -: the requests are on standard input, too: \
name a file for one of them; try 'ps-coord --help'" ps-coord -m - -s 1
	one 64 "ps-coord: -m -: the requests are on standard input, too: \
name a file for one of them; try 'ps-coord --help'" ps-coord -m - -s 1 -
	one 78 "ps-coord: standard input:7: \${rate} is not defined: \
say -D rate=VALUE" ps-coord -m - -s 1 requests <model.ps
	one 66 "ps-coord: cannot read standard input: Is a directory" \
		ps-coord -m - -s 1 requests <.
	one 78 "ps-coord: standard input: there is no loss line" \
		ps-coord -m - -s 1 requests </dev/null
}

@test "a vocabulary of a model from standard input is in the current folder" {
	printf '%s\n' 'input x string vocab_file=words' 'label y binary' \
		'z = linear x' 'loss binary_crossentropy z from_logits=true' \
		>words.ps
	printf 'a\nb\n' >words
	run -0 ps-coord --plan -s 1 -m - <words.ps
	assert_output --partial "z/kernel                 [2, 1]"
	mkdir below
	cd below
	one 66 "ps-coord: standard input:1: cannot open words: No such file \
or directory" ps-coord --plan -s 1 -m - <../words.ps
}

@test "initial values are imported for a model from standard input" {
	trained from -m model.ps -D rate=1 requests
	ps-ckpt convert from w.npz
	run -0 --separate-stderr ps-ckpt import -m - -D rate=1 w.npz to \
		<model.ps
	run -0 --separate-stderr ps-ckpt import -m model.ps -D rate=1 w.npz to2
	run -0 ps-ckpt diff to to2
	run -0 ps-ckpt diff from to
	one 78 "ps-ckpt: standard input:7: \${rate} is not defined: \
say -D rate=VALUE" ps-ckpt import -m - w.npz to3 <model.ps
}

wide_model() {
	cat >wide.ps <<-'EOT'
		input  user id rows=90
		input  item id rows=60
		input  word id rows=hash
		label  y    binary
		u = embedding user dim=4
		i = embedding item dim=4
		w = embedding word dim=4 embeddings_initializer=zeros
		d = concat u i w
		z = dense d units=1
		loss binary_crossentropy z from_logits=true
	EOT
}

# parts OPTION... - write each variable and its number of shards, by the plan,
# to parts.
parts() {
	run -0 --separate-stderr ps-coord --plan -s 3 -m wide.ps "$@"
	sed -nE 's|^([^ ]+) .* [0-9]+/([0-9]+) +[0-9]+\.\..*|\1 \2|p' \
		<<<"$output" | sort -u >parts
}

@test "a partitioner with a pattern cuts the variables that it matches" {
	wide_model
	parts --partition='fixed:9@u/*' --partition=fixed:2 \
		--partition='none@z*' --partition='max:320@*/embeddings'
	diff - parts <<-'EOT'
		i/embeddings 3
		u/embeddings 9
		w/embeddings 3
		z/bias 1
		z/kernel 1
	EOT
	parts --partition='fixed:2@[ui]/*' --partition=fixed:3
	diff - parts <<-'EOT'
		i/embeddings 2
		u/embeddings 2
		w/embeddings 3
		z/bias 1
		z/kernel 3
	EOT
	one 78 "ps-coord: --partition: user* matches no variable" \
		ps-coord --plan -s 3 -m wide.ps --partition='fixed:2@user*'
	one 78 "ps-coord: --partition: u/* matches no variable but those that \
patterns before it match" ps-coord --plan -s 3 -m wide.ps \
		--partition='fixed:2@*/emb*' --partition='fixed:3@u/*'
	one 78 "ps-coord: --partition: w/* matches no variable but hashed \
tables, which have a shard on each server" \
		ps-coord --plan -s 3 -m wide.ps --partition='fixed:2@w/*'
	one 64 "ps-coord: --partition: partitioner 'fixed:2@' has no pattern \
behind its @; try 'ps-coord --help'" ps-coord -m wide.ps -s 3 \
		--partition=fixed:2@
	one 64 "ps-coord: --partition: partitioner 'fixed@u' is not none, \
spread, fixed:N, min:BYTES[:N] or max:BYTES[:N] with N from 1 to 65536 and \
BYTES above 0; try 'ps-coord --help'" \
		ps-coord -m wide.ps -s 3 --partition=fixed@u
}

# on OPTION... - write each shard and its server, by the plan, to on.
on() {
	run -0 --separate-stderr ps-coord --plan -s 4 -m wide.ps "$@"
	awk '$5 ~ /\.\./ { print $1, $4, $6 }
		$4 ~ /\.\./ { print $1, $3, $5 }' <<<"$output" >on
}

@test "variables that a pattern matches are on the servers of its range" {
	wide_model
	on --partition='fixed:4@[ui]/*' --place='*/embeddings@0-1' \
		--place='z/*@2-3'
	diff - on <<-'EOT'
		u/embeddings 0/4 0
		u/embeddings 1/4 1
		u/embeddings 2/4 0
		u/embeddings 3/4 1
		i/embeddings 0/4 0
		i/embeddings 1/4 1
		i/embeddings 2/4 0
		i/embeddings 3/4 1
		w/embeddings 0/2 0
		w/embeddings 1/2 1
		z/kernel 0/1 2
		z/bias 0/1 3
	EOT
	on --place=round-robin --place='u*@3' --place='*@1-2'
	grep -q 'u/embeddings 0/1 3' on
	[ "$(grep -c ' [12]$' on)" = 5 ]
	one 78 "ps-coord: --place: tower* matches no variable" \
		ps-coord --plan -s 4 -m wide.ps --place='tower*@0'
	one 78 "ps-coord: --place: u/*: there is no server 4; the last one of \
4 is 3" ps-coord --plan -s 4 -m wide.ps --place='u/*@2-4'
	one 64 "ps-coord: --place: placement 'u/*@3-2' is not balanced, \
round-robin or PATTERN@FIRST-LAST, where FIRST and LAST are indices of \
servers; try 'ps-coord --help'" ps-coord -m wide.ps -s 4 --place='u/*@3-2'
}

@test "dense variables are beside workers, and tables elsewhere" {
	printf '%s\n' 'input x float[512]' 'input s sparse[8192]' \
		'label y binary' 'e = embedding s dim=16 combiner=sum' \
		'c = concat x e' 'h = dense c units=512' 'o = dense h units=1' \
		'loss binary_crossentropy o from_logits=true' >wide.ps
	on --beside=3
	diff - on <<-'EOT'
		e/embeddings 0/1 3
		h/kernel 0/3 0
		h/kernel 1/3 1
		h/kernel 2/3 2
		h/bias 0/1 0
		o/kernel 0/1 1
		o/bias 0/1 2
	EOT
	on --beside=2
	awk '/^e/ && $3 < 2 || !/^e/ && $3 > 1' on >misplaced
	diff /dev/null misplaced
	[ "$(grep -c e/embeddings on)" = 2 ]
	on --beside=2 --partition=none --place='h/*@3'
	diff - on <<-'EOT'
		e/embeddings 0/1 2
		h/kernel 0/1 3
		h/bias 0/1 3
		o/kernel 0/1 0
		o/bias 0/1 1
	EOT
	# With servers beside all workers tables are on all servers.
	on --beside=4 --partition='fixed:4@e/*'
	[ "$(awk '/^e/ { print $3 }' on | sort -u | wc -l)" = 4 ]
	# The dense variables have 4 (512 + 16 + 1) 512 + 4 (512 + 1) bytes; in
	# a step of 4 workers a host sends and receives 2 * 3 / 4 of that, if
	# its parts have one size.
	grep -q 'when each of 4 workers takes a step:' <<<"$output"
	awk '/a worker with the server beside it/ {
		m = 4 * (529 * 512 + 513)
		exit !($9 > 1.5 * m && $9 < 1.54 * m &&
			$13 + 0 > 1.5 * m && $13 + 0 < 1.54 * m)
	}' <<<"$output"
	one 64 "ps-coord: --beside=5: there are only 4 servers; try 'ps-coord \
--help'" ps-coord --plan -s 4 -m wide.ps --beside=5
	one 64 "ps-coord: --beside: how many workers there are is not known: \
say --beside=N; try 'ps-coord --help'" ps-coord --plan -s 4 -m wide.ps --beside
	cluster='{"cluster": {"chief": ["c:1"], "ps": ["a:1", "b:1", "d:1"],
		"worker": ["a:2", "b:2"]}}'
	one 64 "ps-coord: --beside=3: there are only 2 workers; try 'ps-coord \
--help'" ps-coord --plan -f "$cluster" -t chief:0 -m wide.ps --beside=3
	run -0 ps-coord --plan -f "$cluster" -t chief:0 -m wide.ps --beside
	[ "$(grep -c ' beside$' <<<"$output")" = 2 ]
}

@test "variables with partitioners of their own learn the same" {
	sed 's/\${rate}/1/' model.ps >plain.ps
	trained whole -m plain.ps requests
	ps-local -s 3 -C cut -- --repeat train.svm -- ps-coord -B 4 \
		--checkpoint=cut -m plain.ps --partition='fixed:3@*/kernel' \
		--partition='none@*/bias' --results=none requests
	run -0 ps-ckpt show cut
	assert_line --partial $'logit/kernel\t[4, 1]\t3 shards'
	run -0 ps-ckpt diff whole cut
}
