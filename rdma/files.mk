# The sidecar: decodes a stream into batches of tensors, and forwards them.
shufflefsincludedir = $(includedir)/shufflefs
shufflefsinclude_HEADERS = include/shufflefs/ioctl.h include/shufflefs/ring.h

# The library of trainers: only libc.
lib_LTLIBRARIES = libshufflefs-ring.la
libshufflefs_ring_la_SOURCES = rdma/ring-consumer.c rdma/ring-memory.h
libshufflefs_ring_la_CPPFLAGS = -I$(srcdir)/include -I$(srcdir)/rdma
libshufflefs_ring_la_CFLAGS = $(SFS_CFLAGS)
libshufflefs_ring_la_LDFLAGS = -pthread -version-info 0:0:0 -export-symbols-regex '^shufflefs_'
pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = rdma/shufflefs-ring.pc

# Everything but main(), so that tests can link it.
noinst_LIBRARIES += libsidecar.a
libsidecar_a_SOURCES = \
	rdma/augment.c rdma/augment.h \
	rdma/batch.c rdma/batch.h \
	rdma/command.h \
	rdma/decode-array.c rdma/decode-array.h \
	rdma/decode-jpeg.c rdma/decode-jpeg.h \
	rdma/decode.c rdma/decode.h \
	rdma/device.c rdma/device.h \
	rdma/image.c rdma/image.h \
	rdma/input.c rdma/input.h \
	rdma/layout.c rdma/layout.h \
	rdma/local-socket.c rdma/local-socket.h \
	rdma/local.c \
	rdma/nearest.c rdma/nearest.h \
	rdma/outbox.c rdma/outbox.h \
	rdma/plugin.c rdma/plugin.h \
	rdma/png-decode.c rdma/png-decode.h \
	rdma/png-sheet.c rdma/png-sheet.h \
	rdma/pool.c rdma/pool.h \
	rdma/receiver.h \
	rdma/records.c rdma/records.h \
	rdma/report.c rdma/report.h \
	rdma/resample.c rdma/resample.h \
	rdma/ring.c rdma/ring.h \
	rdma/ring-consumer.c \
	rdma/ring-copies.c rdma/ring-copies.h \
	rdma/ring-memory.h \
	rdma/ring-past.c rdma/ring-past.h \
	rdma/sample.c rdma/sample.h \
	rdma/samples-held.c rdma/samples-held.h \
	rdma/samples-server.c rdma/samples-server.h \
	rdma/samples-wire.c rdma/samples-wire.h \
	rdma/samples.c rdma/samples.h \
	rdma/sessions.c rdma/sessions.h \
	rdma/socket.c rdma/socket.h \
	rdma/spec.c rdma/spec.h \
	rdma/tcp-receiver.c \
	rdma/tcp.c \
	rdma/tenbin.c rdma/tenbin.h \
	rdma/transport.c rdma/transport.h \
	rdma/window.c rdma/window.h \
	rdma/verbs-wire.c rdma/verbs-wire.h \
	rdma/wire.c rdma/wire.h
libsidecar_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src -I$(srcdir)/include -I$(srcdir)/rdma
libsidecar_a_CFLAGS = $(SFS_CFLAGS) $(JPEG_CFLAGS) $(PNG_CFLAGS)
sidecar_libs = libsidecar.a $(core_libs) $(JPEG_LIBS) $(PNG_LIBS) -lm

# A plug-in is a shared object that takes what is ours from the program (-export-dynamic).  It is
# linked without libtool, which would install a .la beside it.
plugindir = $(pkglibdir)
plugin_PROGRAMS =
if SIDECAR_VERBS
plugin_PROGRAMS += rdma.so
rdma_so_SOURCES = \
	rdma/nearest.c \
	rdma/verbs-link.c rdma/verbs-link.h \
	rdma/verbs-placement.c rdma/verbs-placement.h \
	rdma/verbs-receiver.c \
	rdma/verbs-sender.c \
	rdma/verbs-wire.c
rdma_so_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
rdma_so_CFLAGS = $(SFS_CFLAGS) $(VERBS_CFLAGS) -fPIC
rdma_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SFS_LDFLAGS) -shared -Wl,-soname,rdma.so -o $@
rdma_so_LDADD = $(VERBS_LIBS)
endif
if SIDECAR_ZMQ
plugin_PROGRAMS += zmq.so
zmq_so_SOURCES = \
	rdma/tenbin.c \
	rdma/zmq-receiver.c \
	rdma/zmq-sender.c \
	rdma/zmq-socket.c rdma/zmq-socket.h
zmq_so_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
zmq_so_CFLAGS = $(SFS_CFLAGS) $(ZMQ_CFLAGS) -fPIC
zmq_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SFS_LDFLAGS) -shared -Wl,-soname,zmq.so -o $@
zmq_so_LDADD = $(ZMQ_LIBS)
endif
if SIDECAR_CUDA
plugin_PROGRAMS += cuda.so
cuda_so_SOURCES = rdma/cuda-plugin.c rdma/device.h
cuda_so_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
cuda_so_CFLAGS = $(SFS_CFLAGS) $(CUDA_CFLAGS) -fPIC
cuda_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SFS_LDFLAGS) -shared -Wl,-soname,cuda.so -o $@
cuda_so_LDADD = $(CUDA_LIBS)
endif

# The program.  Plug-ins use its functions.
bin_PROGRAMS += shufflefs-sidecar
shufflefs_sidecar_SOURCES = rdma/command.c rdma/main.c rdma/recv.c rdma/send.c
nodist_shufflefs_sidecar_SOURCES = fusefs/commit.c
shufflefs_sidecar_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
shufflefs_sidecar_CFLAGS = $(SFS_CFLAGS)
shufflefs_sidecar_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
shufflefs_sidecar_LDADD = $(sidecar_libs)
