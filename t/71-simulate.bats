# The simulated cluster: see t/sim.  "make simulate" runs any number of seeds;
# these tests run the first ones, and a control.

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

@test "a simulated run of which a result is ignored is broken" {
	run -1 "$BUILD/t/sim/simulate" -c -q 1 20
	# Runs that end with an error need not have the result.
	[[ $output =~ ([0-9]+)\ runs\ ended\ with\ an\ error ]]
	[ "${BASH_REMATCH[1]}" -le 5 ]
	assert_line "20 seeds, $((20 - BASH_REMATCH[1])) broken"
}

@test "a broken run is printed with the faults that matter, and a trace" {
	run -1 "$BUILD/t/sim/simulate" -c 4 1
	assert_line --regexp '^# seed 4: '
	assert_line --regexp 'coord 0 +BROKEN: '
	refute_line --regexp '^#   (kill|crash|cut|freeze) '
	assert_exists simulate-4.trace
}

@test "every mutant of the simulated cluster still applies" {
	run "$SRC/t/sim/mutate" -l
	[ "$status" = 0 ] || fail "$output"
	assert_line --regexp '^[0-9]{2,} mutants, 0 do not apply$'
}

@test "a mutant that no longer applies is reported" {
	mkdir -p tree/t/sim/mutants
	cp "$SRC/t/sim/mutate" tree/t/sim
	printf 'Words.\n\n--- a/gone.c\n+++ b/gone.c\n@@ -1 +1 @@\n-a\n+b\n' \
		>tree/t/sim/mutants/gone.patch
	run -1 tree/t/sim/mutate -l
	assert_line "gone: does not apply any more"
	assert_line "1 mutants, 1 do not apply"
}
