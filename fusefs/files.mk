# The `shufflefs` command: the mount over libfuse, and all other commands.
bin_PROGRAMS += shufflefs

shufflefs_SOURCES = \
	fusefs/bench.c fusefs/bench.h \
	fusefs/cmdline.c fusefs/cmdline.h \
	fusefs/commands.c fusefs/commands.h \
	fusefs/daemon.c fusefs/daemon.h \
	fusefs/daemon-signals.c fusefs/daemon-signals.h \
	fusefs/help.c fusefs/help.h \
	fusefs/ioctl.c fusefs/ioctl.h \
	fusefs/main.c \
	fusefs/mount.c fusefs/mount.h \
	fusefs/mount-helper.c fusefs/mount-helper.h \
	fusefs/mountpoint.c fusefs/mountpoint.h \
	fusefs/notify.c fusefs/notify.h \
	fusefs/ops.c fusefs/ops.h \
	fusefs/pages.c fusefs/pages.h \
	fusefs/pending.c fusefs/pending.h \
	fusefs/peek.c fusefs/peek.h \
	fusefs/session-io.c fusefs/session-io.h \
	fusefs/temp-mount.c fusefs/temp-mount.h \
	fusefs/top.c fusefs/top.h \
	fusefs/unmount.c fusefs/unmount.h \
	fusefs/watchdog.c fusefs/watchdog.h \
	 \
	fusefs/forward/command.c fusefs/forward/command.h \
	fusefs/forward/feeder.c fusefs/forward/feeder.h \
	fusefs/forward/forward.c fusefs/forward/forward.h fusefs/forward/forward-internal.h \
	fusefs/forward/forward-watch.c \
	fusefs/forward/ioctl.c fusefs/forward/ioctl.h \
	fusefs/forward/report.c fusefs/forward/report.h \
	fusefs/forward/sidecar.c fusefs/forward/sidecar.h \
	fusefs/forward/target.c fusefs/forward/target.h \
	sidecar/options/options.c sidecar/options/options.h sidecar/options/options.def
shufflefs_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src -I$(srcdir)/include -I$(srcdir)/fusefs -I$(srcdir)/sidecar -DBINDIR='"$(bindir)"'
shufflefs_CFLAGS = $(SFS_CFLAGS) $(FUSE_CFLAGS)
shufflefs_LDFLAGS = $(SFS_LDFLAGS)
shufflefs_LDADD = $(core_libs) $(FUSE_LIBS)

# The commit that is built, or the one that a tarball was made from (see dist-hook).
nodist_shufflefs_SOURCES = fusefs/commit.c
CLEANFILES += fusefs/commit.c
fusefs/commit.c: always
	@$(MKDIR_P) fusefs; commit=`cat '$(srcdir)/.commit' 2>/dev/null`; \
	if test -e '$(srcdir)/.git'; then \
	  commit=`cd '$(srcdir)' && GIT_OPTIONAL_LOCKS=0 git describe --always --dirty 2>/dev/null`; \
	fi; \
	printf 'extern const char sfs_commit[];\nconst char sfs_commit[] = "%s";\n' "$$commit" >$@.tmp; \
	if cmp -s $@.tmp $@; then rm $@.tmp; else mv $@.tmp $@; fi
always:
.PHONY: always
