# Programs that measure; neither `make` nor `make check` builds them.
EXTRA_PROGRAMS += bench/order bench/order-table bench/sign-loop

bench_order_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src
bench_order_CFLAGS = $(SFS_CFLAGS)
bench_order_LDFLAGS = $(SFS_LDFLAGS)
bench_order_LDADD = $(core_libs)
bench_order_table_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src
bench_order_table_CFLAGS = $(SFS_CFLAGS)
bench_order_table_LDFLAGS = $(SFS_LDFLAGS)
bench_order_table_LDADD = $(core_libs) -lm
bench_sign_loop_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src
bench_sign_loop_CFLAGS = $(SFS_CFLAGS)
bench_sign_loop_LDFLAGS = $(SFS_LDFLAGS)
bench_sign_loop_LDADD = $(core_libs)
CLEANFILES += bench/order$(EXEEXT) bench/order-table$(EXEEXT) bench/sign-loop$(EXEEXT)

if SIDECAR
EXTRA_PROGRAMS += bench/ring-reader bench/ring-filler bench/jpeg-loop

bench_ring_reader_CPPFLAGS = -I$(srcdir)/include
bench_ring_reader_CFLAGS = $(SFS_CFLAGS)
bench_ring_reader_LDFLAGS = $(SFS_LDFLAGS) -static-libtool-libs
bench_ring_reader_LDADD = libshufflefs-ring.la
bench_ring_filler_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
bench_ring_filler_CFLAGS = $(SFS_CFLAGS)
bench_ring_filler_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
bench_ring_filler_LDADD = $(sidecar_libs)
bench_jpeg_loop_CPPFLAGS = $(libsidecar_a_CPPFLAGS)
bench_jpeg_loop_CFLAGS = $(SFS_CFLAGS) $(JPEG_CFLAGS)
bench_jpeg_loop_LDFLAGS = $(SFS_LDFLAGS)
bench_jpeg_loop_LDADD = $(sidecar_libs)
CLEANFILES += bench/ring-reader$(EXEEXT) bench/ring-filler$(EXEEXT) bench/jpeg-loop$(EXEEXT)
endif

# What Makefile.am's dist-hook does not find by its ending.
EXTRA_DIST += bench/converted bench/far bench/index bench/link bench/plot bench/rdma bench/sidecar bench/stores bench/sweep
