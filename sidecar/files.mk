# The sidecar: decodes a stream into batches of tensors, and forwards them.
# A mount may be built without it: configure --without-sidecar.
if SIDECAR
shufflefsincludedir = $(includedir)/shufflefs
shufflefsinclude_HEADERS = include/shufflefs/ioctl.h include/shufflefs/ring.h

# The library of trainers: only libc.
lib_LTLIBRARIES = libshufflefs-ring.la
libshufflefs_ring_la_SOURCES = sidecar/ring/ring-consumer.c sidecar/ring/ring-guard.h \
	sidecar/ring/ring-memory.h sidecar/ring/ring-sane.h
libshufflefs_ring_la_CPPFLAGS = -I$(srcdir)/include -I$(srcdir)/sidecar
libshufflefs_ring_la_CFLAGS = $(SFS_CFLAGS)
libshufflefs_ring_la_LDFLAGS = -pthread -version-info 0:0:0 -export-symbols-regex '^shufflefs_'
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = sidecar/ring/shufflefs-ring.pc

# Everything but main(), so that tests can link it.
noinst_LIBRARIES += libsidecar.a
libsidecar_a_SOURCES = \
	sidecar/options/options.c sidecar/options/options.h sidecar/options/options.def \
	 \
	sidecar/ring/device.c sidecar/ring/device.h \
	sidecar/ring/layout.c sidecar/ring/layout.h \
	sidecar/ring/local-socket.c sidecar/ring/local-socket.h \
	sidecar/ring/plugin.c sidecar/ring/plugin.h \
	sidecar/ring/ring.c sidecar/ring/ring.h \
	sidecar/ring/ring-consumer.c \
	sidecar/ring/ring-copies.c sidecar/ring/ring-copies.h \
	sidecar/ring/ring-dead.c sidecar/ring/ring-dead.h \
	sidecar/ring/ring-guard.h \
	sidecar/ring/ring-held.c sidecar/ring/ring-held.h \
	sidecar/ring/ring-internal.h \
	sidecar/ring/ring-memory.h \
	sidecar/ring/ring-past.c sidecar/ring/ring-past.h \
	sidecar/ring/ring-policy.h \
	sidecar/ring/ring-sane.h \
	sidecar/ring/ring-session.c sidecar/ring/ring-session.h \
	sidecar/ring/ring-sessions.c \
	sidecar/ring/ring-socket.c sidecar/ring/ring-socket.h \
	sidecar/ring/ring-state.c sidecar/ring/ring-state.h \
	sidecar/ring/ring-watch.c sidecar/ring/ring-watch.h \
	 \
	sidecar/decode/augment.c sidecar/decode/augment.h \
	sidecar/decode/cost.c sidecar/decode/cost.h \
	sidecar/decode/decode.c sidecar/decode/decode.h \
	sidecar/decode/decode-array.c sidecar/decode/decode-array.h \
	sidecar/decode/decode-jpeg.c sidecar/decode/decode-jpeg.h \
	sidecar/decode/decode-png.c sidecar/decode/decode-png.h \
	sidecar/decode/image.c sidecar/decode/image.h \
	sidecar/decode/input.c sidecar/decode/input.h \
	sidecar/decode/planes.c sidecar/decode/planes.h \
	sidecar/decode/png-sheet.c sidecar/decode/png-sheet.h \
	sidecar/decode/pool.c sidecar/decode/pool.h \
	sidecar/decode/records.c sidecar/decode/records.h \
	sidecar/decode/resample.c sidecar/decode/resample.h \
	sidecar/decode/sample.c sidecar/decode/sample.h \
	sidecar/decode/skips.c sidecar/decode/skips.h \
	sidecar/decode/spec.c sidecar/decode/spec.h \
	sidecar/decode/taps.c sidecar/decode/taps.h \
	 \
	sidecar/formats/tenbin.c sidecar/formats/tenbin.h \
	 \
	sidecar/samples/samples.c sidecar/samples/samples.h \
	sidecar/samples/samples-held.c sidecar/samples/samples-held.h \
	sidecar/samples/samples-giving.c \
	sidecar/samples/samples-server.c sidecar/samples/samples-server.h \
	sidecar/samples/samples-server-internal.h sidecar/samples/samples-trainers.c \
	sidecar/samples/samples-wire.c sidecar/samples/samples-wire.h \
	 \
	sidecar/transport/auth.c sidecar/transport/auth.h \
	sidecar/transport/guard.c sidecar/transport/guard.h \
	sidecar/transport/local.c \
	sidecar/transport/outbox.c sidecar/transport/outbox.h \
	sidecar/transport/patience.c sidecar/transport/patience.h \
	sidecar/transport/receive-loop.c sidecar/transport/receive-loop.h \
	sidecar/transport/reconnect.c sidecar/transport/reconnect.h \
	sidecar/transport/receiver.h \
	sidecar/transport/secret.c sidecar/transport/secret.h \
	sidecar/transport/sessions.c sidecar/transport/sessions.h \
	sidecar/transport/socket.c sidecar/transport/socket.h \
	sidecar/transport/tcp-receiver.c sidecar/transport/tcp-receiver-internal.h \
	sidecar/transport/tcp-receiver-connections.c \
	sidecar/transport/tcp-sender.c \
	sidecar/transport/transport.c sidecar/transport/transport.h \
	sidecar/transport/wire.c sidecar/transport/wire.h \
	 \
	sidecar/batch.c sidecar/batch.h \
	sidecar/command.h \
	sidecar/report.c sidecar/report.h \
	sidecar/window.c sidecar/window.h \
	 \
	rdma/nearest.c rdma/nearest.h \
	rdma/verbs-wire.c rdma/verbs-wire.h
libsidecar_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src -I$(srcdir)/include -I$(srcdir)/sidecar -I$(srcdir)/rdma
libsidecar_a_CFLAGS = $(SFS_CFLAGS) $(JPEG_CFLAGS) $(PNG_CFLAGS)
sidecar_libs = libsidecar.a $(core_libs) $(JPEG_LIBS) $(PNG_LIBS) -lm
else
sidecar_libs = $(core_libs)
endif

# A plug-in is a shared object that takes what is ours from the program (-export-dynamic).  It is
# linked without libtool, which would install a .la beside it.
plugindir = $(pkglibdir)
plugin_PROGRAMS =
if SIDECAR_ZMQ
plugin_PROGRAMS += zmq.so
zmq_so_SOURCES = \
	sidecar/formats/tenbin.c \
	sidecar/transport/zmq-receiver.c \
	sidecar/transport/zmq-sender.c \
	sidecar/transport/zmq-socket.c sidecar/transport/zmq-socket.h
zmq_so_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
zmq_so_CFLAGS = $(SFS_CFLAGS) $(ZMQ_CFLAGS) -fPIC
zmq_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SFS_LDFLAGS) -shared -Wl,-soname,zmq.so -o $@
zmq_so_LDADD = $(ZMQ_LIBS)
endif

# The program.  Plug-ins use its functions.
if SIDECAR
bin_PROGRAMS += shufflefs-sidecar
shufflefs_sidecar_SOURCES = sidecar/command.c sidecar/main.c sidecar/recv.c sidecar/send.c
nodist_shufflefs_sidecar_SOURCES = fusefs/commit.c
shufflefs_sidecar_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
shufflefs_sidecar_CFLAGS = $(SFS_CFLAGS)
shufflefs_sidecar_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
shufflefs_sidecar_LDADD = $(sidecar_libs)
endif
