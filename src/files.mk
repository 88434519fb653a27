# The core library: everything but FUSE, room by room (src/layers.txt).  Headers beside sources.
noinst_LIBRARIES += libshufflefs.a

libshufflefs_a_SOURCES = \
	src/base/alloc.c src/base/alloc.h \
	src/base/cause.c src/base/cause.h \
	src/base/base64.c src/base/base64.h \
	src/base/cgroup.c src/base/cgroup.h \
	src/base/checksum.c src/base/checksum.h \
	src/base/clock.c src/base/clock.h \
	src/base/cond.c src/base/cond.h \
	src/base/crypto.c src/base/crypto.h \
	src/base/deadlines.c src/base/deadlines.h \
	src/base/deferred.h \
	src/base/error.c src/base/error.h \
	src/base/eta.c src/base/eta.h \
	src/base/json.c src/base/json.h \
	src/base/json-find.c src/base/json-find.h \
	src/base/json-writer.c src/base/json-writer.h \
	src/base/keyhash.c src/base/keyhash.h \
	src/base/ledger.c src/base/ledger.h \
	src/base/list.h \
	src/base/localfile.c src/base/localfile.h \
	src/base/lock.c src/base/lock.h \
	src/base/locks.def \
	src/base/log.c src/base/log.h \
	src/base/pieces.h \
	src/base/process.c src/base/process.h \
	src/base/progress.c src/base/progress.h \
	src/base/ratemeter.c src/base/ratemeter.h \
	src/base/reload.c src/base/reload.h \
	src/base/rng.c src/base/rng.h \
	src/base/stack.c src/base/stack.h \
	src/base/signals.c src/base/signals.h \
	src/base/stall.c src/base/stall.h \
	src/base/strbuf.c src/base/strbuf.h \
	src/base/threadpool.c src/base/threadpool.h \
	src/base/timer.c src/base/timer.h \
	src/base/waiter.c src/base/waiter.h \
	src/base/waits.c src/base/waits.h \
	src/base/xml.c src/base/xml.h \
	 \
	src/memory/blocks.c src/memory/blocks.h \
	src/memory/budget.c src/memory/budget.h \
	src/memory/charge.c src/memory/charge.h \
	src/memory/huge.c src/memory/huge.h \
	src/memory/limit.c src/memory/limit.h \
	src/memory/psi.c src/memory/psi.h \
	src/memory/slab.c src/memory/slab.h \
	 \
	src/tar/entry.c src/tar/entry.h \
	src/tar/header.c src/tar/header.h \
	src/tar/key.c src/tar/key.h \
	src/tar/libarchive.c src/tar/libarchive.h \
	src/tar/magic.c src/tar/magic.h \
	src/tar/pax.c src/tar/pax.h \
	src/tar/resync.c src/tar/resync.h \
	src/tar/rewrite.c src/tar/rewrite.h \
	src/tar/scan.c src/tar/scan.h \
	src/tar/sparse.c src/tar/sparse.h \
	 \
	src/source/file.c \
	src/source/folder.c src/source/folder.h \
	src/source/key-pattern.c src/source/key-pattern.h \
	src/source/netpath.c src/source/netpath.h \
	src/source/retry.c src/source/retry.h \
	src/source/source.c src/source/source.h \
	src/source/target.c src/source/target.h \
	src/source/uri.c src/source/uri.h \
	 \
	src/source/http/ahead.c src/source/http/ahead.h \
	src/source/http/bearer.c src/source/http/bearer.h \
	src/source/http/concurrency.c src/source/http/concurrency.h \
	src/source/http/conncache.c src/source/http/conncache.h \
	src/source/http/credentials.c src/source/http/credentials.h \
	src/source/http/curl-call.c src/source/http/curl-call.h \
	src/source/http/curl-get.c src/source/http/curl-get.h \
	src/source/http/curl-setup.c src/source/http/curl-setup.h \
	src/source/http/curl-url.c src/source/http/curl-url.h \
	src/source/http/dialect.h \
	src/source/http/failure.c src/source/http/failure.h \
	src/source/http/fetch.c src/source/http/fetch.h src/source/http/fetch-internal.h \
	src/source/http/fetch-times.c \
	src/source/http/fetch-options.h \
	src/source/http/get.h \
	src/source/http/headers.c src/source/http/headers.h \
	src/source/http/header-command.c src/source/http/header-command.h \
	src/source/http/header-lines.c src/source/http/header-lines.h \
	src/source/http/hedge.c src/source/http/hedge.h \
	src/source/http/http1.c src/source/http/http1.h \
	src/source/http/http1-get.c src/source/http/http1-get.h \
	src/source/http/http1-request.c src/source/http/http1-request.h \
	src/source/http/http-source.c src/source/http/http-source.h \
	src/source/http/job.c src/source/http/job.h \
	src/source/http/key-url.c src/source/http/key-url.h \
	src/source/http/keys.c src/source/http/keys.h \
	src/source/http/latency.c src/source/http/latency.h \
	src/source/http/listing.c src/source/http/listing.h \
	src/source/http/origin.c src/source/http/origin.h \
	src/source/http/outage.c src/source/http/outage.h \
	src/source/http/plain.c \
	src/source/http/receive.c src/source/http/receive.h \
	src/source/http/renewal.c src/source/http/renewal.h \
	src/source/http/response.c src/source/http/response.h \
	src/source/http/server-clock.c src/source/http/server-clock.h \
	src/source/http/show-words.c src/source/http/show-words.h \
	src/source/http/token-json.c src/source/http/token-json.h \
	src/source/http/transfer.c src/source/http/transfer.h \
	src/source/http/user-headers.c src/source/http/user-headers.h \
	src/source/http/whole.c src/source/http/whole.h \
	 \
	src/source/ais/ais.c src/source/ais/ais.h \
	src/source/ais/ais-page.c src/source/ais/ais-page.h \
	src/source/ais/ais-refusal.c src/source/ais/ais-refusal.h \
	src/source/ais/ais-token.c src/source/ais/ais-token.h \
	src/source/ais/ais-version.c src/source/ais/ais-version.h \
	 \
	src/source/azure/azure.c src/source/azure/azure.h \
	src/source/azure/azure-account.c src/source/azure/azure-account.h \
	src/source/azure/azure-credentials.c src/source/azure/azure-credentials.h \
	src/source/azure/azure-page.c src/source/azure/azure-page.h \
	src/source/azure/azure-refusal.c src/source/azure/azure-refusal.h \
	src/source/azure/azure-sign.c src/source/azure/azure-sign.h \
	src/source/hf/hf.c src/source/hf/hf.h \
	src/source/hf/hf-internal.h src/source/hf/hf-listing.c \
	src/source/hf/hf-name.c src/source/hf/hf-name.h \
	src/source/hf/hf-page.c src/source/hf/hf-page.h \
	src/source/hf/hf-refusal.c src/source/hf/hf-refusal.h \
	src/source/hf/hf-token.c src/source/hf/hf-token.h \
	 \
	src/source/s3/aws-credentials.c src/source/s3/aws-credentials.h \
	src/source/s3/aws-profile.c src/source/s3/aws-profile.h \
	src/source/s3/google-credentials.c src/source/s3/google-credentials.h \
	src/source/s3/google-federation.c src/source/s3/google-federation.h \
	src/source/s3/google-jwt.c src/source/s3/google-jwt.h \
	src/source/s3/s3.c src/source/s3/s3.h \
	src/source/s3/s3-kind.c src/source/s3/s3-kind.h \
	src/source/s3/s3-page.c src/source/s3/s3-page.h \
	src/source/s3/s3-refusal.c src/source/s3/s3-refusal.h \
	src/source/s3/s3-url.c src/source/s3/s3-url.h \
	src/source/s3/sigv4.c src/source/s3/sigv4.h \
	 \
	src/source/webhdfs/webhdfs.c src/source/webhdfs/webhdfs.h \
	src/source/webhdfs/webhdfs-page.c src/source/webhdfs/webhdfs-page.h \
	src/source/webhdfs/webhdfs-refusal.c src/source/webhdfs/webhdfs-refusal.h \
	src/source/webhdfs/webhdfs-token.c src/source/webhdfs/webhdfs-token.h \
	src/source/webhdfs/webhdfs-url.c src/source/webhdfs/webhdfs-url.h \
	src/source/webhdfs/webhdfs-walk.c src/source/webhdfs/webhdfs-walk.h \
	 \
	src/order/block.c src/order/block.h \
	src/order/cuts.c src/order/cuts.h \
	src/order/grid.c src/order/grid.h \
	src/order/iterate.c src/order/iterate.h \
	src/order/locate.c src/order/locate.h \
	src/order/locate-known.c src/order/locate-known.h \
	src/order/locate-single.c src/order/locate-single.h \
	src/order/merge.c src/order/merge.h \
	src/order/lookup.c src/order/lookup.h \
	src/order/name.c src/order/name.h \
	src/order/numbering.c src/order/numbering.h \
	src/order/order.c src/order/order.h \
	src/order/partition.c src/order/partition.h \
	src/order/plot.c src/order/plot.h \
	src/order/quality.c src/order/quality.h \
	src/order/samples.c src/order/samples.h \
	src/order/spot.h \
	src/order/sums.c src/order/sums.h \
	src/order/worth.c src/order/worth.h \
	 \
	src/config/conceal.c src/config/conceal.h \
	src/config/help-text.c src/config/help-text.h \
	src/config/ini.c src/config/ini.h \
	src/config/options.c src/config/options.h src/config/options.def \
	src/config/options-internal.h src/config/options-print.c src/config/options-value.c \
	 \
	src/catalog/braces.c src/catalog/braces.h \
	src/catalog/dataset.c src/catalog/dataset.h src/catalog/dataset-internal.h \
	src/catalog/dataset-index.c \
	src/catalog/dataset-names.c \
	src/catalog/dataset-read.c \
	src/catalog/directory.c src/catalog/directory.h \
	src/catalog/energon.c src/catalog/energon.h \
	src/catalog/index-cache.c src/catalog/index-cache.h \
	src/catalog/index-export.c src/catalog/index-export.h \
	src/catalog/index-find.c src/catalog/index-find.h \
	src/catalog/index-find-file.c src/catalog/index-find-internal.h src/catalog/index-find-url.c \
	src/catalog/index-format.c src/catalog/index-format.h \
	src/catalog/index-import.c src/catalog/index-import.h \
	src/catalog/members.c src/catalog/members.h \
	src/catalog/probe.c src/catalog/probe.h \
	src/catalog/shard.c src/catalog/shard.h \
	src/catalog/shard-internal.h src/catalog/shard-known.c \
	src/catalog/shard-stretch.c \
	src/catalog/second-reader.c src/catalog/second-reader.h \
	src/catalog/shard-list.c src/catalog/shard-list.h \
	src/catalog/sizes.c src/catalog/sizes.h src/catalog/sizes-internal.h \
	src/catalog/sizes-faults.c \
	src/catalog/wds-spec.c src/catalog/wds-spec.h \
	src/catalog/stretches.c src/catalog/stretches.h \
	src/catalog/wids.c src/catalog/wids.h \
	src/catalog/yaml.c src/catalog/yaml.h \
	 \
	src/io/gather.c src/io/gather.h \
	src/io/handout.c src/io/handout.h \
	src/io/header-fetch.c src/io/header-fetch.h \
	src/io/header-patch.c src/io/header-patch.h \
	src/io/header-scan.c src/io/header-scan.h src/io/header-scan-internal.h \
	src/io/header-scan-work.c \
	src/io/idx-file.c src/io/idx-file.h \
	src/io/proof.c src/io/proof.h \
	src/io/range.c src/io/range.h \
	src/io/request.c src/io/request.h \
	src/io/runtime.h \
	src/io/scan-all.c src/io/scan-all.h \
	src/io/sequential.c src/io/sequential.h \
	src/io/shard-reader.c src/io/shard-reader.h \
	 \
	src/stream/prefetch/chunk.c src/stream/prefetch/chunk.h \
	src/stream/prefetch/prefetch.c src/stream/prefetch/prefetch.h \
	src/stream/prefetch/prefetch-internal.h src/stream/prefetch/prefetch-lane.c \
	src/stream/prefetch/prefetch-lanes.c src/stream/prefetch/prefetch-lanes.h \
	src/stream/prefetch/prefetch-part.c src/stream/prefetch/prefetch-singles.c \
	src/stream/prefetch/sizing.c src/stream/prefetch/sizing.h \
	src/stream/prefetch/slice-buffer.c src/stream/prefetch/slice-buffer.h \
	 \
	src/stream/cursor/cursor.c src/stream/cursor/cursor.h \
	src/stream/cursor/cursor-extents.c src/stream/cursor/cursor-flat.c \
	src/stream/cursor/cursor-internal.h src/stream/cursor/cursor-reads.c \
	src/stream/cursor/extent-map.c src/stream/cursor/extent-map.h \
	src/stream/cursor/oversize.c src/stream/cursor/oversize.h \
	src/stream/cursor/readers.c src/stream/cursor/readers.h \
	src/stream/cursor/shaper.c src/stream/cursor/shaper.h \
	 \
	src/stream/next-epoch.c src/stream/next-epoch.h \
	src/stream/random.c src/stream/random.h \
	src/stream/stream.c src/stream/stream.h src/stream/stream-cursors.c \
	src/stream/stream-internal.h src/stream/stream-order.c src/stream/stream-stats.c \
	src/stream/streams.c \
	 \
	src/engine/engine.c src/engine/engine.h \
	src/engine/fingerprint.c src/engine/fingerprint.h \
	src/engine/load.c src/engine/load.h \
	src/engine/reclaim.c src/engine/reclaim.h \
	src/engine/stores.c src/engine/stores.h \
	src/engine/weak-order.c src/engine/weak-order.h \
	 \
	src/tree/epochs.c src/tree/epochs.h src/tree/epochs-internal.h \
	src/tree/epochs-xattrs.c \
	src/tree/file.c src/tree/file.h \
	src/tree/names.c src/tree/names.h \
	src/tree/node.h \
	src/tree/order-file.c src/tree/order-file.h \
	src/tree/order-maker.c src/tree/order-maker.h \
	src/tree/sample-files.c src/tree/sample-files.h \
	src/tree/snapshot.c src/tree/snapshot.h \
	src/tree/status.c src/tree/status.h \
	src/tree/trail.c src/tree/trail.h \
	src/tree/tree.c src/tree/tree.h \
	 \
	src/cli/bench.c src/cli/bench.h \
	src/cli/bench-order.c src/cli/bench-order.h \
	src/cli/bench-report.c src/cli/bench-report.h \
	src/cli/bench-source.c src/cli/bench-source.h \
	src/cli/cat.c src/cli/cat.h \
	src/cli/index.c src/cli/index.h \
	src/cli/ls.c src/cli/ls.h \
	src/cli/plan.c src/cli/plan.h \
	src/cli/plan-dataset.c src/cli/plan-dataset.h \
	src/cli/plan-draw.c src/cli/plan-draw.h \
	src/cli/plan-estimate.c src/cli/plan-estimate.h \
	src/cli/plan-lift.c src/cli/plan-lift.h \
	src/cli/plan-report.c src/cli/plan-report.h \
	src/cli/reader.c src/cli/reader.h \
	src/cli/top-report.c src/cli/top-report.h
libshufflefs_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/src
libshufflefs_a_CFLAGS = $(SFS_CFLAGS) $(CURL_CFLAGS) $(CRYPTO_CFLAGS) $(ARCHIVE_CFLAGS) $(INIH_CFLAGS) $(YAML_CFLAGS)
# What a program that has it links.
core_libs = libshufflefs.a $(CURL_LIBS) $(CRYPTO_LIBS) $(ARCHIVE_LIBS) $(INIH_LIBS) $(YAML_LIBS)
