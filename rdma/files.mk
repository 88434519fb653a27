# Plug-ins of the sidecar that place batches by verbs and into GPU memory.
if SIDECAR_VERBS
plugin_PROGRAMS += rdma.so
rdma_so_SOURCES = \
	rdma/nearest.c \
	rdma/verbs-link.c rdma/verbs-link.h \
	rdma/verbs-placement.c rdma/verbs-placement.h \
	rdma/verbs-receiver.c rdma/verbs-receiver-internal.h \
	rdma/verbs-receiver-connections.c rdma/verbs-receiver-slots.c \
	rdma/verbs-sender.c rdma/verbs-sender-internal.h \
	rdma/verbs-sender-connecting.c \
	rdma/verbs-wire.c
rdma_so_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
rdma_so_CFLAGS = $(SFS_CFLAGS) $(VERBS_CFLAGS) -fPIC
rdma_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SFS_LDFLAGS) -shared -Wl,-soname,rdma.so -o $@
rdma_so_LDADD = $(VERBS_LIBS)
endif
if SIDECAR_CUDA
plugin_PROGRAMS += cuda.so
cuda_so_SOURCES = rdma/cuda-plugin.c sidecar/ring/device.h
cuda_so_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
cuda_so_CFLAGS = $(SFS_CFLAGS) $(CUDA_CFLAGS) -fPIC
cuda_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SFS_LDFLAGS) -shared -Wl,-soname,cuda.so -o $@
cuda_so_LDADD = $(CUDA_LIBS)
endif
