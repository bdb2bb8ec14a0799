# Unit tests and end-to-end tests both speak TAP to the same driver.
# A unit test is one file, t/unit/NAME.c.

AM_DEFAULT_SOURCE_EXT = .c

UNITS =
UNITS += %D%/unit/apply
UNITS += %D%/unit/badinput
UNITS += %D%/unit/batch
UNITS += %D%/unit/batches
UNITS += %D%/unit/blocks
UNITS += %D%/unit/cache
UNITS += %D%/unit/changelog
UNITS += %D%/unit/checkpoint
UNITS += %D%/unit/checkpoint_damage
UNITS += %D%/unit/client
UNITS += %D%/unit/clip
UNITS += %D%/unit/cluster
UNITS += %D%/unit/cluster_run
UNITS += %D%/unit/cluster_sync
UNITS += %D%/unit/coord
UNITS += %D%/unit/dates
UNITS += %D%/unit/dedup
UNITS += %D%/unit/definitions
UNITS += %D%/unit/disk
UNITS += %D%/unit/doubt
UNITS += %D%/unit/early
UNITS += %D%/unit/elementary
UNITS += %D%/unit/endpoint
UNITS += %D%/unit/evaluator
UNITS += %D%/unit/exposition
UNITS += %D%/unit/external
UNITS += %D%/unit/follow
UNITS += %D%/unit/formats
UNITS += %D%/unit/gather
UNITS += %D%/unit/gradient
UNITS += %D%/unit/hostile
UNITS += %D%/unit/inbound
UNITS += %D%/unit/initializer
UNITS += %D%/unit/json
UNITS += %D%/unit/kernels
UNITS += %D%/unit/kinks
UNITS += %D%/unit/keys
UNITS += %D%/unit/layout
UNITS += %D%/unit/ledger
UNITS += %D%/unit/leases
UNITS += %D%/unit/lookup
UNITS += %D%/unit/loss
UNITS += %D%/unit/message
UNITS += %D%/unit/metric
UNITS += %D%/unit/model
UNITS += %D%/unit/names
UNITS += %D%/unit/net
UNITS += %D%/unit/npy
UNITS += %D%/unit/number
UNITS += %D%/unit/optimizer
UNITS += %D%/unit/pack
UNITS += %D%/unit/pairs
UNITS += %D%/unit/partition
UNITS += %D%/unit/parked
UNITS += %D%/unit/partings
UNITS += %D%/unit/peers
UNITS += %D%/unit/plan
UNITS += %D%/unit/prefetch
UNITS += %D%/unit/primary
UNITS += %D%/unit/queue
UNITS += %D%/unit/reader
UNITS += %D%/unit/recall
UNITS += %D%/unit/record
UNITS += %D%/unit/relay
UNITS += %D%/unit/replication
UNITS += %D%/unit/request
UNITS += %D%/unit/result
UNITS += %D%/unit/round
UNITS += %D%/unit/samples
UNITS += %D%/unit/schedule
UNITS += %D%/unit/server
UNITS += %D%/unit/session
UNITS += %D%/unit/shard
UNITS += %D%/unit/snapshots
UNITS += %D%/unit/source
UNITS += %D%/unit/pid
UNITS += %D%/unit/memory
UNITS += %D%/unit/pieces
UNITS += %D%/unit/split
UNITS += %D%/unit/stage
UNITS += %D%/unit/staleness
UNITS += %D%/unit/standby
UNITS += %D%/unit/strangers
UNITS += %D%/unit/streams
UNITS += %D%/unit/table
UNITS += %D%/unit/text
UNITS += %D%/unit/train
UNITS += %D%/unit/until
UNITS += %D%/unit/value
UNITS += %D%/unit/visible
UNITS += %D%/unit/whole
UNITS += %D%/unit/window
UNITS += %D%/unit/wire_page

HELPERS =
HELPERS += %D%/helper/flood
HELPERS += %D%/helper/freeze
HELPERS += %D%/helper/hostile
HELPERS += %D%/helper/stranger

BATS_TESTS =
BATS_TESTS += %D%/00-house.bats
BATS_TESTS += %D%/10-cli.bats
BATS_TESTS += %D%/20-badinput.bats
BATS_TESTS += %D%/30-ends.bats
BATS_TESTS += %D%/31-strangers.bats
BATS_TESTS += %D%/32-hostile.bats
BATS_TESTS += %D%/33-disk.bats
BATS_TESTS += %D%/34-fuzz.bats
BATS_TESTS += %D%/35-key.bats
BATS_TESTS += %D%/36-names.bats
BATS_TESTS += %D%/40-eval.bats
BATS_TESTS += %D%/42-cache.bats
BATS_TESTS += %D%/44-external.bats
BATS_TESTS += %D%/50-ckpt.bats
BATS_TESTS += %D%/50-train.bats
BATS_TESTS += %D%/55-tf.bats
BATS_TESTS += %D%/56-learns.bats
BATS_TESTS += %D%/57-counts.bats
BATS_TESTS += %D%/58-hash.bats
BATS_TESTS += %D%/59-before.bats
BATS_TESTS += %D%/60-exact.bats
BATS_TESTS += %D%/61-checkpoint.bats
BATS_TESTS += %D%/62-modes.bats
BATS_TESTS += %D%/63-ledger.bats
BATS_TESTS += %D%/64-moments.bats
BATS_TESTS += %D%/64-wire.bats
BATS_TESTS += %D%/65-restart.bats
BATS_TESTS += %D%/66-faults.bats
BATS_TESTS += %D%/66-prefetch.bats
BATS_TESTS += %D%/67-durable.bats
BATS_TESTS += %D%/68-far.bats
BATS_TESTS += %D%/68-hangs.bats
BATS_TESTS += %D%/68-idle.bats
BATS_TESTS += %D%/68-standby.bats
BATS_TESTS += %D%/69-nemesis.bats
BATS_TESTS += %D%/70-local.bats
BATS_TESTS += %D%/71-simulate.bats
BATS_TESTS += %D%/72-status.bats
BATS_TESTS += %D%/73-node.bats
BATS_TESTS += %D%/80-examples.bats
BATS_TESTS += %D%/80-pages.bats
BATS_TESTS += %D%/80-readme.bats
BATS_TESTS += %D%/85-bench.bats

check_PROGRAMS += $(UNITS) $(HELPERS)
TESTS += $(UNITS) $(BATS_TESTS)
EXTRA_DIST += $(BATS_TESTS)
EXTRA_DIST += %D%/counting.bash
EXTRA_DIST += %D%/coverage
EXTRA_DIST += %D%/debian
EXTRA_DIST += %D%/golden
EXTRA_DIST += %D%/helper/exact.py
EXTRA_DIST += %D%/helper/idx-split.py
EXTRA_DIST += %D%/helper/readme.sh
EXTRA_DIST += %D%/helper/sessions.sh
EXTRA_DIST += %D%/helper/strangers.py
EXTRA_DIST += %D%/helper/trip.py
EXTRA_DIST += %D%/helper/typist.sh
EXTRA_DIST += %D%/lib.bash
EXTRA_DIST += %D%/nemesis
EXTRA_DIST += %D%/nemesis-campaign
EXTRA_DIST += %D%/nemesis-table
EXTRA_DIST += %D%/prose
EXTRA_DIST += %D%/soak
EXTRA_DIST += %D%/storm
EXTRA_DIST += %D%/structure
EXTRA_DIST += %D%/unit/examples.h
EXTRA_DIST += %D%/unit/files.h
EXTRA_DIST += %D%/unit/inputs.h
EXTRA_DIST += %D%/unit/packet.h
EXTRA_DIST += %D%/unit/plain.h
EXTRA_DIST += %D%/unit/post.h
EXTRA_DIST += %D%/unit/rig.h
EXTRA_DIST += %D%/unit/script.h
EXTRA_DIST += %D%/unit/tap.h
EXTRA_DIST += %D%/unit/wires.h

TAP_DRIVER = env AM_TAP_AWK='$(AWK)' \
	$(SHELL) $(top_srcdir)/build-aux/tap-driver.sh

LOG_DRIVER = $(TAP_DRIVER)
TEST_EXTENSIONS = .bats
BATS_LOG_DRIVER = $(TAP_DRIVER)
BATS_LOG_COMPILER = $(BATS)
AM_BATS_LOG_FLAGS = --tap

AM_TESTS_ENVIRONMENT = \
	PATH="$(abs_top_srcdir)/t/helper:$$PATH"; \
	PATH="$(abs_top_builddir)/t/helper:$$PATH"; \
	PATH="$(abs_top_srcdir)/bin:$$PATH"; \
	PATH="$(abs_top_builddir)/bin:$$PATH"; \
	SRC="$(abs_top_srcdir)"; BUILD="$(abs_top_builddir)"; CC="$(CC)"; \
	BATS_TEST_TIMEOUT=300; OPENBLAS_NUM_THREADS=1; OMP_NUM_THREADS=1; \
	export PATH SRC BUILD CC BATS_TEST_TIMEOUT; \
	export OPENBLAS_NUM_THREADS OMP_NUM_THREADS;

.PHONY: coverage
coverage:
	@$(srcdir)/%D%/coverage
