# Speed: never part of pass or fail.  "make bench" prints JSON lines.

EXTRA_PROGRAMS += %D%/bare
EXTRA_PROGRAMS += %D%/cache
EXTRA_PROGRAMS += %D%/parse

BENCHES = %D%/startup %D%/steps %D%/memory
EXTRA_DIST += $(BENCHES)
CLEANFILES += %D%/bare
CLEANFILES += %D%/cache
CLEANFILES += %D%/parse
EXTRA_DIST += %D%/text.h

bench: all %D%/bare %D%/cache %D%/parse
	@PATH="$(abs_top_builddir)/bin:$(abs_top_srcdir)/bin:$$PATH"; \
	BUILD="$(abs_top_builddir)"; \
	OPENBLAS_NUM_THREADS=1; export PATH BUILD OPENBLAS_NUM_THREADS; \
	for bench in $(BENCHES); do $(srcdir)/$$bench || exit; done; \
	%D%/parse && %D%/cache

.PHONY: bench
