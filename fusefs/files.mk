# The `shufflefs` command: the mount over libfuse, and the doors to the rest.
bin_PROGRAMS += shufflefs

shufflefs_SOURCES = \
	fusefs/bench.c fusefs/bench.h \
	fusefs/session-io.c fusefs/session-io.h \
	fusefs/cmdline.c fusefs/cmdline.h \
	fusefs/daemon.c fusefs/daemon.h \
	fusefs/main.c \
	fusefs/mount.c fusefs/mount.h \
	fusefs/mountpoint.c fusefs/mountpoint.h \
	fusefs/ops.c fusefs/ops.h \
	fusefs/pending.c fusefs/pending.h \
	fusefs/peek.c fusefs/peek.h \
	fusefs/top.c fusefs/top.h \
	fusefs/temp-mount.c fusefs/temp-mount.h \
	fusefs/watchdog.c fusefs/watchdog.h
shufflefs_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src
shufflefs_CFLAGS = $(SFS_CFLAGS) $(FUSE_CFLAGS)
shufflefs_LDFLAGS = $(SFS_LDFLAGS)
shufflefs_LDADD = libshufflefs.la $(FUSE_LIBS)
