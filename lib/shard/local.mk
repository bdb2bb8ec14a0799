lib_libps_a_SOURCES += \
	%D%/chunk.c \
	%D%/chunk.h \
	%D%/shard.c \
	%D%/shard.h \
	%D%/shard_cut.c \
	%D%/shard_inside.h \
	%D%/shard_rows.c
