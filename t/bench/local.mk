# Speed: never part of pass or fail.  "make bench" prints JSON lines.


BENCHES = 
EXTRA_DIST += $(BENCHES)

bench: all %D%/bare
	@PATH="$(abs_top_builddir)/bin:$(abs_top_srcdir)/bin:$$PATH"; \
	BUILD="$(abs_top_builddir)"; \
	OPENBLAS_NUM_THREADS=1; export PATH BUILD OPENBLAS_NUM_THREADS; \
	for bench in $(BENCHES); do $(srcdir)/$$bench || exit; done

.PHONY: bench
