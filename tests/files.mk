# The tests, each named by the sentence it proves.  unit-*: a module alone, in C;
# cat-*: the core, without a mount; fuse-*: a real mount; repo-*: this repository.
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

AM_CFLAGS = $(SFS_CFLAGS)
AM_LDFLAGS = $(SFS_LDFLAGS)
tests_cppflags = -I$(srcdir)/src -I$(srcdir)/tests
AM_CPPFLAGS += $(tests_cppflags)
LDADD = libshufflefs.la

unit_tests = \
	tests/unit-budget-keeps-every-floor \
	tests/unit-clock-writes-utc \
	tests/unit-error-sentences-fit-their-room \
	tests/unit-hash-goes-backwards \
	tests/unit-ledger-keeps-the-newest-lines \
	tests/unit-list-keeps-its-order \
	tests/unit-log-lines-hold-no-control-characters \
	tests/unit-memory-is-what-the-machine-has \
	tests/unit-pool-runs-a-task-never-twice-at-once \
	tests/unit-retry-waits-longer-each-time \
	tests/unit-rng-gives-the-published-numbers \
	tests/unit-slab-hands-out-the-last-one-first \
	tests/unit-text-grows-and-writes-sizes \
	tests/unit-text-json-is-valid-whatever-the-bytes \
	tests/unit-uri-never-shows-a-password \
	tests/unit-uri-understands-paths-and-urls

cat_tests = \
	tests/cat-asks-again-when-a-server-stalls.sh \
	tests/cat-asks-in-a-way-all-servers-take.sh \
	tests/cat-budget-never-changes-a-byte.sh \
	tests/cat-drops-more-bytes-than-promised.sh \
	tests/cat-gives-up-on-a-silent-server.sh \
	tests/cat-notices-a-changed-etag.sh \
	tests/cat-notices-a-changed-size.sh \
	tests/cat-notices-a-short-body.sh \
	tests/cat-refuses-a-206-without-its-range.sh \
	tests/cat-refuses-a-server-without-ranges.sh \
	tests/cat-refuses-a-wrong-range.sh \
	tests/cat-resumes-a-body-that-was-cut.sh \
	tests/cat-resumes-after-a-reset.sh \
	tests/cat-samples-larger-than-the-budget.sh \
	tests/cat-takes-shorter-ranges.sh \
	tests/cat-verifies-time-and-size-without-a-tag.sh \
	tests/cat-verify-size-takes-replicas.sh \
	tests/cat-waits-for-a-slow-trickle.sh

fuse_tests = \
	tests/fuse-a-dead-mount-is-mounted-over.sh \
	tests/fuse-an-ini-section-names-a-dataset.sh \
	tests/fuse-an-ordinary-user-mounts.sh \
	tests/fuse-far-reads-do-not-stream-the-epoch-again.sh \
	tests/fuse-far-reads-in-a-row-get-a-cursor.sh \
	tests/fuse-mount-shows-the-tree.sh \
	tests/fuse-mounting-says-what-is-wrong.sh \
	tests/fuse-names-from-tars-never-escape.sh \
	tests/fuse-nothing-can-be-written.sh \
	tests/fuse-reads-agree-however-they-are-made.sh \
	tests/fuse-samples-are-what-tar-extracts.sh \
	tests/fuse-sigterm-unmounts.sh

repo_tests = \
	tests/repo-every-promise-names-a-test.sh \
	tests/repo-every-test-is-listed.sh \
	tests/repo-floors-hold.sh \
	tests/repo-manuals-are-whole.sh

test_helpers = \
	tests/check-reads.py \
	tests/check.h \
	tests/compare.py \
	tests/faults.sh \
	tests/functions.sh \
	tests/make-shards.py \
	tests/order-vectors.json \
	tests/order.py \
	tests/origin.py \
	tests/run-test \
	tests/valgrind-shufflefs

check_PROGRAMS += $(unit_tests)
TESTS += $(unit_tests) $(cat_tests) $(fuse_tests) $(repo_tests)
EXTRA_DIST += $(cat_tests) $(fuse_tests) $(repo_tests) $(test_helpers)

# The same suite on a copy of the tree (a source folder that was configured in place
# cannot be configured a second time), built in another way.
check-asan: SUITE_CONFIGURE = --with-sanitizer=address,undefined CFLAGS='-g -O1'
check-tsan: SUITE_CONFIGURE = --with-sanitizer=thread CFLAGS='-g -O1'
check-asan check-tsan: distdir
	chmod -R u+w $(distdir)
	rm -rf build-$@ && mv $(distdir) build-$@ && mkdir build-$@/_build
	cd build-$@/_build && ../configure -q --enable-werror $(SUITE_CONFIGURE) && \
	$(MAKE) $(AM_MAKEFLAGS) check

# The modules and the core under valgrind; a mount under it is too slow to be a test.
check-valgrind: shufflefs$(EXEEXT) $(unit_tests)
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(unit_tests)' \
	  LOG_COMPILER='$(srcdir)/tests/run-test valgrind --quiet --error-exitcode=99 --leak-check=full'
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='$(cat_tests)' SHUFFLEFS=$(abs_srcdir)/tests/valgrind-shufflefs

# Every parser with libFuzzer, for FUZZ_SECONDS each.
FUZZ_SECONDS = 20
fuzz:
	$(srcdir)/tests/fuzz/run '$(CLANG)' '$(abs_top_builddir)' '$(abs_srcdir)' $(FUZZ_SECONDS)

.PHONY: check-asan check-tsan check-valgrind fuzz
