# Modes: a step waits for no other step, for all but the last few steps before
# it, or for a round of replicas, which have the effect of one large batch.

load lib.bash

# members SERVERS WORKERS [WORKER-ARGUMENT...] - start servers and workers; %i
# is a worker's index.  Sets servers to a list of endpoints, and the arrays
# server and worker to pids.
members() {
	local count=$2 i k
	servers=""
	worker=() server=()
	for ((k = 0; k < $1; k++)); do
		start ps-serve -d "$PWD/ckpt"
		servers+=${servers:+,}$endpoint
		server+=("$pid")
	done
	shift 2
	for ((i = 0; i < count; i++)); do
		launch ps-work -c ipc://coord -i "$i" "${@//%i/$i}"
		worker+=("$pid")
	done
}

# coord [OPTION...] - run the coordinator of these members.
coord() {
	${with:-} ps-coord -b ipc://coord -s "$servers" -m model.ps \
		--min-workers="${#worker[@]}" --checkpoint=ckpt "$@"
}

# same DIRECTORY DIRECTORY - check that the checkpoints agree bit for bit.
same() {
	run -0 ps-ckpt diff --slots "$1" "$2"
}

# equal_batches - write a model and four records, so that all batches of 4 are
# equal.
equal_batches() {
	cat >model.ps <<-'M'
		input  x float[3] columns=a,b,c
		label  y float
		hidden = dense x units=4 activation=tanh
		out    = dense hidden units=1
		loss   mean_squared_error out
		optimizer adam learning_rate=0.05
	M
	printf '%s\n' a,b,c,y 1,0,.5,2 0,1,.25,-1 .5,.5,1,3 -1,2,0,0 >data.csv
}

# slots N SIZE - cut each batch of 8 of data.csv, which is read again and again,
# into N batches of SIZE; slot0.csv and so on have those of 100 steps.
slots() {
	local k
	for ((k = 0; k < $1; k++)); do
		awk -v k="$k" -v size="$2" 'NR == 1 { head = $0; next }
			{ record[n++] = $0 }
			END {
				print head
				for (step = 0; step < 100; step++)
					for (j = 0; j < size; j++) {
						at = step * 8 + k * size + j
						print record[at % n]
					}
			}' data.csv >"slot$k.csv"
	done
}

# exact MODEL OPTIMIZER... - compare rounds of 4 replicas on 1, 2 and 5 servers
# with NumPy in double precision on the concatenated batches, and with each
# other bit for bit.
exact() {
	local n
	exact.py make "$@"
	slots 4 2
	rm -rf ckpt-*
	for n in 1 2 5; do
		rm -rf ckpt
		ps-ckpt import -q -m model.ps initial.npz ckpt >/dev/null
		members "$n" 4 --repeat slot%i.csv
		echo train 100 | coord -q --mode=sync --replicas=4 -B 2 \
			--partition=fixed:3 --results=errors
		mv ckpt "ckpt-$n"
	done
	ps-ckpt convert ckpt-1 weights.npz
	exact.py compare expected.npz weights.npz >off || {
		cat off
		fail "$*"
	}
	same ckpt-1 ckpt-2
	same ckpt-1 ckpt-5
}

need_numpy() {
	/usr/bin/python3 -c 'import numpy' 2>/dev/null ||
		skip "/usr/bin/python3 has no numpy to compare with"
}

@test "sync: replicas equal one large batch, on any number of servers" {
	need_numpy
	exact mlp "sgd learning_rate=0.1 momentum=0.9"
	exact tutorial "adam learning_rate=0.01"
	exact wide "ftrl for=wide/* learning_rate=0.1" \
		"rmsprop learning_rate=0.01 weight_decay=0.05"
}

@test "sync: schedules count rounds, regularizers are per example" {
	need_numpy
	exact mlp regular=l1_l2:0.01:0.02 "sgd learning_rate=0.2 \
		schedule=exponential_decay decay_steps=30 decay_rate=0.5"
}

@test "sync: a step has one result, whichever workers did its replicas" {
	equal_batches
	members 2 3 --repeat data.csv
	printf '%s\n' 'train 5' join >requests
	coord -B 4 --mode=sync -o results requests
	run -0 sed -E 's/"(loss|seconds)":[0-9.e-]+/"\1":.../g' results
	local i
	for i in 0 1 2 3 4; do
		assert_line --index "$i" "{\"op\":\"train\",\"step\":$i,\
\"slots\":3,\"examples\":12,\"loss\":...,\"metrics\":{},\"staleness\":0,\
\"seconds\":...}"
	done
	assert_line --index 5 --partial '"steps":5,"examples":60,"loss":...,'
	assert_line --index 5 --partial ',"metrics":{},"staleness":{'\
'"p50":0,"p90":0,"p99":0,"max":0,"pairs":[[0,5]]},'
	# No key occurs twice in a line: filters would use the last one.
	run grep -o '"[a-z0-9]*":' <(tail -n 1 results)
	assert_equal "$(sort <<<"$output" | uniq -d)" ""
	run -0 ls ckpt
	assert_output ckpt-00000005
}

# begin_run OPTION... - start a coordinator in the background: requests go to
# descriptor 7, results come from 5, told reads its messages.  Sets coordinator
# to the pid.  The run cannot end before 7 is closed, so tests request some
# steps before a fault and some after it.
begin_run() {
	exec 7>&-
	rm -f requests
	mkfifo requests
	: >coord.log
	exec 5< <(with=exec coord "$@" requests 2>coord.log 3>&-)
	coordinator=$!
	exec 6< <(exec tail -n +1 -f --pid="$coordinator" coord.log 3>&-)
	exec 7>requests
}

# told PATTERN - wait for a message of the coordinator that matches.
told() {
	local line
	while read -r -t 30 line <&6; do
		# shellcheck disable=SC2053 # it is a pattern
		[[ $line != $1 ]] || return 0
	done
	fail "not told: $1"
}

# end_run - end the requests; the results that were not read yet go to rest.
end_run() {
	exec 7>&-
	cat <&5 >rest
}

# until_step N - read results up to that of step N.
until_step() {
	local line
	while read -r -t 60 line <&5; do
		[[ $line != *"\"step\":$1,"* ]] || return 0
	done
	fail "no step $1: $(cat coord.log)"
}

# whole STEPS [OPTION...] - make the checkpoint of a run without faults, on $of
# servers (2), in the folder whole.
whole() {
	rm -rf ckpt whole
	members "${of:-2}" 3 --repeat data.csv
	echo "train $1" | coord -B 4 --mode=sync --replicas=3 \
		--results=errors "${@:2}"
	mv ckpt whole
}

@test "sync: a worker that is killed changes nothing" {
	equal_batches
	whole 600
	members 2 3 --repeat data.csv
	begin_run -B 4 --mode=sync --replicas=3
	echo 'train 200' >&7
	until_step 50
	kill -KILL "${worker[1]}"
	echo 'train 200' >&7
	told '*worker:1 is gone*'
	until_step 250
	kill -KILL "${worker[0]}"
	echo 'train 200' >&7
	told '*worker:0 is gone*'
	until_step 599
	end_run
	same whole ckpt
}

@test "sync with --wire=bfloat16: the same on 1, 3 servers and after kills" {
	local half=--wire=bfloat16
	equal_batches
	whole 300
	mv whole float32
	of=1 whole 300 $half
	mv whole one
	of=3 whole 300 $half
	same one whole
	run -1 ps-ckpt diff float32 whole
	members 3 3 --repeat data.csv
	begin_run -B 4 --mode=sync --replicas=3 $half
	echo 'train 200' >&7
	until_step 50
	kill -KILL "${worker[1]}"
	echo 'train 100' >&7
	told '*worker:1 is gone*'
	until_step 299
	end_run
	same whole ckpt
}

# wide_batches - write a model with variables that int8 encodes.
wide_batches() {
	equal_batches
	cat >model.ps <<-'M'
		input  x float[3] columns=a,b,c
		input  i id rows=300 columns=n
		label  y float
		e      = embedding i dim=16
		first  = dense x units=70 activation=tanh
		second = dense first units=70 activation=tanh
		all    = concat second e
		out    = dense all units=1
		loss   mean_squared_error out
		optimizer sgd learning_rate=0.02 momentum=0.9
	M
	awk -F, '{ print $0 "," (NR > 1 ? NR * 71 % 300 : "n") }' data.csv >n
	mv n data.csv
}

# same_whoever_dies OTHER COORD-OPTION... - check that 100 rounds give the same
# bits on 1, 3 and 7 servers, and when a worker and a server that has a standby
# are killed; and other bits than the checkpoint OTHER.
same_whoever_dies() {
	local other=$1 n
	shift
	of=1 whole 100 "$@"
	mv whole one
	run -1 ps-ckpt diff "$other" one
	for n in 3 7; do
		of=$n whole 100 "$@"
		same one whole
	done
	rm -rf ckpt
	members 1 3 --repeat data.csv
	start ps-serve -d "$PWD/ckpt" --standby-of="$servers"
	begin_run -B 4 --mode=sync --replicas=3 "$@"
	told '*has a standby at*'
	echo 'train 60' >&7
	until_step 20
	kill -KILL "${worker[1]}"
	until_step 59
	kill -KILL "${server[0]}"
	echo 'train 40' >&7
	told '*took over*'
	until_step 99
	end_run
	same one ckpt
}

@test "sync with --wire=int8: the same on 1, 3, 7 servers and after kills" {
	local eight=(--wire=int8 --partition=fixed:7)
	wide_batches
	whole 100 --partition=fixed:7
	mv whole float32
	same_whoever_dies float32 "${eight[@]}"
}

@test "sync with delta:int8: the same on 1, 3, 7 servers and after kills" {
	local eight=(--push=int8 --pull=delta:int8 --pull=int8@e/*)
	eight+=(--partition=fixed:7 --every=30)
	wide_batches
	of=1 whole 100 --wire=int8 --partition=fixed:7
	mv whole values
	same_whoever_dies values "${eight[@]}"
}

# few_bits CODEC - the same for differences in a codec of few bits.
few_bits() {
	local few=(--push=int8 --pull="delta:$1" --partition=fixed:7 --every=30)
	wide_batches
	of=1 whole 100 --push=int8 --pull=delta:int8 --partition=fixed:7 \
		--every=30
	mv whole eight
	same_whoever_dies eight "${few[@]}"
}

@test "sync with delta:onebit: the same on 1, 3, 7 servers and after kills" {
	few_bits onebit
}

@test "sync with delta:topk: the same on 1, 3, 7 servers and after kills" {
	few_bits topk:0.02
}

# kept_back CODEC - check that gradients in few bits give the same bits on 1, 3
# and 7 servers, and other bits than floats.
kept_back() {
	local few=(--push="$1" --partition=fixed:7 --every=30) n
	wide_batches
	of=1 whole 100 --partition=fixed:7 --every=30
	mv whole float32
	of=1 whole 100 "${few[@]}"
	mv whole one
	run -1 ps-ckpt diff float32 one
	for n in 3 7; do
		of=$n whole 100 "${few[@]}"
		same one whole
	done
}

@test "sync with --push=onebit: the same on 1, 3 and 7 servers" {
	kept_back onebit
}

@test "sync with --push=topk: the same on 1, 3 and 7 servers" {
	kept_back topk:0.02
}

# goes_on_by OPTION CODEC... - kill a run of 100 rounds after each 20, and
# resume it with the next codec for a variable.
goes_on_by() {
	local option=$1 last=0
	shift
	wide_batches
	members 2 3 --repeat data.csv
	while [ $# -gt 0 ]; do
		begin_run -B 4 --mode=sync --replicas=3 --partition=fixed:3 \
			--every=30 "--$option$1@second/kernel"
		[ "$last" -gt 0 ] || echo 'train 100' >&7
		[ "$last" = 0 ] || told '*resuming a run that was interrupted*'
		last=$((last + 20))
		until_step "$last"
		shift
		[ $# = 0 ] || dies "$coordinator"
		[ $# = 0 ] || cat <&5 >rest
	done
	end_run
	run -0 ls ckpt
	assert_line ckpt-00000100
}

@test "sync: a run resumes with another codec of gradients" {
	goes_on_by push= onebit topk:0.05 int8 onebit
}

@test "sync with --push=onebit: a residual that is lost is reported" {
	wide_batches
	members 1 3 --repeat data.csv
	begin_run -B 4 --mode=sync --replicas=3 --push=onebit
	echo 'train 60' >&7
	until_step 20
	kill -KILL "${worker[1]}"
	told '*residuals of 1 replicas are lost with worker:*'
	until_step 59
	end_run
}

@test "sync: a run resumes with another codec of differences" {
	goes_on_by pull=delta: onebit topk:0.05 int8 bfloat16
}

# A server returns to a checkpoint, and all other servers do, too.
@test "sync with delta:int8: a checkpoint has all state of a run" {
	local eight=(--push=int8 --pull=delta:int8 --partition=fixed:3)
	eight+=(--every=30)
	wide_batches
	of=3 whole 100 "${eight[@]}"
	rm -rf ckpt
	members 3 3 --repeat data.csv
	begin_run -B 4 --mode=sync --replicas=3 "${eight[@]}"
	echo 'train 100' >&7
	until_step 70
	dies "${server[1]}"
	start ps-serve -d "$PWD/ckpt" -b "$(cut -d, -f2 <<<"$servers")" 7>&-
	told '*without its variables: all servers go back*'
	until_step 99
	end_run
	same whole ckpt
}

@test "sync: a coordinator that is killed changes nothing" {
	equal_batches
	whole 2000
	local every
	for every in 40 ""; do
		rm -rf ckpt
		members 2 3 --repeat data.csv
		begin_run -B 4 --mode=sync --replicas=3 \
			${every:+--every=$every}
		echo 'train 1000' >&7
		until_step 110
		dies "$coordinator"
		cat <&5 >rest
		begin_run -B 4 --mode=sync --replicas=3 \
			${every:+--every=$every}
		echo 'train 1000' >&7
		told '*resuming a run that was interrupted*'
		until_step 1999
		end_run
		same whole ckpt
	done
}

@test "sync: a backup does the replica of a worker that has stopped" {
	equal_batches
	whole 600
	members 2 4 --repeat data.csv
	begin_run -B 4 --mode=sync --backup=1 --lease=200s
	echo 'train 300' >&7
	until_step 50
	kill -STOP "${worker[1]}"
	echo 'train 300' >&7
	until_step 599
	kill -CONT "${worker[1]}"
	end_run
	run -0 cat coord.log
	refute_output
	same whole ckpt
}

@test "sync: a checkpoint is at the end of a round, and training continues" {
	equal_batches
	whole 40
	members 2 3 --repeat data.csv
	echo 'train 20' | coord -B 4 --mode=sync --replicas=3 --every=7 \
		--results=errors
	run -0 ls ckpt
	assert_output $'ckpt-00000007\nckpt-00000014\nckpt-00000020'
	members 1 2 --repeat data.csv
	printf 'train 10\neval\nsave\ntrain 10\n' | coord -B 4 --mode=sync \
		--replicas=3 --in-flight=1 --results=errors
	same whole ckpt
}

@test "sync: the error of one replica voids the step, once" {
	equal_batches
	cp data.csv fine.csv
	members 2 1 --repeat fine.csv
	sed '4s/.*/.5,.5,oops,3/' data.csv >bad.csv
	cat fine.csv >twice.csv
	tail -n +2 bad.csv >>twice.csv
	launch ps-work -c ipc://coord -i 1 twice.csv
	worker+=("$pid")
	printf '%s\n' 'train 5' join 'train 2' >requests
	run -65 --separate-stderr coord -B 4 --mode=sync --keep-going requests
	# The error is found when the record is read, perhaps a round ahead.
	[[ ${lines[0]} != *slots* ]] || lines=("${lines[@]:1}")
	assert_line --index 0 --partial 'twice.csv:8: '
	assert_line --index 1 --partial ',"cancelled":true}'
	assert_line --index 2 --partial '"op":"join","step":2,'
	assert_line --index 3 --partial '"step":2,"slots":2,"examples":8,'
	assert_line --index 4 --partial '"step":3,"slots":2,"examples":8,'
	assert_equal "${#lines[@]}" 5
}

@test "sync: a stopped run ends the rounds that it has begun" {
	equal_batches
	members 2 2 --repeat data.csv
	begin_run -B 4 --mode=sync
	echo 'train 100000' >&7
	until_step 20
	kill -TERM "$coordinator"
	cat <&5 >rest
	wait "$coordinator"
	run -0 ls ckpt
	assert_output "ckpt-$(printf %08d $((21 + $(grep -c slots rest))))"
}

@test "sync: variables of mode async do not wait for the round" {
	need_numpy
	exact.py make tutorial "adam learning_rate=0.01"
	cp model.ps plain.ps
	printf '%s\n' 'mode sync for=emb/none*' >wrong.ps
	cat plain.ps wrong.ps >model.ps
	run -78 ps-coord --plan -s 1 -m model.ps
	assert_output --partial 'for=emb/none* matches no variable'
	echo 'mode async for=emb/*' | cat plain.ps - >model.ps
	run -0 ps-coord --plan -s 1 -m plain.ps
	assert_output --partial ' 1 parts;'
	run -0 ps-coord --plan -s 1 -m model.ps
	assert_output --partial ' 2 parts;'
	# With one replica both modes are the same.
	for how in --mode=async "--mode=sync --replicas=1"; do
		rm -rf ckpt
		members 2 1 --repeat data.csv
		echo train 50 | coord -B 8 $how --results=errors
		[ -e whole ] || mv ckpt whole
	done
	same whole ckpt
	# With several replicas each push of an async variable is applied.
	members 2 3 --repeat data.csv
	rm -rf ckpt
	printf 'train 40\njoin\n' | coord -B 8 --mode=sync --results=errors \
		>results
	grep -q '"steps":40,"examples":960,' results
	run -0 ps-ckpt show ckpt
	assert_line --partial $'emb/embeddings\t[11, 4]\t1 shard\t120 updates'
	assert_line --partial $'prob/bias\t[1]\t1 shard\t40 updates'
}

# begin_epochs SERVERS WORKERS [COORD-OPTION...] - start rounds of 3 replicas
# with the coordinator's data, and wait for 60 steps.  The last step of an epoch
# has 2 replicas, one of them with fewer examples.
begin_epochs() {
	rm -rf ckpt
	members "$1" "$2"
	if [ "${standby:-}" ]; then
		start ps-serve -d "$PWD/ckpt" --standby-of="$servers"
	fi
	begin_run -B 4 --mode=sync --replicas=3 -d many.csv \
		--shuffle=50 --seed=3 --partition=fixed:3 "${@:3}"
	echo 'train 60' >&7
	until_step 59
}

many_records() {
	equal_batches
	echo a,b,c,y >many.csv
	seq 1 2045 | awk '{ printf "%d,%.2f,%.2f,%.3f\n", $1 % 3,
		$1 % 7 / 7, $1 % 11 / 11, $1 % 13 / 13 }' >>many.csv
}

# end_epochs [STEPS] - end the requests, and check the lines of three epochs of
# STEPS steps (171).
end_epochs() {
	end_run
	[ "$(grep -c "\"steps\":${1:-171},\"examples\":2045," rest)" = 3 ] ||
		fail "$(cat coord.log; grep epoch rest | tail -n 3)"
}

undisturbed() {
	many_records
	begin_epochs 2 3
	echo 'epoch 3' >&7
	end_epochs
	mv ckpt whole
}

@test "sync with ps-coord's data: the same for any servers and workers" {
	undisturbed
	local n
	for n in "1 1" "5 3" "2 1" "1 3"; do
		# shellcheck disable=SC2086 # they are two
		begin_epochs $n
		echo 'epoch 3' >&7
		end_epochs
		same whole ckpt
	done
}

@test "sync with --accumulate=2: a replica is two of its batches" {
	local n
	many_records
	begin_epochs 2 2 --replicas=2
	echo 'epoch 3' >&7
	end_epochs 256
	mv ckpt whole
	for n in "1 2" "3 3"; do
		# shellcheck disable=SC2086 # they are two
		begin_epochs $n --replicas=1 --accumulate=2
		echo 'epoch 3' >&7
		kill -KILL "${worker[0]}"
		end_epochs 256
		grep -q '"slots":1,"batches":2,"examples":8,' rest
		same whole ckpt
	done
}

@test "sync with local steps: the same for any servers and workers" {
	local n
	many_records
	echo 'local adagrad learning_rate=0.05 steps=4' >>model.ps
	sed -i 's/optimizer adam .*/optimizer sgd momentum=0.5/' model.ps
	begin_epochs 1 2 --replicas=2
	echo 'epoch 3' >&7
	end_epochs 64
	mv ckpt whole
	for n in "3 1" "2 3"; do
		# shellcheck disable=SC2086 # they are two
		begin_epochs $n --replicas=2
		echo 'epoch 3' >&7
		[ "$n" = "3 1" ] || kill -KILL "${worker[0]}"
		end_epochs 64
		grep -q '"slots":2,"batches":4,"examples":32,' rest
		same whole ckpt
	done
}

@test "a worker with -j: the same bits for any number of threads" {
	local n
	many_records
	sed -i 's/units=4/units=600/' model.ps	# more than one block
	begin_epochs 2 2 --replicas=2 -B 600
	echo 'epoch 3' >&7
	end_epochs 2
	mv ckpt whole
	for n in 2 3 8 0; do
		rm -rf ckpt
		ps-local -q -s 1 -w 2 -C ckpt -- -j "$n" -- \
			ps-coord -m model.ps -B 600 -d many.csv \
			--mode=sync --replicas=2 \
			--shuffle=50 --seed=3 --partition=fixed:3 \
			--checkpoint=ckpt --results=errors \
			<<<$'train 60\nepoch 3' >rest
		same whole ckpt
	done
	run -64 ps-work -c ipc://coord -j 1025 a.csv
	assert_line --partial "-j: '1025' is not a whole number from 0 to 1024"
}

@test "sync with ps-coord's data: the same though workers are killed" {
	undisturbed
	begin_epochs 5 3
	echo epoch >&7
	kill -KILL "${worker[1]}"
	until_step 160
	echo 'epoch 2' >&7
	kill -KILL "${worker[0]}"
	end_epochs
	same whole ckpt
}

@test "sync: a server is killed, and all servers go back to the checkpoint" {
	undisturbed
	local every
	for every in 40 ""; do
		begin_epochs 2 3 ${every:+--every=$every}
		echo epoch >&7
		dies "${server[1]}"
		start ps-serve -d "$PWD/ckpt" -b "${servers#*,}" 7>&-
		echo 'epoch 2' >&7
		told '*without its variables: all servers go back*'
		end_epochs
		same whole ckpt
	done
}

@test "sync: a server is killed that has a standby, and nothing is lost" {
	undisturbed
	standby=1 begin_epochs 1 3 --every=40
	told '*has a standby at*'
	echo epoch >&7
	kill -KILL "${server[0]}"
	echo 'epoch 2' >&7
	told '*took over*'
	end_epochs
	run ! grep 'run again' coord.log
	same whole ckpt
}

@test "ssp: no step begins before those that it waits for have ended" {
	equal_batches
	local n
	for n in 0 3; do
		rm -rf ckpt
		members 2 4 --repeat --prefetch=1 data.csv
		printf 'train 400\njoin\n' | coord -B 4 --mode=ssp:$n >results
		run -0 awk -F'[:,]' -v n=$n '/"train"/ {
			for (i = 1; i < NF; i++) {
				if ($i == "\"step\"")
					step = $(i + 1)
				if ($i == "\"staleness\"")
					stale = $(i + 1)
			}
			if (step - n > mark + 0)
				print "step", step, "before", mark
			ended[step] = 1
			while (mark + 0 in ended)
				mark++
			if (stale > 2 * n)
				print "step", step, "met", stale
			count++
		}
		END { print count }' results
		assert_output 400
		run -0 grep -o '"max":[0-9]*,"pairs":.*\]\]' results
		[ "$n" != 0 ] || assert_output '"max":0,"pairs":[[0,400]]'
	done
}

@test "modes that make no sense are refused" {
	run -64 ps-coord --mode=ssp -m model.ps -s 1
	assert_line --partial "--mode: 'ssp' is not async, ssp:N or sync"
	run -64 ps-coord --mode=ssp:x -m model.ps -s 1
	run -64 ps-coord --replicas=2 -m model.ps -s 1
	assert_line --partial '--replicas needs --mode=sync'
	run -64 ps-coord --mode=sync -d x.csv -m model.ps -s 1
	assert_line --partial '-d with --mode=sync needs --replicas=N'
	run -64 ps-coord --mode=ssp:3 --backup=2 -m model.ps -s 1
	assert_line --partial '--backup needs --mode=sync'
	run -64 ps-coord --accumulate=0 -m model.ps -s 1
	assert_line --partial "--accumulate: '0' is not a whole number"
	equal_batches
	run -64 ps-coord --accumulate=4096 -B 4097 -m model.ps -s tcp://a:1
	assert_output "ps-coord: --accumulate: 4096 batches of 4097 examples\
 are more than 16777216"
}
