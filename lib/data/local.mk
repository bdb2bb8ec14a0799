lib_libps_a_SOURCES +=
