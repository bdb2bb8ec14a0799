# Checkpoints without a cluster: all of ps-ckpt, compared with NumPy.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	export SOURCE_DATE_EPOCH=1000000000
	cat >model.ps <<-'END'
		input    word string[3] vocab=a,b,c,d
		label    good string    vocab=no,yes
		emb    = embedding word dim=3
		mean   = reduce_mean emb
		prob   = dense mean units=1 activation=sigmoid
		loss     binary_crossentropy prob
		optimizer rmsprop learning_rate=0.1
	END
}

# python CODE - run the code with NumPy, or skip the test.
python() {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "no NumPy for /usr/bin/python3"
	/usr/bin/python3 -c "import io, json, sys, numpy as np
$1"
}

# nothing - write a .safetensors without arrays, so that the seed gives all
# initial values.
nothing() {
	printf '\2\0\0\0\0\0\0\0{}' >nothing.safetensors
}

# made DIR SEED - make a checkpoint of the seed's initial values.
made() {
	nothing
	ps-ckpt -q import -m model.ps --seed="$2" nothing.safetensors "$1"
}

@test "import makes a checkpoint, and reports the variables not found" {
	nothing
	run -0 --separate-stderr \
		ps-ckpt import -m model.ps --seed=7 nothing.safetensors dir
	assert_output dir/ckpt-00000000
	assert_equal "${#stderr_lines[@]}" 3
	[[ $stderr == *"prob/bias: not in nothing.safetensors; has the"* ]]
	[[ $stderr == *"initial values of seed 7"* ]]
	run -0 ps-ckpt verify dir
	assert_output "dir/ckpt-00000000: ok"
}

@test "ls prints a line for each checkpoint, and marks damaged ones" {
	made dir 1
	size=$(stat -c %s dir/*/shard-0-of-1.tar)
	run -0 ps-ckpt ls dir
	assert_output "$(printf '%s\t' ckpt-00000000 0 \
		2001-09-09T01:46:40Z "$size")-"
	run -0 ps-ckpt ls --json dir
	assert_output --partial '"name": "ckpt-00000000", "step": 0, '
	cp -r dir/ckpt-00000000 dir/ckpt-00000005
	truncate -s -1 dir/ckpt-00000005/shard-0-of-1.tar
	run -0 --separate-stderr ps-ckpt ls dir
	assert_line --index 1 "ckpt-00000005	5	-	-	damaged"
	[[ $stderr == *"/shard-0-of-1.tar: byte $((size - 1)): cut short" ]]
	mkdir empty
	run -0 ps-ckpt ls empty
	assert_output ""
	run -66 ps-ckpt ls nowhere
	assert_output "ps-ckpt: cannot open nowhere: No such file or\
 directory"
}

@test "show prints step, model, variables, slots and shapes" {
	made dir 1
	run -0 bash -c "ps-ckpt show dir | tr '\t' '|'"
	assert_line "model|model.ps"
	assert_line "step|0"
	assert_line "array|emb/embeddings|[4, 3]|1 shard|0 updates"
	assert_line "array|prob/bias@velocity|[1]|1 shard|0 updates"
	run -0 ps-ckpt show dir/ckpt-00000000
	run -0 ps-ckpt show --json dir
	assert_output --partial '"slot": "velocity", "shape": [4, 3]'
	run -66 ps-ckpt show .
	assert_output "ps-ckpt: .: no checkpoint here"
}

@test "show prints a checkpoint's name, however its path is written" {
	made dir 1
	for path in dir dir/ckpt-00000000/ dir/./ckpt-00000000//; do
		run -0 ps-ckpt show "$path"
		assert_line --index 0 "checkpoint	ckpt-00000000"
		run -0 ps-ckpt show --json "$path"
		assert_output --partial '{"name": "ckpt-00000000",'
	done
	cd dir/ckpt-00000000
	run -0 ps-ckpt show .
	assert_line --index 0 "checkpoint	ckpt-00000000"
	# JSON cannot hold a name that is not UTF-8.
	cp -r . $'../caf\xe9'
	run -0 ps-ckpt show --json $'../caf\xe9'
	assert_output --partial '{"name": "caf?",'
}

@test "verify reports damage with file, byte and reason, and continues" {
	made dir 1
	made good 1
	part=dir/ckpt-00000000/shard-0-of-1.tar
	damage $part 660
	run -65 --separate-stderr ps-ckpt verify dir good
	assert_output "good/ckpt-00000000: ok"
	assert_equal "$stderr" "ps-ckpt: $part: byte 512:\
 'emb/embeddings/0-3.npy': damaged: its hash does not match"
	run -65 ps-ckpt cat dir emb/embeddings
	sed -i 's/"final": false/"final": true/' good/*/MANIFEST.json
	run -65 ps-ckpt verify good
	assert_output --partial "MANIFEST.json: damaged: its hash"
}

@test "the same content is the same bytes" {
	made one 3
	made two 3
	made three 4
	diff -r one two
	! diff -rq one three
}

@test "diff finds the largest difference, and has a status for it" {
	made one 1
	made same 1
	made two 2
	run -0 ps-ckpt diff one same
	assert_output "$(printf '%s\t0\t0\n' emb/embeddings prob/bias \
		prob/kernel)"
	run -1 ps-ckpt diff one two
	assert_line "prob/bias	0	0"
	run -0 ps-ckpt diff --tolerance=10 one two
	run -0 ps-ckpt diff --slots one same
	assert_line "prob/kernel@velocity	0	0"
	sed -i s/dim=3/dim=2/ model.ps
	made narrow 1
	run -1 ps-ckpt diff --tolerance=10 one narrow
	assert_line "emb/embeddings	of another shape"
}

@test "NumPy reads what cat and convert wrote, with the same numbers" {
	made dir 5
	ps-ckpt cat dir emb/embeddings >emb.npy
	ps-ckpt cat dir prob/bias@velocity >slot.npy
	ps-ckpt convert dir all.npz
	ps-ckpt convert --slots dir slots.npz
	python '
emb, all, slots = np.load("emb.npy"), np.load("all.npz"), np.load("slots.npz")
assert emb.shape == (4, 3) and emb.dtype == np.float32 and emb.any()
assert (all["emb/embeddings"] == emb).all()
assert sorted(all) == ["emb/embeddings", "prob/bias", "prob/kernel"]
assert len(slots.files) == 6
assert (np.load("slot.npy") == slots["prob/bias@velocity"]).all()
'
}

@test "safetensors files conform to their format" {
	made dir 5
	ps-ckpt convert dir all.safetensors
	ps-ckpt cat dir prob/kernel >kernel.npy
	python '
data = open("all.safetensors", "rb").read()
n = int.from_bytes(data[:8], "little")
header = json.loads(data[8:8 + n])
assert n % 8 == 0 and header["emb/embeddings"]["data_offsets"] == [0, 48]
k = header["prob/kernel"]
assert k["dtype"] == "F32" and k["shape"] == [3, 1]
a, b = k["data_offsets"]
assert 8 + n + b == len(data)
kernel = np.frombuffer(data[8 + n + a:8 + n + b], "<f4")
assert (kernel == np.load("kernel.npy").ravel()).all()
'
}

@test "a converted checkpoint is imported again, bit for bit, slots too" {
	made dir 9
	for kind in npz safetensors; do
		ps-ckpt convert --slots dir all.$kind
		run -0 --separate-stderr \
			ps-ckpt import -m model.ps all.$kind again-$kind
		assert_equal "$stderr" ""
		run -0 ps-ckpt diff --slots dir again-$kind
	done
}

@test "import reads NumPy's types, packed or not" {
	python '
emb = np.arange(12).reshape(4, 3)
np.savez("int.npz", **{"emb/embeddings": emb})
np.savez_compressed("double.npz", **{"emb/embeddings": emb.astype(">f8")})
np.savez("half.npz", **{"emb/embeddings": emb.astype("f2"),
	"prob/bias": np.array([True]), "prob/kernel@velocity": np.ones((3, 1))})
'
	for kind in int double half; do
		ps-ckpt -q import -m model.ps $kind.npz $kind
	done
	run -0 ps-ckpt diff int double
	run -1 ps-ckpt diff int half
	assert_output "$(printf '%s\t%s\t%s\n' emb/embeddings 0 0 \
		prob/bias 1 1 prob/kernel 0 0)"
	ps-ckpt cat half prob/kernel@velocity >slot.npy
	python 'assert (np.load("slot.npy") == 1).all()'
}

@test "import warns of newer checkpoints, from which a run would resume" {
	made dir 1
	run -0 --separate-stderr ps-ckpt -q import -m model.ps --seed=2 \
		nothing.safetensors dir
	assert_equal "$stderr" ""
	cp -r dir/ckpt-00000000 dir/ckpt-00000007
	run -0 --separate-stderr ps-ckpt import -m model.ps \
		nothing.safetensors dir
	assert_equal "${stderr_lines[-1]}" "ps-ckpt: dir has checkpoints of\
 later steps, up to ckpt-00000007"
}

@test "import reads bfloat16" {
	python '
kernel = np.array([[1.5], [-0.0], [2.0 ** 100]], "<f4")
text = json.dumps({"prob/kernel": {"dtype": "BF16", "shape": [3, 1],
	"data_offsets": [0, 6]}}).encode()
open("half.safetensors", "wb").write(len(text).to_bytes(8, "little") + text +
	kernel.view("<u4").astype("<u8").__rshift__(16).astype("<u2").tobytes())
np.savez("whole.npz", **{"prob/kernel": kernel})
'
	ps-ckpt -q import -m model.ps half.safetensors half
	ps-ckpt -q import -m model.ps whole.npz whole
	ps-ckpt cat half prob/kernel | cmp - <(ps-ckpt cat whole prob/kernel)
}

# numpy.savez() writes such an archive; it may have a comment.
@test "an archive of no arrays leaves all variables their initial values" {
	made dir 1
	printf 'PK\5\6\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0' >none.npz
	{
		head -c 20 none.npz
		printf '\2\0ok'
	} >comment.npz
	for file in none.npz comment.npz; do
		run -0 ps-ckpt import -m model.ps --seed=1 $file none
		assert_line --partial "not in $file"
		run -0 ps-ckpt diff dir none
		rm -r none
	done
	# A part of another archive is not an archive without arrays.
	python 'np.savez("some.npz", **{"prob/bias": np.ones(1, "f4")})'
	tail -c 22 some.npz >end.npz
	head -c 21 none.npz >short.npz
	{
		cat none.npz
		printf x
	} >long.npz
	: >empty.npz
	for file in end short long empty; do
		run -65 ps-ckpt import -m model.ps $file.npz none
		assert_output --partial "$file.npz: not a zip, or damaged: "
	done
}

@test "import takes a hashed table of no rows" {
	sed 's/vocab=a,b,c,d/rows=hash/; s/dim=3/dim=3 admit=2/' -i model.ps
	python '
rows, ids = np.zeros((0, 3), "<f4"), np.zeros(0, "<u8")
np.savez("none.npz", **{"emb/embeddings": rows, "emb/embeddings@id": ids,
	"emb/embeddings/waiting": rows[:, :1],
	"emb/embeddings/waiting@id": ids})
text = json.dumps({
	"emb/embeddings": {"dtype": "F32", "shape": [0, 3],
		"data_offsets": [0, 0]},
	"emb/embeddings@id": {"dtype": "I64", "shape": [0],
		"data_offsets": [0, 0]}}).encode()
open("none.safetensors", "wb").write(len(text).to_bytes(8, "little") + text)
'
	for file in none.npz none.safetensors; do
		run -0 ps-ckpt import -m model.ps $file dir
		refute_output --partial emb
		run -0 ps-ckpt show dir
		refute_output --partial emb
	done
}

@test "import refuses what does not fit, and leaves nothing behind" {
	python '
np.savez("unknown.npz", x=np.ones(3))
np.savez("shape.npz", **{"prob/bias": np.ones(2)})
np.savez("fortran.npz", **{"prob/kernel": np.ones((3, 1)),
	"emb/embeddings": np.asfortranarray(np.ones((4, 3)))})
np.savez("object.npz", **{"prob/bias": np.array([None])})
np.savez("good.npz", **{"prob/bias": np.ones(1)})
data = open("good.npz", "rb").read()
open("cut.npz", "wb").write(data[:100])
open("list.npz", "wb").write(data[:-30])
open("two.npz", "wb").write(data[:data.find(b"PK\1\2")])
data = bytearray(open("good.npz", "rb").read())
data[data.find(b"\xf0\x3f")] ^= 1
open("flipped.npz", "wb").write(data)
np.savez("empty.npz", **{"prob/kernel": np.ones((0, 1))})
np.savez("large.npz", **{"prob/bias": np.array([1e300])})
np.savez("nan.npz", **{"prob/bias": np.array([np.nan])})
data = io.BytesIO()
np.save(data, np.ones(1))
import zipfile
with zipfile.ZipFile("longer.npz", "w") as file:
	file.writestr("prob/bias.npy", data.getvalue() + b"more")
open("none.npz", "wb")
open("huge.safetensors", "wb").write(b"\xff" * 8 + b"{}")
def tensors(name, header):
	text = json.dumps(header).encode()
	size = len(text).to_bytes(8, "little")
	open(name, "wb").write(size + text + b"\0" * 4)
tensors("offset.safetensors", {"prob/bias": {"dtype": "F32", "shape": [1],
	"data_offsets": [4, 8]}})
tensors("lie.safetensors", {"prob/bias": {"dtype": "F32",
	"shape": [1 << 40, 1 << 40], "data_offsets": [0, 4]}})
tensors("type.safetensors", {"prob/bias": {"dtype": "Q5", "shape": [1],
	"data_offsets": [0, 4]}})
tensors("more.safetensors", {})
half = {"dtype": "F16", "shape": [1], "data_offsets": [0, 2]}
tensors("overlap.safetensors", {"prob/bias": half, "prob/bias@velocity": half})
'
	for file in unknown.npz shape.npz fortran.npz object.npz cut.npz \
		list.npz two.npz flipped.npz empty.npz longer.npz none.npz \
		large.npz nan.npz \
		huge.safetensors \
		offset.safetensors lie.safetensors type.safetensors \
		more.safetensors overlap.safetensors; do
		run -65 --separate-stderr \
			ps-ckpt import -m model.ps $file dir
		assert_output ""
		assert_equal "${#stderr_lines[@]}" 1
		[[ $stderr == "ps-ckpt: $file: "* ]] || fail "$stderr"
		[[ $stderr != *null* ]]
		assert_not_exist dir
	done
	run -65 ps-ckpt import -m model.ps shape.npz dir
	assert_output --partial \
		"'prob/bias' has shape [2], the model's is [1]"
	run -65 ps-ckpt import -m model.ps empty.npz dir
	assert_output --partial \
		"'prob/kernel' has shape [0, 1], the model's is [3, 1]"
	run -65 ps-ckpt import -m model.ps large.npz dir
	assert_output "ps-ckpt: large.npz: 'prob/bias' has numbers that are\
 not finite, or too large for a float"
	run -65 ps-ckpt import -m model.ps longer.npz dir
	assert_output --partial "'prob/bias': goes on behind its numbers"
	run -65 ps-ckpt import -m model.ps type.safetensors dir
	assert_output --partial "'prob/bias': cannot read type 'Q5'; integers"
	run -66 ps-ckpt import -m model.ps missing.npz dir
	run -64 ps-ckpt import -m model.ps values.txt dir
	run -64 ps-ckpt import good.npz dir
}

@test "prune keeps the newest" {
	made dir 1
	for step in 1 2 3; do
		cp -r dir/ckpt-00000000 dir/ckpt-0000000$step
	done
	ps-ckpt prune --keep=2 dir
	assert_equal "$(ls -A dir)" $'ckpt-00000002\nckpt-00000003'
	run -64 ps-ckpt prune dir
	run -64 ps-ckpt prune --keep=0 dir
	truncate -s 700 dir/ckpt-00000003/shard-0-of-1.tar
	ps-ckpt prune --keep=1 dir
	assert_exist dir/ckpt-00000002
}

@test "prune removes a link, and not what it leads to" {
	made dir 1
	made real 1
	ln -s ../real/ckpt-00000000 dir/ckpt-00000001
	cp -r dir/ckpt-00000000 dir/ckpt-00000002
	echo "no folder" >dir/ckpt-00000000.txt
	ln -s ckpt-00000000.txt dir/.tmp-old-ckpt-00000001
	ps-ckpt prune --keep=1 dir
	assert_equal "$(ls -A dir)" $'ckpt-00000000.txt\nckpt-00000002'
	ps-ckpt -q verify real/ckpt-00000000
}

@test "the remains of a killed prune disturb no later command" {
	left() {
		mkdir "$1/.tmp-old-$2"
		touch "$1/.tmp-old-$2/shard-0-of-1.tar"
	}
	made dir 1
	cp -r dir/ckpt-00000000 dir/ckpt-00000001
	left dir ckpt-00000000
	ps-ckpt prune --keep=1 dir
	assert_equal "$(ls -A dir)" ckpt-00000001
	made again 1
	left again ckpt-00000000
	made again 2
	assert_equal "$(ls -A again)" ckpt-00000000
}

@test "prune keeps the best by a metric, and those without a score" {
	made dir 1
	for step in 1 2 3 4; do
		cp -r dir/ckpt-00000000 dir/ckpt-0000000$step
	done
	cat >metrics <<-'END'
		{"checkpoint": "dir/ckpt-00000000", "auc": 0.9, "loss": 0.1}
		{"checkpoint": "ckpt-00000001", "auc": 0.7, "loss": 0.4}
		{"checkpoint": "ckpt-00000002", "auc": null, "loss": 0.2}
		{"checkpoint": "ckpt-00000003", "auc": 0.8, "loss": 0.3}
	END
	run -65 ps-ckpt prune --keep=1 --best=nothing --metrics=metrics dir
	cp -r dir low
	ps-ckpt prune --keep=2 --best=auc --metrics=metrics dir
	assert_equal "$(ls -A dir | tr '\n' ' ')" \
		"ckpt-00000000 ckpt-00000003 ckpt-00000004 "
	ps-ckpt prune --keep=2 --best=loss --metrics=metrics low
	assert_equal "$(ls -A low | tr '\n' ' ')" \
		"ckpt-00000000 ckpt-00000002 ckpt-00000004 "
	echo nonsense >>metrics
	run -65 ps-ckpt prune --keep=1 --best=auc --metrics=metrics dir
	assert_output --partial "metrics:5: no JSON object: nonsense"
	run -64 ps-ckpt prune --keep=1 --best=auc dir
}

# scored - make four checkpoints in dir; earlier ones have better scores.
scored() {
	made dir 1
	for step in 1 2 3; do
		cp -r dir/ckpt-00000000 dir/ckpt-0000000$step
	done
	for step in 0 1 2 3; do
		echo '{"checkpoint": "ckpt-0000000'$step'", "loss": '$step'}'
	done >metrics
}

@test "prune keeps the best of the intact checkpoints" {
	scored
	damage dir/ckpt-00000000/shard-0-of-1.tar 900
	rm dir/ckpt-00000003/MANIFEST.json
	ps-ckpt prune --keep=1 --best=loss --metrics=metrics dir
	assert_equal "$(ls -A dir | tr '\n' ' ')" \
		"ckpt-00000000 ckpt-00000001 ckpt-00000002 "
}

@test "prune by a metric keeps the checkpoint that a run resumes from" {
	scored
	truncate -s 700 dir/ckpt-00000003/shard-0-of-1.tar
	ps-ckpt prune --keep=1 --best=loss --metrics=metrics dir
	assert_equal "$(ls -A dir)" $'ckpt-00000000\nckpt-00000002'
	# Without a journal the last checkpoint may be removed.
	cat >line.ps <<-'END'
		input    x float
		label    y float
		p      = dense x units=1
		loss     mean_squared_error p
		optimizer sgd
	END
	printf 'x,y\n1,2\n' >line.csv
	printf 'train 1\nsave\ntrain 1\n' |
		ps-local -C run -- --repeat line.csv -- \
			ps-coord -m line.ps --checkpoint=run --results=none
	touch run/journal
	ps-ckpt prune --keep=1 --best=loss --metrics=metrics run
	assert_equal "$(ls -A run)" $'ckpt-00000001\nckpt-00000002\njournal'
	rm run/journal
	ps-ckpt prune --keep=1 --best=loss --metrics=metrics run
	assert_equal "$(ls -A run)" ckpt-00000001
}

@test "an output that cannot be written is an error" {
	made dir 1
	run -73 ps-ckpt convert dir /nonexistent/x.npz
	# It would be replaced, and whoever reads it would wait.
	mkfifo pipe.npz
	ln -s all.npz link.npz
	mkdir folder.npz
	for kind in pipe link folder; do
		run -73 ps-ckpt convert dir $kind.npz
		assert_output "ps-ckpt: $kind.npz exists, but is not a plain\
 file"
	done
	assert [ -p pipe.npz ]
	assert [ -L link.npz ]
	assert [ ! -e all.npz ]
	run -74 bash -c "ps-ckpt cat dir emb/embeddings >/dev/full"
	run -74 bash -c "ps-ckpt show dir >/dev/full"
	nothing
	run -73 ps-ckpt -q import -m model.ps nothing.safetensors model.ps/dir
}

@test "a checkpoint is not taken for a folder of checkpoints" {
	made dir 1
	one=dir/ckpt-00000000 wrong="$one is a checkpoint, not a folder of them"
	for command in ls "prune --keep=1" \
	    "import -m model.ps nothing.safetensors"; do
		# shellcheck disable=SC2086 # words
		run -64 ps-ckpt -q $command $one
		assert_output "ps-ckpt: $wrong"
	done
	run -64 ps-serve -d $one
	assert_output "ps-serve: $wrong"
	run -64 ps-coord -m model.ps -s ipc://server --checkpoint=$one
	assert_output "ps-coord: $wrong"
	assert_equal "$(ls -A $one)" $'MANIFEST.json\nshard-0-of-1.tar'
}

@test "a folder that cannot be opened is not taken for a checkpoint" {
	local why="Too many levels of symbolic links"
	ln -s loop loop
	run -73 ps-serve -d loop
	assert_output "ps-serve: cannot create loop: $why"
	run -66 ps-ckpt ls loop
	assert_output "ps-ckpt: cannot open loop: $why"
}

@test "an option is refused where it has no meaning" {
	run -64 ps-ckpt
	run -64 ps-ckpt --keep=2 ls .
	assert_output --partial "--keep: not for ls"
	run -64 ps-ckpt frobnicate .
	assert_output --partial "no command 'frobnicate'"
	run -64 ps-ckpt diff one
	assert_output --partial "diff: CKPT CKPT wanted"
}

@test "the examples of the manual pages work" {
	python '
np.savez("initial.npz", **{"emb/embeddings": np.ones((4, 3)),
	"prob/kernel": np.ones((3, 1)), "prob/bias": np.ones(1)})
'
	for page in ps-ckpt.1 ps-ckpt.5; do
		awk '/^\.Sh EXAMPLES/ { on = 1 } /^\.Ed/ { text = 0 }
			text { print } on && /^\.Bd/ { text = 1 }' \
			"$SRC/man/$page" >$page
	done
	sh -eu ps-ckpt.1
	grep '^tar ' ps-ckpt.5 >commands
	sh -eu commands
	grep -v '^tar ' ps-ckpt.5 >load.py
	run -0 /usr/bin/python3 load.py
	assert_output "(3, 1)"
}
