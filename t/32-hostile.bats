# Files that are made to do harm: every program that reads one refuses it with
# one line that names the fault, and writes nothing.  And workers that are made
# to do harm, in a run without a key.

load lib.bash

# told STATUS REASON COMMAND... - check that the command ends with the status
# and one line that contains the reason and no control characters.
told() {
	run "-$1" --separate-stderr timeout 30 "${@:3}" </dev/null
	[[ $stderr == *"$2"* ]] || fail "$3 $4: $stderr"
	[[ $stderr != *[[:cntrl:]]* ]] || fail "$3 $4: $(cat -v <<<"$stderr")"
}

@test "every program refuses a hostile checkpoint" {
	local name why dir
	echo 1 >data.csv
	hostile >all
	[ "$(wc -l <all)" -gt 80 ]
	while IFS=$'\t' read -r name why; do
		dir=outer/$name/dir
		mkdir -p "${dir%/*}"
		hostile "$name" "$dir"
		find . ! -name 'separate-*' >before
		[ "$why" ] || {
			run -0 ps-ckpt verify "$dir"
			continue
		}
		told 65 "$why" ps-ckpt verify "$dir"
		assert_output ""
		told 65 "$why" ps-eval \
			-C "$dir/ckpt-00000001" data.csv
		find . ! -name 'separate-*' | diff before -
	done <all
}

# rounds FOLDER [COMMAND...] - train three rounds of two replicas with the same
# data; the command runs before a worker is there.  $server is the server's
# address, and $serve its process.
rounds() {
	local coord=ipc://$PWD/coord coordinator
	start ps-serve -d "$1"
	serve=$pid server=$endpoint
	mkfifo requests
	launch ps-coord -b "$coord" -s "$server" -m model.ps -B 1 -d data.csv \
		--mode=sync --replicas=2 --checkpoint="$1" requests
	coordinator=$pid
	"${@:2}"
	launch ps-work -c "$coord"
	echo train 3 >requests
	wait "$coordinator"
	rm requests
}

# intrude - push to more replicas than a round has.
intrude() {
	local before after
	before=$(kibibytes "$serve")
	run -0 intruder "ipc://$PWD/coord" "$server" 2 300 266244
	assert_output 0
	after=$(kibibytes "$serve")
	# Sanitizers keep freed memory.
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		[ $((after - before)) -lt 32768 ] ||
		fail "$before KiB became $after"
}

@test "a false worker pushes to replicas that a round does not have" {
	need_proc
	cat >model.ps <<-'END'
		input  x float
		label  y binary
		h = dense x units=256 activation=relu
		g = dense h units=256
		logit = dense g units=1
		loss   binary_crossentropy logit from_logits=true
		optimizer sgd learning_rate=0.01
	END
	printf '%s\n' x,y 1,0 2,1 3,1 4,0 >data.csv
	rounds plain
	rounds besieged intrude
	run -0 ps-ckpt diff plain besieged
}
