# Shared by lr and lr-cache: data, and who trains on them in one pass.
# Sets vw to how Vowpal Wabbit is run, or to nothing.

rows=$(scale 2000 1000000 1000000)
features=$(scale 10000 1000000 1000000)
tests=$(scale 500 100000 100000)
vw=$(peer_python vowpalwabbit)

data linear "$rows" "$features" 30 1 >"$dir/train.svm"
data linear "$tests" "$features" 30 2 >"$dir/test.svm"
data linear-vw "$rows" "$features" 30 1 >"$dir/train.vw"
data linear-vw "$tests" "$features" 30 2 >"$dir/test.vw"
# Adagrad as in the loop, where it has one example at a time: the mean of 1,000
# is that much smaller, and so are its squares.
cat >"$dir/model.ps" <<M
input    x sparse[$((features + 1))]
label    y binary
logit  = linear x
loss     binary_crossentropy logit from_logits=true
metric   log_loss logit
optimizer adagrad learning_rate=0.2 initial_accumulator_value=1e-7 epsilon=1e-13
M

# ours [REQUEST...] - train on all rows, in steps of 1,000; CACHE may be an
# option of ps-work.
ours() {
	printf '%s\n' "train $((rows / 1000))" "$@" |
		ps-local -w 1 -s 1 -- ${CACHE:+"$CACHE"} "$dir/train.svm" -- \
			ps-coord -m "$dir/model.ps" -B 1000 --results=errors
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
