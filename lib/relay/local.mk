lib_libps_a_SOURCES += \
	%D%/letter.c \
	%D%/letter.h \
	%D%/node_sums.c \
	%D%/node_sums.h \
	%D%/relay.c \
	%D%/relay.h \
	%D%/forwarder.c \
	%D%/forwarder.h
