# The tests, each named by the sentence it proves.  unit-*: a module alone, in C;
# cat-*: the core, without a mount; fuse-*: a real mount; sidecar-*: the sidecar; repo-*: this
# repository.
TEST_EXTENSIONS = .sh .py
AM_TESTS_ENVIRONMENT = \
	srcdir='$(srcdir)'; export srcdir; \
	abs_top_builddir='$(abs_top_builddir)'; export abs_top_builddir; \
	SHUFFLEFS="$${SHUFFLEFS:-$(abs_top_builddir)/shufflefs}"; export SHUFFLEFS; \
	PYTHON3='$(PYTHON3)'; export PYTHON3; \
	WITH_SANITIZER='$(WITH_SANITIZER)'; export WITH_SANITIZER; \
	WITH_SIDECAR='$(WITH_SIDECAR)'; export WITH_SIDECAR;
LOG_COMPILER = $(srcdir)/tests/lib/run-test
SH_LOG_COMPILER = $(srcdir)/tests/lib/run-test sh
PY_LOG_COMPILER = $(srcdir)/tests/lib/run-test $(PYTHON3)

AM_CFLAGS = $(SFS_CFLAGS) -Wno-write-strings
AM_LDFLAGS = $(SFS_LDFLAGS)
tests_cppflags = -I$(srcdir)/src -I$(srcdir)/include -I$(srcdir)/sidecar -I$(srcdir)/rdma -I$(srcdir)/tests/lib
AM_CPPFLAGS += $(tests_cppflags)
LDADD = tests/lib/libtests.a $(sidecar_libs)

# What unit tests share and is more than a header.
check_LIBRARIES = tests/lib/libtests.a
tests_lib_libtests_a_SOURCES = \
	tests/lib/naive-epoch.c tests/lib/naive-epoch.h \
	tests/lib/scripted-runtime.c tests/lib/scripted-runtime.h \
	tests/lib/scripted-source.c tests/lib/scripted-source.h \
	tests/lib/random-world.c tests/lib/random-world.h \
	tests/lib/stream-world.c tests/lib/stream-world.h

unit_tests = \
	tests/unit/ais/unit-ais-page-keeps-every-name \
	tests/unit/ais/unit-ais-refusal-names-a-remedy \
	tests/unit/ais/unit-ais-token-is-read-again \
	tests/unit/ais/unit-ais-version-makes-tags-of-what-counts \
	tests/unit/azure/unit-azure-account-is-found-where-azures-tools-look \
	tests/unit/azure/unit-azure-page-keeps-every-name \
	tests/unit/azure/unit-azure-refusal-names-a-remedy \
	tests/unit/azure/unit-azure-sign-gives-the-signatures-of-azures-client \
	tests/unit/base/unit-alloc-never-returns-null \
	tests/unit/base/unit-base64-is-that-of-rfc-4648 \
	tests/unit/base/unit-checksum-sees-every-changed-byte \
	tests/unit/base/unit-clock-skips-pauses \
	tests/unit/base/unit-clock-writes-utc \
	tests/unit/base/unit-cond-waits-by-the-monotonic-clock \
	tests/unit/base/unit-crypto-gives-the-published-macs \
	tests/unit/base/unit-deadlines-hold-when-the-kernel-asks-again \
	tests/unit/base/unit-error-sentences-fit-their-room \
	tests/unit/base/unit-eta-gives-up-no-wait-too-early \
	tests/unit/base/unit-json-find-finds-values-by-their-names \
	tests/unit/base/unit-json-takes-what-the-rfc-takes \
	tests/unit/base/unit-json-writer-places-commas \
	tests/unit/base/unit-keyhash-extends-backwards \
	tests/unit/base/unit-ledger-keeps-the-newest-lines \
	tests/unit/base/unit-list-keeps-its-order \
	tests/unit/base/unit-localfile-is-what-it-was-when-read \
	tests/unit/base/unit-lock-aborts-on-a-wrong-order \
	tests/unit/base/unit-log-lines-hold-no-control-characters \
	tests/unit/base/unit-process-ends-in-time \
	tests/unit/base/unit-progress-is-one-line-of-a-terminal \
	tests/unit/base/unit-ratemeter-leaves-the-beginning-out \
	tests/unit/base/unit-rng-gives-the-published-numbers \
	tests/unit/base/unit-signals-say-who-is-being-killed \
	tests/unit/base/unit-slabs-are-filled-ahead-in-huge-pages \
	tests/unit/base/unit-strbuf-grows-and-writes-sizes \
	tests/unit/base/unit-strbuf-json-is-valid-whatever-the-bytes \
	tests/unit/base/unit-threadpool-never-runs-a-task-twice-at-once \
	tests/unit/base/unit-timer-fires-when-due \
	tests/unit/base/unit-waits-name-the-limit \
	tests/unit/base/unit-xml-reads-what-stores-write \
	tests/unit/catalog/unit-braces-expand-as-a-shell-does \
	tests/unit/catalog/unit-dataset-counts-names-from-the-url-of-their-list \
	tests/unit/catalog/unit-dataset-names-each-shard-once \
	tests/unit/catalog/unit-directory-holds-only-safe-paths \
	tests/unit/catalog/unit-index-cache-finds-what-it-saved \
	tests/unit/catalog/unit-index-cache-gives-up-when-nothing-can-be-written \
	tests/unit/catalog/unit-index-cache-takes-many-savers-at-once \
	tests/unit/catalog/unit-index-export-writes-what-wds2idx-writes \
	tests/unit/catalog/unit-index-find-ends-every-search \
	tests/unit/catalog/unit-index-find-limits-what-it-fetches-from-urls \
	tests/unit/catalog/unit-index-find-searches-in-order \
	tests/unit/catalog/unit-index-find-survives-changes-while-reading \
	tests/unit/catalog/unit-index-format-reads-what-it-wrote \
	tests/unit/catalog/unit-index-format-refuses-a-wrong-byte \
	tests/unit/catalog/unit-index-import-checks-against-the-shard \
	tests/unit/catalog/unit-members-are-found-by-number-and-by-byte \
	tests/unit/catalog/unit-shard-list-takes-a-shard-from-each-line \
	tests/unit/catalog/unit-shard-tables-grow-once-and-are-dropped \
	tests/unit/catalog/unit-sizes-report-in-one-line-what-is-missing \
	tests/unit/catalog/unit-stretches-have-each-sample-once \
	tests/unit/catalog/unit-wids-and-yaml-mean-what-they-say \
	tests/unit/cli/unit-bench-report-names-the-limit \
	tests/unit/cli/unit-top-report-shows-what-stats-say \
	tests/unit/config/unit-conceal-leaves-no-secret-in-a-word \
	tests/unit/config/unit-ini-reads-lines-of-any-length \
	tests/unit/config/unit-options-refuse-what-they-do-not-understand \
	tests/unit/hf/unit-hf-name-is-owner-name-revision-and-path \
	tests/unit/hf/unit-hf-page-keeps-every-file \
	tests/unit/hf/unit-hf-refusal-names-a-remedy \
	tests/unit/hf/unit-hf-token-is-found-where-its-tools-look \
	tests/unit/http/unit-concurrency-is-8-near-and-most-from-afar \
	tests/unit/http/unit-conncache-returns-the-last-one-used \
	tests/unit/http/unit-credentials-are-read-as-services-write-them \
	tests/unit/http/unit-fetch-holds-all-gets-after-a-429 \
	tests/unit/http/unit-fetch-lets-late-drop-any-get \
	tests/unit/http/unit-fetch-reads-responses-that-come-behind-each-other \
	tests/unit/http/unit-fetch-sees-each-byte-of-a-slow-server \
	tests/unit/http/unit-headers-read-what-servers-send \
	tests/unit/http/unit-http1-reads-only-plain-responses \
	tests/unit/http/unit-http1-request-refuses-what-libcurl-would-change \
	tests/unit/http/unit-http1-waits-for-many-bytes-or-the-last \
	tests/unit/http/unit-latency-detects-late-responses \
	tests/unit/http/unit-listing-keeps-what-a-pattern-means \
	tests/unit/http/unit-origin-is-held-as-long-as-it-says \
	tests/unit/http/unit-origin-list-keeps-those-in-use \
	tests/unit/http/unit-origin-sends-the-pieces-of-one-part-first \
	tests/unit/http/unit-outage-is-reported-once \
	tests/unit/http/unit-renewal-looks-once-for-all-refused \
	tests/unit/http/unit-response-is-believed-only-if-it-fits \
	tests/unit/http/unit-token-json-says-when-a-token-expires \
	tests/unit/http/unit-transfer-ends-each-request-once \
	tests/unit/http/unit-transfer-ends-what-comes-too-late \
	tests/unit/http/unit-transfer-gives-right-bytes-or-the-reason \
	tests/unit/http/unit-user-headers-are-read-again \
	tests/unit/io/unit-gather-ends-once-however-its-pieces-end \
	tests/unit/io/unit-header-fetch-asks-only-for-what-is-wanted \
	tests/unit/io/unit-header-patch-fetches-headers-only \
	tests/unit/io/unit-header-scan-fails-only-who-waits \
	tests/unit/io/unit-header-scan-gives-everybody-what-they-asked-for \
	tests/unit/io/unit-range-reader-takes-turns \
	tests/unit/io/unit-request-answers-in-pieces-or-one-copy \
	tests/unit/io/unit-scan-all-lets-each-waiter-have-its-own-deadline \
	tests/unit/io/unit-sequential-reads-may-have-small-gaps \
	tests/unit/io/unit-shard-reader-retries-what-failed-ahead \
	tests/unit/memory/unit-blocks-never-hand-out-a-slab-twice \
	tests/unit/memory/unit-budget-keeps-every-floor \
	tests/unit/memory/unit-limit-is-what-the-machine-has \
	tests/unit/memory/unit-psi-is-answered-fast \
	tests/unit/memory/unit-slab-gives-back-what-nobody-needed-for-a-while \
	tests/unit/memory/unit-slab-hands-out-the-lowest-first \
	tests/unit/order/unit-block-is-formed-as-soon-as-it-is-known \
	tests/unit/order/unit-cuts-cover-all-shards-and-lie-anywhere \
	tests/unit/order/unit-grid-permutes-any-number \
	tests/unit/order/unit-iterate-walks-an-epoch \
	tests/unit/order/unit-locate-finds-every-byte-of-an-epoch \
	tests/unit/order/unit-merge-takes-the-least-time-of-all-lanes \
	tests/unit/order/unit-name-understands-canonical-names-only \
	tests/unit/order/unit-order-gives-the-published-vectors \
	tests/unit/order/unit-partition-gives-the-published-vectors \
	tests/unit/order/unit-partition-interleaves-ranks-into-the-epoch \
	tests/unit/order/unit-partition-leaves-out-any-sample-alike \
	tests/unit/order/unit-quality-is-what-theory-says \
	tests/unit/order/unit-samples-are-found-by-number-and-by-byte \
	tests/unit/order/unit-samples-may-borrow-their-entries \
	tests/unit/order/unit-sums-know-the-bytes-before-any-sample \
	tests/unit/order/unit-worth-warns-of-few-and-unequal-shards \
	tests/unit/s3/unit-aws-credentials-follow-awss-order \
	tests/unit/s3/unit-aws-profile-reads-what-aws-writes \
	tests/unit/s3/unit-google-jwt-is-signed-by-the-account \
	tests/unit/s3/unit-s3-page-keeps-every-key \
	tests/unit/s3/unit-s3-refusal-names-a-remedy \
	tests/unit/s3/unit-s3-url-encodes-keys-strictly \
	tests/unit/s3/unit-sigv4-gives-the-published-signatures \
	tests/unit/source/unit-file-leaves-out-what-nobody-wants \
	tests/unit/source/unit-file-lets-no-request-lie-while-a-thread-sleeps \
	tests/unit/source/unit-file-notices-another-version \
	tests/unit/source/unit-folder-finds-what-a-shell-would \
	tests/unit/source/unit-key-pattern-means-what-a-shell-would \
	tests/unit/source/unit-netpath-belongs-to-the-server-of-an-object \
	tests/unit/source/unit-retry-waits-longer-each-time \
	tests/unit/source/unit-target-knows-metadata-addresses \
	tests/unit/source/unit-uri-never-shows-a-password \
	tests/unit/source/unit-uri-understands-paths-and-urls \
	tests/unit/stream/unit-cursor-answers-as-soon-as-bytes-are-ready \
	tests/unit/stream/unit-cursor-begins-anywhere-with-all-its-lanes \
	tests/unit/stream/unit-cursor-copies-small-samples-together-ahead \
	tests/unit/stream/unit-cursor-waits-for-a-late-lane-only-when-it-is-due \
	tests/unit/stream/unit-extent-map-finds-what-holds-a-byte \
	tests/unit/stream/unit-next-epoch-begins-when-all-was-requested \
	tests/unit/stream/unit-next-epoch-follows-epochs-read-in-order \
	tests/unit/stream/unit-next-epoch-needs-no-more-memory-than-the-one-before \
	tests/unit/stream/unit-oversize-fails-all-pieces-of-a-failed-header-patch \
	tests/unit/stream/unit-oversize-samples-are-fetched-as-readers-come-near \
	tests/unit/stream/unit-prefetch-gives-a-fast-lane-more-requests \
	tests/unit/stream/unit-prefetch-keeps-what-came-before-a-failure \
	tests/unit/stream/unit-prefetch-reads-a-fast-lane-further-ahead \
	tests/unit/stream/unit-prefetch-requests-each-lane-before-it-runs-dry \
	tests/unit/stream/unit-prefetch-suits-the-path-to-each-shard \
	tests/unit/stream/unit-random-reads-fetch-only-their-bytes \
	tests/unit/stream/unit-random-reads-scan-first-what-comes-first \
	tests/unit/stream/unit-readers-of-one-stream-fetch-its-bytes-once \
	tests/unit/stream/unit-readers-stay-together-while-memory-lasts \
	tests/unit/stream/unit-shaper-delivers-at-the-arrival-rate \
	tests/unit/stream/unit-single-samples-cause-no-storm-of-failures \
	tests/unit/stream/unit-single-samples-come-whole-whatever-the-memory \
	tests/unit/stream/unit-single-samples-that-came-before-a-failure-are-kept \
	tests/unit/stream/unit-single-samples-that-lie-together-are-read-together \
	tests/unit/stream/unit-sizing-is-small-near-and-enough-from-far \
	tests/unit/stream/unit-slice-buffer-keeps-slabs-as-long-as-needed \
	tests/unit/stream/unit-stream-ends-a-cursor-only-when-nobody-reads-it \
	tests/unit/stream/unit-stream-ends-no-read-that-waited-for-memory \
	tests/unit/stream/unit-stream-fails-a-read-only-for-bytes-that-it-needs \
	tests/unit/stream/unit-stream-gives-the-epoch-whatever-ends-when \
	tests/unit/stream/unit-stream-holds-no-more-than-its-plan \
	tests/unit/tar/unit-entry-needs-only-the-headers \
	tests/unit/tar/unit-entry-takes-names-byte-for-byte \
	tests/unit/tar/unit-entry-understands-every-dialect \
	tests/unit/tar/unit-header-reads-plain-headers-only \
	tests/unit/tar/unit-key-follows-webdataset \
	tests/unit/tar/unit-libarchive-says-what-it-reads-otherwise \
	tests/unit/tar/unit-magic-tells-what-a-file-is-instead-of-a-tar \
	tests/unit/tar/unit-pax-records-are-checked-to-the-byte \
	tests/unit/tar/unit-resync-finds-the-first-sample-behind-a-cut \
	tests/unit/tar/unit-resync-sees-headers-that-are-hidden-in-members \
	tests/unit/tar/unit-rewrite-changes-names-and-nothing-else \
	tests/unit/tar/unit-scan-finds-the-same-samples-however-bytes-come \
	tests/unit/tree/unit-names-keep-their-numbers \
	tests/unit/tree/unit-order-file-reads-anywhere-at-little-cost \
	tests/unit/tree/unit-trail-is-what-all-readers-left-behind \
	tests/unit/webhdfs/unit-webhdfs-page-keeps-every-name \
	tests/unit/webhdfs/unit-webhdfs-refusal-names-a-remedy \
	tests/unit/webhdfs/unit-webhdfs-token-is-found-in-hadoops-file \
	tests/unit/webhdfs/unit-webhdfs-url-holds-the-range \
	tests/unit/webhdfs/unit-webhdfs-walk-lists-folder-by-folder

sidecar_unit_tests = \
	tests/unit/io/unit-handout-is-read-as-it-lies \
	tests/unit/rdma/unit-nearest-card-shares-most-of-the-path \
	tests/unit/rdma/unit-verbs-wire-gives-each-slot-once \
	tests/unit/sidecar/unit-auth-believes-only-who-has-the-secret \
	tests/unit/sidecar/unit-decode-jpeg-costs-what-its-bytes-justify \
	tests/unit/sidecar/unit-decode-makes-rows-by-the-spec \
	tests/unit/sidecar/unit-device-ring-shows-only-what-has-arrived \
	tests/unit/sidecar/unit-guard-listens-only-where-it-may \
	tests/unit/sidecar/unit-image-is-resized-alike-on-any-processor \
	tests/unit/sidecar/unit-input-keeps-what-was-taken \
	tests/unit/sidecar/unit-jpeg-parts-are-those-of-the-whole \
	tests/unit/sidecar/unit-jpeg-planes-become-nearly-the-same-images \
	tests/unit/sidecar/unit-local-socket-gives-a-path-to-one \
	tests/unit/sidecar/unit-model-loses-no-batch-whoever-dies \
	tests/unit/sidecar/unit-outbox-holds-each-batch-until-it-is-credited \
	tests/unit/sidecar/unit-patience-ends-without-a-receiver-of-use \
	tests/unit/sidecar/unit-pool-gives-each-byte-to-one \
	tests/unit/sidecar/unit-ring-loses-no-batch-whoever-dies \
	tests/unit/sidecar/unit-sample-says-when-a-stream-was-cut \
	tests/unit/sidecar/unit-samples-held-finds-what-was-not-released \
	tests/unit/sidecar/unit-samples-wire-refuses-what-no-trainer-says \
	tests/unit/sidecar/unit-sessions-bring-each-batch-to-the-ring-once \
	tests/unit/sidecar/unit-skips-are-an-error-when-they-are-too-many \
	tests/unit/sidecar/unit-tcp-delivers-each-batch-once \
	tests/unit/sidecar/unit-tcp-ends-when-both-sides-know \
	tests/unit/sidecar/unit-tcp-gives-strangers-no-session \
	tests/unit/sidecar/unit-tcp-outlives-hostile-peers \
	tests/unit/sidecar/unit-tenbin-writes-what-tensorcom-writes \
	tests/unit/sidecar/unit-window-keeps-the-order-of-samples \
	tests/unit/sidecar/unit-wire-refuses-what-no-peer-sends

cat_tests = \
	tests/cat/cat-a-429-holds-all-requests-to-its-server.sh \
	tests/cat/cat-a-cache-is-shared-and-survives-crashes.sh \
	tests/cat/cat-a-cache-that-cannot-be-written-is-no-error.sh \
	tests/cat/cat-a-dripping-answer-ends.sh \
	tests/cat/cat-a-far-server-is-connected-to-ahead.sh \
	tests/cat/cat-a-home-that-may-not-be-entered-is-no-error.sh \
	tests/cat/cat-a-late-answer-is-asked-for-once-more.sh \
	tests/cat/cat-a-list-at-a-url-may-be-too-large.sh \
	tests/cat/cat-a-lying-index-is-an-error.sh \
	tests/cat/cat-a-missing-netrc-file-is-refused.sh \
	tests/cat/cat-a-missing-shard-may-be-left-out.sh \
	tests/cat/cat-a-near-server-that-answers-late-counts-as-far.sh \
	tests/cat/cat-a-part-is-read-while-it-comes.sh \
	tests/cat/cat-a-rank-may-lack-any-of-its-samples.sh \
	tests/cat/cat-a-reader-that-closes-early-is-no-error.sh \
	tests/cat/cat-a-sample-given-up-is-not-asked-for-again.sh \
	tests/cat/cat-a-server-gets-no-more-requests-than-connections.sh \
	tests/cat/cat-a-shard-that-is-too-large-is-refused.sh \
	tests/cat/cat-a-shard-with-hidden-headers-is-scanned-once.sh \
	tests/cat/cat-a-stream-is-readable-up-to-a-network-error.sh \
	tests/cat/cat-a-streamed-epoch-leaves-indexes.sh \
	tests/cat/cat-a-webdataset-spec-names-shards.sh \
	tests/cat/cat-a-wids-index-names-shards.sh \
	tests/cat/cat-addresses-of-a-name-are-spread.sh \
	tests/cat/cat-ais-agrees-with-a-real-cluster.sh \
	tests/cat/cat-ais-errors-name-a-remedy.sh \
	tests/cat/cat-ais-gives-every-sample-once.sh \
	tests/cat/cat-ais-tokens-and-targets-may-change.sh \
	tests/cat/cat-an-early-late-answer-is-asked-for-once-more.sh \
	tests/cat/cat-an-identity-of-the-first-edition-is-named.sh \
	tests/cat/cat-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/cat/cat-an-index-that-does-not-fit-is-never-used.sh \
	tests/cat/cat-asks-again-after-a-503.sh \
	tests/cat/cat-asks-again-when-a-server-stalls.sh \
	tests/cat/cat-asks-in-a-way-all-servers-take.sh \
	tests/cat/cat-authorities-are-read-once.sh \
	tests/cat/cat-az-azurite-serves-a-container.sh \
	tests/cat/cat-az-credentials-may-expire.sh \
	tests/cat/cat-az-errors-name-a-remedy.sh \
	tests/cat/cat-az-gives-every-sample-once.sh \
	tests/cat/cat-az-lists-page-by-page.sh \
	tests/cat/cat-bench-measures-source-and-order.sh \
	tests/cat/cat-budget-never-changes-a-byte.sh \
	tests/cat/cat-clouds-of-the-tests-agree-with-real-clients.sh \
	tests/cat/cat-commands-keep-the-read-timeout.sh \
	tests/cat/cat-connections-are-kept.sh \
	tests/cat/cat-connections-that-fell-silent-are-not-tried-one-by-one.sh \
	tests/cat/cat-credentials-stay-at-their-host.sh \
	tests/cat/cat-damage-is-an-error-of-parts-that-have-the-shard.sh \
	tests/cat/cat-datasets-are-named-in-many-ways.sh \
	tests/cat/cat-drops-more-bytes-than-promised.sh \
	tests/cat/cat-empty-shards.sh \
	tests/cat/cat-endless-redirects-end.sh \
	tests/cat/cat-ends-within-511-bytes-of-damage.sh \
	tests/cat/cat-energon-splits-are-sources.sh \
	tests/cat/cat-equal-lanes-agree-with-the-script.sh \
	tests/cat/cat-follows-redirects.sh \
	tests/cat/cat-gives-up-on-a-silent-server.sh \
	tests/cat/cat-gives-up-when-parts-fail-in-turn.sh \
	tests/cat/cat-goes-through-a-proxy.sh \
	tests/cat/cat-gs-a-project-may-pay.sh \
	tests/cat/cat-gs-credentials-may-expire.sh \
	tests/cat/cat-gs-errors-name-a-remedy.sh \
	tests/cat/cat-gs-gives-every-sample-once.sh \
	tests/cat/cat-gs-lists-page-by-page.sh \
	tests/cat/cat-gs-takes-tokens-of-other-providers.sh \
	tests/cat/cat-help-of-a-command-is-about-it.sh \
	tests/cat/cat-hf-agrees-with-huggingface-hub.sh \
	tests/cat/cat-hf-errors-name-a-remedy.sh \
	tests/cat/cat-hf-gives-every-sample-once.sh \
	tests/cat/cat-hf-takes-tokens-of-the-options.sh \
	tests/cat/cat-hf-tokens-and-signatures-may-expire.sh \
	tests/cat/cat-hf-waits-as-the-hub-says.sh \
	tests/cat/cat-index-makes-indexes-ahead.sh \
	tests/cat/cat-index-warns-of-what-bsdtar-reads-otherwise.sh \
	tests/cat/cat-indexes-are-found-wherever-they-are.sh \
	tests/cat/cat-indexes-of-other-tools-are-hints.sh \
	tests/cat/cat-keys-are-webdatasets.sh \
	tests/cat/cat-keys-may-be-unique.sh \
	tests/cat/cat-lanes-that-fall-due-together-are-fetched-together.sh \
	tests/cat/cat-links-and-folders-have-no-data.sh \
	tests/cat/cat-lists-at-urls-name-no-metadata-addresses.sh \
	tests/cat/cat-lists-may-be-at-urls.sh \
	tests/cat/cat-ls-shows-shards-and-sizes.sh \
	tests/cat/cat-missing-and-forbidden-shards-are-named.sh \
	tests/cat/cat-missing-shards-are-counted-in-one-line.sh \
	tests/cat/cat-names-a-server-that-is-not-there.sh \
	tests/cat/cat-names-are-bytes.sh \
	tests/cat/cat-needs-no-content-length.sh \
	tests/cat/cat-needs-the-end-of-a-shard.sh \
	tests/cat/cat-no-file-of-a-user-is-removed.sh \
	tests/cat/cat-notices-a-changed-etag.sh \
	tests/cat/cat-notices-a-changed-size.sh \
	tests/cat/cat-notices-a-damaged-header.sh \
	tests/cat/cat-notices-a-member-beyond-the-end.sh \
	tests/cat/cat-notices-a-short-body.sh \
	tests/cat/cat-notices-a-truncated-shard.sh \
	tests/cat/cat-notices-any-change-of-a-tag.sh \
	tests/cat/cat-notices-two-tars-in-one-file.sh \
	tests/cat/cat-odd-tars-agree-with-the-script.sh \
	tests/cat/cat-one-odd-answer-is-not-final.sh \
	tests/cat/cat-order-agrees-with-an-independent-script.sh \
	tests/cat/cat-order-vectors-agree.sh \
	tests/cat/cat-own-connections-send-what-libcurl-sends.sh \
	tests/cat/cat-parts-of-an-epoch-agree-with-the-script.sh \
	tests/cat/cat-plan-says-what-an-order-is-worth.sh \
	tests/cat/cat-random-segments-agree-with-the-script.sh \
	tests/cat/cat-ranks-of-tars-in-tars-end-well-or-say-why.sh \
	tests/cat/cat-redirects-to-metadata-addresses-are-refused.sh \
	tests/cat/cat-refuses-a-206-without-its-range.sh \
	tests/cat/cat-refuses-a-path-for-all-members.sh \
	tests/cat/cat-refuses-a-server-without-ranges.sh \
	tests/cat/cat-refuses-a-wrong-range.sh \
	tests/cat/cat-refuses-an-encoding.sh \
	tests/cat/cat-refuses-what-is-not-a-tar.sh \
	tests/cat/cat-resumes-a-body-that-was-cut.sh \
	tests/cat/cat-resumes-after-a-reset.sh \
	tests/cat/cat-s3-credentials-come-from-where-aws-looks.sh \
	tests/cat/cat-s3-credentials-may-expire.sh \
	tests/cat/cat-s3-errors-name-a-remedy.sh \
	tests/cat/cat-s3-gives-every-sample-once.sh \
	tests/cat/cat-s3-lists-page-by-page.sh \
	tests/cat/cat-s3-minio-has-what-boto3-uploaded.sh \
	tests/cat/cat-s3-minio-keys-may-expire.sh \
	tests/cat/cat-s3-minio-serves-a-bucket.sh \
	tests/cat/cat-s3-notices-a-replaced-object.sh \
	tests/cat/cat-s3-one-odd-answer-is-not-final.sh \
	tests/cat/cat-samples-larger-than-a-block-are-fetched-ahead.sh \
	tests/cat/cat-samples-larger-than-the-budget.sh \
	tests/cat/cat-says-what-a-file-is-instead-of-a-tar.sh \
	tests/cat/cat-says-when-an-order-hardly-shuffles.sh \
	tests/cat/cat-segments-of-one-shard-may-follow-each-other.sh \
	tests/cat/cat-signed-urls-are-requested-again.sh \
	tests/cat/cat-signed-urls-go-out-as-they-are.sh \
	tests/cat/cat-sizes-are-asked-of-any-far-server.sh \
	tests/cat/cat-skip-agrees-with-the-script.sh \
	tests/cat/cat-small-slices-are-fetched-side-by-side.sh \
	tests/cat/cat-stores-send-no-credentials-elsewhere.sh \
	tests/cat/cat-survives-an-outage.sh \
	tests/cat/cat-survives-nonsense.sh \
	tests/cat/cat-takes-shorter-ranges.sh \
	tests/cat/cat-tars-in-tars-never-give-a-sample-that-is-none.sh \
	tests/cat/cat-the-last-answer-of-a-server-is-named.sh \
	tests/cat/cat-tls-has-what-plain-http-has.sh \
	tests/cat/cat-tokens-may-come-from-a-command.sh \
	tests/cat/cat-tokens-may-rotate.sh \
	tests/cat/cat-too-many-samples-for-the-budget-are-an-error.sh \
	tests/cat/cat-trailers-are-not-believed.sh \
	tests/cat/cat-verifies-time-and-size-without-a-tag.sh \
	tests/cat/cat-verify-size-takes-replicas.sh \
	tests/cat/cat-waits-as-long-as-a-server-says.sh \
	tests/cat/cat-waits-for-a-slow-trickle.sh \
	tests/cat/cat-webhdfs-datanodes-and-files-may-change.sh \
	tests/cat/cat-webhdfs-errors-name-a-remedy.sh \
	tests/cat/cat-webhdfs-gives-every-sample-once.sh \
	tests/cat/cat-webhdfs-goes-by-tls.sh \
	tests/cat/cat-webhdfs-hadoop-serves-a-folder.sh \
	tests/cat/cat-webhdfs-lists-folder-by-folder.sh \
	tests/cat/cat-webhdfs-shows-tickets-to-namenodes-only.sh \
	tests/cat/cat-webhdfs-tokens-are-sent-and-never-shown.sh \
	tests/cat/cat-writes-what-comes-before-an-error.sh

fuse_tests = \
	tests/fuse/fuse-a-budget-above-the-memory-is-reported.sh \
	tests/fuse/fuse-a-changed-shard-is-stale.sh \
	tests/fuse/fuse-a-clock-set-back-moves-no-deadline.sh \
	tests/fuse/fuse-a-control-groups-limit-is-respected.sh \
	tests/fuse/fuse-a-dead-mount-is-mounted-over.sh \
	tests/fuse/fuse-a-deadline-counts-once.sh \
	tests/fuse/fuse-a-disk-that-hangs-stops-nobody-for-ever.sh \
	tests/fuse/fuse-a-failed-read-of-a-shard-fails-alone.sh \
	tests/fuse/fuse-a-file-never-changes-its-size.sh \
	tests/fuse/fuse-a-hundred-parked-readers-block-nobody.sh \
	tests/fuse/fuse-a-killed-reader-is-gone-at-once.sh \
	tests/fuse/fuse-a-killed-training-job-resumes-at-its-sample.sh \
	tests/fuse/fuse-a-lazy-unmount-ends-what-is-forwarded.sh \
	tests/fuse/fuse-a-link-is-a-mount-point-too.sh \
	tests/fuse/fuse-a-list-of-shards-may-come-from-a-pipe.sh \
	tests/fuse/fuse-a-local-shard-goes-away.sh \
	tests/fuse/fuse-a-missing-shard-counts-as-empty.sh \
	tests/fuse/fuse-a-mount-says-what-it-waits-for.sh \
	tests/fuse/fuse-a-mount-says-when-its-order-hardly-shuffles.sh \
	tests/fuse/fuse-a-mount-that-ends-early-leaves-no-connection.sh \
	tests/fuse/fuse-a-network-error-passes.sh \
	tests/fuse/fuse-a-parked-look-up-blocks-no-other.sh \
	tests/fuse/fuse-a-rank-without-a-sample-is-refused.sh \
	tests/fuse/fuse-a-second-reader-may-leap-ahead.sh \
	tests/fuse/fuse-a-servers-error-is-EIO-wherever-it-is-met.sh \
	tests/fuse/fuse-a-service-manager-is-notified.sh \
	tests/fuse/fuse-a-shard-has-its-dali-index.sh \
	tests/fuse/fuse-a-shard-is-readable-up-to-a-network-error.sh \
	tests/fuse/fuse-a-signal-that-does-not-kill-ends-nothing.sh \
	tests/fuse/fuse-a-slow-daemon-leaves-the-next-mount-alone.sh \
	tests/fuse/fuse-a-small-stack-limit-is-no-crash.sh \
	tests/fuse/fuse-a-stopped-daemon-blames-nobody.sh \
	tests/fuse/fuse-a-stopped-reader-gives-its-memory-back.sh \
	tests/fuse/fuse-a-storm-of-operations-breaks-nothing.sh \
	tests/fuse/fuse-a-storm-of-readers-gets-its-bytes.sh \
	tests/fuse/fuse-a-stream-beyond-its-end-has-a-line.sh \
	tests/fuse/fuse-a-stream-has-its-dali-index.sh \
	tests/fuse/fuse-a-stream-is-forwarded-by-ioctl.sh \
	tests/fuse/fuse-a-wrong-guess-in-a-shard-is-the-last-one.sh \
	tests/fuse/fuse-an-empty-answer-makes-no-empty-shard.sh \
	tests/fuse/fuse-an-epoch-opens-while-headers-are-read.sh \
	tests/fuse/fuse-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/fuse/fuse-an-index-may-be-overwritten-in-place.sh \
	tests/fuse/fuse-an-index-that-comes-in-time-is-waited-for.sh \
	tests/fuse/fuse-an-index-that-takes-too-long-is-ENODATA.sh \
	tests/fuse/fuse-an-ini-section-names-a-dataset.sh \
	tests/fuse/fuse-an-interrupted-mount-leaves-nothing.sh \
	tests/fuse/fuse-an-order-can-be-read-as-text.sh \
	tests/fuse/fuse-an-order-may-be-read-while-shards-are-scanned.sh \
	tests/fuse/fuse-an-ordinary-user-mounts.sh \
	tests/fuse/fuse-any-number-of-ranks-reads-one-epoch.sh \
	tests/fuse/fuse-az-serves-a-mount.sh \
	tests/fuse/fuse-bench-leaves-no-mount-behind.sh \
	tests/fuse/fuse-crawlers-read-no-shards.sh \
	tests/fuse/fuse-cuts-read-little-twice.sh \
	tests/fuse/fuse-dali-reads-shards-and-streams-by-their-indexes.sh \
	tests/fuse/fuse-damaged-shards-are-shown-as-they-are.sh \
	tests/fuse/fuse-duckdb-reads-an-order-as-a-table.sh \
	tests/fuse/fuse-epochs-are-permutations-of-each-other.sh \
	tests/fuse/fuse-epochs-that-nobody-reads-may-stay-open.sh \
	tests/fuse/fuse-equal-lanes-need-every-shard.sh \
	tests/fuse/fuse-errors-name-shard-offset-and-cause.sh \
	tests/fuse/fuse-failed-requests-have-a-line-each.sh \
	tests/fuse/fuse-files-made-for-readers-have-their-size.sh \
	tests/fuse/fuse-gnu-tar-bsdtar-and-python-read-a-stream.sh \
	tests/fuse/fuse-gs-serves-a-mount.sh \
	tests/fuse/fuse-hf-serves-a-mount.sh \
	tests/fuse/fuse-https-trusts-the-given-authorities.sh \
	tests/fuse/fuse-late-answers-cost-a-twentieth-at-most.sh \
	tests/fuse/fuse-ls-l-asks-for-many-members-at-once.sh \
	tests/fuse/fuse-ls-of-ten-thousand-shards-waits-for-no-size.sh \
	tests/fuse/fuse-memory-pressure-shrinks-the-window.sh \
	tests/fuse/fuse-memory-stays-within-the-budget.sh \
	tests/fuse/fuse-missing-and-forbidden-shards.sh \
	tests/fuse/fuse-missing-shards-are-reported-before-a-mount-returns.sh \
	tests/fuse/fuse-mount-shows-the-tree.sh \
	tests/fuse/fuse-mount8-and-fstab-mount-a-dataset.sh \
	tests/fuse/fuse-mounting-says-what-is-wrong.sh \
	tests/fuse/fuse-mounts-share-one-cache.sh \
	tests/fuse/fuse-names-are-bytes.sh \
	tests/fuse/fuse-names-from-tars-never-escape.sh \
	tests/fuse/fuse-nginx-serves-a-mount.sh \
	tests/fuse/fuse-nothing-can-be-written.sh \
	tests/fuse/fuse-open-files-stay-within-the-budget.sh \
	tests/fuse/fuse-pages-before-an-error-can-be-read.sh \
	tests/fuse/fuse-pages-behind-all-readers-are-dropped.sh \
	tests/fuse/fuse-ps-shows-no-secret.sh \
	tests/fuse/fuse-python-trains-from-a-mount.sh \
	tests/fuse/fuse-random-reads-do-not-stream-the-epoch-again.sh \
	tests/fuse/fuse-random-reads-in-a-row-get-a-cursor.sh \
	tests/fuse/fuse-random-reads-need-no-headers-with-an-index.sh \
	tests/fuse/fuse-random-reads-of-an-order-block-nobody.sh \
	tests/fuse/fuse-random-segments-are-read-anywhere.sh \
	tests/fuse/fuse-ranks-and-workers-are-paths.sh \
	tests/fuse/fuse-ranks-of-tars-in-tars-never-end-in-silence.sh \
	tests/fuse/fuse-readers-never-wait-for-each-others-memory.sh \
	tests/fuse/fuse-readers-of-one-stream-share-its-bytes.sh \
	tests/fuse/fuse-readers-without-room-for-their-lanes-go-on.sh \
	tests/fuse/fuse-reads-agree-however-they-are-made.sh \
	tests/fuse/fuse-s3-minio-serves-a-mount.sh \
	tests/fuse/fuse-samples-are-what-tar-extracts.sh \
	tests/fuse/fuse-shards-that-are-no-tars-refuse-a-mount.sh \
	tests/fuse/fuse-sighup-has-an-ais-token-read-again.sh \
	tests/fuse/fuse-sighup-has-s3-keys-looked-for-again.sh \
	tests/fuse/fuse-signals-do-what-the-manual-says.sh \
	tests/fuse/fuse-sigterm-ends-a-mount-that-hangs-in-the-kernel.sh \
	tests/fuse/fuse-sigterm-ends-a-mount-that-hangs.sh \
	tests/fuse/fuse-sigterm-ends-a-mount-whose-pages-are-being-dropped.sh \
	tests/fuse/fuse-sigterm-unmounts.sh \
	tests/fuse/fuse-sizes-never-change.sh \
	tests/fuse/fuse-sources-may-have-any-length.sh \
	tests/fuse/fuse-streams-tell-their-order-and-samples.sh \
	tests/fuse/fuse-systemd-runs-mounts.sh \
	tests/fuse/fuse-tables-make-room-for-streams.sh \
	tests/fuse/fuse-the-bottleneck-is-named.sh \
	tests/fuse/fuse-the-bottleneck-over-a-link-is-named.sh \
	tests/fuse/fuse-the-end-of-a-rank-waits-for-its-proof.sh \
	tests/fuse/fuse-the-metrics-of-two-mounts-stand-together.sh \
	tests/fuse/fuse-the-next-epoch-gives-way-to-readers.sh \
	tests/fuse/fuse-the-next-epoch-is-fetched-ahead.sh \
	tests/fuse/fuse-tokens-are-renewed-before-they-expire.sh \
	tests/fuse/fuse-top-ends-whatever-it-looks-at.sh \
	tests/fuse/fuse-umount-force-ends-a-killed-daemon-that-hangs.sh \
	tests/fuse/fuse-umount-says-why-a-daemon-goes-on.sh \
	tests/fuse/fuse-unmounting-never-hangs.sh \
	tests/fuse/fuse-webdataset-goes-on-after-damage-with-skip.sh \
	tests/fuse/fuse-webdataset-reads-the-same-samples.sh \
	tests/fuse/fuse-webdataset-workers-read-one-epoch.sh \
	tests/fuse/fuse-webhdfs-serves-a-mount.sh

sidecar_tests = \
	tests/sidecar/sidecar-a-c-program-takes-batches.sh \
	tests/sidecar/sidecar-a-cut-state-kills-nobody.sh \
	tests/sidecar/sidecar-a-dead-mount-is-waited-for.sh \
	tests/sidecar/sidecar-a-failed-sender-ends-the-ring-at-once.sh \
	tests/sidecar/sidecar-a-gpus-memory-holds-the-same-batches.sh \
	tests/sidecar/sidecar-a-slow-trainer-may-hold-much-of-a-stream.sh \
	tests/sidecar/sidecar-a-storm-of-kills-loses-nothing-over-rdma.sh \
	tests/sidecar/sidecar-a-storm-of-kills-loses-nothing.sh \
	tests/sidecar/sidecar-a-stream-comes-as-pieces-of-slabs.sh \
	tests/sidecar/sidecar-a-wait-counts-while-it-lasts.sh \
	tests/sidecar/sidecar-cuda-a-card-fills-a-ring.sh \
	tests/sidecar/sidecar-cuda-gpu-holds-a-ring.sh \
	tests/sidecar/sidecar-cuda-plugin-runs-on-a-runtime-of-memfds.sh \
	tests/sidecar/sidecar-cuda-says-what-is-missing.sh \
	tests/sidecar/sidecar-every-wait-ends.sh \
	tests/sidecar/sidecar-images-are-pillows.sh \
	tests/sidecar/sidecar-needs-few-files.sh \
	tests/sidecar/sidecar-no-epoch-is-empty-for-who-attaches-anew.sh \
	tests/sidecar/sidecar-nothing-is-lost-when-anything-is-killed.sh \
	tests/sidecar/sidecar-nothing-is-lost-when-packets-are.sh \
	tests/sidecar/sidecar-only-who-has-the-secret-sends.sh \
	tests/sidecar/sidecar-python-batches-bring-each-epoch-once.sh \
	tests/sidecar/sidecar-python-takes-batches-without-a-copy.sh \
	tests/sidecar/sidecar-rdma-keeps-its-promises-without-a-card.sh \
	tests/sidecar/sidecar-rdma-loses-nothing-whatever-verbs-do.sh \
	tests/sidecar/sidecar-samples-are-given-once-as-they-are.sh \
	tests/sidecar/sidecar-samples-of-a-dead-trainer-are-accounted-for.sh \
	tests/sidecar/sidecar-send-gives-every-sample-once.sh \
	tests/sidecar/sidecar-tcp-feeds-a-ring.sh \
	tests/sidecar/sidecar-tcp-takes-ipv4-and-ipv6.sh \
	tests/sidecar/sidecar-tcp-tries-all-addresses-of-a-host.sh \
	tests/sidecar/sidecar-the-metrics-of-two-stand-together.sh \
	tests/sidecar/sidecar-trainers-trust-their-own-user.sh \
	tests/sidecar/sidecar-what-a-dead-receivers-trainer-holds-is-not-lost.sh \
	tests/sidecar/sidecar-what-nobody-trained-on-is-sent-again.sh \
	tests/sidecar/sidecar-workers-wait-for-memory.sh \
	tests/sidecar/sidecar-zmq-drops-what-is-no-batch.sh \
	tests/sidecar/sidecar-zmq-feeds-a-ring-of-ours.sh \
	tests/sidecar/sidecar-zmq-only-who-has-the-secret-sends.sh \
	tests/sidecar/sidecar-zmq-receives-what-tensorcom-sends.sh \
	tests/sidecar/sidecar-zmq-tensorcom-receives-what-is-sent.sh

repo_tests = \
	tests/repo/repo-a-mount-builds-without-the-sidecar.sh \
	tests/repo/repo-an-order-has-its-properties.sh \
	tests/repo/repo-comments-are-not-torn.sh \
	tests/repo/repo-deadlines-go-by-the-monotonic-clock.sh \
	tests/repo/repo-every-link-leads-somewhere.sh \
	tests/repo/repo-every-promise-names-a-test.sh \
	tests/repo/repo-every-test-is-listed.sh \
	tests/repo/repo-layers-hold.sh \
	tests/repo/repo-manuals-are-whole.sh \
	tests/repo/repo-scripts-test-finds-tests-by-part-of-a-name.sh \
	tests/repo/repo-the-order-of-locks-is-documented.sh \
	tests/repo/repo-version-names-commit-and-libraries.sh

test_helpers = \
	tests/check-rdma \
	tests/data/google-account.json \
	tests/data/order-vectors-dealt.json \
	tests/data/order-vectors-equal.json \
	tests/data/order-vectors-random.json \
	tests/data/order-vectors-tars.json \
	tests/data/order-vectors.json \
	tests/fuzz/fuzz-azure.c \
	tests/fuzz/fuzz-braces.c \
	tests/fuzz/fuzz-config.c \
	tests/fuzz/fuzz-described.c \
	tests/fuzz/fuzz-edit.c \
	tests/fuzz/fuzz-fields.c \
	tests/fuzz/fuzz-foreign.c \
	tests/fuzz/fuzz-hf.c \
	tests/fuzz/fuzz-http.c \
	tests/fuzz/fuzz-index.c \
	tests/fuzz/fuzz-json.c \
	tests/fuzz/fuzz-key.c \
	tests/fuzz/fuzz-list.c \
	tests/fuzz/fuzz-options.c \
	tests/fuzz/fuzz-pax.c \
	tests/fuzz/fuzz-records.c \
	tests/fuzz/fuzz-resync.c \
	tests/fuzz/fuzz-s3.c \
	tests/fuzz/fuzz-samples-wire.c \
	tests/fuzz/fuzz-scan.c \
	tests/fuzz/fuzz-sidecar-wire.c \
	tests/fuzz/fuzz-tar-differential.c \
	tests/fuzz/fuzz-tenbin.c \
	tests/fuzz/fuzz-uri.c \
	tests/fuzz/fuzz-verbs-wire.c \
	tests/fuzz/fuzz-webhdfs.c \
	tests/fuzz/fuzz-wire.c \
	tests/fuzz/fuzz.h \
	tests/fuzz/judge.py \
	tests/fuzz/make-corpus.py \
	tests/fuzz/maketar.h \
	tests/fuzz/names.h \
	tests/fuzz/replay.c \
	tests/fuzz/run \
	tests/lib/ais.py \
	tests/lib/ais.sh \
	tests/lib/azure.py \
	tests/lib/azure.sh \
	tests/lib/check-reads.py \
	tests/lib/check.h \
	tests/lib/cloud-client.py \
	tests/lib/clouds.sh \
	tests/lib/compare.py \
	tests/lib/crash-report.c \
	tests/lib/cuda-exits.py \
	tests/lib/cuda-ring.sh \
	tests/lib/cuda-streams.py \
	tests/lib/cuda-trainer.py \
	tests/lib/device-probe.c \
	tests/lib/epochs.h \
	tests/lib/fakecudart.c \
	tests/lib/fakegpu.c \
	tests/lib/fakegpu.h \
	tests/lib/far-sizes.sh \
	tests/lib/far.py \
	tests/lib/faults.sh \
	tests/lib/finding.h \
	tests/lib/forge-index.py \
	tests/lib/forward-ioctl.py \
	tests/lib/full-or-error.py \
	tests/lib/functions.sh \
	tests/lib/fuse-gates.c \
	tests/lib/gcs.py \
	tests/lib/gcs.sh \
	tests/lib/hadoop.sh \
	tests/lib/hang-threads.py \
	tests/lib/hf.py \
	tests/lib/hf.sh \
	tests/lib/https.py \
	tests/lib/ill-judge.py \
	tests/lib/ill-origin.py \
	tests/lib/indexed.h \
	tests/lib/indexed.sh \
	tests/lib/kerberos-ticket.py \
	tests/lib/kill-storm.py \
	tests/lib/kills.sh \
	tests/lib/late.sh \
	tests/lib/made-indexes.h \
	tests/lib/made-jpegs.h \
	tests/lib/make-shards.py \
	tests/lib/metadata.sh \
	tests/lib/minio-client.py \
	tests/lib/minio.sh \
	tests/lib/mounted-store.sh \
	tests/lib/naive-epoch.c \
	tests/lib/naive-epoch.h \
	tests/lib/notify-gate.sh \
	tests/lib/object_server.py \
	tests/lib/odd-tars.py \
	tests/lib/one-runtime.h \
	tests/lib/op-storm.py \
	tests/lib/order-properties.py \
	tests/lib/order-vectors.py \
	tests/lib/origin.py \
	tests/lib/parked.sh \
	tests/lib/python-batches.py \
	tests/lib/python-module.sh \
	tests/lib/python-ring.py \
	tests/lib/random-world.c \
	tests/lib/random-world.h \
	tests/lib/ranks-in-turn.py \
	tests/lib/rdma-data.py \
	tests/lib/reader-storm.py \
	tests/lib/ring-drain.c \
	tests/lib/ring-dump.c \
	tests/lib/ring-hashes.py \
	tests/lib/ring-producer.c \
	tests/lib/run-test \
	tests/lib/s3.py \
	tests/lib/s3.sh \
	tests/lib/samples-trainer.py \
	tests/lib/scripted-cm.c \
	tests/lib/scripted-fetch.h \
	tests/lib/scripted-runtime.c \
	tests/lib/scripted-runtime.h \
	tests/lib/scripted-source.c \
	tests/lib/scripted-source.h \
	tests/lib/scripted-verbs.c \
	tests/lib/scripted-verbs.h \
	tests/lib/sidecar-unit-tests-are-left-out.sh \
	tests/lib/stores.h \
	tests/lib/stores.sh \
	tests/lib/stream-world.c \
	tests/lib/stream-world.h \
	tests/lib/tars-in-tars.py \
	tests/lib/tars-in-tars.sh \
	tests/lib/tars.h \
	tests/lib/tensorcom-peer.py \
	tests/lib/tsan-suppressions \
	tests/lib/valgrind-shufflefs \
	tests/lib/vectors.h \
	tests/lib/verbs-peer.c \
	tests/lib/wds2idx.py \
	tests/lib/webdataset-samples.py \
	tests/lib/webhdfs-questions.py \
	tests/lib/webhdfs.py \
	tests/lib/webhdfs.sh \
	tests/lib/whole-file.h \
	tests/lib/zmq-peer.c \
	tests/rdma/a-canary-rping.sh \
	tests/rdma/a-card-writes-into-a-gpus-ring.sh \
	tests/rdma/a-failed-sender-ends-the-ring-at-once.sh \
	tests/rdma/a-gpus-ring-gets-what-a-mount-forwards.sh \
	tests/rdma/a-mount-forwards-over-rdma.sh \
	tests/rdma/a-removed-device-ends-connections.sh \
	tests/rdma/a-silent-peer-is-dead.sh \
	tests/rdma/a-wrong-key-hurts-nobody.sh \
	tests/rdma/batches-are-those-of-local.sh \
	tests/rdma/errors-are-one-line.sh \
	tests/rdma/functions.sh \
	tests/rdma/init \
	tests/rdma/ipv6-is-served.sh \
	tests/rdma/nothing-is-lost-when-ends-are-killed.sh \
	tests/rdma/only-who-has-the-secret-sends.sh \
	tests/rdma/other-versions-are-refused.sh \
	tests/rdma/relaxed-ordering-is-asked-for.sh \
	tests/rdma/three-senders-fill-one-ring.sh \
	tests/rdma/vm \
	tests/rdma/wire \
	tests/rdma/wired/a-cut-wire-loses-no-batch.sh \
	tests/rdma/wired/a-senders-port-without-carrier-loses-no-batch.sh \
	tests/rdma/wired/a-wire-that-stays-cut-ends-both.sh

# What tests in shell run: run-test preloads the first one, which is linked as plug-ins are.  A
# "GPU" without one is a plug-in, too.
test_programs = tests/lib/crash-report.so tests/lib/fuse-gates.so
tests_lib_crash_report_so_SOURCES = tests/lib/crash-report.c
tests_lib_crash_report_so_CFLAGS = $(SFS_CFLAGS) -fPIC -fno-sanitize=all
tests_lib_crash_report_so_LINK = $(CC) $(tests_lib_crash_report_so_CFLAGS) -shared -o $@
tests_lib_crash_report_so_LDADD =
tests_lib_fuse_gates_so_SOURCES = tests/lib/fuse-gates.c
tests_lib_fuse_gates_so_CFLAGS = $(SFS_CFLAGS) -fPIC -fno-sanitize=all
tests_lib_fuse_gates_so_LINK = $(CC) $(tests_lib_fuse_gates_so_CFLAGS) -shared -o $@
tests_lib_fuse_gates_so_LDADD =
if SIDECAR
test_programs += tests/lib/device-probe tests/lib/fakegpu.so tests/lib/ring-drain \
	tests/lib/ring-dump tests/lib/ring-producer
tests_lib_device_probe_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
tests_lib_ring_producer_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
tests_lib_fakegpu_so_SOURCES = tests/lib/fakegpu.c
tests_lib_fakegpu_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_lib_fakegpu_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SFS_LDFLAGS) -shared -Wl,-soname,fakegpu.so -o $@
tests_lib_fakegpu_so_LDADD =
endif
if SIDECAR_CUDA
check_PROGRAMS += tests/lib/fakecudart.so
tests_lib_fakecudart_so_SOURCES = tests/lib/fakecudart.c
tests_lib_fakecudart_so_CFLAGS = $(AM_CFLAGS) -fPIC -Wno-missing-prototypes
tests_lib_fakecudart_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) -pthread -shared \
	-Wl,-soname,$(CUDA_SONAME) -Wl,--default-symver -o $@
tests_lib_fakecudart_so_LDADD =
endif
if SIDECAR_ZMQ
test_programs += tests/lib/zmq-peer
tests_lib_zmq_peer_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
endif
if SIDECAR_VERBS
test_programs += tests/lib/verbs-peer
tests_lib_verbs_peer_SOURCES = tests/lib/verbs-peer.c rdma/nearest.c rdma/verbs-link.c
tests_lib_verbs_peer_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
tests_lib_verbs_peer_LDADD = $(LDADD) $(VERBS_LIBS)
# The plug-in and its peer over TCP, in the place of a card.
scripted_verbs = tests/lib/scripted-cm.c tests/lib/scripted-verbs.c tests/lib/scripted-verbs.h
scripted_verbs_flags = $(SFS_CFLAGS) $(VERBS_CFLAGS) -fPIC -Wno-missing-prototypes
test_programs += tests/lib/scripted/rdma.so tests/lib/scripted/verbs-peer
tests_lib_scripted_rdma_so_SOURCES = $(rdma_so_SOURCES) $(scripted_verbs)
tests_lib_scripted_rdma_so_CPPFLAGS = $(libsidecar_a_CPPFLAGS) -I$(srcdir)/rdma
tests_lib_scripted_rdma_so_CFLAGS = $(scripted_verbs_flags)
tests_lib_scripted_rdma_so_LINK = $(rdma_so_LINK)
tests_lib_scripted_rdma_so_LDADD = -lpthread
tests_lib_scripted_verbs_peer_SOURCES = $(tests_lib_verbs_peer_SOURCES) $(scripted_verbs)
tests_lib_scripted_verbs_peer_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS) -Wno-missing-prototypes
endif
check_PROGRAMS += $(test_programs) $(built_unit_tests)
test-programs: $(test_programs)
built_unit_tests = $(unit_tests)
if SIDECAR
built_unit_tests += $(sidecar_unit_tests)
tests_unit_sidecar_unit_decode_makes_rows_by_the_spec_CFLAGS = $(AM_CFLAGS) $(PNG_CFLAGS)
tests_unit_sidecar_unit_decode_jpeg_costs_what_its_bytes_justify_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS)
tests_unit_sidecar_unit_jpeg_planes_become_nearly_the_same_images_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS)
tests_unit_sidecar_unit_jpeg_parts_are_those_of_the_whole_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS)
tests_unit_sidecar_unit_device_ring_shows_only_what_has_arrived_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
else
# They cannot be linked; this says so.
TESTS += tests/lib/sidecar-unit-tests-are-left-out.sh
endif
TESTS += $(built_unit_tests) $(cat_tests) $(fuse_tests) $(sidecar_tests) $(repo_tests)
EXTRA_DIST += $(cat_tests) $(fuse_tests) $(sidecar_tests) $(repo_tests) $(test_helpers)

# The same suite on a copy of the tree (a source folder that was configured in place
# cannot be configured a second time), built in another way.
check-asan: SUITE_CONFIGURE = --with-sanitizer=address,undefined CFLAGS='-g -O1'
check-tsan: SUITE_CONFIGURE = --with-sanitizer=thread CFLAGS='-g -O1'
check-asan check-tsan: distdir
	chmod -R u+w $(distdir)
	rm -rf build-$@ && mv $(distdir) build-$@ && mkdir build-$@/_build
	cd build-$@/_build && ../configure -q --enable-werror $(SUITE_CONFIGURE) && \
	$(MAKE) $(AM_MAKEFLAGS) check

# See tests/lib/python-module.sh.
clean-local:
	rm -rf tests/lib/python-module tests/lib/python-module.lock

# ---- scripts/check ----

# Only in its second tier: more of a storm is better, what judges a speed is wrong on a machine
# that is busy, and a real server takes minutes to build.
storm_tests = \
	tests/cat/cat-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/fuse/fuse-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/fuse/fuse-a-storm-of-operations-breaks-nothing.sh \
	tests/fuse/fuse-a-storm-of-readers-gets-its-bytes.sh
tier2_tests = \
	tests/cat/cat-lists-may-be-at-urls.sh \
	tests/cat/cat-ranks-of-tars-in-tars-end-well-or-say-why.sh \
	tests/cat/cat-tars-in-tars-never-give-a-sample-that-is-none.sh \
	tests/fuse/fuse-a-wrong-guess-in-a-shard-is-the-last-one.sh \
	tests/cat/cat-hf-agrees-with-huggingface-hub.sh \
	tests/fuse/fuse-a-control-groups-limit-is-respected.sh \
	tests/fuse/fuse-a-killed-training-job-resumes-at-its-sample.sh \
	tests/fuse/fuse-a-stopped-reader-gives-its-memory-back.sh \
	tests/fuse/fuse-az-serves-a-mount.sh \
	tests/fuse/fuse-gs-serves-a-mount.sh \
	tests/fuse/fuse-hf-serves-a-mount.sh \
	tests/fuse/fuse-sigterm-ends-a-mount-whose-pages-are-being-dropped.sh \
	tests/fuse/fuse-the-next-epoch-gives-way-to-readers.sh \
	tests/fuse/fuse-webhdfs-serves-a-mount.sh \
	tests/sidecar/sidecar-cuda-plugin-runs-on-a-runtime-of-memfds.sh \
	tests/fuse/fuse-dali-reads-shards-and-streams-by-their-indexes.sh \
	tests/fuse/fuse-duckdb-reads-an-order-as-a-table.sh \
	tests/fuse/fuse-systemd-runs-mounts.sh \
	tests/cat/cat-s3-minio-has-what-boto3-uploaded.sh \
	tests/cat/cat-az-azurite-serves-a-container.sh \
	tests/cat/cat-clouds-of-the-tests-agree-with-real-clients.sh \
	tests/cat/cat-s3-minio-keys-may-expire.sh \
	tests/cat/cat-s3-minio-serves-a-bucket.sh \
	tests/fuse/fuse-s3-minio-serves-a-mount.sh \
	tests/cat/cat-webhdfs-hadoop-serves-a-folder.sh \
	tests/fuse/fuse-a-storm-of-operations-breaks-nothing.sh \
	tests/fuse/fuse-a-storm-of-readers-gets-its-bytes.sh \
	tests/fuse/fuse-the-bottleneck-over-a-link-is-named.sh \
	tests/repo/repo-a-mount-builds-without-the-sidecar.sh

# These begin first, so that no long one is left at the end: see build-check/plain.times.
slow_tests = \
	tests/cat/cat-plan-says-what-an-order-is-worth.sh \
	tests/cat/cat-keys-are-webdatasets.sh \
	tests/fuse/fuse-any-number-of-ranks-reads-one-epoch.sh \
	tests/cat/cat-parts-of-an-epoch-agree-with-the-script.sh \
	tests/fuse/fuse-a-file-never-changes-its-size.sh \
	tests/fuse/fuse-an-empty-answer-makes-no-empty-shard.sh \
	tests/fuse/fuse-a-servers-error-is-EIO-wherever-it-is-met.sh \
	tests/cat/cat-a-dripping-answer-ends.sh \
	tests/cat/cat-an-early-late-answer-is-asked-for-once-more.sh \
	tests/sidecar/sidecar-nothing-is-lost-when-anything-is-killed.sh \
	tests/cat/cat-a-stream-is-readable-up-to-a-network-error.sh \
	tests/cat/cat-equal-lanes-agree-with-the-script.sh \
	tests/cat/cat-asks-again-after-a-503.sh \
	tests/fuse/fuse-a-disk-that-hangs-stops-nobody-for-ever.sh \
	tests/fuse/fuse-the-bottleneck-is-named.sh

# What runs under ASan and UBSan in the first tier, beside the unit tests: those that bring
# hostile bytes or servers into C.  The rest runs the same code again, and waits more than it
# computes.
asan_tests = \
	tests/cat/cat-a-cache-is-shared-and-survives-crashes.sh \
	tests/cat/cat-a-lying-index-is-an-error.sh \
	tests/cat/cat-ais-errors-name-a-remedy.sh \
	tests/cat/cat-ais-gives-every-sample-once.sh \
	tests/cat/cat-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/cat/cat-an-index-that-does-not-fit-is-never-used.sh \
	tests/cat/cat-az-errors-name-a-remedy.sh \
	tests/cat/cat-az-gives-every-sample-once.sh \
	tests/cat/cat-bench-measures-source-and-order.sh \
	tests/cat/cat-credentials-stay-at-their-host.sh \
	tests/cat/cat-datasets-are-named-in-many-ways.sh \
	tests/cat/cat-drops-more-bytes-than-promised.sh \
	tests/cat/cat-empty-shards.sh \
	tests/cat/cat-endless-redirects-end.sh \
	tests/cat/cat-ends-within-511-bytes-of-damage.sh \
	tests/cat/cat-goes-through-a-proxy.sh \
	tests/cat/cat-gs-errors-name-a-remedy.sh \
	tests/cat/cat-hf-errors-name-a-remedy.sh \
	tests/cat/cat-hf-gives-every-sample-once.sh \
	tests/cat/cat-index-warns-of-what-bsdtar-reads-otherwise.sh \
	tests/cat/cat-indexes-of-other-tools-are-hints.sh \
	tests/cat/cat-keys-may-be-unique.sh \
	tests/cat/cat-links-and-folders-have-no-data.sh \
	tests/cat/cat-names-are-bytes.sh \
	tests/cat/cat-needs-no-content-length.sh \
	tests/cat/cat-needs-the-end-of-a-shard.sh \
	tests/cat/cat-notices-a-changed-size.sh \
	tests/cat/cat-notices-a-damaged-header.sh \
	tests/cat/cat-notices-a-truncated-shard.sh \
	tests/cat/cat-odd-tars-agree-with-the-script.sh \
	tests/cat/cat-one-odd-answer-is-not-final.sh \
	tests/cat/cat-refuses-a-wrong-range.sh \
	tests/cat/cat-refuses-what-is-not-a-tar.sh \
	tests/cat/cat-resumes-after-a-reset.sh \
	tests/cat/cat-s3-errors-name-a-remedy.sh \
	tests/cat/cat-s3-gives-every-sample-once.sh \
	tests/cat/cat-s3-notices-a-replaced-object.sh \
	tests/cat/cat-samples-larger-than-the-budget.sh \
	tests/cat/cat-says-what-a-file-is-instead-of-a-tar.sh \
	tests/cat/cat-skip-agrees-with-the-script.sh \
	tests/cat/cat-survives-nonsense.sh \
	tests/cat/cat-takes-shorter-ranges.sh \
	tests/cat/cat-trailers-are-not-believed.sh \
	tests/cat/cat-webhdfs-datanodes-and-files-may-change.sh \
	tests/cat/cat-webhdfs-errors-name-a-remedy.sh \
	tests/cat/cat-webhdfs-gives-every-sample-once.sh \
	tests/fuse/fuse-a-changed-shard-is-stale.sh \
	tests/fuse/fuse-a-local-shard-goes-away.sh \
	tests/fuse/fuse-a-shard-has-its-dali-index.sh \
	tests/fuse/fuse-a-stream-is-forwarded-by-ioctl.sh \
	tests/fuse/fuse-an-index-may-be-overwritten-in-place.sh \
	tests/fuse/fuse-an-ini-section-names-a-dataset.sh \
	tests/fuse/fuse-an-order-can-be-read-as-text.sh \
	tests/fuse/fuse-damaged-shards-are-shown-as-they-are.sh \
	tests/fuse/fuse-mount-shows-the-tree.sh \
	tests/fuse/fuse-names-from-tars-never-escape.sh \
	tests/fuse/fuse-nothing-can-be-written.sh \
	tests/fuse/fuse-open-files-stay-within-the-budget.sh \
	tests/fuse/fuse-reads-agree-however-they-are-made.sh \
	tests/fuse/fuse-samples-are-what-tar-extracts.sh \
	tests/fuse/fuse-streams-tell-their-order-and-samples.sh \
	tests/fuse/fuse-top-ends-whatever-it-looks-at.sh \
	tests/fuse/fuse-unmounting-never-hangs.sh \
	tests/sidecar/sidecar-a-stream-comes-as-pieces-of-slabs.sh \
	tests/sidecar/sidecar-images-are-pillows.sh \
	tests/sidecar/sidecar-nothing-is-lost-when-anything-is-killed.sh \
	tests/sidecar/sidecar-samples-are-given-once-as-they-are.sh \
	tests/sidecar/sidecar-send-gives-every-sample-once.sh \
	tests/sidecar/sidecar-tcp-feeds-a-ring.sh

# The dearest of those: the first tier runs them under ASan alone, the second plain, too.
asan_only_tests = \
	tests/cat/cat-an-index-that-does-not-fit-is-never-used.sh \
	tests/cat/cat-bench-measures-source-and-order.sh \
	tests/cat/cat-names-are-bytes.sh \
	tests/cat/cat-odd-tars-agree-with-the-script.sh \
	tests/cat/cat-one-odd-answer-is-not-final.sh \
	tests/cat/cat-refuses-what-is-not-a-tar.sh \
	tests/cat/cat-samples-larger-than-the-budget.sh \
	tests/cat/cat-skip-agrees-with-the-script.sh

check-tier1:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(slow_tests) $(filter-out $(tier2_tests) $(asan_only_tests) $(slow_tests),$(TESTS))'
check-tier1-asan:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(asan_tests) $(built_unit_tests)'
check-storms:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(storm_tests)'

# The modules and some of the core under valgrind, which sees what ASan does not: bytes that
# nobody has written.  A mount under it is too slow to be a test, and threads are TSan's.
# (JSIMD_FORCENONE: it takes pixels that libjpeg-turbo's SIMD code makes of bytes that were
# written for such that were not, also those of a whole image.)
# These take a minute each, for numbers, reserve more addresses than it has, or end while a scan goes on:
valgrind_leaves_out = \
	tests/unit/stream/unit-random-reads-scan-first-what-comes-first \
	tests/unit/catalog/unit-braces-expand-as-a-shell-does \
	tests/unit/http/unit-concurrency-is-8-near-and-most-from-afar \
	tests/unit/base/unit-eta-gives-up-no-wait-too-early \
	tests/unit/sidecar/unit-pool-gives-each-byte-to-one
# Each way through the core once: streams, headers, damage, indexes, answers, plan and bench.
valgrind_cat_tests = \
	tests/cat/cat-a-lying-index-is-an-error.sh \
	tests/cat/cat-a-streamed-epoch-leaves-indexes.sh \
	tests/cat/cat-bench-measures-source-and-order.sh \
	tests/cat/cat-credentials-stay-at-their-host.sh \
	tests/cat/cat-empty-shards.sh \
	tests/cat/cat-indexes-are-found-wherever-they-are.sh \
	tests/cat/cat-indexes-of-other-tools-are-hints.sh \
	tests/cat/cat-keys-may-be-unique.sh \
	tests/cat/cat-links-and-folders-have-no-data.sh \
	tests/cat/cat-needs-no-content-length.sh \
	tests/cat/cat-notices-a-truncated-shard.sh \
	tests/cat/cat-order-vectors-agree.sh \
	tests/cat/cat-resumes-after-a-reset.sh \
	tests/cat/cat-survives-nonsense.sh
check-valgrind: shufflefs$(EXEEXT) $(built_unit_tests)
	JSIMD_FORCENONE=1 MODEL_SCHEDULES=100 TEST_LIMIT=900 $(MAKE) $(AM_MAKEFLAGS) check \
	  TESTS='$(filter-out $(valgrind_leaves_out),$(built_unit_tests))' \
	  LOG_COMPILER='env UNDER_VALGRIND=1 $(srcdir)/tests/lib/run-test valgrind --quiet --error-exitcode=99 --leak-check=full'
	TEST_LIMIT=900 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(valgrind_cat_tests)' \
	  SHUFFLEFS=$(abs_srcdir)/tests/lib/valgrind-shufflefs

# Every parser, or FUZZ_TARGETS, with libFuzzer, for FUZZ_SECONDS each.
FUZZ_SECONDS = 20
FUZZ_TARGETS =
fuzz:
	$(srcdir)/tests/fuzz/run '$(CLANG)' '$(abs_top_builddir)' '$(abs_srcdir)' $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# What needs a GPU; without one it is skipped, and says why.
check-cuda:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='tests/sidecar/sidecar-cuda-says-what-is-missing.sh \
	  tests/sidecar/sidecar-cuda-plugin-runs-on-a-runtime-of-memfds.sh tests/sidecar/sidecar-cuda-gpu-holds-a-ring.sh \
	  tests/sidecar/sidecar-cuda-a-card-fills-a-ring.sh'
	cat tests/sidecar/sidecar-cuda-gpu-holds-a-ring.log tests/sidecar/sidecar-cuda-a-card-fills-a-ring.log

# rdma:// over real verbs, in virtual machines: three minutes.
check-rdma: all $(check_PROGRAMS)
	PYTHON3='$(PYTHON3)' $(srcdir)/tests/check-rdma '$(srcdir)' '$(abs_top_builddir)'

.PHONY: check-asan check-cuda check-rdma check-tsan check-tier1 check-tier1-asan check-storms check-valgrind fuzz test-programs
