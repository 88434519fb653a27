# Programs that measure; neither `make` nor `make check` builds them.
EXTRA_PROGRAMS += bench/order

bench_order_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src
bench_order_CFLAGS = $(SFS_CFLAGS)
bench_order_LDFLAGS = $(SFS_LDFLAGS)
bench_order_LDADD = libshufflefs.la
CLEANFILES += bench/order$(EXEEXT)

# What Makefile.am's dist-hook does not find by its ending.
EXTRA_DIST += bench/converted bench/far bench/index bench/link bench/plot bench/sweep
