lib_libps_a_SOURCES += \
	%D%/worker.c \
	%D%/worker.h \
	%D%/worker_check.c \
	%D%/worker_data.c \
	%D%/worker_evaluation.c \
	%D%/worker_inside.h \
	%D%/worker_lease.c \
	%D%/worker_step.c
