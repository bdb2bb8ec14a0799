lib_libps_a_SOURCES += \
	%D%/apply.c \
	%D%/apply.h \
	%D%/clip.c \
	%D%/clip.h \
	%D%/clones.h \
	%D%/initializer.c \
	%D%/initializer.h \
	%D%/kernels.c \
	%D%/kernels.h \
	%D%/optimizer.c \
	%D%/optimizer.h \
	%D%/optimizer_adadelta.c \
	%D%/optimizer_adagrad.c \
	%D%/optimizer_adam.c \
	%D%/optimizer_ftrl.c \
	%D%/optimizer_kind.h \
	%D%/optimizer_lion.c \
	%D%/optimizer_rmsprop.c \
	%D%/optimizer_sgd.c \
	%D%/partition.c \
	%D%/partition.h \
	%D%/schedule.c \
	%D%/schedule.h \
	%D%/shape.c \
	%D%/shape.h \
	%D%/variable.h
