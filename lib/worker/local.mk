lib_libps_a_SOURCES += \
	%D%/batches.c \
	%D%/batches.h \
	%D%/evaluate.c \
	%D%/evaluate.h \
	%D%/index.c \
	%D%/index.h \
	%D%/leases.c \
	%D%/leases.h \
	%D%/pipeline.c \
	%D%/pipeline.h \
	%D%/residuals.c \
	%D%/residuals.h \
	%D%/worker.c \
	%D%/worker.h
