lib_libps_a_SOURCES += \
	%D%/commit_log.c \
	%D%/commit_log.h \
	%D%/dedup.c \
	%D%/dedup.h \
	%D%/primary.c \
	%D%/primary.h \
	%D%/pull_keys.c \
	%D%/pull_keys.h \
	%D%/replication.c \
	%D%/replication.h \
	%D%/round_buffer.c \
	%D%/round_buffer.h \
	%D%/server.c \
	%D%/server.h \
	%D%/server_run.c \
	%D%/server_run.h \
	%D%/session.c \
	%D%/session.h \
	%D%/snapshots.c \
	%D%/snapshots.h \
	%D%/waiting_pulls.c \
	%D%/waiting_pulls.h
