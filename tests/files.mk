# The tests, each named by the sentence it proves.  unit-*: a module alone, in C;
# cat-*: the core, without a mount; fuse-*: a real mount; sidecar-*: the sidecar; repo-*: this
# repository.
TEST_EXTENSIONS = .sh .py
AM_TESTS_ENVIRONMENT = \
	srcdir='$(srcdir)'; export srcdir; \
	abs_top_builddir='$(abs_top_builddir)'; export abs_top_builddir; \
	SHUFFLEFS="$${SHUFFLEFS:-$(abs_top_builddir)/shufflefs}"; export SHUFFLEFS; \
	PYTHON3='$(PYTHON3)'; export PYTHON3; \
	WITH_SANITIZER='$(WITH_SANITIZER)'; export WITH_SANITIZER;
LOG_COMPILER = $(srcdir)/tests/run-test
SH_LOG_COMPILER = $(srcdir)/tests/run-test sh
PY_LOG_COMPILER = $(srcdir)/tests/run-test $(PYTHON3)

AM_CFLAGS = $(SFS_CFLAGS) -Wno-write-strings
AM_LDFLAGS = $(SFS_LDFLAGS)
tests_cppflags = -I$(srcdir)/src -I$(srcdir)/include -I$(srcdir)/sidecar -I$(srcdir)/rdma -I$(srcdir)/tests
AM_CPPFLAGS += $(tests_cppflags)
LDADD = tests/libtests.a $(sidecar_libs)

# What unit tests share and is more than a header.
check_LIBRARIES = tests/libtests.a
tests_libtests_a_SOURCES = \
	tests/naive-epoch.c tests/naive-epoch.h \
	tests/scripted-runtime.c tests/scripted-runtime.h \
	tests/scripted-source.c tests/scripted-source.h \
	tests/stream-world.c tests/stream-world.h

unit_tests = \
	tests/unit-ais-page-keeps-every-name \
	tests/unit-ais-refusal-names-a-remedy \
	tests/unit-ais-token-is-read-again \
	tests/unit-ais-version-makes-tags-of-what-counts \
	tests/unit-alloc-never-returns-null \
	tests/unit-aws-credentials-follow-awss-order \
	tests/unit-aws-profile-reads-what-aws-writes \
	tests/unit-bench-report-names-the-limit \
	tests/unit-block-is-formed-as-soon-as-it-is-known \
	tests/unit-braces-expand-as-a-shell-does \
	tests/unit-budget-keeps-every-floor \
	tests/unit-checksum-sees-every-changed-byte \
	tests/unit-clock-skips-pauses \
	tests/unit-clock-writes-utc \
	tests/unit-concurrency-is-8-near-and-most-from-afar \
	tests/unit-cond-waits-by-the-monotonic-clock \
	tests/unit-conncache-returns-the-last-one-used \
	tests/unit-cursor-answers-as-soon-as-bytes-are-ready \
	tests/unit-cursor-begins-anywhere-with-all-its-lanes \
	tests/unit-cursor-copies-small-samples-together-ahead \
	tests/unit-cursor-waits-for-a-late-lane-only-when-it-is-due \
	tests/unit-dataset-names-each-shard-once \
	tests/unit-deadlines-hold-when-the-kernel-asks-again \
	tests/unit-decode-jpeg-costs-what-its-bytes-justify \
	tests/unit-decode-makes-rows-by-the-spec \
	tests/unit-device-ring-shows-only-what-has-arrived \
	tests/unit-directory-holds-only-safe-paths \
	tests/unit-entry-needs-only-the-headers \
	tests/unit-entry-takes-names-byte-for-byte \
	tests/unit-entry-understands-every-dialect \
	tests/unit-error-sentences-fit-their-room \
	tests/unit-eta-gives-up-no-wait-too-early \
	tests/unit-extent-map-finds-what-holds-a-byte \
	tests/unit-fetch-lets-late-drop-any-get \
	tests/unit-fetch-reads-responses-that-come-behind-each-other \
	tests/unit-file-lets-no-request-lie-while-a-thread-sleeps \
	tests/unit-file-notices-another-version \
	tests/unit-folder-finds-what-a-shell-would \
	tests/unit-gather-ends-once-however-its-pieces-end \
	tests/unit-grid-permutes-any-number \
	tests/unit-handout-is-read-as-it-lies \
	tests/unit-header-fetch-asks-only-for-what-is-wanted \
	tests/unit-header-patch-fetches-headers-only \
	tests/unit-header-reads-plain-headers-only \
	tests/unit-header-scan-fails-only-who-waits \
	tests/unit-header-scan-gives-everybody-what-they-asked-for \
	tests/unit-headers-read-what-servers-send \
	tests/unit-http1-reads-only-plain-responses \
	tests/unit-http1-request-refuses-what-libcurl-would-change \
	tests/unit-image-is-resized-alike-on-any-processor \
	tests/unit-index-cache-finds-what-it-saved \
	tests/unit-index-cache-gives-up-when-nothing-can-be-written \
	tests/unit-index-cache-takes-many-savers-at-once \
	tests/unit-index-export-writes-what-wds2idx-writes \
	tests/unit-index-find-ends-every-search \
	tests/unit-index-find-limits-what-it-fetches-from-urls \
	tests/unit-index-find-searches-in-order \
	tests/unit-index-find-survives-changes-while-reading \
	tests/unit-index-format-reads-what-it-wrote \
	tests/unit-index-format-refuses-a-wrong-byte \
	tests/unit-index-import-checks-against-the-shard \
	tests/unit-ini-reads-lines-of-any-length \
	tests/unit-input-keeps-what-was-taken \
	tests/unit-iterate-walks-an-epoch \
	tests/unit-jpeg-parts-are-those-of-the-whole \
	tests/unit-json-takes-what-the-rfc-takes \
	tests/unit-json-writer-places-commas \
	tests/unit-key-follows-webdataset \
	tests/unit-key-pattern-means-what-a-shell-would \
	tests/unit-keyhash-extends-backwards \
	tests/unit-latency-detects-late-responses \
	tests/unit-ledger-keeps-the-newest-lines \
	tests/unit-libarchive-says-what-it-reads-otherwise \
	tests/unit-limit-is-what-the-machine-has \
	tests/unit-list-keeps-its-order \
	tests/unit-listing-keeps-what-a-pattern-means \
	tests/unit-localfile-is-what-it-was-when-read \
	tests/unit-locate-finds-every-byte-of-an-epoch \
	tests/unit-lock-aborts-on-a-wrong-order \
	tests/unit-log-lines-hold-no-control-characters \
	tests/unit-magic-tells-what-a-file-is-instead-of-a-tar \
	tests/unit-members-are-found-by-number-and-by-byte \
	tests/unit-merge-takes-the-least-time-of-all-lanes \
	tests/unit-name-understands-canonical-names-only \
	tests/unit-names-keep-their-numbers \
	tests/unit-nearest-card-shares-most-of-the-path \
	tests/unit-netpath-belongs-to-the-server-of-an-object \
	tests/unit-next-epoch-begins-when-all-was-requested \
	tests/unit-next-epoch-follows-epochs-read-in-order \
	tests/unit-options-refuse-what-they-do-not-understand \
	tests/unit-order-file-reads-anywhere-at-little-cost \
	tests/unit-order-gives-the-published-vectors \
	tests/unit-origin-list-keeps-those-in-use \
	tests/unit-origin-sends-the-pieces-of-one-part-first \
	tests/unit-outage-is-reported-once \
	tests/unit-outbox-holds-each-batch-until-it-is-credited \
	tests/unit-oversize-fails-all-pieces-of-a-failed-header-patch \
	tests/unit-oversize-samples-are-fetched-as-readers-come-near \
	tests/unit-partition-gives-the-published-vectors \
	tests/unit-partition-interleaves-ranks-into-the-epoch \
	tests/unit-partition-leaves-out-any-sample-alike \
	tests/unit-pax-records-are-checked-to-the-byte \
	tests/unit-pool-gives-each-byte-to-one \
	tests/unit-prefetch-gives-a-fast-lane-more-requests \
	tests/unit-prefetch-keeps-what-came-before-a-failure \
	tests/unit-prefetch-reads-a-fast-lane-further-ahead \
	tests/unit-prefetch-requests-each-lane-before-it-runs-dry \
	tests/unit-prefetch-suits-the-path-to-each-shard \
	tests/unit-progress-is-one-line-of-a-terminal \
	tests/unit-psi-is-answered-fast \
	tests/unit-quality-is-what-theory-says \
	tests/unit-random-reads-fetch-only-their-bytes \
	tests/unit-range-reader-takes-turns \
	tests/unit-ratemeter-leaves-the-beginning-out \
	tests/unit-readers-of-one-stream-fetch-its-bytes-once \
	tests/unit-readers-stay-together-while-memory-lasts \
	tests/unit-request-answers-in-pieces-or-one-copy \
	tests/unit-response-is-believed-only-if-it-fits \
	tests/unit-retry-waits-longer-each-time \
	tests/unit-rewrite-changes-names-and-nothing-else \
	tests/unit-ring-loses-no-batch-whoever-dies \
	tests/unit-rng-gives-the-published-numbers \
	tests/unit-s3-page-keeps-every-key \
	tests/unit-s3-refusal-names-a-remedy \
	tests/unit-s3-url-encodes-keys-strictly \
	tests/unit-sample-says-when-a-stream-was-cut \
	tests/unit-samples-are-found-by-number-and-by-byte \
	tests/unit-samples-held-finds-what-was-not-released \
	tests/unit-samples-may-borrow-their-entries \
	tests/unit-samples-wire-refuses-what-no-trainer-says \
	tests/unit-scan-all-lets-each-waiter-have-its-own-deadline \
	tests/unit-scan-finds-the-same-samples-however-bytes-come \
	tests/unit-sequential-reads-may-have-small-gaps \
	tests/unit-sessions-bring-each-batch-to-the-ring-once \
	tests/unit-shaper-delivers-at-the-arrival-rate \
	tests/unit-shard-list-takes-a-shard-from-each-line \
	tests/unit-shard-reader-retries-what-failed-ahead \
	tests/unit-shard-tables-grow-once-and-are-dropped \
	tests/unit-signals-say-who-is-being-killed \
	tests/unit-sigv4-gives-the-published-signatures \
	tests/unit-single-samples-cause-no-storm-of-failures \
	tests/unit-single-samples-come-whole-whatever-the-memory \
	tests/unit-single-samples-that-came-before-a-failure-are-kept \
	tests/unit-single-samples-that-lie-together-are-read-together \
	tests/unit-sizes-report-in-one-line-what-is-missing \
	tests/unit-sizing-is-small-near-and-enough-from-far \
	tests/unit-slab-hands-out-the-last-one-first \
	tests/unit-slice-buffer-keeps-slabs-as-long-as-needed \
	tests/unit-strbuf-grows-and-writes-sizes \
	tests/unit-strbuf-json-is-valid-whatever-the-bytes \
	tests/unit-stream-ends-a-cursor-only-when-nobody-reads-it \
	tests/unit-stream-fails-a-read-only-for-bytes-that-it-needs \
	tests/unit-stream-gives-the-epoch-whatever-ends-when \
	tests/unit-stream-holds-no-more-than-its-plan \
	tests/unit-sums-know-the-bytes-before-any-sample \
	tests/unit-tcp-delivers-each-batch-once \
	tests/unit-tcp-ends-when-both-sides-know \
	tests/unit-tcp-outlives-hostile-peers \
	tests/unit-tenbin-writes-what-tensorcom-writes \
	tests/unit-threadpool-never-runs-a-task-twice-at-once \
	tests/unit-timer-fires-when-due \
	tests/unit-top-report-shows-what-stats-say \
	tests/unit-trail-is-what-all-readers-left-behind \
	tests/unit-transfer-ends-each-request-once \
	tests/unit-transfer-ends-what-comes-too-late \
	tests/unit-transfer-gives-right-bytes-or-the-reason \
	tests/unit-uri-never-shows-a-password \
	tests/unit-uri-understands-paths-and-urls \
	tests/unit-user-headers-are-read-again \
	tests/unit-verbs-wire-gives-each-slot-once \
	tests/unit-waits-name-the-limit \
	tests/unit-window-keeps-the-order-of-samples \
	tests/unit-wire-refuses-what-no-peer-sends \
	tests/unit-worth-warns-of-few-and-unequal-shards \
	tests/unit-xml-reads-what-s3-servers-write

cat_tests = \
	tests/cat-a-cache-is-shared-and-survives-crashes.sh \
	tests/cat-a-cache-that-cannot-be-written-is-no-error.sh \
	tests/cat-a-dripping-answer-ends.sh \
	tests/cat-a-home-that-may-not-be-entered-is-no-error.sh \
	tests/cat-a-late-answer-is-asked-for-once-more.sh \
	tests/cat-a-lying-index-is-an-error.sh \
	tests/cat-a-missing-netrc-file-is-refused.sh \
	tests/cat-a-missing-shard-may-be-left-out.sh \
	tests/cat-a-near-server-that-answers-late-counts-as-far.sh \
	tests/cat-a-part-is-read-while-it-comes.sh \
	tests/cat-a-rank-may-lack-any-of-its-samples.sh \
	tests/cat-a-reader-that-closes-early-is-no-error.sh \
	tests/cat-a-sample-given-up-is-not-asked-for-again.sh \
	tests/cat-a-server-gets-no-more-requests-than-connections.sh \
	tests/cat-a-shard-that-is-too-large-is-refused.sh \
	tests/cat-a-stream-is-readable-up-to-a-network-error.sh \
	tests/cat-a-streamed-epoch-leaves-indexes.sh \
	tests/cat-addresses-of-a-name-are-spread.sh \
	tests/cat-ais-agrees-with-a-real-cluster.sh \
	tests/cat-ais-errors-name-a-remedy.sh \
	tests/cat-ais-gives-every-sample-once.sh \
	tests/cat-ais-tokens-and-targets-may-change.sh \
	tests/cat-an-early-late-answer-is-asked-for-once-more.sh \
	tests/cat-an-identity-of-the-first-edition-is-named.sh \
	tests/cat-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/cat-an-index-that-does-not-fit-is-never-used.sh \
	tests/cat-asks-again-after-a-503.sh \
	tests/cat-asks-again-when-a-server-stalls.sh \
	tests/cat-asks-in-a-way-all-servers-take.sh \
	tests/cat-bench-measures-source-and-order.sh \
	tests/cat-budget-never-changes-a-byte.sh \
	tests/cat-commands-keep-the-read-timeout.sh \
	tests/cat-connections-are-kept.sh \
	tests/cat-connections-that-fell-silent-are-not-tried-one-by-one.sh \
	tests/cat-credentials-stay-at-their-host.sh \
	tests/cat-damage-is-an-error-of-parts-that-have-the-shard.sh \
	tests/cat-datasets-are-named-in-many-ways.sh \
	tests/cat-drops-more-bytes-than-promised.sh \
	tests/cat-empty-shards.sh \
	tests/cat-endless-redirects-end.sh \
	tests/cat-ends-within-511-bytes-of-damage.sh \
	tests/cat-equal-lanes-agree-with-the-script.sh \
	tests/cat-follows-redirects.sh \
	tests/cat-gives-up-on-a-silent-server.sh \
	tests/cat-gives-up-when-parts-fail-in-turn.sh \
	tests/cat-goes-through-a-proxy.sh \
	tests/cat-index-makes-indexes-ahead.sh \
	tests/cat-index-warns-of-what-bsdtar-reads-otherwise.sh \
	tests/cat-indexes-are-found-wherever-they-are.sh \
	tests/cat-indexes-of-other-tools-are-hints.sh \
	tests/cat-keys-are-webdatasets.sh \
	tests/cat-keys-may-be-unique.sh \
	tests/cat-lanes-that-fall-due-together-are-fetched-together.sh \
	tests/cat-links-and-folders-have-no-data.sh \
	tests/cat-ls-shows-shards-and-sizes.sh \
	tests/cat-missing-and-forbidden-shards-are-named.sh \
	tests/cat-missing-shards-are-counted-in-one-line.sh \
	tests/cat-names-a-server-that-is-not-there.sh \
	tests/cat-names-are-bytes.sh \
	tests/cat-needs-no-content-length.sh \
	tests/cat-needs-the-end-of-a-shard.sh \
	tests/cat-no-file-of-a-user-is-removed.sh \
	tests/cat-notices-a-changed-etag.sh \
	tests/cat-notices-a-changed-size.sh \
	tests/cat-notices-a-damaged-header.sh \
	tests/cat-notices-a-member-beyond-the-end.sh \
	tests/cat-notices-a-short-body.sh \
	tests/cat-notices-a-truncated-shard.sh \
	tests/cat-notices-any-change-of-a-tag.sh \
	tests/cat-notices-two-tars-in-one-file.sh \
	tests/cat-odd-tars-agree-with-the-script.sh \
	tests/cat-one-odd-answer-is-not-final.sh \
	tests/cat-order-agrees-with-an-independent-script.sh \
	tests/cat-order-vectors-agree.sh \
	tests/cat-own-connections-send-what-libcurl-sends.sh \
	tests/cat-parts-of-an-epoch-agree-with-the-script.sh \
	tests/cat-plan-says-what-an-order-is-worth.sh \
	tests/cat-refuses-a-206-without-its-range.sh \
	tests/cat-refuses-a-path-for-all-members.sh \
	tests/cat-refuses-a-server-without-ranges.sh \
	tests/cat-refuses-a-wrong-range.sh \
	tests/cat-refuses-an-encoding.sh \
	tests/cat-refuses-what-is-not-a-tar.sh \
	tests/cat-resumes-a-body-that-was-cut.sh \
	tests/cat-resumes-after-a-reset.sh \
	tests/cat-s3-credentials-come-from-where-aws-looks.sh \
	tests/cat-s3-credentials-may-expire.sh \
	tests/cat-s3-errors-name-a-remedy.sh \
	tests/cat-s3-gives-every-sample-once.sh \
	tests/cat-s3-lists-page-by-page.sh \
	tests/cat-s3-minio-keys-may-expire.sh \
	tests/cat-s3-minio-serves-a-bucket.sh \
	tests/cat-s3-notices-a-replaced-object.sh \
	tests/cat-s3-one-odd-answer-is-not-final.sh \
	tests/cat-samples-larger-than-a-block-are-fetched-ahead.sh \
	tests/cat-samples-larger-than-the-budget.sh \
	tests/cat-says-what-a-file-is-instead-of-a-tar.sh \
	tests/cat-says-when-an-order-hardly-shuffles.sh \
	tests/cat-segments-of-one-shard-may-follow-each-other.sh \
	tests/cat-signed-urls-are-requested-again.sh \
	tests/cat-sizes-are-asked-of-any-far-server.sh \
	tests/cat-skip-agrees-with-the-script.sh \
	tests/cat-small-slices-are-fetched-side-by-side.sh \
	tests/cat-survives-an-outage.sh \
	tests/cat-survives-nonsense.sh \
	tests/cat-takes-shorter-ranges.sh \
	tests/cat-the-last-answer-of-a-server-is-named.sh \
	tests/cat-tokens-may-rotate.sh \
	tests/cat-too-many-samples-for-the-budget-are-an-error.sh \
	tests/cat-trailers-are-not-believed.sh \
	tests/cat-verifies-time-and-size-without-a-tag.sh \
	tests/cat-verify-size-takes-replicas.sh \
	tests/cat-waits-as-long-as-a-server-says.sh \
	tests/cat-waits-for-a-slow-trickle.sh \
	tests/cat-writes-what-comes-before-an-error.sh

fuse_tests = \
	tests/fuse-a-budget-above-the-memory-is-reported.sh \
	tests/fuse-a-changed-shard-is-stale.sh \
	tests/fuse-a-clock-set-back-moves-no-deadline.sh \
	tests/fuse-a-control-groups-limit-is-respected.sh \
	tests/fuse-a-dead-mount-is-mounted-over.sh \
	tests/fuse-a-deadline-counts-once.sh \
	tests/fuse-a-disk-that-hangs-stops-nobody-for-ever.sh \
	tests/fuse-a-failed-read-of-a-shard-fails-alone.sh \
	tests/fuse-a-file-never-changes-its-size.sh \
	tests/fuse-a-hundred-parked-readers-block-nobody.sh \
	tests/fuse-a-killed-reader-is-gone-at-once.sh \
	tests/fuse-a-killed-training-job-resumes-at-its-sample.sh \
	tests/fuse-a-link-is-a-mount-point-too.sh \
	tests/fuse-a-list-of-shards-may-come-from-a-pipe.sh \
	tests/fuse-a-local-shard-goes-away.sh \
	tests/fuse-a-missing-shard-counts-as-empty.sh \
	tests/fuse-a-mount-says-what-it-waits-for.sh \
	tests/fuse-a-mount-says-when-its-order-hardly-shuffles.sh \
	tests/fuse-a-network-error-passes.sh \
	tests/fuse-a-parked-look-up-blocks-no-other.sh \
	tests/fuse-a-rank-without-a-sample-is-refused.sh \
	tests/fuse-a-second-reader-may-leap-ahead.sh \
	tests/fuse-a-servers-error-is-EIO-wherever-it-is-met.sh \
	tests/fuse-a-service-manager-is-notified.sh \
	tests/fuse-a-shard-has-its-dali-index.sh \
	tests/fuse-a-shard-is-readable-up-to-a-network-error.sh \
	tests/fuse-a-signal-that-does-not-kill-ends-nothing.sh \
	tests/fuse-a-small-stack-limit-is-no-crash.sh \
	tests/fuse-a-stopped-daemon-blames-nobody.sh \
	tests/fuse-a-stopped-reader-gives-its-memory-back.sh \
	tests/fuse-a-storm-of-operations-breaks-nothing.sh \
	tests/fuse-a-storm-of-readers-gets-its-bytes.sh \
	tests/fuse-a-stream-beyond-its-end-has-a-line.sh \
	tests/fuse-a-stream-has-its-dali-index.sh \
	tests/fuse-a-stream-is-forwarded-by-ioctl.sh \
	tests/fuse-an-empty-answer-makes-no-empty-shard.sh \
	tests/fuse-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/fuse-an-index-may-be-overwritten-in-place.sh \
	tests/fuse-an-index-that-comes-in-time-is-waited-for.sh \
	tests/fuse-an-index-that-takes-too-long-is-ENODATA.sh \
	tests/fuse-an-ini-section-names-a-dataset.sh \
	tests/fuse-an-interrupted-mount-leaves-nothing.sh \
	tests/fuse-an-order-can-be-read-as-text.sh \
	tests/fuse-an-order-may-be-read-while-shards-are-scanned.sh \
	tests/fuse-an-ordinary-user-mounts.sh \
	tests/fuse-any-number-of-ranks-reads-one-epoch.sh \
	tests/fuse-bench-leaves-no-mount-behind.sh \
	tests/fuse-crawlers-read-no-shards.sh \
	tests/fuse-dali-reads-shards-and-streams-by-their-indexes.sh \
	tests/fuse-damaged-shards-are-shown-as-they-are.sh \
	tests/fuse-duckdb-reads-an-order-as-a-table.sh \
	tests/fuse-epochs-are-permutations-of-each-other.sh \
	tests/fuse-equal-lanes-need-every-shard.sh \
	tests/fuse-errors-name-shard-offset-and-cause.sh \
	tests/fuse-failed-requests-have-a-line-each.sh \
	tests/fuse-files-made-for-readers-have-their-size.sh \
	tests/fuse-gnu-tar-bsdtar-and-python-read-a-stream.sh \
	tests/fuse-https-trusts-the-given-authorities.sh \
	tests/fuse-late-answers-cost-a-twentieth-at-most.sh \
	tests/fuse-ls-l-asks-for-many-members-at-once.sh \
	tests/fuse-ls-of-ten-thousand-shards-waits-for-no-size.sh \
	tests/fuse-memory-pressure-shrinks-the-window.sh \
	tests/fuse-memory-stays-within-the-budget.sh \
	tests/fuse-missing-and-forbidden-shards.sh \
	tests/fuse-missing-shards-are-reported-before-a-mount-returns.sh \
	tests/fuse-mount-shows-the-tree.sh \
	tests/fuse-mount8-and-fstab-mount-a-dataset.sh \
	tests/fuse-mounting-says-what-is-wrong.sh \
	tests/fuse-mounts-share-one-cache.sh \
	tests/fuse-names-are-bytes.sh \
	tests/fuse-names-from-tars-never-escape.sh \
	tests/fuse-nginx-serves-a-mount.sh \
	tests/fuse-nothing-can-be-written.sh \
	tests/fuse-open-files-stay-within-the-budget.sh \
	tests/fuse-pages-before-an-error-can-be-read.sh \
	tests/fuse-pages-behind-all-readers-are-dropped.sh \
	tests/fuse-random-reads-do-not-stream-the-epoch-again.sh \
	tests/fuse-random-reads-in-a-row-get-a-cursor.sh \
	tests/fuse-random-reads-need-no-headers-with-an-index.sh \
	tests/fuse-random-reads-of-an-order-block-nobody.sh \
	tests/fuse-ranks-and-workers-are-paths.sh \
	tests/fuse-readers-never-wait-for-each-others-memory.sh \
	tests/fuse-readers-of-one-stream-share-its-bytes.sh \
	tests/fuse-readers-without-room-for-their-lanes-go-on.sh \
	tests/fuse-reads-agree-however-they-are-made.sh \
	tests/fuse-s3-minio-serves-a-mount.sh \
	tests/fuse-samples-are-what-tar-extracts.sh \
	tests/fuse-shards-that-are-no-tars-refuse-a-mount.sh \
	tests/fuse-signals-do-what-the-manual-says.sh \
	tests/fuse-sigterm-ends-a-mount-that-hangs-in-the-kernel.sh \
	tests/fuse-sigterm-ends-a-mount-that-hangs.sh \
	tests/fuse-sigterm-ends-a-mount-whose-pages-are-being-dropped.sh \
	tests/fuse-sigterm-unmounts.sh \
	tests/fuse-sizes-never-change.sh \
	tests/fuse-sources-may-have-any-length.sh \
	tests/fuse-streams-tell-their-order-and-samples.sh \
	tests/fuse-systemd-runs-mounts.sh \
	tests/fuse-tables-make-room-for-streams.sh \
	tests/fuse-the-bottleneck-is-named.sh \
	tests/fuse-the-bottleneck-over-a-link-is-named.sh \
	tests/fuse-the-metrics-of-two-mounts-stand-together.sh \
	tests/fuse-the-next-epoch-gives-way-to-readers.sh \
	tests/fuse-the-next-epoch-is-fetched-ahead.sh \
	tests/fuse-top-ends-whatever-it-looks-at.sh \
	tests/fuse-umount-says-why-a-daemon-goes-on.sh \
	tests/fuse-unmounting-never-hangs.sh \
	tests/fuse-webdataset-goes-on-after-damage-with-skip.sh \
	tests/fuse-webdataset-reads-the-same-samples.sh \
	tests/fuse-webdataset-workers-read-one-epoch.sh

sidecar_tests = \
	tests/sidecar-a-c-program-takes-batches.sh \
	tests/sidecar-a-dead-mount-is-waited-for.sh \
	tests/sidecar-a-failed-sender-ends-the-ring-at-once.sh \
	tests/sidecar-a-gpus-memory-holds-the-same-batches.sh \
	tests/sidecar-a-stream-comes-as-pieces-of-slabs.sh \
	tests/sidecar-cuda-a-card-fills-a-ring.sh \
	tests/sidecar-cuda-gpu-holds-a-ring.sh \
	tests/sidecar-cuda-plugin-runs-on-a-runtime-of-memfds.sh \
	tests/sidecar-cuda-says-what-is-missing.sh \
	tests/sidecar-images-are-pillows.sh \
	tests/sidecar-no-epoch-is-empty-for-who-attaches-anew.sh \
	tests/sidecar-nothing-is-lost-when-anything-is-killed.sh \
	tests/sidecar-nothing-is-lost-when-packets-are.sh \
	tests/sidecar-python-takes-batches-without-a-copy.sh \
	tests/sidecar-samples-are-given-once-as-they-are.sh \
	tests/sidecar-samples-of-a-dead-trainer-are-accounted-for.sh \
	tests/sidecar-send-gives-every-sample-once.sh \
	tests/sidecar-tcp-feeds-a-ring.sh \
	tests/sidecar-tcp-takes-ipv4-and-ipv6.sh \
	tests/sidecar-tcp-tries-all-addresses-of-a-host.sh \
	tests/sidecar-the-metrics-of-two-stand-together.sh \
	tests/sidecar-what-nobody-trained-on-is-sent-again.sh \
	tests/sidecar-zmq-feeds-a-ring-of-ours.sh \
	tests/sidecar-zmq-receives-what-tensorcom-sends.sh \
	tests/sidecar-zmq-tensorcom-receives-what-is-sent.sh

repo_tests = \
	tests/repo-an-order-has-its-properties.sh \
	tests/repo-deadlines-go-by-the-monotonic-clock.sh \
	tests/repo-every-link-leads-somewhere.sh \
	tests/repo-every-promise-names-a-test.sh \
	tests/repo-every-test-is-listed.sh \
	tests/repo-layers-hold.sh \
	tests/repo-manuals-are-whole.sh \
	tests/repo-scripts-test-finds-tests-by-part-of-a-name.sh \
	tests/repo-the-order-of-locks-is-documented.sh \
	tests/repo-version-names-commit-and-libraries.sh

test_helpers = \
	tests/ais.py \
	tests/ais.sh \
	tests/check-rdma \
	tests/check-reads.py \
	tests/check.h \
	tests/compare.py \
	tests/crash-report.c \
	tests/cuda-exits.py \
	tests/cuda-ring.sh \
	tests/cuda-streams.py \
	tests/cuda-trainer.py \
	tests/device-probe.c \
	tests/epochs.h \
	tests/fakecudart.c \
	tests/fakegpu.c \
	tests/fakegpu.h \
	tests/faults.sh \
	tests/finding.h \
	tests/forge-index.py \
	tests/forward-ioctl.py \
	tests/full-or-error.py \
	tests/functions.sh \
	tests/fuzz/fuzz-braces.c \
	tests/fuzz/fuzz-config.c \
	tests/fuzz/fuzz-edit.c \
	tests/fuzz/fuzz-fields.c \
	tests/fuzz/fuzz-foreign.c \
	tests/fuzz/fuzz-http.c \
	tests/fuzz/fuzz-index.c \
	tests/fuzz/fuzz-json.c \
	tests/fuzz/fuzz-key.c \
	tests/fuzz/fuzz-list.c \
	tests/fuzz/fuzz-options.c \
	tests/fuzz/fuzz-pax.c \
	tests/fuzz/fuzz-records.c \
	tests/fuzz/fuzz-s3.c \
	tests/fuzz/fuzz-samples-wire.c \
	tests/fuzz/fuzz-scan.c \
	tests/fuzz/fuzz-sidecar-wire.c \
	tests/fuzz/fuzz-tar-differential.c \
	tests/fuzz/fuzz-tenbin.c \
	tests/fuzz/fuzz-uri.c \
	tests/fuzz/fuzz-verbs-wire.c \
	tests/fuzz/fuzz-wire.c \
	tests/fuzz/fuzz.h \
	tests/fuzz/judge.py \
	tests/fuzz/make-corpus.py \
	tests/fuzz/maketar.h \
	tests/fuzz/names.h \
	tests/fuzz/replay.c \
	tests/fuzz/run \
	tests/hang-threads.py \
	tests/https.py \
	tests/ill-judge.py \
	tests/ill-origin.py \
	tests/indexed.h \
	tests/indexed.sh \
	tests/kills.sh \
	tests/late.sh \
	tests/made-indexes.h \
	tests/make-shards.py \
	tests/minio-client.py \
	tests/minio.sh \
	tests/naive-epoch.c \
	tests/naive-epoch.h \
	tests/notify-gate.c \
	tests/notify-gate.sh \
	tests/object_server.py \
	tests/odd-tars.py \
	tests/one-runtime.h \
	tests/op-storm.py \
	tests/order-properties.py \
	tests/order-vectors-dealt.json \
	tests/order-vectors-equal.json \
	tests/order-vectors-tars.json \
	tests/order-vectors.json \
	tests/order-vectors.py \
	tests/origin.py \
	tests/parked.sh \
	tests/python-ring.py \
	tests/ranks-in-turn.py \
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
	tests/rdma/other-versions-are-refused.sh \
	tests/rdma/relaxed-ordering-is-asked-for.sh \
	tests/rdma/three-senders-fill-one-ring.sh \
	tests/rdma/vm \
	tests/rdma/wire \
	tests/rdma/wired/a-cut-wire-loses-no-batch.sh \
	tests/rdma/wired/a-senders-port-without-carrier-loses-no-batch.sh \
	tests/rdma/wired/a-wire-that-stays-cut-ends-both.sh \
	tests/reader-storm.py \
	tests/ring-drain.c \
	tests/ring-dump.c \
	tests/ring-hashes.py \
	tests/ring-producer.c \
	tests/run-test \
	tests/s3.py \
	tests/s3.sh \
	tests/samples-trainer.py \
	tests/scripted-fetch.h \
	tests/scripted-runtime.c \
	tests/scripted-runtime.h \
	tests/scripted-source.c \
	tests/scripted-source.h \
	tests/stores.h \
	tests/stores.sh \
	tests/stream-world.c \
	tests/stream-world.h \
	tests/tars.h \
	tests/tensorcom-peer.py \
	tests/valgrind-shufflefs \
	tests/vectors.h \
	tests/verbs-peer.c \
	tests/wds2idx.py \
	tests/webdataset-samples.py \
	tests/whole-file.h \
	tests/zmq-peer.c

# What tests in shell run: run-test preloads the first one, which is linked as plug-ins are.  A
# "GPU" without one is a plug-in, too.
test_programs = tests/crash-report.so tests/device-probe tests/fakegpu.so \
	tests/notify-gate.so tests/ring-drain tests/ring-dump tests/ring-producer
tests_crash_report_so_SOURCES = tests/crash-report.c
tests_crash_report_so_CFLAGS = $(SFS_CFLAGS) -fPIC -fno-sanitize=all
tests_crash_report_so_LINK = $(CC) $(tests_crash_report_so_CFLAGS) -shared -o $@
tests_crash_report_so_LDADD =
tests_notify_gate_so_SOURCES = tests/notify-gate.c
tests_notify_gate_so_CFLAGS = $(SFS_CFLAGS) -fPIC -fno-sanitize=all
tests_notify_gate_so_LINK = $(CC) $(tests_notify_gate_so_CFLAGS) -shared -o $@
tests_notify_gate_so_LDADD =
tests_fakegpu_so_SOURCES = tests/fakegpu.c
tests_fakegpu_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_fakegpu_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) $(SFS_LDFLAGS) -shared -Wl,-soname,fakegpu.so -o $@
tests_fakegpu_so_LDADD =
if SIDECAR_CUDA
check_PROGRAMS += tests/fakecudart.so
tests_fakecudart_so_SOURCES = tests/fakecudart.c
tests_fakecudart_so_CFLAGS = $(AM_CFLAGS) -fPIC -Wno-missing-prototypes
tests_fakecudart_so_LINK = $(CC) $(CFLAGS) $(LDFLAGS) -pthread -shared \
	-Wl,-soname,$(CUDA_SONAME) -Wl,--default-symver -o $@
tests_fakecudart_so_LDADD =
endif
tests_device_probe_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
tests_ring_producer_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
tests_unit_device_ring_shows_only_what_has_arrived_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
if SIDECAR_ZMQ
test_programs += tests/zmq-peer
tests_zmq_peer_LDFLAGS = $(SFS_LDFLAGS) -export-dynamic
endif
if SIDECAR_VERBS
test_programs += tests/verbs-peer
tests_verbs_peer_SOURCES = tests/verbs-peer.c rdma/nearest.c rdma/verbs-link.c
tests_verbs_peer_CFLAGS = $(AM_CFLAGS) $(VERBS_CFLAGS)
tests_verbs_peer_LDADD = $(LDADD) $(VERBS_LIBS)
endif
check_PROGRAMS += $(unit_tests) $(test_programs)
test-programs: $(test_programs)
tests_unit_decode_makes_rows_by_the_spec_CFLAGS = $(AM_CFLAGS) $(PNG_CFLAGS)
tests_unit_decode_jpeg_costs_what_its_bytes_justify_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS)
tests_unit_jpeg_parts_are_those_of_the_whole_CFLAGS = $(AM_CFLAGS) $(JPEG_CFLAGS)
TESTS += $(unit_tests) $(cat_tests) $(fuse_tests) $(sidecar_tests) $(repo_tests)
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

# ---- scripts/check ----

# Only in its second tier: more of a storm is better, what judges a speed is wrong on a machine
# that is busy, and a real server takes minutes to build.
storm_tests = \
	tests/cat-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/fuse-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/fuse-a-storm-of-operations-breaks-nothing.sh \
	tests/fuse-a-storm-of-readers-gets-its-bytes.sh
tier2_tests = \
	tests/sidecar-cuda-plugin-runs-on-a-runtime-of-memfds.sh \
	tests/fuse-dali-reads-shards-and-streams-by-their-indexes.sh \
	tests/fuse-duckdb-reads-an-order-as-a-table.sh \
	tests/fuse-systemd-runs-mounts.sh \
	tests/cat-s3-minio-keys-may-expire.sh \
	tests/cat-s3-minio-serves-a-bucket.sh \
	tests/fuse-s3-minio-serves-a-mount.sh \
	tests/fuse-a-storm-of-operations-breaks-nothing.sh \
	tests/fuse-a-storm-of-readers-gets-its-bytes.sh \
	tests/fuse-the-bottleneck-over-a-link-is-named.sh

# These begin first, so that no long one is left at the end: see build-check/plain.times.
slow_tests = \
	tests/cat-plan-says-what-an-order-is-worth.sh \
	tests/cat-keys-are-webdatasets.sh \
	tests/fuse-any-number-of-ranks-reads-one-epoch.sh \
	tests/cat-parts-of-an-epoch-agree-with-the-script.sh \
	tests/fuse-a-file-never-changes-its-size.sh \
	tests/fuse-an-empty-answer-makes-no-empty-shard.sh \
	tests/fuse-a-servers-error-is-EIO-wherever-it-is-met.sh \
	tests/cat-a-dripping-answer-ends.sh \
	tests/fuse-a-stopped-reader-gives-its-memory-back.sh \
	tests/cat-an-early-late-answer-is-asked-for-once-more.sh \
	tests/sidecar-nothing-is-lost-when-anything-is-killed.sh \
	tests/cat-a-stream-is-readable-up-to-a-network-error.sh \
	tests/cat-equal-lanes-agree-with-the-script.sh \
	tests/cat-asks-again-after-a-503.sh \
	tests/fuse-a-disk-that-hangs-stops-nobody-for-ever.sh \
	tests/fuse-the-bottleneck-is-named.sh \
	tests/fuse-a-killed-training-job-resumes-at-its-sample.sh

# What runs under ASan and UBSan in the first tier, beside the unit tests: those that bring
# hostile bytes or servers into C.  The rest runs the same code again, and waits more than it
# computes.
asan_tests = \
	tests/cat-a-cache-is-shared-and-survives-crashes.sh \
	tests/cat-a-lying-index-is-an-error.sh \
	tests/cat-ais-errors-name-a-remedy.sh \
	tests/cat-ais-gives-every-sample-once.sh \
	tests/cat-an-ill-server-gives-all-bytes-or-an-error.sh \
	tests/cat-an-index-that-does-not-fit-is-never-used.sh \
	tests/cat-bench-measures-source-and-order.sh \
	tests/cat-credentials-stay-at-their-host.sh \
	tests/cat-datasets-are-named-in-many-ways.sh \
	tests/cat-drops-more-bytes-than-promised.sh \
	tests/cat-empty-shards.sh \
	tests/cat-endless-redirects-end.sh \
	tests/cat-ends-within-511-bytes-of-damage.sh \
	tests/cat-goes-through-a-proxy.sh \
	tests/cat-index-warns-of-what-bsdtar-reads-otherwise.sh \
	tests/cat-indexes-of-other-tools-are-hints.sh \
	tests/cat-keys-may-be-unique.sh \
	tests/cat-links-and-folders-have-no-data.sh \
	tests/cat-names-are-bytes.sh \
	tests/cat-needs-no-content-length.sh \
	tests/cat-needs-the-end-of-a-shard.sh \
	tests/cat-notices-a-changed-size.sh \
	tests/cat-notices-a-damaged-header.sh \
	tests/cat-notices-a-truncated-shard.sh \
	tests/cat-odd-tars-agree-with-the-script.sh \
	tests/cat-one-odd-answer-is-not-final.sh \
	tests/cat-refuses-a-wrong-range.sh \
	tests/cat-refuses-what-is-not-a-tar.sh \
	tests/cat-resumes-after-a-reset.sh \
	tests/cat-s3-errors-name-a-remedy.sh \
	tests/cat-s3-gives-every-sample-once.sh \
	tests/cat-s3-notices-a-replaced-object.sh \
	tests/cat-samples-larger-than-the-budget.sh \
	tests/cat-says-what-a-file-is-instead-of-a-tar.sh \
	tests/cat-skip-agrees-with-the-script.sh \
	tests/cat-survives-nonsense.sh \
	tests/cat-takes-shorter-ranges.sh \
	tests/cat-trailers-are-not-believed.sh \
	tests/fuse-a-changed-shard-is-stale.sh \
	tests/fuse-a-local-shard-goes-away.sh \
	tests/fuse-a-shard-has-its-dali-index.sh \
	tests/fuse-a-stream-is-forwarded-by-ioctl.sh \
	tests/fuse-an-index-may-be-overwritten-in-place.sh \
	tests/fuse-an-ini-section-names-a-dataset.sh \
	tests/fuse-an-order-can-be-read-as-text.sh \
	tests/fuse-damaged-shards-are-shown-as-they-are.sh \
	tests/fuse-mount-shows-the-tree.sh \
	tests/fuse-names-from-tars-never-escape.sh \
	tests/fuse-nothing-can-be-written.sh \
	tests/fuse-open-files-stay-within-the-budget.sh \
	tests/fuse-reads-agree-however-they-are-made.sh \
	tests/fuse-samples-are-what-tar-extracts.sh \
	tests/fuse-streams-tell-their-order-and-samples.sh \
	tests/fuse-top-ends-whatever-it-looks-at.sh \
	tests/fuse-unmounting-never-hangs.sh \
	tests/sidecar-a-stream-comes-as-pieces-of-slabs.sh \
	tests/sidecar-images-are-pillows.sh \
	tests/sidecar-nothing-is-lost-when-anything-is-killed.sh \
	tests/sidecar-samples-are-given-once-as-they-are.sh \
	tests/sidecar-send-gives-every-sample-once.sh \
	tests/sidecar-tcp-feeds-a-ring.sh

check-tier1:
	$(MAKE) $(AM_MAKEFLAGS) check \
	  TESTS='$(slow_tests) $(filter-out $(tier2_tests) $(slow_tests),$(TESTS))'
check-tier1-asan:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(asan_tests) $(unit_tests)'
check-storms:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(storm_tests)'

# The modules and some of the core under valgrind, which sees what ASan does not: bytes that
# nobody has written.  A mount under it is too slow to be a test, and threads are TSan's.
# (JSIMD_FORCENONE: it takes pixels that libjpeg-turbo's SIMD code makes of bytes that were
# written for such that were not, also those of a whole image.)
# These take a minute each, for numbers, or reserve more addresses than it has:
valgrind_leaves_out = \
	tests/unit-braces-expand-as-a-shell-does \
	tests/unit-concurrency-is-8-near-and-most-from-afar \
	tests/unit-eta-gives-up-no-wait-too-early \
	tests/unit-pool-gives-each-byte-to-one
# Each way through the core once: streams, headers, damage, indexes, answers, plan and bench.
valgrind_cat_tests = \
	tests/cat-a-lying-index-is-an-error.sh \
	tests/cat-a-streamed-epoch-leaves-indexes.sh \
	tests/cat-bench-measures-source-and-order.sh \
	tests/cat-credentials-stay-at-their-host.sh \
	tests/cat-empty-shards.sh \
	tests/cat-indexes-are-found-wherever-they-are.sh \
	tests/cat-indexes-of-other-tools-are-hints.sh \
	tests/cat-keys-may-be-unique.sh \
	tests/cat-links-and-folders-have-no-data.sh \
	tests/cat-needs-no-content-length.sh \
	tests/cat-notices-a-truncated-shard.sh \
	tests/cat-order-vectors-agree.sh \
	tests/cat-resumes-after-a-reset.sh \
	tests/cat-survives-nonsense.sh
check-valgrind: shufflefs$(EXEEXT) $(unit_tests)
	JSIMD_FORCENONE=1 MODEL_SCHEDULES=100 TEST_LIMIT=900 $(MAKE) $(AM_MAKEFLAGS) check \
	  TESTS='$(filter-out $(valgrind_leaves_out),$(unit_tests))' \
	  LOG_COMPILER='$(srcdir)/tests/run-test valgrind --quiet --error-exitcode=99 --leak-check=full'
	TEST_LIMIT=900 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(valgrind_cat_tests)' \
	  SHUFFLEFS=$(abs_srcdir)/tests/valgrind-shufflefs

# Every parser, or FUZZ_TARGETS, with libFuzzer, for FUZZ_SECONDS each.
FUZZ_SECONDS = 20
FUZZ_TARGETS =
fuzz:
	$(srcdir)/tests/fuzz/run '$(CLANG)' '$(abs_top_builddir)' '$(abs_srcdir)' $(FUZZ_SECONDS) $(FUZZ_TARGETS)

# What needs a GPU; without one it is skipped, and says why.
check-cuda:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='tests/sidecar-cuda-says-what-is-missing.sh \
	  tests/sidecar-cuda-plugin-runs-on-a-runtime-of-memfds.sh tests/sidecar-cuda-gpu-holds-a-ring.sh \
	  tests/sidecar-cuda-a-card-fills-a-ring.sh'
	cat tests/sidecar-cuda-gpu-holds-a-ring.log tests/sidecar-cuda-a-card-fills-a-ring.log

# rdma:// over real verbs, in virtual machines: three minutes.
check-rdma: all $(check_PROGRAMS)
	PYTHON3='$(PYTHON3)' $(srcdir)/tests/check-rdma '$(srcdir)' '$(abs_top_builddir)'

.PHONY: check-asan check-cuda check-rdma check-tsan check-tier1 check-tier1-asan check-storms check-valgrind fuzz test-programs
