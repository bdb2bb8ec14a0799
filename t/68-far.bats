# Programs that are far from each other: each is on a machine of its own, with a
# delay between them.  A run begins and trains, a server is killed, its standby
# takes over, and no step is lost or counted twice.
#
# FAR is the round trip in milliseconds; MODES and DURABLES are the modes and
# logs to test.  FAR="20 60 120 200 400" MODES="async ssp:2 sync"
# DURABLES="checkpoint wal" is the full test.  OPTIONS, such as --lease=2s,
# are options for all programs.

load lib.bash
load counting.bash

PATH=$BUILD/t/bench:$PATH
patience=120

# far MILLISECONDS - make machines with this round trip between them.
far() {
	local way
	way=$(awk -v ms="$1" 'BEGIN { print ms / 2 }')
	net true 2>none || [ $? != 77 ] || skip "$(<none)"
	start net -n 5 -d "${way}ms" -- \
		sh -c 'echo "$NET"; exec tail -f /dev/null >&2'
	export NET=$endpoint
	(umask 077; head -c 30 /dev/urandom | base64 >key)
	export PS_KEY=$PWD/key
}

# Each program runs on a machine of its own.
ps-coord() {
	exec net -i 1 ps-coord -w 120s "$@"
}

serve_at() {
	start net -i "$1" ps-serve -b "tcp://10.77.0.$1:7000" -d ckpt "${@:2}"
}

work_at() {
	launch net -i "$1" ps-work -w 120s -c tcp://10.77.0.1:7000 --repeat \
		"${@:2}" one.svm
}

# takes_over MODE DURABLE [OPTION...] - kill a server of a run, and check that
# its standby takes over and each step counts once.
takes_over() {
	counting
	serve_at 2 --durable="$2" "${@:3}"
	server=$pid at=$endpoint
	serve_at 3 --standby-of="$at" "${@:3}"
	standby=$pid other=$endpoint
	conduct -b tcp://10.77.0.1:7000 -s "$at" --checkpoint=ckpt \
		--mode="$1" "${@:3}"
	work_at 4 "${@:3}"
	others=$pid
	work_at 5 "${@:3}"
	worker=$pid
	hears "*server 0 ($at) has a standby at $other"
	ask 12
	done_steps 4
	dies "$server"
	hears "*server 0: its standby $other took over after *.?? s"
	echo "$ms ms, $*: ${line#*standby }" >>"${TOOK:-took}"
	done_steps 8
	ask 4
	done_steps 4
	ends
	wait "$standby"
	wait "$others"
	counted 16
}

# each_way MODES DURABLES OPTION... - run takes_over with each mode and log at
# each distance.
each_way() {
	local mode durable
	for ms in ${FAR:-120 400}; do
		far "$ms"
		for mode in ${MODES:-$1}; do
			for durable in ${DURABLES:-$2}; do
				mkdir "$ms,$mode,$durable"
				cd "$ms,$mode,$durable" || return
				takes_over "$mode" "$durable" "${@:3}"
				cd ..
			done
		done
		dies "${daemons[0]}"
		daemons=()
	done
}

@test "far away, a standby takes over" {
	each_way async checkpoint ${OPTIONS:-}
}

@test "a handshake takes three round trips at any distance" {
	far 900
	counting
	serve_at 2
	run -0 ps-coord -q -w 40s -m count.ps -b tcp://10.77.0.1:7000 \
		-s "$endpoint" <<<stop
	wait "$pid"
}
