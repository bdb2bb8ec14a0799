# Fuzz targets, one file each for what reads bytes from outside.
#
# "make check" runs the files of t/fuzz/corpus once through each.  "make fuzz"
# has libFuzzer look for more, FUZZ_SECONDS for each target; it wants clang,
# and builds the library for itself in t/fuzz/build.  FUZZ=NAME... are the
# targets; what it finds new is added to t/fuzz/build/NAME.corpus.

FUZZ_TARGETS = answer array_npy array_npz bundle cache cluster codec csv \
	idx keys manifest message model npy npz plan queue record_log \
	request result safetensors samples svmlight tar tsv
FUZZ = $(FUZZ_TARGETS)
FUZZ_SECONDS = 60

FUZZERS = \
	%D%/answer %D%/array_npy %D%/array_npz %D%/bundle %D%/cache \
	%D%/cluster %D%/codec %D%/csv %D%/idx %D%/keys \
	%D%/manifest %D%/message %D%/model %D%/npy %D%/npz %D%/plan \
	%D%/queue %D%/record_log %D%/request %D%/result \
	%D%/safetensors %D%/samples %D%/svmlight %D%/tar %D%/tsv

check_PROGRAMS += $(FUZZERS)
%C%_answer_SOURCES = %D%/answer.c %D%/main.c
%C%_array_npy_SOURCES = %D%/array_npy.c %D%/main.c
%C%_array_npz_SOURCES = %D%/array_npz.c %D%/main.c
%C%_bundle_SOURCES = %D%/bundle.c %D%/main.c
%C%_cache_SOURCES = %D%/cache.c %D%/main.c
%C%_cluster_SOURCES = %D%/cluster.c %D%/main.c
%C%_codec_SOURCES = %D%/codec.c %D%/main.c
%C%_csv_SOURCES = %D%/csv.c %D%/main.c
%C%_idx_SOURCES = %D%/idx.c %D%/main.c
%C%_keys_SOURCES = %D%/keys.c %D%/main.c
%C%_manifest_SOURCES = %D%/manifest.c %D%/main.c
%C%_message_SOURCES = %D%/message.c %D%/main.c
%C%_model_SOURCES = %D%/model.c %D%/main.c
%C%_npy_SOURCES = %D%/npy.c %D%/main.c
%C%_npz_SOURCES = %D%/npz.c %D%/main.c
%C%_plan_SOURCES = %D%/plan.c %D%/main.c
%C%_queue_SOURCES = %D%/queue.c %D%/main.c
%C%_record_log_SOURCES = %D%/record_log.c %D%/main.c
%C%_request_SOURCES = %D%/request.c %D%/main.c
%C%_result_SOURCES = %D%/result.c %D%/main.c
%C%_safetensors_SOURCES = %D%/safetensors.c %D%/main.c
%C%_samples_SOURCES = %D%/samples.c %D%/main.c
%C%_svmlight_SOURCES = %D%/svmlight.c %D%/main.c
%C%_tar_SOURCES = %D%/tar.c %D%/main.c
%C%_tsv_SOURCES = %D%/tsv.c %D%/main.c

EXTRA_DIST += %D%/corpus %D%/fuzz.h %D%/reader.h

FUZZ_FLAGS = -std=c11 -O1 -g -fsanitize=address,undefined \
	-fno-sanitize-recover=undefined -DPS_DEV
FUZZ_CC = $(CLANG) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) \
	$(MATH_CFLAGS) $(ZMQ_CFLAGS) $(MSGPACK_CFLAGS) $(ARCHIVE_CFLAGS) \
	$(JANSSON_CFLAGS) $(XXHASH_CFLAGS) $(BLAS_CFLAGS) $(FUZZ_FLAGS)

%D%/build/libps.a: $(lib_libps_a_SOURCES)
	@test "$(CLANG)" != false || \
		{ echo "make fuzz: there is no clang" >&2; exit 1; }
	@$(MKDIR_P) %D%/build
	@rm -f $@
	@for file in $(lib_libps_a_SOURCES); do \
		case $$file in *.c) ;; *) continue ;; esac; \
		to=%D%/build/`echo $$file | tr / _`.o; \
		$(FUZZ_CC) -fsanitize=fuzzer-no-link -c -o $$to \
			$(srcdir)/$$file || exit; \
		$(AR) cr $@ $$to || exit; \
	done

fuzz: %D%/build/libps.a
	@for name in $(FUZZ); do \
		$(FUZZ_CC) -fsanitize=fuzzer -iquote $(srcdir)/%D% \
			-o %D%/build/$$name $(srcdir)/%D%/$$name.c $< \
			$(LDADD:lib/libps.a=) $(LIBS) && \
		$(MKDIR_P) %D%/build/$$name.corpus && \
		echo "== $$name" && \
		%D%/build/$$name -max_total_time=$(FUZZ_SECONDS) \
			-timeout=10 -rss_limit_mb=1024 -print_final_stats=1 \
			-artifact_prefix=%D%/build/$$name. \
			%D%/build/$$name.corpus \
			$(srcdir)/%D%/corpus/$$name 2>%D%/build/$$name.log || \
		{ tail -n 40 %D%/build/$$name.log; exit 1; }; \
		grep -E 'Done|number_of_executed' %D%/build/$$name.log; \
	done

fuzz-clean:
	rm -rf %D%/build

clean-local: fuzz-clean

.PHONY: fuzz fuzz-clean
