# The core library: everything but FUSE.  Headers beside sources; the floors are in
# src/floors.txt.
noinst_LTLIBRARIES += libshufflefs.la

libshufflefs_la_SOURCES = \
	src/alarms.c src/alarms.h \
	src/blame.c src/blame.h \
	src/budget.c src/budget.h \
	src/cause.c src/cause.h \
	src/cgroup.c src/cgroup.h \
	src/checksum.c src/checksum.h \
	src/clock.c src/clock.h \
	src/cond.c src/cond.h \
	src/deadlines.c src/deadlines.h \
	src/error.c src/error.h \
	src/estimate.c src/estimate.h \
	src/even.c src/even.h \
	src/hash.c src/hash.h \
	src/held.c src/held.h \
	src/ledger.c src/ledger.h \
	src/list.h \
	src/localfile.c src/localfile.h \
	src/lock.c src/lock.h src/locks.def \
	src/log.c src/log.h \
	src/mem.c src/mem.h \
	src/memory.c src/memory.h \
	src/meter.c src/meter.h \
	src/outbox.h \
	src/pace.c src/pace.h \
	src/pool.c src/pool.h \
	src/portion.c src/portion.h \
	src/pressure.c src/pressure.h \
	src/progress.c src/progress.h \
	src/rng.c src/rng.h \
	src/slab.c src/slab.h \
	src/stall.c src/stall.h \
	src/tail.c src/tail.h \
	src/text.c src/text.h \
	src/waiter.c src/waiter.h \
	\
	src/braces.c src/braces.h \
	src/counts.c src/counts.h \
	src/dali.c src/dali.h \
	src/edit.c src/edit.h \
	src/foreign.c src/foreign.h \
	src/group.c src/group.h \
	src/http.c src/http.h \
	src/json.c src/json.h \
	src/key.c src/key.h \
	src/magic.c src/magic.h \
	src/pax.c src/pax.h \
	src/scan.c src/scan.h \
	src/screen.c src/screen.h \
	src/tar.c src/tar.h \
	src/tarmember.c src/tarmember.h \
	src/uri.c src/uri.h \
	\
	src/answer.c src/answer.h \
	src/fetch.c src/fetch.h \
	src/headers.c src/headers.h \
	src/hosts.c src/hosts.h \
	src/outage.c src/outage.h \
	src/plain.c src/plain.h \
	src/retry.c src/retry.h \
	src/source.c src/source.h \
	src/source-file.c \
	src/source-http.c \
	src/wire.c src/wire.h \
	src/wires.c src/wires.h \
	\
	src/dataset.c src/dataset.h \
	src/deal.c src/deal.h \
	src/index.c src/index.h \
	src/lane.c src/lane.h \
	src/listing.c src/listing.h \
	src/map.c src/map.h \
	src/members.c src/members.h \
	src/name.c src/name.h \
	src/order.c src/order.h \
	src/picture.c src/picture.h \
	src/play.c src/play.h \
	src/quality.c src/quality.h \
	src/table.c src/table.h \
	\
	src/cat.c src/cat.h \
	src/census.c src/census.h \
	src/config.c src/config.h \
	src/control.c src/control.h \
	src/core.c src/core.h \
	src/cursor.c src/cursor.h \
	src/entries.c src/entries.h \
	src/env.h \
	src/epochs.c src/epochs.h \
	src/far.c src/far.h \
	src/gather.c src/gather.h \
	src/gauge.c src/gauge.h \
	src/grab.c src/grab.h \
	src/holes.c src/holes.h \
	src/identity.c src/identity.h \
	src/idx.c src/idx.h \
	src/indexer.c src/indexer.h \
	src/indexes.c src/indexes.h \
	src/indexing.c src/indexing.h \
	src/lanes.c src/lanes.h \
	src/names.c src/names.h \
	src/next.c src/next.h \
	src/options.c src/options.h src/options.def \
	src/plan.c src/plan.h \
	src/probe.c src/probe.h \
	src/pull.c src/pull.h \
	src/read.c src/read.h \
	src/run.c src/run.h \
	src/script.c src/script.h \
	src/shard.c src/shard.h \
	src/store.c src/store.h \
	src/stream.c src/stream.h \
	src/survey.c src/survey.h \
	src/thrift.c src/thrift.h \
	src/trails.c src/trails.h \
	src/tree.c src/tree.h \
	src/verdict.c src/verdict.h \
	src/walk.c src/walk.h \
	src/window.c src/window.h
libshufflefs_la_CFLAGS = $(SFS_CFLAGS) $(CURL_CFLAGS) $(ARCHIVE_CFLAGS) $(INIH_CFLAGS)
libshufflefs_la_LIBADD = $(CURL_LIBS) $(ARCHIVE_LIBS) $(INIH_LIBS)
