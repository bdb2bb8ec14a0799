# The simulated cluster: see t/sim.  `make simulate` runs as many seeds as one
# likes; here are the first ones, and a control.

load lib.bash

setup() {
	cd "$BATS_TEST_TMPDIR" || return
}

@test "some hundred simulated runs keep every promise" {
	run "$BUILD/t/sim/simulate" -q 1 "${SIMULATE_SEEDS:-300}"
	[ "$status" = 0 ] || fail "$output"
	assert_line --regexp '^[0-9]+ events, [0-9]{3,} faults'
	assert_line --regexp '^[0-9]+ seeds, 0 broken$'
}

@test "a simulated run whose result is not heard is broken" {
	run -1 "$BUILD/t/sim/simulate" -c -q 1 20
	assert_line "20 seeds, 20 broken"
}

@test "a broken run is told with the faults that matter, and a trace" {
	run -1 "$BUILD/t/sim/simulate" -c 3 1
	assert_line --regexp '^# seed 3: '
	assert_line --regexp 'coord 0 +BROKEN: '
	refute_line --regexp '^#   (kill|crash|cut|freeze) '
	assert_exists simulate-3.trace
}
