# Hashed tables, which take any ids, have the values of a table with a row for
# each id: in training, in checkpoints, with other numbers of servers, and in
# scores.

load lib.bash

# The data have ids from 0 to 499, and a label that depends on them.
setup_file() {
	need_proc
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

# model KIND [SETTING...] - write model.ps, whose input u is of that kind.
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

# train SERVERS DIR STEPS [COORD-OPTION...] - train, and print the loss of the
# join.
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

# score DIR - print the loss of the newest checkpoint, which must be a number.
score() {
	ps-eval -q -C "$1" "$BATS_FILE_TMPDIR/data.csv" |
		sed -n 's/.*"loss":\([0-9.]*\),.*/\1/p' | grep .
}

@test "a hashed table learns as a table of all rows, with 1 and 3 servers" {
	model "id rows=500"
	flat=$(train 1 flat 60)
	model "id rows=hash"
	assert_equal "$(train 1 one 60)" "$flat"
	assert_equal "$(train 3 three 60)" "$flat"

	scored=$(score flat)
	assert_equal "$(score one)" "$scored"
	assert_equal "$(score three)" "$scored"
}

@test "a checkpoint is resumed with another number of servers" {
	model "id rows=hash"
	whole=$(train 1 a 40; train 1 a 40 --restore=latest)
	there=$(train 2 b 40; train 3 b 40 --restore=latest)
	assert_equal "$there" "$whole"
	scored=$(score a)
	assert_equal "$(score b)" "$scored"
}

@test "a checkpoint has a row for each id that occurred" {
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

@test "a table is read as one array, or in its parts" {
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

@test "diff joins rows by their ids, not by their places" {
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

@test "a converted table is imported byte for byte, and trains on" {
	model "id rows=500"
	train 1 flat 40 >/dev/null
	scored=$(score flat)
	ps-ckpt convert --slots flat flat.npz
	ps-ckpt -q import -m model.ps --seed=7 flat.npz flat-again
	loss=$(train 1 flat-again 30 --restore=latest)

	model "id rows=hash"
	train 3 three 40 >/dev/null
	for kind in npz safetensors; do
		ps-ckpt convert --slots three "three.$kind"
		run -0 --separate-stderr ps-ckpt import -m model.ps --seed=7 \
			"three.$kind" "$kind"
		assert_output "$kind/ckpt-00000000"
		assert_equal "$stderr" ""
		run -0 ps-ckpt verify "$kind"
		ps-ckpt convert --slots "$kind" "again.$kind"
		cmp "three.$kind" "again.$kind"
	done
	run -0 ps-ckpt diff --slots three npz
	assert_equal "$(score npz)" "$scored"
	assert_equal "$(train 1 npz 30 --restore=latest)" "$loss"
	assert_equal "$(train 2 safetensors 30 --restore=latest)" "$loss"

	# Without slots the file sets them to their initial values.
	ps-ckpt convert three values.npz
	ps-ckpt -q import -m model.ps values.npz values
	run -0 ps-ckpt diff three values
	run -0 ps-ckpt cat values e/embeddings@velocity
}

@test "import takes waiting rows, and the step of each row's last use" {
	model "id rows=hash" admit=2 evict=age:10
	train 2 a 40 >/dev/null
	ps-ckpt convert --slots a a.npz
	ps-ckpt -q import -m model.ps --seed=7 a.npz b
	ps-ckpt convert --slots b b.npz
	cmp a.npz b.npz
	before=$(ps-ckpt show b | grep -c 'keys\|waiting')
	[ "$before" -gt 6 ]
	run -0 train 1 b 5 --restore=latest
	# Rows that are not used are evicted in time.
	run -1 ps-ckpt diff a b
	assert_line --regexp $'^e/embeddings\t.* only in the first'
}

@test "a table with rows that wait keeps its counts in an import" {
	local by='schedule=exponential_decay decay_steps=10 decay_rate=0.1'

	# By 20 steps no id is pushed 21 times: the table has no row at all.
	for admit in 2 21; do
		model "id rows=hash" admit="$admit"
		sed -i "/^optimizer/s/\$/ $by/" model.ps
		train 2 "a$admit" 20 >/dev/null
		ps-ckpt convert --slots "a$admit" a.npz
		ps-ckpt -q import -m model.ps --seed=7 a.npz "b$admit"
		ps-ckpt convert --slots "b$admit" b.npz
		cmp a.npz b.npz
		loss=$(train 1 "a$admit" 60 --restore=latest)
		assert_equal "$(train 1 "b$admit" 60 --restore=latest)" "$loss"
		run -0 ps-ckpt diff --slots "a$admit" "b$admit"
		ps-ckpt convert --slots "a$admit" a.npz
		ps-ckpt convert --slots "b$admit" b.npz
		cmp a.npz b.npz
	done
}

@test "the counts of a table whose rows were all evicted survive a restart" {
	local by='schedule=exponential_decay decay_steps=10 decay_rate=.5'

	cat >empty.ps <<-END
		input    x sparse[hash]
		label    y float
		o = linear x use_bias=0 evict=age:2
		loss     mean_squared_error o
		optimizer adam $by
	END
	cases() {	# LINE - 10 examples
		yes "$1" | head -n 10
	}
	{ cases "1 3:1 7:2"; cases 1; } >first.svm
	cases "1 7:1" >second.svm
	trains() {	# DIR FILES
		ps-local -q -w 1 -s 2 -C "$PWD/$1" -- "${@:2}" -- \
			ps-coord -m empty.ps -B 1 --seed=7 --mode=sync \
			--checkpoint="$1" --restore=latest --results=none
	}
	mkdir once twice
	echo train 30 | trains once first.svm second.svm
	echo train 20 | trains twice first.svm
	assert_equal "$(ps-ckpt show twice | grep -c kernel)" 0
	echo train 10 | trains twice second.svm
	run -0 ps-ckpt show once
	assert_output --regexp "o/kernel/keys.*30 updates"
	run -0 ps-ckpt diff --slots once twice
}

@test "a row that is too old is not pulled" {
	cat >old.ps <<-END
		input    i id rows=hash
		label    y float
		o = linear i use_bias=0 kernel_initializer=ones evict=age:1
		loss     mean_squared_error o
		optimizer sgd learning_rate=.1
	END
	printf 'i,y\n1,1.5\n2,1.5\n1,1.5\n' >old.csv
	echo train 3 | ps-local -q -w 1 -C old -- --repeat old.csv -- \
		ps-coord -m old.ps -B 1 --checkpoint=old >results
	# The last step makes the row of id 1 again: it was too old, as step 2
	# used id 2.
	run -0 grep -o '"loss":[^,]*' results
	assert_output $'"loss":0.25\n"loss":0.25\n"loss":0.25'
	ps-ckpt cat old o/kernel@id >ids
	assert_equal "$(tail -c +129 ids | od -An -td8 | xargs)" 1
}

# numpy CODE - run the code with NumPy as np, or skip the test.
numpy() {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "no numpy"
	/usr/bin/python3 -c "import zipfile, numpy as np
emb, ids, kernel = np.ones((3, 6), 'f4'), np.array([7, 1, 3]), np.ones((3, 1))
$1"
}

@test "rows of other programs are imported, in any order and type" {
	numpy '
ids = np.array([5, -2, 1 << 62, 0])
np.savez_compressed("own.npz", **{
	"e/embeddings": np.outer(np.arange(4), np.ones(6)).astype("f8"),
	"e/embeddings@id": ids,
	"l/kernel": np.arange(4).reshape(4, 1),
	"l/kernel@id": np.array([5, 1 << 63, 300, 0], ">u8")})
'
	model "id rows=hash"
	run -0 --separate-stderr ps-ckpt import -m model.ps own.npz own
	assert_equal "${#stderr_lines[@]}" 3	# two biases and a kernel
	ps-ckpt convert own all.npz
	numpy '
all = np.load("all.npz")
row = dict(zip(all["e/embeddings@id"].astype("<i8"), all["e/embeddings"]))
assert {k: v.tolist() for k, v in row.items()} == {
	5: [0] * 6, -2: [1] * 6, 1 << 62: [2] * 6, 0: [3] * 6}
assert dict(zip(all["l/kernel@id"].tolist(), all["l/kernel"][:, 0])) == {
	5: 0, 1 << 63: 1, 300: 2, 0: 3}
'
	run -0 train 2 own 5 --restore=latest

	numpy 'np.savez("none.npz", **{"d/bias": np.ones(1)})'
	run -0 ps-ckpt import -m model.ps none.npz none
	assert_line "ps-ckpt: e/embeddings: not in none.npz; has no rows yet"
}

@test "rows that do not make a table are refused" {
	numpy '
def save(name, **arrays):
	np.savez(name + ".npz", **{"e/embeddings" + k.replace("row", "").
		replace("_", "@"): v for k, v in arrays.items()})
save("twice", row=emb, _id=np.array([4, 9, 4]))
save("lonely", row=emb)
save("empty", _id=ids)
save("slot", _velocity=emb, _id=ids)
save("fewer", row=emb, _id=ids[:2])
save("short", row=emb, _velocity=emb[:2], _id=ids)
save("narrow", row=emb[:, :4], _id=ids)
save("flat", row=emb[0], _id=ids)
save("column", row=emb, _id=ids.reshape(3, 1))
save("floats", row=emb, _id=ids.astype("f8"))
save("truth", row=emb, _id=ids > 1)
save("when", row=emb, _id=ids, _update=np.array([1, 2, -1]))
save("odd", row=emb, _id=ids, _mean=emb)
np.savez("waits.npz", **{"e/embeddings/waiting": kernel,
	"e/embeddings/waiting@id": ids})
with zipfile.ZipFile("lie.npz", "w") as zip:
	head = repr({"descr": "<f4", "fortran_order": False,
		"shape": (1 << 40, 6)}).encode() + b"\n"
	zip.writestr("e/embeddings.npy", b"\x93NUMPY\1\0" +
		len(head).to_bytes(2, "little") + head)
'
	model "id rows=hash"
	e="'e/embeddings'" id="'e/embeddings@id'"
	while IFS='|' read -r name text; do
		run -65 --separate-stderr \
			ps-ckpt import -m model.ps "$name.npz" dir
		assert_output ""
		assert_equal "$stderr" "ps-ckpt: $name.npz: $text"
		assert_not_exist dir
	done <<-END
		twice|$id: rows 0 and 2 have the same id
		lonely|$e is there, but $id is not
		empty|$id is there, but $e is not
		slot|$id is there, but $e is not
		fewer|$e has 3 rows, $id has 2
		short|'e/embeddings@velocity' has 2 rows, $id has 3
		narrow|$e has shape [3, 4], rows of 6 numbers are wanted
		flat|$e has shape [6], rows of 6 numbers are wanted
		column|$id has shape [3, 1], one integer for each row is wanted
		floats|$id holds no integers
		truth|$id holds no integers
		when|'e/embeddings@update': row 2: update 18446744073709551615\
 is not possible
		odd|'e/embeddings@mean' is not a variable of the model
		waits|'e/embeddings/waiting' is not a variable of the model
		lie|$e: has more numbers than there is room for in the file
	END
	model "id rows=hash" admit=2
	numpy '
for name, count in ("below", -1), ("nan", np.nan), ("inf", np.inf):
	np.savez(name + ".npz", **{"e/embeddings/waiting@id": np.arange(2),
		"e/embeddings/waiting": np.array([[1], [count]])})
'
	for name in below/-1 nan/nan inf/inf; do
		run -65 --separate-stderr ps-ckpt import -m model.ps \
			"${name%/*}.npz" dir
		assert_equal "$stderr" "ps-ckpt: ${name%/*}.npz:\
 'e/embeddings/waiting': row 1: ${name#*/} is not a count"
		assert_not_exist dir
	done
}

@test "any ids are allowed, also negative ones, and words" {
	model "id rows=hash"
	from=$BATS_FILE_TMPDIR/signed.csv
	run -0 train 2 d 20
	model "string rows=hash"
	run -0 train 2 e 20
}

@test "rows wait for a second push, and are evicted when not used" {
	model "id rows=hash" admit=2 evict=age:10,rows:100
	train 2 f 40 >/dev/null
	train 3 f 40 --restore=latest >/dev/null
	run -0 ps-ckpt show f
	assert_output --regexp 'e/embeddings/waiting-0-21845'
	rows=$(sed -nE 's/^array.e.embeddings.keys-[-0-9]+\t.([0-9]+),.*/\1/p' \
		<<<"$output" | awk '{ n += $1 } END { print n }')
	[ "$rows" -gt 10 ] && [ "$rows" -lt 200 ]
}

@test "the settings of a hashed table are checked" {
	model "id rows=hash" evict=soon
	run -78 ps-coord -m model.ps --plan -s tcp://127.0.0.1:1
	assert_output --partial "evict=soon is not age:UPDATES"
	model "id rows=500" admit=2
	run -78 ps-coord -m model.ps --plan -s tcp://127.0.0.1:1
	assert_output --partial "admit"
}

# The expected numbers come from another program.
@test "columns are crossed as in the manual" {
	sed -n '/^word  XXH3-64/,/^\.Ed/p' "$SRC/man/ps-model.5" >example
	id=$(sed -n 's/^id *\([0-9]*\) of 10000$/\1/p' example)
	hash=$(awk '/^Rome / { print $3 }' example)
	assert_equal "$(python3 -c "print(0x$hash % 10000)")" "$id"
	cat >model.ps <<-'EOT'
		input    both string columns=job,city cross=true hash=10000
		input    one  string columns=job hash=10000
		label    y binary
		l      = linear both
		m      = linear one
		n      = add l m
		loss     binary_crossentropy n from_logits=true
		optimizer sgd learning_rate=1
	EOT
	printf '%s\n' job,city,y cook,Rome,1 >train.csv
	echo train 1 | ps-local -q -C ckpt -- train.csv -- ps-coord \
		-m model.ps -B 1 --checkpoint=ckpt --results=none
	ps-ckpt convert ckpt model.npz
	run -0 /usr/bin/python3 -c '
import numpy as np
model = np.load("model.npz")
print(*np.flatnonzero(model["l/kernel"]))
print(*np.flatnonzero(model["m/kernel"]))'
	assert_line --index 0 "$id"
	assert_line --index 1 "$(python3 -c "print(0x$(awk '/^cook / {
		print $2 }' example) % 10000)")"
}
