# The counters of an optimizer follow its slots: they continue over restores,
# other servers and other files, and start from 0 with new slots.

load lib.bash

# The model has three weights, of a dense kernel and of two tables; the gradient
# of each is always -1.
setup() {
	cd "$BATS_TEST_TMPDIR" || return
	printf '%s\n' x,i,h,y 1,2,77,100000 >data.csv
	cat >sgd.ps <<-'END'
		input x float
		input i id rows=3
		input h id rows=hash
		label y float
		a = linear x use_bias=false
		b = linear i use_bias=false
		c = linear h use_bias=false evict=age:1000
		p = add a b c
		loss mean_absolute_error p
		optimizer sgd learning_rate=0.001
	END
}

# model NAME OPTIMIZER - write the same model with another optimizer.
model() {
	sed "s/^optimizer.*/optimizer $2/" sgd.ps >"$1.ps"
}

# train MODEL STEPS [OPTION...] - train with $servers servers (1).
train() {
	run -0 --separate-stderr ps-local -s "${servers:-1}" -C ckpt -- \
		--repeat data.csv -- ps-coord -m "$1.ps" -B 1 \
		--checkpoint=ckpt --results=none "${@:3}" <<<"train $2"
}

# moved - print the value of the three weights; they must be nearly equal.
moved() {
	local array file
	rm -f weights
	for array in a/kernel b/kernel c/kernel; do
		file=$(ps-ckpt show ckpt | cut -f 2 |
			grep -m 1 "^$array\(/keys.*\)\?$")
		ps-ckpt cat ckpt "$file" >one.npy
		tail -c +$(($(od -An -tu2 -j 8 -N 2 one.npy) + 11)) one.npy |
			od -An -f | tr -s ' ' '\n' | grep -v '^0\?$' >>weights
	done
	awk '{ if (NR > 1 && ($1 - last) ^ 2 > 1e-9) exit 1; last = $1 }
		END { if (NR != 3) exit 1; print last }' weights ||
		fail "$(cat weights)"
}

# moved_by X - check that the weights have moved by X.
moved_by() {
	local far
	far=$(moved)
	awk "BEGIN { exit !(($far - $1) ^ 2 < 1e-6 * $1 ^ 2) }" ||
		fail "$far, not $1"
}

@test "updates of new slots are counted from 0, on any servers" {
	model adam 'adam learning_rate=0.01'
	model adamax 'adamax learning_rate=0.01'
	# A weight moves by 0.01 a step.
	train sgd 100
	moved_by 0.1
	train adam 1
	assert_equal "${stderr_lines[*]}" "ps-coord: ckpt/ckpt-00000100:\
 starting from initial values, because the checkpoint does not have them:\
 a/kernel@momentum, a/kernel@velocity,\
 b/kernel@momentum, b/kernel@velocity, c/kernel@momentum, c/kernel@velocity"
	moved_by 0.11
	servers=3 train adam 19 --partition=fixed:2
	assert_equal "$stderr" ""
	moved_by 0.3
	train adam 80
	moved_by 1.1
	# The momentum of adamax is not the momentum of adam.
	train adamax 1
	[[ ${stderr_lines[1]} == *"starting from initial values, because the\
 checkpoint does not have them:\
 a/kernel@momentum, a/kernel@norm, "* ]] || fail "$stderr"
	moved_by 1.11
	servers=2 train adamax 20
	moved_by 1.31
}

@test "updates of slots that continue are counted on" {
	model adam 'adam learning_rate=0.01'
	model adamw 'adamw learning_rate=0.01 weight_decay=0'
	model amsgrad 'adam learning_rate=0.01 amsgrad=true'
	train adam 20
	moved_by 0.2
	train adamw 20
	assert_equal "$stderr" ""
	moved_by 0.4
	train amsgrad 20
	moved_by 0.6
	# If updates were counted from 0, the steps would be too small.
	train adam 20
	moved_by 0.8
}

@test "a schedule begins with its optimizer" {
	local steps='schedule=piecewise_constant boundaries=5 values=0.01,0.02'
	model adam "adam $steps"
	model lion "lion $steps"
	model long "lion ${steps/=5/=500}"
	train sgd 100
	train adam 2
	assert_equal "${stderr_lines[1]}" "ps-coord: ckpt/ckpt-00000100:\
 the schedules of these start anew, because their optimizers have changed:\
 a/kernel,\
 b/kernel, c/kernel"
	moved_by 0.12
	# Six steps at 0.01, the others at 0.02.
	servers=2 train adam 6
	assert_equal "$stderr" ""
	moved_by 0.2
	train lion 8
	moved_by 0.3
	train long 2
	assert_equal "$stderr" "ps-coord: ckpt/ckpt-00000116: the schedules of\
 these have changed, and continue at step 116: a/kernel, b/kernel, c/kernel"
	moved_by 0.32
}

@test "a variable that thaws has counted no updates" {
	model frozen 'adam learning_rate=0'
	model adam 'adam learning_rate=0.01'
	train sgd 100
	train frozen 100
	moved_by 0.1
	train adam 1
	moved_by 0.11
	train adam 19
	moved_by 0.3
}

@test "a schedule stands still while its variable is frozen" {
	local by='schedule=piecewise_constant boundaries=4 values=0.01,0.02'
	model moving "sgd $by"
	model frozen 'sgd learning_rate=0'
	train moving 3
	moved_by 0.03
	train frozen 5
	servers=2 train frozen 1
	again npz frozen
	moved_by 0.03
	# The updates 3 and 4 are the last at 0.01.
	servers=3 train moving 4
	assert_equal "$stderr" "ps-coord: ckpt/ckpt-00000000: the schedules of\
 these have changed, and continue with the updates so far: a/kernel, b/kernel,\
 c/kernel"
	moved_by 0.09
}

@test "a standby continues the count of updates" {
	model adam 'adam learning_rate=0.01'
	train sgd 100
	start ps-serve -b "ipc://$PWD/s0" -d "$PWD/ckpt"
	server=$pid
	mkfifo requests results told
	start ps-serve -b "ipc://$PWD/s1" -d "$PWD/ckpt" \
		--standby-of="ipc://$PWD/s0"
	launch ps-work -c "ipc://$PWD/c" --repeat data.csv
	ps-coord -b "ipc://$PWD/c" -s "ipc://$PWD/s0" -m adam.ps -B 1 \
		--checkpoint=ckpt requests >results 2>told 3>&- &
	daemons+=($!)
	exec 8<results 9<told 7>requests
	echo 'train 1' >&7
	grep -q -m 1 '"step":100' <&8
	grep -q -m 1 'server 0 .* has a standby' <&9
	dies "$server"
	echo 'train 19' >&7
	grep -q -m 1 '"step":119' <&8
	echo save >&7
	grep -q -m 1 '"op":"save"' <&8
	moved_by 0.3
	exec 7>&- 8<&- 9<&-
}

# again KIND MODEL - convert the checkpoint with its slots to a file, and import
# that.
again() {
	rm -f all.* same.*
	ps-ckpt convert --slots ckpt "all.$1"
	rm -rf ckpt
	ps-ckpt -q import -m "$2.ps" "all.$1" ckpt >made
}

# Under a constant gradient adam moves a weight by its rate at each step, but
# only if the count of updates fits the slots.
@test "a converted checkpoint keeps its count of updates and its schedule" {
	local kind optimizer
	for optimizer in adam nadam adamax; do
		model counted "$optimizer learning_rate=0.01"
		rm -rf ckpt
		train counted 51
		moved >straight
		for kind in npz safetensors; do
			rm -rf ckpt
			train counted 50
			again $kind counted
			ps-ckpt convert --slots ckpt "same.$kind"
			cmp "all.$kind" "same.$kind"
			train counted 1
			moved_by "$(cat straight)"
		done
	done
	local steps='schedule=piecewise_constant boundaries=10 values=0.01,0.02'
	model counted "sgd $steps"
	rm -rf ckpt
	train counted 15
	again npz counted
	train counted 5
	moved >by_way
	rm -rf ckpt
	train counted 20
	moved_by "$(cat by_way)"
}
