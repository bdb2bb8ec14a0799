lib_libps_a_SOURCES += \
	%D%/array.c \
	%D%/array.h \
	%D%/cache.c \
	%D%/cache.h \
	%D%/cache_file.c \
	%D%/cache_file.h \
	%D%/crc.c \
	%D%/crc.h \
	%D%/csv.c \
	%D%/digits.h \
	%D%/fill.c \
	%D%/fill.h \
	%D%/format.c \
	%D%/format.h \
	%D%/idx.c \
	%D%/lines.c \
	%D%/lines.h \
	%D%/npy.c \
	%D%/number.c \
	%D%/number.h \
	%D%/pairs.c \
	%D%/pairs.h \
	%D%/reader.c \
	%D%/reader.h \
	%D%/source.c \
	%D%/source.h \
	%D%/svmlight.c
