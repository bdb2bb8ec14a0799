# The native examples written again in NumPy (examples/numpy): a step program
# computes the same as the layers of pskit.
#
# KILLS=100 makes the last test kill 100 programs, workers, servers and
# standbys instead of 10.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "no NumPy for /usr/bin/python3"
	twins=$SRC/examples/numpy
}

# numpy WORD... - run the program on standard input with a Python that has
# NumPy.
numpy() {
	/usr/bin/python3 - "$@"
}

# clicks ROWS - make the click log of ../wide-deep/run, and the same as columns.
clicks() {
	"$SRC/examples/wide-deep/clicks" "$1" 1 >train.svm
	awk 'BEGIN { print "label,clicks" }
		{ gsub(/:1/, ""); print $1 "," $2-1 "|" $3-1 "|" $4-1 "|" $5-1 }
	' train.svm >train.csv
}

# begin NAME - make the model files native.ps and twin.ps, and the same initial
# values for both, with the initializers of the native model.  The variable
# hidden/kernel of the native model is hidden.kernel in its twin.
begin() {
	twin="/usr/bin/python3 $twins/$1.py"
	cp "$SRC/examples/$1/model.ps" native.ps
	$twin model >twin.ps
	printf '\2\0\0\0\0\0\0\0{}' >none.safetensors
	ps-ckpt -q import -m native.ps --seed=3 none.safetensors native \
		>/dev/null
	ps-ckpt convert native native.npz
	numpy <<-'E'
		import numpy as np, re
		a, text = np.load("native.npz"), open("twin.ps").read()
		def name(n):
		    dotted = n.replace("/", ".")
		    return dotted if "variable  %s " % dotted in text else n
		np.savez("twin.npz", **{name(n): a[n] for n in a})
	E
	ps-ckpt -q import -m twin.ps twin.npz twin >/dev/null
}

# train MODEL STEPS SERVERS WORKERS INPUT OPTION... - train MODEL.ps; the result
# lines and the weights are in MODEL.SERVERS.
train() {
	local to=$1.$3 steps=$2 servers=$3 workers=$4 step=()
	[ "$1" = native ] || step=(--step="$twin")
	[ ! -v external ] || [ "$1" != native ] || step=(-x "$external")
	rm -rf saved
	cp -r "$1" saved
	echo "train $steps" | ps-local -q -s "$servers" -w "$workers" -C saved \
		-- -w 20s --prefetch=0 "${step[@]}" -- \
		ps-coord -m "$1.ps" "${@:5}" --checkpoint=saved >"$to.out"
	ps-ckpt convert saved "$to.npz"
}

# alike A B STEPS - check that losses and weights agree to 1e-5.
alike() {
	numpy "$@" <<-'E'
		import json, numpy as np, sys
		a, b, steps = sys.argv[1:]
		def losses(of):
		    line = [json.loads(l) for l in open(of + ".out")]
		    return np.array([l["loss"] for l in sorted(
		        line, key=lambda l: l["step"])])
		def compare(name, x, y):
		    d = np.abs(x.astype("f8") - y).max()
		    print("%s %.1e" % (name, d), end=" ")
		    assert x.shape == y.shape and d <= 1e-5, name
		assert len(losses(a)) == int(steps), len(losses(a))
		compare("loss", losses(a), losses(b))
		x, y = np.load(a + ".npz"), np.load(b + ".npz")
		assert len(x.files) == len(y.files), (x.files, y.files)
		first = np.load("native.npz")
		for n in x.files:
		    compare(n, x[n], y[n if n in y.files else
		            n.replace("/", ".")])
		    assert (x[n] != first[n]).any(), n + " has not been trained"
		print()
	E
}

# twins NAME BATCH DATA-OF-NATIVE DATA-OF-TWIN OPTION... - compare an example
# with its twin: in async with one worker, and in rounds of three replicas on
# two servers, whose results must also be the same bits on other servers.
twins() {
	local batch=$2 native=$3 ours=$4 rounds=(--mode=sync --replicas=3)
	begin "$1"
	shift 4
	# shellcheck disable=SC2086 # lists of words
	{
		train native 100 1 1 -B "$batch" $native "$@"
		train twin 100 1 1 -B "$batch" $ours "$@"
		alike native.1 twin.1 100
		train native 100 2 3 -B "$batch" $native "$@" "${rounds[@]}"
		train twin 100 2 3 -B "$batch" $ours "$@" "${rounds[@]}"
		alike native.2 twin.2 100
		train twin 30 1 3 -B "$batch" $ours "$@" "${rounds[@]}"
		train twin 30 3 3 -B "$batch" $ours "$@" "${rounds[@]}"
	}
	cmp twin.1.npz twin.3.npz
}

@test "numpy: a9a" {
	awk 'BEGIN {
		srand(1)
		for (i = 0; i < 900; i++) {
			line = sum = 0
			for (id = 1 + int(9 * rand()); id <= 123;
			     id += 1 + int(17 * rand())) {
				line = line " " id ":1"
				sum += id % 7 - 3
			}
			sub(/^0/, sum > 0 ? "+1" : "-1", line)
			print line
		}
	}' >train.svm
	twins a9a 30 "-d train.svm" "-d train.svm"
}

@test "numpy: avengers" {
	awk 'BEGIN {
		srand(1)
		split("avenger ironman batman hulk spiderman kingkong " \
			"wonder_woman", hero)
		print "feature,label"
		for (i = 0; i < 300; i++) {
			three = hero[1 + int(7 * rand())] "|" \
				hero[1 + int(7 * rand())] "|" \
				hero[1 + int(7 * rand())]
			print three "," (three ~ /avenger/ ? "yes" : "no")
		}
	}' >train.csv
	twins avengers 10 "-d train.csv" "-d train.csv"
}

@test "numpy: cross" {
	clicks 3000
	external="/usr/bin/python3 $SRC/examples/cross/cross.py"
	twins cross 30 "-d train.svm" "-d train.svm"
}

@test "numpy: fm" {
	clicks 3000
	twins fm 30 "-d train.svm" "-d train.csv"
}

@test "numpy: mnist" {
	numpy <<-'E'
		import numpy as np
		draw = np.random.default_rng(1)
		digit = draw.integers(0, 10, 600)
		shape = draw.integers(0, 256, (10, 28, 28))
		noise = draw.integers(0, 256, (600, 28, 28))
		np.save("image.npy", ((shape[digit] + noise) // 2).astype("u1"))
		np.save("digit.npy", digit)
	E
	twins mnist 32 "-d image.npy -d digit.npy" "-d image.npy -d digit.npy"
}

@test "numpy: wide-deep" {
	clicks 3000
	twins wide-deep 30 "-d train.svm" "-d train.svm"
}

@test "numpy: killed programs, workers and servers with standbys: exact sums" {
	local seed=0
	: >table
	until [ "$(grep -c 'kill' table)" -ge "${KILLS:-10}" ]; do
		seed=$((seed + 1))
		PROGRAM=numpy DURABLE=standby FAULTS=kill TABLE=table \
			ROLES="step step work serve" \
			run -0 --separate-stderr timeout 120 \
			"$SRC/t/nemesis" "$seed" 5
		[[ $output == *" steps done, "*" again, 0 wrong"* ]]
	done
	cut -f 2 table | sort | uniq -c
}
