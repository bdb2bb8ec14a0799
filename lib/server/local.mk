lib_libps_a_SOURCES += \
	%D%/changes.c \
	%D%/changes.h \
	%D%/parked.c \
	%D%/parked.h \
	%D%/primary.c \
	%D%/primary.h \
	%D%/recall.c \
	%D%/recall.h \
	%D%/server.c \
	%D%/server.h \
	%D%/server_changes.c \
	%D%/server_check.c \
	%D%/server_cuts.c \
	%D%/server_idle.c \
	%D%/server_inside.h \
	%D%/server_values.c \
	%D%/stage.c \
	%D%/stage.h \
	%D%/standby.c \
	%D%/standby.h
