lib_libps_a_SOURCES += \
	%D%/codec.c \
	%D%/codec.h \
	%D%/codec_bfloat16.c \
	%D%/codec_float32.c \
	%D%/codec_int8.c \
	%D%/coding.c \
	%D%/coding.h \
	%D%/fields.h \
	%D%/gradient_tree.c \
	%D%/gradient_tree.h \
	%D%/keys.c \
	%D%/keys.h \
	%D%/message.c \
	%D%/message.h \
	%D%/outbox.h \
	%D%/pack.c \
	%D%/pack.h \
	%D%/plan.c \
	%D%/plan.h \
	%D%/plan_print.c \
	%D%/result.c \
	%D%/result.h \
	%D%/result_json.c \
	%D%/result_json.h \
	%D%/row_list.c \
	%D%/row_list.h
