lib_libps_a_SOURCES += \
	%D%/chunk.c \
	%D%/chunk.h \
	%D%/shard.c \
	%D%/shard.h \
	%D%/shard_ahead.c \
	%D%/shard_private.h \
	%D%/shard_published.c \
	%D%/shard_rows.c \
	%D%/shard_snapshot.c
