# Speed: never part of pass or fail.  "make bench" prints JSON lines.

EXTRA_PROGRAMS += %D%/bare

BENCHES = %D%/startup %D%/steps %D%/memory %D%/stragglers
EXTRA_DIST += $(BENCHES)
CLEANFILES += %D%/bare

bench: all %D%/bare
	@PATH="$(abs_top_builddir)/bin:$(abs_top_srcdir)/bin:$$PATH"; \
	BUILD="$(abs_top_builddir)"; \
	OPENBLAS_NUM_THREADS=1; export PATH BUILD OPENBLAS_NUM_THREADS; \
	for bench in $(BENCHES); do $(srcdir)/$$bench || exit; done

.PHONY: bench
