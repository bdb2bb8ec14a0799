lib_libps_a_SOURCES += \
	%D%/client.c \
	%D%/client.h \
	%D%/evaluation.c \
	%D%/evaluation.h \
	%D%/evaluator.c \
	%D%/evaluator.h \
	%D%/relay_link.c \
	%D%/relay_link.h \
	%D%/run.c \
	%D%/run.h \
	%D%/run_plan.c \
	%D%/stop_condition.c \
	%D%/stop_condition.h \
	%D%/submission.c \
	%D%/submission.h
