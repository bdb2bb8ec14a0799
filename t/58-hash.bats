# Tables of any ids: what they hold is what a table with a row for each id
# would, in training, in checkpoints, under other servers, when scored.

load lib.bash

# Ids from 0 to 499, and a label that depends on them.
setup_file() {
	cd "$BATS_FILE_TMPDIR" || return
	awk 'BEGIN {
		srand(1)
		print "u,y"
		for (i = 0; i < 3000; i++) {
			u = int(500 * rand() * rand())
			print u "," (u % 3 == 0)
		}
	}' >data.csv
	awk -F, -v OFS=, 'NR > 1 { $1 = $1 - 250 } 1' data.csv >signed.csv
}

# model KIND [SETTING...] - model.ps, whose input u is of that kind.
model() {
	local kind=$1
	shift
	cat >model.ps <<-END
		input    u $kind
		label    y binary
		e      = embedding u dim=6 $*
		l      = linear u
		d      = dense e units=1
		s      = add l d
		p      = sigmoid s
		loss     binary_crossentropy p
		optimizer adam learning_rate=0.05
	END
}

# train SERVERS DIR STEPS [COORD-OPTION...] - what the join says of the loss.
train() {
	local servers=$1 dir=$2 steps=$3
	shift 3
	mkdir -p "$dir"
	printf '%s\n' "train $steps" join |
		ps-local -q -s "$servers" -C "$PWD/$dir" -- --repeat \
			"${from:-$BATS_FILE_TMPDIR/data.csv}" -- \
			ps-coord -m model.ps -B 32 --seed=7 \
			--checkpoint="$dir" "$@" |
		sed -n 's/.*"op":"join".*"loss":\([0-9.]*\),.*/\1/p' | grep .
}

# score DIR - the loss of its newest checkpoint, which must be a number.
score() {
	ps-eval -q -C "$1" "$BATS_FILE_TMPDIR/data.csv" |
		sed -n 's/.*"loss":\([0-9.]*\),.*/\1/p' | grep .
}

@test "it learns as a table of all rows does, by 1 server and by 3" {
	model "id rows=500"
	flat=$(train 1 flat 60)
	model "id rows=hash"
	assert_equal "$(train 1 one 60)" "$flat"
	assert_equal "$(train 3 three 60)" "$flat"

	scored=$(score flat)
	assert_equal "$(score one)" "$scored"
	assert_equal "$(score three)" "$scored"
}

@test "a checkpoint goes on under another number of servers" {
	model "id rows=hash"
	whole=$(train 1 a 40; train 1 a 40 --restore=latest)
	there=$(train 2 b 40; train 3 b 40 --restore=latest)
	assert_equal "$there" "$whole"
	scored=$(score a)
	assert_equal "$(score b)" "$scored"
}

@test "it has a row for each id that was met, and can be read" {
	model "id rows=hash"
	train 1 c 20 >/dev/null
	run -0 ps-ckpt show c
	assert_output --regexp 'e/embeddings/keys-0-65535@id'
	run -0 ps-ckpt verify c
	/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no numpy"
	ps-ckpt convert c c.npz
	ps-ckpt cat c e/embeddings@id >id.npy
	run -0 /usr/bin/python3 -c '
import numpy
c = numpy.load("c.npz")
id = c["e/embeddings@id"]
assert id.dtype == "<u8" and (id == numpy.load("id.npy")).all()
assert len(set(id)) == len(id) == len(c["e/embeddings"])
assert id.max() < 500 and len(id) > 200
assert not [name for name in c.files if "keys" in name]
'
}

@test "whoever wrote it, a table is read as one; its parts can be, too" {
	model "id rows=hash" admit=2
	train 1 one 30 >/dev/null
	train 3 three 30 >/dev/null
	for kind in npz safetensors; do
		ps-ckpt convert --slots one "one.$kind"
		ps-ckpt convert --slots three "three.$kind"
		cmp "one.$kind" "three.$kind"
	done
	for array in e/embeddings l/kernel@momentum e/embeddings@id \
		l/kernel@update e/embeddings/waiting \
		e/embeddings/waiting@id; do
		ps-ckpt cat one $array >one.npy
		ps-ckpt cat three $array >three.npy
		cmp one.npy three.npy
	done
	ps-ckpt cat one e/embeddings/keys-0-65535@id >part.npy
	ps-ckpt cat three e/embeddings@id | cmp - part.npy
	ps-ckpt cat three e/embeddings/keys-43691-65535 >part.npy
	run -65 ps-ckpt cat three e/embeddings@nothing
	assert_output "ps-ckpt: three/ckpt-00000030: holds no\
 'e/embeddings@nothing'; see what it holds by ps-ckpt show"
}

@test "diff joins rows by their ids, whoever wrote them" {
	model "id rows=hash"
	train 1 one 30 >/dev/null
	train 3 three 30 >/dev/null
	train 2 later 40 >/dev/null
	run -0 ps-ckpt diff --slots one three
	assert_line "e/embeddings	0	0"
	assert_line "e/embeddings@velocity	0	0"
	refute_output --partial keys
	refute_output --partial "@id"

	number=$'\t[0-9.e-]+'
	rows=$'\t[0-9]+ rows only in the'
	run -1 ps-ckpt diff --tolerance=1 one later
	assert_line --regexp "^e/embeddings$number$number$rows second$"
	run -1 ps-ckpt diff --tolerance=1 --slots later three
	assert_line --regexp "^l/kernel@momentum$number$number$rows first$"

	model "id rows=500"
	train 1 flat 30 >/dev/null
	run -1 ps-ckpt diff flat one
	assert_line "e/embeddings	hashed in one only"
	assert_line "d/bias	0	0"
}

@test "ids may be any, also below zero, and words" {
	model "id rows=hash"
	from=$BATS_FILE_TMPDIR/signed.csv
	run -0 train 2 d 20
	model "string rows=hash"
	run -0 train 2 e 20
}

@test "rows wait for their second push, and go when nobody asks for them" {
	model "id rows=hash" admit=2 evict=age:10,rows:100
	train 2 f 40 >/dev/null
	train 3 f 40 --restore=latest >/dev/null
	run -0 ps-ckpt show f
	assert_output --regexp 'e/embeddings/waiting-0-21845'
	rows=$(sed -nE 's/^array.e.embeddings.keys-[-0-9]+\t.([0-9]+),.*/\1/p' \
		<<<"$output" | awk '{ n += $1 } END { print n }')
	[ "$rows" -gt 10 ] && [ "$rows" -lt 200 ]
}

@test "what a hashed table takes is checked" {
	model "id rows=hash" evict=soon
	run -78 ps-coord -m model.ps --plan -s tcp://127.0.0.1:1
	assert_output --partial "evict=soon is not age:UPDATES"
	model "id rows=500" admit=2
	run -78 ps-coord -m model.ps --plan -s tcp://127.0.0.1:1
	assert_output --partial "admit"
}
