# Speed: never part of pass or fail.  "make bench" prints JSON lines.

EXTRA_PROGRAMS += %D%/bare %D%/kernels %D%/hashrows %D%/keys

BENCHES = %D%/startup %D%/steps %D%/memory
EXTRA_DIST += $(BENCHES) %D%/bench.h
CLEANFILES += %D%/bare %D%/kernels %D%/hashrows %D%/keys

bench: all %D%/bare %D%/kernels %D%/hashrows %D%/keys
	@PATH="$(abs_top_builddir)/bin:$(abs_top_srcdir)/bin:$$PATH"; \
	BUILD="$(abs_top_builddir)"; \
	OPENBLAS_NUM_THREADS=1; export PATH BUILD OPENBLAS_NUM_THREADS; \
	for bench in $(BENCHES); do $(srcdir)/$$bench || exit; done

.PHONY: bench
