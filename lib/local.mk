# One archive, never installed: the contracts we keep are the command lines,
# the wire and the file formats, not a C interface.

ARFLAGS = cr
noinst_LIBRARIES += %D%/libps.a

lib_libps_a_SOURCES =

EXTRA_DIST += %D%/LAYERS

include %D%/base/local.mk
include %D%/tensor/local.mk
include %D%/model/local.mk
include %D%/data/local.mk
include %D%/wire/local.mk
include %D%/store/local.mk
include %D%/shard/local.mk
include %D%/client/local.mk
include %D%/server/local.mk
include %D%/relay/local.mk
include %D%/worker/local.mk
include %D%/coord/local.mk
include %D%/sys/local.mk
include %D%/prog/local.mk
