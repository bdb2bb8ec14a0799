# Short runs of t/nemesis with a few seeds; and a test that t/nemesis notices a
# broken promise.

load lib.bash

@test "kills, stops, cuts and a full disk: each step counts once" {
	run -0 --separate-stderr timeout 120 "$SRC/t/nemesis" 1 10
	[[ $output == *" steps done, "*" again, 0 wrong"* ]]
}

@test "killed workers alone: the steps that they began count once" {
	FAULTS=kill ROLES=work run -0 --separate-stderr timeout 120 \
		"$SRC/t/nemesis" 2 5
	[[ $output == *" steps done, "*" again, 0 wrong"* ]]
}

@test "killed servers with logs, and killed coordinators: the same" {
	DURABLE=wal FAULTS=kill ROLES="serve coord" \
		run -0 --separate-stderr timeout 120 "$SRC/t/nemesis" 4 5
	[[ $output == *" steps done, "*" again, 0 wrong"* ]]
}

@test "steps that an unsafe log has lost are run again" {
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
	BROKEN=log-unsafe:0:error DURABLE=wal FAULTS=kill ROLES=serve \
		run -0 --separate-stderr timeout 120 "$SRC/t/nemesis" 3 4
	[[ $output == *" steps done, "*" again, 0 wrong"* ]]
}

@test "killed and stopped programs of steps, and a standby: the same" {
	[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3"
	PROGRAM=shm DURABLE=standby FAULTS="kill stop" \
		ROLES="step step step work serve" \
		run -0 --separate-stderr timeout 120 "$SRC/t/nemesis" 5 8
	[[ $output == *" steps done, "*" again, 0 wrong"* ]]
	[[ $output == *"kill step"* ]]
}

@test "killed and stopped relays of rounds in few bits: the same" {
	MODE=sync RELAYS=1 LEAST=8 WIRE="--push=int8 --pull=delta:int8" \
		FAULTS="kill kill stop" ROLES="relay relay work" \
		run -0 --separate-stderr timeout 120 "$SRC/t/nemesis" 6 6
	[[ $output == *" steps done, "*" again, 0 wrong"* ]]
	[[ $output == *"kill relay"* ]]
}

@test "two relays, and local steps: the same" {
	RELAYS=2 LOCAL=1 LEAST=8 WIRE=--push=int8 FAULTS="kill kill stop" \
		ROLES="relay relay work" \
		run -0 --separate-stderr timeout 120 "$SRC/t/nemesis" 7 5
	[[ $output == *" steps done, "*" again, 0 wrong"* ]]
	[[ $output == *"kill relay"* ]]
}

@test "the nemesis reports a server without de-duplication" {
	grep -q 'define PS_DEV' "$BUILD/config.h" ||
		skip "no failpoints: configure --enable-dev"
	TMPDIR=$PWD BROKEN=dedup:0:error FAULTS=kill ROLES=work \
		run -1 --separate-stderr timeout 120 "$SRC/t/nemesis" 3 8
	[[ $stderr == *"steps were done, but the weights are "* ]]
}
