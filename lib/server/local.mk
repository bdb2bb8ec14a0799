lib_libps_a_SOURCES += \
	%D%/changes.c \
	%D%/changes.h \
	%D%/dedup.c \
	%D%/dedup.h \
	%D%/parked.c \
	%D%/parked.h \
	%D%/primary.c \
	%D%/primary.h \
	%D%/recall.c \
	%D%/recall.h \
	%D%/replication.c \
	%D%/replication.h \
	%D%/server.c \
	%D%/server.h \
	%D%/server_run.c \
	%D%/server_run.h \
	%D%/session.c \
	%D%/session.h \
	%D%/snapshots.c \
	%D%/snapshots.h \
	%D%/stage.c \
	%D%/stage.h
