# Benchmarks, which "make check" does not run.  "make bench" prints a table, or
# with JSON=1 its JSON lines; "make bench-full" adds the long benchmarks, and
# "make bench AGAINST=FOLDER BENCHES=..." compares this build with another one.
# A benchmark is a program or a script of one line here: it prints lines as in
# t/bench/bench.h and ends with 0, or with what went wrong.

BENCH_BINARIES =
BENCH_BINARIES += %D%/bare
BENCH_BINARIES += %D%/cache
BENCH_BINARIES += %D%/data
BENCH_BINARIES += %D%/dense
BENCH_BINARIES += %D%/far
BENCH_BINARIES += %D%/gemm
BENCH_BINARIES += %D%/hashrows
BENCH_BINARIES += %D%/kernels
BENCH_BINARIES += %D%/keys
BENCH_BINARIES += %D%/lease
BENCH_BINARIES += %D%/loop
BENCH_BINARIES += %D%/net
BENCH_BINARIES += %D%/pack
BENCH_BINARIES += %D%/parse
BENCH_BINARIES += %D%/rounds
BENCH_BINARIES += %D%/small
BENCH_BINARIES += %D%/sparse
BENCH_BINARIES += %D%/wire

BENCHES =
BENCHES += %D%/wire
BENCHES += %D%/dense
BENCHES += %D%/small
BENCHES += %D%/keys
BENCHES += %D%/sparse
BENCHES += %D%/hashrows
BENCHES += %D%/rounds
BENCHES += %D%/kernels
BENCHES += %D%/pack
BENCHES += %D%/parse
BENCHES += %D%/cache
BENCHES += %D%/lr
BENCHES += %D%/lr-cache
BENCHES += %D%/steps
BENCHES += %D%/overlap
BENCHES += %D%/narrow
BENCHES += %D%/modules
BENCHES += %D%/accuracy
BENCHES += %D%/local-steps
BENCHES += %D%/widedeep
BENCHES += %D%/threads
BENCHES += %D%/lease
BENCHES += %D%/ckpt
BENCHES += %D%/scaling
BENCHES += %D%/startup
BENCHES += %D%/memory
BENCHES += %D%/stragglers
BENCHES += %D%/links
BENCHES += %D%/shaped
BENCHES += %D%/hybrid
BENCHES += %D%/relay
BENCHES += %D%/queue

check_PROGRAMS += $(BENCH_BINARIES)
CLEANFILES += %D%/results.jsonl %D%/scaling.tsv %D%/scaling.svg
EXTRA_DIST += %D%/accuracy
EXTRA_DIST += %D%/allreduce.c
EXTRA_DIST += %D%/bench.h
EXTRA_DIST += %D%/bench.sh
EXTRA_DIST += %D%/ckpt
EXTRA_DIST += %D%/compare
EXTRA_DIST += %D%/hosts.sh
EXTRA_DIST += %D%/hybrid
EXTRA_DIST += %D%/links
EXTRA_DIST += %D%/local-steps
EXTRA_DIST += %D%/lr
EXTRA_DIST += %D%/lr-cache
EXTRA_DIST += %D%/lr.sh
EXTRA_DIST += %D%/memory
EXTRA_DIST += %D%/narrow
EXTRA_DIST += %D%/overlap
EXTRA_DIST += %D%/path.h
EXTRA_DIST += %D%/peers
EXTRA_DIST += %D%/plot
EXTRA_DIST += %D%/queue
EXTRA_DIST += %D%/relay
EXTRA_DIST += %D%/run
EXTRA_DIST += %D%/scaling
EXTRA_DIST += %D%/serve.h
EXTRA_DIST += %D%/shaped
EXTRA_DIST += %D%/startup
EXTRA_DIST += %D%/steps
EXTRA_DIST += %D%/steps.py
EXTRA_DIST += %D%/table
EXTRA_DIST += %D%/threads
EXTRA_DIST += %D%/tensorflow_cluster.py
EXTRA_DIST += %D%/modules
EXTRA_DIST += %D%/modules.py
EXTRA_DIST += %D%/widedeep
EXTRA_DIST += %D%/widedeep.py
EXTRA_DIST += %D%/stragglers
EXTRA_DIST += %D%/text.h

RUN_BENCHES = \
	PATH="$(abs_top_builddir)/bin:$(abs_top_srcdir)/bin:$$PATH" \
	SRC="$(abs_top_srcdir)" BUILD="$(abs_top_builddir)" JSON="$(JSON)" \
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

bench: all $(BENCH_BINARIES)
	@if test -n "$(AGAINST)"; then \
		env $(RUN_BENCHES) $(srcdir)/t/bench/compare $(AGAINST) \
			$(BENCHES); \
	else \
		env $(RUN_BENCHES) $(srcdir)/t/bench/run $(BENCHES); \
	fi

bench-full: all $(BENCH_BINARIES)
	@env $(RUN_BENCHES) BENCH_SIZE=full $(srcdir)/t/bench/run $(BENCHES)

# Measures the curves, and draws the picture of them in README.md.
bench-scaling: all $(BENCH_BINARIES)
	@env $(RUN_BENCHES) $(srcdir)/t/bench/run scaling
	@env $(RUN_BENCHES) $(srcdir)/t/bench/plot \
		t/bench/scaling.tsv $(srcdir)/man/scaling.svg

# Installs the programs of others that the benchmarks compare with, in the build
# tree.
bench-peers:
	@env $(RUN_BENCHES) $(srcdir)/t/bench/peers

.PHONY: bench bench-full bench-peers bench-scaling
