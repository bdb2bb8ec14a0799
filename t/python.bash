# Shared by the tests of programs in Python that compute steps.

# begin_python - change to the test's folder; skip the test without the system's
# Python.
begin_python() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	[ -x /usr/bin/python3 ] || skip "no /usr/bin/python3"
}

# begin_library MODULE NAME FOLDER - change to the test's folder, and set up the
# adapter in this folder of the examples; skip the test unless $PYTHON has the
# module.
begin_library() {
	cd "$BATS_TEST_TMPDIR" || return
	daemons=()
	: "${PYTHON:=/usr/bin/python3}"
	"$PYTHON" -c "import $1, numpy" 2>/dev/null ||
		skip "NOT TESTED: $PYTHON has no $2; PYTHON may name one"
	export PYTHON TMPDIR=$PWD
	export PYTHONPATH=$SRC/examples/$3:$SRC/examples/numpy
	net="'$PYTHON' net.py"
	printf '%s\n' '+1 1:1 2:1' '-1 3:1' '+1 1:1 4:1' '-1 2:1 3:1' \
		'+1 1:2 3:1' '-1 3:2 4:1' '+1 1:1 3:-1' '-1 1:-1' >train.svm
}
