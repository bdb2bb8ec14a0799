# Hosts for benchmarks: . "${0%/*}/hosts.sh", after bench.sh.
#
# Each host is a network namespace; a link with a bounded rate in each
# direction connects it to one switch.  The token bucket has 64 KB: one of
# 256 KB flatters small messages, one of 32 KB costs retransmissions.
#
#	hosts_up COUNT RATE	RATE as tc(8) has it, 1gbit; or none
#	on HOST COMMAND...	HOST from 1; its address is 10.77.0.HOST
#	hosts_bytes		of each host: received, sent
#	hosts_down
#	$links			the rates to measure: BENCH_LINKS, or all three
#
# "hosts_can || exit 0" skips a benchmark, and reports the reason, on a system
# where hosts cannot be made.

hosts=0
site=pskit-$$
links=${BENCH_LINKS:-none 1gbit 100mbit}

hosts_can() {
	for tool in ip tc; do
		command -v "$tool" >/dev/null || {
			skip "no $tool (iproute2)"
			return 1
		}
	done
	# A subshell with set -e ends at the first command that fails.
	if ! (set -e; hosts_up 2 1mbit) 2>"$dir/why"; then
		skip "no hosts: $(tail -n 1 "$dir/why")"
		hosts=2 hosts_down
		return 1
	fi
	hosts=2
	hosts_down
}

on() {
	host=$1
	shift
	ip netns exec "$site-$host" "$@"
}

# shaped NAMESPACE DEVICE CPU - bound the rate at which the device sends.  Its
# packets are of at most 32 KB, since the bucket cuts larger ones into frames,
# which takes more time than there is at a gigabit.  One CPU takes what it
# receives, since two would change the order of packets, and TCP would take that
# for a loss.
shaped() {
	[ "$rate" != none ] || return 0
	ip netns exec "$1" sh -e -c "
		ip link set $2 gso_max_size 32768
		for queue in /sys/class/net/$2/queues/rx-*; do
			printf %x $((1 << $3)) >\$queue/rps_cpus
		done
		tc qdisc add dev $2 root \
			tbf rate $rate burst 64kb latency 100ms"
}

hosts_up() {
	hosts=$1 rate=$2 cpus=$(nproc)
	ip netns add "$site-switch"
	on switch ip link add name sw0 type bridge
	on switch ip link set sw0 up
	for i in $(seq "$hosts"); do
		ip netns add "$site-$i"
		ip link add e0 netns "$site-$i" type veth \
			peer name "p$i" netns "$site-switch"
		on "$i" ip address add "10.77.0.$i/24" dev e0
		on "$i" ip link set lo up
		on "$i" ip link set e0 up
		on switch ip link set "p$i" master sw0
		on switch ip link set "p$i" up
		shaped "$site-$i" e0 $((i % cpus))
		shaped "$site-switch" "p$i" $((i % cpus))
	done
}

hosts_bytes() {
	for i in $(seq "$hosts"); do
		on "$i" cat /sys/class/net/e0/statistics/rx_bytes \
			/sys/class/net/e0/statistics/tx_bytes | xargs
	done
}

hosts_down() {
	for i in $(seq "$hosts") switch; do
		ip netns del "$site-$i" 2>/dev/null || :
	done
	hosts=0
}

# stolen - print the hundredths of a second that the hypervisor has taken from
# this machine so far.
stolen() {
	awk '$1 == "cpu" { print $9 }' /proc/stat
}
