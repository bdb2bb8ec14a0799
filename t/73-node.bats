# ps-node under a launcher: Slurm, MPI, an Indexed Job.  A launcher gives each
# task its rank and size in environment variables.

load lib.bash
load counting.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	unset "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" PBS_NODEFILE \
		JOB_COMPLETION_INDEX
	mkdir bin
	PATH=$PWD/bin:$PATH
}

# stand_in PROGRAM - make a stand-in of the program from standard input.
stand_in() {
	cat >"bin/$1"
	chmod +x "bin/$1"
}

# wait_until_told - make a ps-work and a ps-serve that end when they are told.
wait_until_told() {
	local program
	for program in ps-work ps-serve; do
		stand_in $program <<-'EOT'
			#!/bin/bash
			trap 'echo "${0##*/} ended" >>ended; exit 0' TERM HUP
			echo "${0##*/} begun" >>begun
			for ((;;)) do sleep 0.05; done
		EOT
	done
}

# fake_slurm - make a srun that works as the real one: it runs a task for each
# rank, with its variables, passes on the output of all, and ends with the
# highest status.  Nodes are loopback addresses that other programs hardly use.
fake_slurm() {
	stand_in srun <<-'EOT'
		#!/bin/bash
		nodes=1 tasks=1
		while getopts N:n: letter; do
			case $letter in
			N) nodes=$OPTARG ;;
			n) tasks=$OPTARG ;;
			esac
		done
		shift $((OPTIND - 1))
		most=$(((tasks + nodes - 1) / nodes))
		full=$((tasks - (most - 1) * nodes)) per=$most
		[ "$full" = 1 ] || per+="(x$full)"
		[ "$full" = "$nodes" ] || per+=",$((most - 1))"
		[ "$((nodes - full))" -le 1 ] || per+="(x$((nodes - full)))"
		export SLURM_STEP_NUM_TASKS=$tasks SLURM_STEP_ID=0
		net=127.$((SLURM_JOB_ID / 99 % 99 + 1)).$((SLURM_JOB_ID % 99))
		export SLURM_STEP_NODELIST="$net.[1-$nodes]"
		[ "$nodes" -gt 1 ] || SLURM_STEP_NODELIST=$net.1
		export SLURM_STEP_TASKS_PER_NODE=$per
		rank=0 pids=()
		for ((node = 1; node <= nodes; node++)); do
			for ((i = 0; i < most - (node > full); i++)); do
				SLURM_PROCID=$rank \
				SLURMD_NODENAME=$net.$node "$@" &
				echo $! >"task.$rank"
				pids+=($!)
				rank=$((rank + 1))
			done
		done
		worst=0
		for pid in "${pids[@]}"; do
			wait "$pid"
			status=$?
			[ "$status" -le "$worst" ] || worst=$status
		done
		exit "$worst"
	EOT
	stand_in scontrol <<-'EOT'
		#!/bin/sh
		echo "$*" >>controlled
	EOT
	export SLURM_JOB_ID=$$
}

# told NAME=VALUE... -- OPTION... - run ps-node as a task with these variables.
told() {
	local words=()
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	shift
	run -0 env PATH="$PWD/fake:$PATH" "${words[@]}" ps-node "$@"
}

# shown - make programs that print their arguments and cluster.
shown() {
	mkdir fake
	for program in ps-coord ps-work ps-serve; do
		printf '%s\n' '#!/bin/sh' \
			'[ "$1" != --print-task ] || exec '"$(command -v \
			ps-coord)"' "$@"' 'echo "$0 $* $TF_CONFIG" >&2' \
			>"fake/$program"
		chmod +x "fake/$program"
	done
}

@test "variables of Slurm become a cluster, with several tasks a node" {
	shown
	slurm=(SLURM_NTASKS=6 SLURM_JOB_NODELIST='n[09-11],m'
		SLURM_TASKS_PER_NODE='2(x2),1(x2)' SLURM_JOB_ID=161)
	at='"chief": ["n09:20064"]'
	told "${slurm[@]}" SLURM_PROCID=0 -- --servers=2 --chief -m x
	assert_output --partial "ps-coord -m x {\"sparseCluster\": {$at, \
\"ps\": [\"n09:20065\", \"n10:20064\"]}, \"task\": {\"type\": \"chief\", \
\"index\": 0}}"
	told "${slurm[@]}" SLURM_PROCID=2 -- --servers=2 --ps -d x
	assert_output --partial "ps-serve -d x {\"sparseCluster\": {$at, \
\"ps\": {\"1\": \"n10:20064\"}}, \"task\": {\"type\": \"ps\", \"index\": 1}}"
	told "${slurm[@]}" SLURM_PROCID=5 -- --servers=2 -q
	assert_output --partial "ps-work -q {\"sparseCluster\": {$at, \
\"worker\": {\"2\": \"m:20064\"}}, \"task\": {\"type\": \"worker\", \
\"index\": 2}}"
	# Variables of the step override those of the job; a cyclic distribution
	# works, too.
	told "${slurm[@]}" SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=4 \
		SLURM_STEP_NODELIST='a[1-2]b[3,5]' SLURM_STEP_ID=3 \
		SLURM_STEP_TASKS_PER_NODE='1(x4)' --
	assert_output --partial '"chief": ["a1b3:20256"], "ps": {"0": "a1b5:'
	told "${slurm[@]}" SLURM_PROCID=4 SLURM_DISTRIBUTION=cyclic --
	assert_output --partial '"worker": {"2": "n09:20065"}'
	# TF_CONFIG overrides the launcher's variables.
	told "${slurm[@]}" SLURM_PROCID=4 TF_CONFIG='{"cluster": {"chief":
		["c:1"], "ps": ["p:1"], "worker": ["w:1"]}, "task": {"type":
		"worker", "index": 0}}' --
	assert_output --partial '["w:1"]'
}

@test "variables of other launchers become a cluster" {
	shown
	mpi=(OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3)
	told "${mpi[@]}" OMPI_COMM_WORLD_LOCAL_SIZE=4 --
	at=127.0.0.1
	assert_output --partial "[\"$at:2222\"], \
\"worker\": {\"1\": \"$at:2225\""
	printf '%s\n' '# of two' 'a slots=3' 'b slots=1' >hosts
	told "${mpi[@]}" OMPI_COMM_WORLD_LOCAL_SIZE=1 -- --hosts=hosts \
		--port=7000
	assert_output --partial '["a:7000"], "worker": {"1": "b:7000"'
	# This file is in MPICH's format, with line ends of another system.
	printf '%s\r\n' a:3 '' 'b max_slots=9' >hosts
	told "${mpi[@]}" OMPI_COMM_WORLD_LOCAL_SIZE=1 -- --hosts=hosts
	assert_output --partial '["a:2222"], "worker": {"1": "b:2222"'
	for name in a=b 'c\n'; do
		cp hosts "$name"
		told "${mpi[@]}" OMPI_COMM_WORLD_LOCAL_SIZE=1 -- --hosts="$name"
		assert_output --partial '["a:2222"], "worker": {"1": "b:2222"'
	done
	printf '%s\n' fe80::1 '[fe80::2]' ::3 b >hosts
	told "${mpi[@]}" OMPI_COMM_WORLD_LOCAL_SIZE=1 -- --hosts=hosts
	assert_output --partial '["[fe80::1]:2222"], "worker": {"1": "b:2222"'
	printf '%s\n' '[fe80::1]:3' b >hosts
	told "${mpi[@]}" OMPI_COMM_WORLD_LOCAL_SIZE=1 -- --hosts=<(cat hosts)
	assert_output --partial '["[fe80::1]:2222"], "worker": {"1": "b:2222"'
	told PMI_RANK=1 PMI_SIZE=3 -- --hosts='a,[fe80::2],fe80::3'
	assert_output --partial '["a:2222"], "ps": {"0": "[fe80::2]:2222"'
	printf '%s\n' a a b b >nodes
	told "${mpi[@]}" PBS_NODEFILE=nodes --
	assert_output --partial '["a:2222"], "worker": {"1": "b:2223"'
	told PMI_RANK=1 PMI_SIZE=3 -- --hosts='a,b[1-2]'
	assert_output --partial '["a:2222"], "ps": {"0": "b1:2222"'
	told JOB_COMPLETION_INDEX=5 -- --hosts='job-[0-5].service' --servers=2
	assert_output --partial '["job-0.service:2222"], "worker": {"2": "job-5'
	run -78 env "${mpi[@]}" ps-node
	assert_output "ps-node: where are the other tasks? say --hosts"
	run -78 env "${mpi[@]}" ps-node --hosts=a,b
	assert_output "ps-node: task 3 of 4 has no place among the 2 that are \
listed"
	run -78 env "${mpi[@]}" ps-node --servers=3 --hosts=a,b,c,d
	assert_output "ps-node: 4 tasks are too few for a chief, --servers=3 \
and a worker"
	run -78 env SLURM_PROCID=1 SLURM_NTASKS=4 SLURM_JOB_NODELIST='n[1-2]' \
		SLURM_TASKS_PER_NODE='2(x2)' SLURMD_NODENAME=n2 ps-node
	assert_output "ps-node: task 1 is on n2, not on n1: say \
--distribution=block to srun"
	# A list, or a number, that is cut short or mistyped is refused.
	for list in 'n[1-3' 'n1-3]' 'n]1-3['; do
		run -78 env JOB_COMPLETION_INDEX=1 ps-node --hosts="$list"
		assert_output "ps-node: '$list' in the list of hosts has no \
matching brackets"
	done
	for name in 'n 1' 'n"1' 'n\1' n1:x $'n\xff'; do
		run -78 env JOB_COMPLETION_INDEX=1 ps-node --hosts="$name,b,c"
		assert_output "ps-node: '${name/$'\xff'/?}' in the list of \
hosts is no name"
	done
	for file in no/file /tmp; do
		run -66 env JOB_COMPLETION_INDEX=1 ps-node --hosts="$file"
		assert_output "ps-node: $file: there is no such file of hosts"
	done
	for slots in x -2 2.5 1e9; do
		printf '%s\n' a "b slots=$slots max_slots=9" c d >hosts
		run -78 env JOB_COMPLETION_INDEX=1 ps-node --hosts=hosts
		assert_output "ps-node: hosts:2: '$slots' is no number of slots"
	done
	printf '%s\n' 'a slots=99999999999' >hosts
	run -78 timeout 20 env JOB_COMPLETION_INDEX=1 ps-node --hosts=hosts
	assert_output "ps-node: more than 65536 hosts are listed"
	printf '%s\n' a 'n[1-3]' c >hosts
	run -78 env JOB_COMPLETION_INDEX=1 ps-node --hosts=hosts
	assert_output "ps-node: 'n[1-3]' in the list of hosts is no name"
	for range in 3-1 a-c 1- 1-2-3 ''; do
		run -78 env JOB_COMPLETION_INDEX=1 ps-node --hosts="n[$range]"
		assert_output "ps-node: '$range' in the list of hosts is no \
range"
	done
	run -78 env SLURM_PROCID=x SLURM_NTASKS=3 ps-node
	assert_output "ps-node: the launcher's task is 'x', not a number"
	run -78 env PMI_RANK=0 PMI_SIZE=3x ps-node --hosts=a,b,c
	assert_output "ps-node: the launcher's number of tasks is '3x', not a \
number"
	run -64 ps-node --servers=x
	assert_output --partial "--servers: 'x' is not a whole number"
	run -64 env JOB_COMPLETION_INDEX=1 ps-node --hosts=a,b,c --servers=0
	assert_output --partial "--servers=0: without --beside there must be a"
	for port in 0 65536; do
		run -64 ps-node --port=$port
		assert_output --partial "--port: '$port' is not a whole number \
from 1 to 65535"
	done
	run -78 env JOB_COMPLETION_INDEX=0 ps-node --hosts=a,a,c --port=65535
	assert_output "ps-node: --port=65535: no more ports are left on a"
	run -64 ps-node --hosts
	assert_output --partial "--hosts: needs an argument"
}

@test "in a job of Slurm the variables of mpirun have precedence" {
	shown
	# A task also has the Slurm variables of the job's script, or of
	# mpirun's daemon.
	script=(SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_NODELIST=n1
		SLURM_TASKS_PER_NODE=4)
	told "${script[@]}" OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 \
		OMPI_COMM_WORLD_LOCAL_SIZE=4 --
	assert_output --partial '"worker": {"1": "127.0.0.1:2225"'
	told "${script[@]}" PMI_RANK=1 PMI_SIZE=4 MPI_LOCALNRANKS=4 --
	assert_output --partial '"ps": {"0": "127.0.0.1:2223"'
	daemon=(SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2
		SLURM_STEP_NODELIST='n[1-2]' SLURM_STEP_TASKS_PER_NODE='1(x2)')
	told "${script[@]}" "${daemon[@]}" PMI_RANK=3 PMI_SIZE=4 -- \
		--hosts=n1,n1,n2,n2
	assert_output --partial '["n1:2222"], "worker": {"1": "n2:2223"'
	run -78 env "${script[@]}" OMPI_COMM_WORLD_SIZE=4 \
		OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_LOCAL_SIZE=2 ps-node
	assert_output "ps-node: where are the other tasks? say --hosts"
	# srun sets PMI_RANK for its own tasks, too; in a nested shell PMI_SIZE
	# may be 1, while Slurm's variables are those of the whole step.
	srun=(SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=3 SLURM_JOB_ID=160
		SLURM_STEP_NODELIST='n[1-3]' SLURM_STEP_TASKS_PER_NODE='1(x3)')
	told "${srun[@]}" PMI_RANK=2 PMI_SIZE=3 --
	assert_output --partial '"worker": {"0": "n3:20000"'
	told "${srun[@]}" PMI_RANK=0 PMI_SIZE=1 --
	assert_output --partial '"worker": {"0": "n3:20000"'
}

@test "servers beside workers come first, with ports after those of tasks" {
	shown
	for rank in 0 1 2 3; do
		told OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=$rank -- \
			--hosts=a,a,b,b --servers=1 --beside --ps -d x \
			--worker -v
		echo "$output" | sort >>"$BATS_TEST_TMPDIR/all"
	done
	sed -i "s|$PWD/fake/||; s/{\"sparse.*\"a:2222\"], //
		s/}, \"task.*//; s/\"worker/W/; s/\"ps\":/P/" all
	diff - all <<-'EOT'
		ps-coord --beside=2 P ["b:2224", "b:2225", "a:2223"]
		ps-serve -d x P {"2": "a:2223"}
		ps-serve -d x -t ps:0 W": {"0": "b:2222"}, P {"0": "b:2224"}
		ps-work -v W": {"0": "b:2222"}, P {"0": "b:2224"}
		ps-serve -d x -t ps:1 W": {"1": "b:2223"}, P {"1": "b:2225"}
		ps-work -v W": {"1": "b:2223"}, P {"1": "b:2225"}
	EOT
	# TF_CONFIG has the hosts of all tasks; with --beside=1 one of two
	# workers has no server.
	cluster='{"cluster": {"chief": ["c:1"], "ps": ["a:1"],
		"worker": ["a:2", "b:2"]}}'
	told -- -f "$cluster" -t worker:1 --beside=1
	assert_output --partial "ps-work"
	refute_output --partial "ps-serve"
	told -- -f "$cluster" -t worker:0 --beside=1
	assert_output --partial "ps-serve"
	told -- -f "$cluster" -t chief:0 --beside --chief -m x
	assert_output --partial "ps-coord -f $cluster -t chief:0 -m x --beside"
	run -78 env OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_RANK=3 ps-node \
		--hosts=a,b,c,d --beside=4
	assert_output "ps-node: --beside=4: there are only 3 workers"
	run -64 ps-node --beside=x
	assert_output --partial "--beside: 'x' is not a whole number"
	run -64 ps-node --beside=0
	assert_output --partial "--beside: '0' is not a whole number from 1"
}

@test "a task of two programs has the worker's status, and ends both" {
	cluster='{"cluster": {"chief": ["c:1"], "ps": ["a:1"],
		"worker": ["a:2"]}}'
	status_of() {	# WORKER SERVER
		printf '%s\n' '#!/bin/sh' "exit $1" | stand_in ps-work
		printf '%s\n' '#!/bin/sh' "exit $2" | stand_in ps-serve
		run "-$3" timeout 20 ps-node -f "$cluster" -t worker:0 --beside
	}
	status_of 0 0 0
	status_of 3 0 3
	status_of 0 4 4
	status_of 3 4 3
	wait_until_told
	ps-node -f "$cluster" -t worker:0 --beside 3>&- &
	pid=$!
	daemons+=("$pid")
	timeout 20 sh -c 'until [ "$(cat begun 2>/dev/null | wc -l)" = 2 ]; do
		:; done'
	kill -TERM "$pid"
	wait "$pid"
	assert_equal "$(sort ended | tr '\n' ,)" \
		"ps-serve ended,ps-work ended,"
}

# job - prepare the job of the manual, and its files.
job() {
	fake_slurm
	counting
	"$SRC/t/helper/sessions.sh" "$SRC/man/ps-node.1" | sh
	mv count.ps model.ps
	mv one.svm train.svm
	# Wait for all workers: one that starts after the end would wait for
	# another run.
	sed -i 's/ --suspend / --min-workers=3&/' job
	(umask 077; head -c 30 /dev/urandom | base64 >key)
}

@test "the job for Slurm in the manual runs, and has the run's status" {
	job
	echo train 30 >requests
	run -0 --separate-stderr timeout 60 sh job
	assert_output ""
	assert_equal "$stderr" ""
	assert_equal "$(wc -l <results)" 30
	assert_exists run/ckpt-00000030
	counted 30 run
	mv model.ps nosuch.ps
	sed -i 's/--ps --grace=50s/& --lease=1s --idle=1s/
		s/--worker --grace=50s/& -w 1s/' job
	run -69 timeout 60 sh job
	assert_output --partial "ps-coord: cannot open model.ps: No such"
	[ ! -e controlled ]
}

@test "the tasks of a launcher print only results" {
	job
	for shape in "3 6" "2 6" "1 4" "6 6" "3 7"; do
		# shellcheck disable=SC2086 # two words
		set -- $shape
		rm -rf run results
		echo train 10 >requests
		run -0 --separate-stderr timeout 60 srun -N "$1" -n "$2" \
			ps-node --servers=2 --key=key \
			--chief -m model.ps --min-workers=$(($2 - 3)) requests \
			--worker --repeat train.svm
		assert_equal "$stderr" ""
		assert_equal "$(grep -c '^{"op":"train",.*}$' <<<"$output")" 10
		assert_equal "${#lines[@]}" 10
	done
}

@test "a job with a server beside each worker counts each step once" {
	job
	echo train 30 >requests
	run -0 --separate-stderr timeout 60 srun -N 3 -n 4 ps-node --beside \
		--key=key --chief -m model.ps --min-workers=3 \
		--checkpoint="$PWD/run" requests --ps -d "$PWD/run" \
		--worker --repeat train.svm
	assert_equal "$stderr" ""
	assert_equal "$(grep -c '^{"op":"train",.*}$' <<<"$output")" 30
	counted 30 run
}

# child PID NAME - print the pid of the child with this name.
child() {
	ps --ppid "$1" -o pid=,comm= |
		awk -v name="$2" '$2 == name { print $1 }'
}

@test "killed workers, servers and coordinators cost the job no step" {
	job
	sed -i 's/ -o results / -B 1 -o results /' job
	seq 3000 >requests
	launch sh job
	until [ -s results ]; do kill -0 "$pid"; done
	# The coordinator gets it, and not the script that watches over it.
	kill -USR1 "$(cat task.0)"
	until grep -q 'ps-coord: step [0-9]* of ' "$log"; do
		kill -0 "$pid"
	done
	for kind in ps-work ps-serve ps-coord; do
		until [ -s results ]; do kill -0 "$pid"; done
		victim=
		until [ "$victim" ]; do
			for rank in 0 1 2 3 4 5; do
				victim=$(child "$(cat task.$rank)" $kind)
				[ -z "$victim" ] || break
			done
		done
		kill -KILL "$victim"
	done
	wait "$pid"
	run -0 cat "$log"
	assert_output --partial "ps-node: ps-work was ended by signal 9: it is \
started again"
	assert_output --partial "ps-node: ps-serve was ended by signal 9: it is"
	assert_output --partial "ps-node: ps-coord was ended by signal 9: it is"
	assert_equal "$(grep -c '"op":"train"' results)" 3000
	counted 3000 run
}

@test "a task that is asked to end gets time to, and is not restarted" {
	stand_in ps-work <<-'EOT'
		#!/bin/bash
		trap 'echo "$BASHPID has ended" >>ended; exit 3' HUP TERM
		echo "begun $1"
		for ((;;)) do sleep 0.05; done
	EOT
	export OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3
	mkfifo said
	local hangup
	for hangup in --default-signal=HUP --ignore-signal=HUP; do
		env "$hangup" ps-node --hosts=a,b,c --worker x \
			>said 2>log 3>&- &
		pid=$!
		daemons+=("$pid")
		exec {said}<said
		read -r -t 20 line <&"$said"
		exec {said}<&-
		assert_equal "$line" "begun x"
		kill -TERM "$pid"
		status=0
		wait "$pid" || status=$?
		assert_equal "$status" 3
		assert_equal "$(wc -l <ended)" 1
		rm ended
		assert_equal "$(cat log)" ""
	done
	# A task is restarted --restarts times.
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		echo x >>begun
		kill -KILL $$
	EOT
	run -137 ps-node --hosts=a,b,c --restarts=2 --worker
	assert_equal "$(wc -l <begun)" 3
	# A number may begin with zeros.
	rm begun
	run -137 ps-node --hosts=a,b,c --restarts=02 --worker
	assert_equal "$(wc -l <begun)" 3
}

@test "a task that has no standard input is kept like others" {
	stand_in ps-work <<-'EOT'
		#!/bin/sh
		[ -e begun ] || { >begun; kill -KILL $$; }
		head -c 1 2>/dev/null || echo "closed: $1" >&2
	EOT
	export OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=3
	run -0 sh -c 'exec ps-node --hosts=a,b,c --worker x <&-'
	assert_output --partial "ps-work was ended by signal 9: it is started"
	assert_line "closed: x"
}

@test "the programs of a ps-node that is killed end" {
	local option
	wait_until_told
	cluster='{"cluster": {"chief": ["c:1"], "ps": ["a:1"],
		"worker": ["a:2"]}}'
	for option in --restarts=1 --restarts=0; do
		: >begun
		: >ended
		ps-node -f "$cluster" -t worker:0 --beside "$option" 3>&- &
		pid=$!
		timeout 20 sh -c 'until [ "$(wc -l <begun)" = 2 ]; do :; done'
		[ "$option" = --restarts=0 ] || {
			# Those that are started again end, too.
			kill -KILL "$(child "$pid" ps-work)"
			timeout 20 sh -c 'until [ "$(wc -l <begun)" = 3 ]; do
				:; done'
		}
		kill -KILL "$pid"
		wait "$pid" || true
		timeout 20 sh -c 'until [ "$(wc -l <ended)" = 2 ]; do :; done'
		assert_equal "$(sort ended | tr '\n' ,)" \
			"ps-serve ended,ps-work ended,"
	done
}
