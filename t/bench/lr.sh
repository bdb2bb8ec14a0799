# Shared by lr and lr-cache: the data, and the programs that train on them in
# one pass.  Sets vw to the command of Vowpal Wabbit, or to nothing without it.

rows=$(scale 2000 1000000 1000000)
features=$(scale 10000 1000000 1000000)
tests=$(scale 500 100000 100000)
batch=$(scale 1000 20000 20000)
vw=$(peer_python vowpalwabbit)

data linear "$rows" "$features" 30 1 >"$dir/train.svm"
data linear "$tests" "$features" 30 2 >"$dir/test.svm"
data linear-vw "$rows" "$features" 30 1 >"$dir/train.vw"
data linear-vw "$tests" "$features" 30 2 >"$dir/test.vw"
# A larger batch needs fewer messages, and sends an id that occurs twice in it
# once; while pskit computes a batch, the values of the next are on their way.
# The loop applies Adagrad to one example at a time.  The gradient of a batch is
# a mean, so it and its square are smaller; the rate and the initial accumulator
# below make up for that.
#
# Vowpal Wabbit does less for the same task: it hashes features to 2^20 weights
# in its own memory, applies an adaptive rate like Adagrad's to one example at a
# time, and parses in a second thread.  pskit keeps a row for every id, in a
# server.
adagrad=$(awk -v n="$batch" 'BEGIN {
	print "initial_accumulator_value=" 0.1 / n / n " epsilon=" 1e-7 / n / n
}')
cat >"$dir/model.ps" <<M
input    x sparse[$((features + 1))]
label    y binary
logit  = linear x
loss     binary_crossentropy logit from_logits=true
optimizer adagrad learning_rate=0.2 $adagrad
M

# ours [REQUEST...] - train on all rows; CACHE may hold an option of ps-work.
ours() {
	printf '%s\n' "train $((rows / batch))" "$@" |
		ps-local -w 1 -s 1 -- --prefetch=1 ${CACHE:+"$CACHE"} \
			"$dir/train.svm" -- \
			ps-coord -m "$dir/model.ps" -B "$batch" \
			--results=errors
}

ours_rate() {
	timed ours | rate "$rows"
}

vowpal() {
	"$vw" -m vowpalwabbit --quiet --loss_function logistic -b 20 "$@"
}

loop_rate() {
	loop $((features + 1)) 0.2 "$dir/train.svm" | rate "$rows"
}
