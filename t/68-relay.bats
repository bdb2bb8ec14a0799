# Relays: a step whose messages pass a relay counts once, even if programs are
# killed or stopped; each wrong use of a relay has an error.

load lib.bash
load counting.bash

lease=1s

# site [COORD-OPTION...] - start two servers, a relay, and two workers of its
# site.
site() {
	local i
	counting
	for i in 0 1; do
		start ps-serve -d ckpt -b "ipc://s$i" --lease="$lease"
	done
	conduct -s ipc://s0,ipc://s1 --checkpoint=ckpt --lease="$lease" \
		--status=status "$@"
	relay_of rack1
	for i in 0 1; do
		worker_at "$i"
	done
}

# relay_of SITE [OPTION...] - start a relay.
relay_of() {
	start ps-relay -v -b "ipc://$1" -c ipc://coord --lease="$lease" \
		--site="$@"
	relay=$pid relaylog=$log
}

# worker_at I [SITE] - start worker I.
worker_at() {
	launch ps-work -c ipc://coord --lease="$lease" -i "$1" \
		--site="${2:-rack1}" --repeat one.svm
	worker[$1]=$pid
}

# relayed N - wait until N workers use the relay of rack1.
relayed() {
	local i
	for ((i = 0; i < 1000; i++)); do
		! grep -qs "^pskit_relay_workers{.*\"rack1\"} $1\$" status ||
			return 0
		read -r -t 0.02 <> <(:) || true
	done
	fail "never $1 workers: $(grep relay status)"
}

# over - end the run; the coordinator and the workers must end well.
over() {
	echo stop >&"$requests"
	cat <&"$results" >rest
	cat <&"$messages" >>heard
	wait "$coord"
	wait "${worker[@]}"
}

# says LINE STATUS COMMAND... - check that the command ends with this status and
# last line.
says() {
	run -"$2" --separate-stderr timeout 30 "${@:3}"
	assert_equal "${stderr_lines[-1]}" "$1"
}

@test "steps through a relay count once each" {
	site
	relayed 2
	ask 300
	done_steps 300
	over
	wait "$relay"
	run -0 grep -o "stopped: .* pushes" "$relaylog"
	[ "$(cut -d' ' -f4 <<<"$output")" -gt 0 ]
	counted 300
}

@test "steps through a relay count once in modes ssp and sync, too" {
	local mode
	for mode in ssp:2 sync; do
		mkdir "${mode%:*}"
		cd "${mode%:*}"
		site --mode="$mode"
		relayed 2
		ask 100
		done_steps 100
		over
		counted 100
		cd ..
	done
}

# die_in_turn [COORD-OPTION...] - do 480 steps while the relay and workers are
# killed.
die_in_turn() {
	local i
	site "$@"
	for ((i = 0; i < 12; i++)); do
		ask 40
		done_steps 10
		dies "$relay"
		done_steps 10
		dies "${worker[$((i % 2))]}"
		relay_of rack1
		worker_at "$((i % 2))"
		done_steps 20
	done
	over
	counted 480
}

@test "kill -9 of relays and workers, again and again: all count once" {
	die_in_turn
}

@test "kill -9 of relays and workers in rounds, which relays add up" {
	die_in_turn --mode=sync --replicas=2
}

@test "a relay adds up a round, and pushes half as often" {
	site --mode=sync --replicas=2
	relayed 2
	ask 100
	done_steps 100
	over
	wait "$relay"
	run -0 grep -o "stopped: .* sums" "$relaylog"
	read -r _ _ _ pushes _ _ _ _ _ summed _ _ sums _ <<<"$output"
	[ "$summed" -eq $((2 * sums)) ]
	[ "$sums" -gt 100 ]
	[ "$summed" -le "$pushes" ]
	counted 100
}

@test "workers leave a stopped relay within a lease, and return later" {
	lease=2s
	site
	relayed 2
	ask 200
	done_steps 20
	kill -STOP "$relay"
	patience=10
	done_steps 180
	ask 100
	hears "*relay of rack1 @(hangs|is gone)*"
	done_steps 100
	kill -CONT "$relay"
	relayed 2
	ask 100
	done_steps 100
	over
	wait "$relay"
	counted 400
}

@test "when a relay is asked to end its workers use the servers" {
	site
	relayed 2
	ask 200
	done_steps 20
	stop "$relay"
	hears "*relay of rack1 is gone"
	done_steps 180
	over
	counted 200
}

@test "a site has one relay: another one waits for two leases" {
	counting
	start ps-serve -d ckpt -b ipc://s0 --lease="$lease"
	conduct -s ipc://s0 --checkpoint=ckpt --lease="$lease" --status=status
	relay_of rack1
	worker_at 0
	relayed 1
	says "ps-relay: coordinator ipc://coord: the site rack1 has a relay, \
at ipc://rack1" 75 ps-relay -b ipc://other -c ipc://coord --site=rack1 \
		--lease=300ms
	launch ps-relay -b ipc://other -c ipc://coord --site=rack1
	other=$pid
	dies "$relay"
	hears "*relay of rack1 is gone"
	rm status	# it may still be about the killed relay
	relayed 1
	over
	wait "$other"
}

@test "a relay whose site has no worker reports that, and waits" {
	local line
	counting
	start ps-serve -d ckpt -b ipc://s0 --lease="$lease"
	conduct -s ipc://s0 --checkpoint=ckpt --lease="$lease" --status=status
	mkfifo said
	ps-relay -b ipc://rack1 -c ipc://coord --lease=300ms --site=rack1 \
		2>said >/dev/null 3>&- &
	relay=$!
	daemons+=("$relay")
	read -r -t 20 line <said
	assert_equal "$line" "ps-relay: no worker of the site rack1 has come: \
it waits (--site of ps-work)"
	worker_at 0 rack2
	ask 50
	done_steps 50
	worker_at 1
	relayed 1
	over
	wait "$relay"
	counted 50
}

@test "a program that takes a relay for another role reports the mistake" {
	counting
	start ps-serve -d ckpt -b ipc://s0 --lease="$lease"
	conduct -s ipc://s0 --checkpoint=ckpt --lease="$lease" --status=status
	relay_of rack1
	worker_at 0
	relayed 1
	says "ps-relay: coordinator ipc://rack1: it is the relay of rack1, \
and a relay does not connect to another relay" 78 \
		ps-relay -b ipc://x -c ipc://rack1
	says "ps-relay: coordinator ipc://s0: it is a server, not a\
 coordinator" \
		78 ps-relay -b ipc://x -c ipc://s0
	says "ps-eval: coordinator ipc://rack1: it is the relay of rack1, not a\
 coordinator" 78 ps-eval -c ipc://rack1 one.svm
	says "ps-work: coordinator ipc://rack1: it is the relay of rack1, not a\
 coordinator" 78 ps-work -c ipc://rack1 one.svm
	says "ps-coord: server 0 (ipc://rack1): it is the relay of rack1, not a\
 server" 78 ps-coord -s ipc://rack1 -m count.ps -w 5s </dev/null
	ask 50
	done_steps 50
	over
	counted 50
}

@test "a relay without the key of the others does not get in" {
	local one
	counting
	for one in key other; do
		(umask 077 && head -c 30 /dev/urandom | base64 >"$one")
	done
	start ps-serve -b tcp://127.0.0.1:* --key=key
	conduct -s "$endpoint" --key=key
	says "ps-relay: ipc://coord: the program that listens there does not\
 have our \
--key" 77 ps-relay -b ipc://x -c ipc://coord --key=other -w 2s
	dies "$coord"
}

@test "bad options of a relay" {
	says "ps-relay: where is the coordinator? say -c; try 'ps-relay \
--help'" 64 ps-relay
	says "ps-relay: --site: 'a b' is not a name of 1 to 63 characters \
without blanks, quotes and backslashes; try 'ps-relay --help'" 64 \
		ps-relay -c ipc://coord --site='a b'
	says "ps-work: --site: 'a\"' is not a name of 1 to 63 characters \
without blanks, quotes and backslashes; try 'ps-work --help'" 64 \
		ps-work -c ipc://coord --site='a"'
	says "ps-relay: -b: workers are to call tcp://*:*: say which address \
of this machine it is; try 'ps-relay --help'" 64 \
		ps-relay -c ipc://coord -b 'tcp://*:*' --insecure
	says "ps-relay: 'x': no operands wanted; try 'ps-relay --help'" 64 \
		ps-relay -c ipc://coord x
	says "ps-relay: coordinator ipc://coord does not answer within 0.3 s" \
		69 ps-relay -c ipc://coord -w 300ms
	says "ps-local: -r: 2 relays are too many for 1 workers; try \
'ps-local --help'" 64 ps-local -r 2 true
}

# rounds - write a model whose sums depend on their order, and its data.
rounds() {
	printf '%s\n' 'input a float' 'input b float' 'input c float' \
		'label y float' 'x = concat a b c' \
		'h = dense x units=64 activation=tanh' 'p = dense h units=1' \
		'loss mean_squared_error p' 'optimizer adam' >m.ps
	awk 'BEGIN { print "a,b,c,y"
		for (i = 0; i < 64; i++)
			print i % 7 / 7 "," i % 5 / 5 "," i % 3 / 3 "," \
				i % 11 / 11 }' >d.csv
}

# trained RELAYS [COORD-OPTION...] - do 40 rounds of four replicas; the weights
# are in relays-RELAYS.npz.
trained() {
	rm -rf ckpt
	printf '%s\n' 'train 40' join |
		ps-local -q -w 4 -r "$1" -s 2 -C "$PWD/ckpt" -- --repeat \
		--shard=%i/%n "$PWD/d.csv" -- ps-coord -m m.ps -B 4 \
		--mode=sync --replicas=4 --min-workers=4 --checkpoint=ckpt \
		--results=none "${@:2}"
	ps-ckpt convert ckpt "relays-$1.npz"
}

@test "rounds give the same bits with zero, one, two and four relays" {
	local wire n
	rounds
	for wire in float32 int8 delta; do
		set -- --wire="$wire"
		[ "$wire" != delta ] || set -- --push=int8 --pull=delta:int8
		for n in 0 1 2 4; do
			trained "$n" "$@"
			cmp relays-0.npz "relays-$n.npz"
		done
	done
}

# uneven RELAYS - do 40 rounds of five workers: three of rack1, one of rack2,
# one of a site without a relay; the weights are in uneven-RELAYS.npz.
uneven() {
	local sites=(rack2 rack1 rack1 far rack1) i
	mkdir "uneven-$1"
	cd "uneven-$1"
	for i in 0 1; do
		start ps-serve -d ckpt -b "ipc://s$i" --lease="$lease"
	done
	conduct -s ipc://s0,ipc://s1 --checkpoint=ckpt --lease="$lease" \
		--status=status -m ../m.ps -B 4 --mode=sync --replicas=5 \
		--min-workers=5
	for ((i = $1; i > 0; i--)); do
		relay_of "rack$i"
	done
	worker=()
	for i in "${!sites[@]}"; do
		launch ps-work -c ipc://coord --lease="$lease" -i "$i" \
			--site="${sites[i]}" --shard="$i/5" --repeat ../d.csv
		worker[i]=$pid
	done
	[ "$1" = 0 ] || relayed 3
	ask 40
	done_steps 40
	over
	ps-ckpt convert ckpt "../uneven-$1.npz"
	cd ..
}

@test "rounds give the same bits with uneven sites, and without a relay" {
	rounds
	uneven 0
	for n in 1 2; do
		uneven "$n"
		wait "$relay"
		run -0 grep -o "[0-9]* pushes in [0-9]* sums" "$relaylog"
		[ "${output%% *}" -gt 0 ]
		cmp uneven-0.npz "uneven-$n.npz"
	done
}

@test "ps-node becomes a relay" {
	counting
	export TF_CONFIG='{"cluster": {"chief": ["127.0.0.1:1"],
		"ps": ["127.0.0.1:2"], "worker": ["127.0.0.1:3"],
		"relay": ["127.0.0.1:1"]}}'
	says "ps-relay: coordinator tcp://127.0.0.1:1 does not answer within \
0.3 s" 69 ps-node -t relay:0 -w 300ms --relay -b tcp://127.0.0.1:*
	says "ps-relay: the task is worker, not relay; try 'ps-relay --help'" \
		64 ps-relay -t worker:0
}
