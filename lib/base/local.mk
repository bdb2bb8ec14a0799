lib_libps_a_SOURCES += \
	%D%/endpoint.c \
	%D%/endpoint.h \
	%D%/exposition.c \
	%D%/exposition.h \
	%D%/fail.c \
	%D%/fail.h \
	%D%/failpoint.c \
	%D%/failpoint.h \
	%D%/floats.c \
	%D%/floats.h \
	%D%/hash.c \
	%D%/hash.h \
	%D%/hold.c \
	%D%/hold.h \
	%D%/json.c \
	%D%/json.h \
	%D%/log.c \
	%D%/log.h \
	%D%/mem.c \
	%D%/mem.h \
	%D%/rng.c \
	%D%/rng.h \
	%D%/settings.c \
	%D%/settings.h \
	%D%/subnormal.h \
	%D%/text.c \
	%D%/text.h
