/* SPDX-License-Identifier: MIT */
/* A pax record is taken only if its length, its blank, its equals sign and its newline
 * are all where they must be. */
#include "base/alloc.h"
#include "base/rng.h"
#include "check.h"
#include "tar/pax.h"

#include <errno.h>

/* In memory of just its size, so that sanitizers see every read beyond its end. */
static char *body;
static const char *at, *end;

static void begin(const char *bytes, size_t n)
{
	free(body);
	body = sfs_malloc(n ? n : 1);
	memcpy(body, bytes, n);
	at = body;
	end = body + n;
}

static void next_is(const char *key, const char *value, size_t n_value)
{
	struct sfs_pax_record r;
	const char *was = at;

	CHECK_EQ(sfs_pax_next(&at, end, &r), 1);
	CHECK_EQ(r.n_key, strlen(key));
	CHECK(memcmp(r.key, key, r.n_key) == 0);
	CHECK_EQ(r.n_value, n_value);
	CHECK(memcmp(r.value, value, n_value) == 0);
	CHECK(r.start == was && at == was + r.n_bytes);
	CHECK_EQ(r.n_bytes, sfs_pax_length(r.n_key, r.n_value));
}

static void ends(void)
{
	struct sfs_pax_record r;
	const char *was = at;

	CHECK_EQ(sfs_pax_next(&at, end, &r), 0);
	CHECK(at == was);
}

#define BEGIN(text) begin(text, sizeof(text) - 1)

static void good_ones(void)
{
	BEGIN("30 mtime=1321711775.972059463\n12 path=a/b\n");
	next_is("mtime", "1321711775.972059463", 20);
	next_is("path", "a/b", 3);
	ends();

	BEGIN("");
	ends();
	BEGIN("\0\0\0\0");
	ends();
	BEGIN("\0garbage");
	ends();
	BEGIN("6 k=v\n\0\0");
	next_is("k", "v", 1);
	ends();

	BEGIN("5 k=\n"); /* an empty value takes a setting back */
	next_is("k", "", 0);
	ends();
	BEGIN("9 k=a=b=\n"); /* the first equals sign counts */
	next_is("k", "a=b=", 4);
	BEGIN("12 k=a\nb\0c\n\n"); /* any byte may be in a value */
	next_is("k", "a\nb\0c\n", 6);
	ends();
	BEGIN("11 k k=v w\n"); /* a blank in a key */
	next_is("k k", "v w", 3);
	BEGIN("10 k\0\xff=v \n");
	{
		struct sfs_pax_record r;

		CHECK_EQ(sfs_pax_next(&at, end, &r), 1);
		CHECK_EQ(r.n_key, 3);
		CHECK(!sfs_pax_is(&r, "k"));
	}
}

static void bad(const char *bytes, size_t n)
{
	struct sfs_pax_record r = {.n_bytes = 77};
	int ret;

	begin(bytes, n);
	ret = sfs_pax_next(&at, end, &r);
	if (ret != -EBADMSG || at != body || r.n_bytes != 77) {
		fprintf(stderr, "'%.*s': %d, not -EBADMSG\n", (int)n, bytes, ret);
		exit(1);
	}
}

#define BAD(text) bad(text, sizeof(text) - 1)

static void bad_ones(void)
{
	BAD("6 k=v");	/* cut before its newline */
	BAD("6 k=v ");	/* another byte there */
	BAD("7 k=v\n"); /* longer than there are bytes */
	BAD("5 k=v\n"); /* shorter than it is */
	BAD("6");	/* no blank */
	BAD("6\tk=v\n");
	BAD("6k=v\n\n");
	BAD("k=v\n");
	BAD(" 6 k=v\n");
	BAD("-6 k=v\n");
	BAD("+6 k=v\n");
	BAD("0 k=v\n");
	BAD("1 \n");
	BAD("2 \n");
	BAD("3 \n\n");
	BAD("4 =\n"); /* no key */
	BAD("6 =kv\n");
	BAD("6 kvw\n");	  /* no equals sign */
	BAD("6 kv\n=\n"); /* but after the record */
	BAD("3 k=v\n");
	BAD("99999999999999999999999999999999 k=v\n");
	BAD("18446744073709551622 k=v\n"); /* 2^64 + 6 */
	BAD("4294967302 k=v\n");	   /* 2^32 + 6 */
	BAD("\n");
	BAD("=");
}

static void keys(void)
{
	struct sfs_pax_record r;

	BEGIN("26 GNU.sparse.name=a/b.jp\n");
	CHECK_EQ(sfs_pax_next(&at, end, &r), 1);
	CHECK(sfs_pax_is(&r, "GNU.sparse.name"));
	CHECK(!sfs_pax_is(&r, "GNU.sparse.nam"));
	CHECK(!sfs_pax_is(&r, "GNU.sparse.name=a"));
	CHECK(!sfs_pax_is(&r, "gnu.sparse.name"));
	CHECK(!sfs_pax_is(&r, ""));
	CHECK(sfs_pax_begins(&r, "GNU.sparse."));
	CHECK(sfs_pax_begins(&r, "GNU.sparse.name"));
	CHECK(sfs_pax_begins(&r, ""));
	CHECK(!sfs_pax_begins(&r, "GNU.sparse.names"));
	CHECK(!sfs_pax_begins(&r, "GNU.sparse.name=a"));
	CHECK(!sfs_pax_begins(&r, "NU"));
}

/* The length counts its own digits, which may make it longer by one more. */
static void lengths(void)
{
	char text[32];
	size_t n, length;

	CHECK_EQ(sfs_pax_length(1, 0), 5);
	CHECK_EQ(sfs_pax_length(4, 1), 9);
	CHECK_EQ(sfs_pax_length(4, 2), 11); /* 10 has a digit more */
	CHECK_EQ(sfs_pax_length(4, 90), 99);
	CHECK_EQ(sfs_pax_length(4, 91), 101);
	CHECK_EQ(sfs_pax_length(4, 989), 999);
	CHECK_EQ(sfs_pax_length(4, 990), 1001);
	for (n = 0; n < 20000; n++) {
		length = sfs_pax_length(4, n);
		CHECK_EQ(length, (size_t)snprintf(text, sizeof text, "%zu ", length) + 4 +
					 1 + n + 1);
	}
}

/* What is written by that length is read back, whatever is in it. */
static void round_trips(void)
{
	struct sfs_rng r = {5};
	struct sfs_pax_record rec;
	char bytes[300];
	size_t n_key, n_value, n, i, round;

	for (round = 0; round < 2000; round++) {
		n_key = 1 + sfs_rng_below(&r, 20);
		n_value = sfs_rng_below(&r, 200);
		n = (size_t)snprintf(bytes, sizeof bytes, "%zu ",
				     sfs_pax_length(n_key, n_value));
		memset(bytes + n, 'k', n_key);
		n += n_key;
		bytes[n++] = '=';
		for (i = 0; i < n_value; i++)
			bytes[n++] = (char)sfs_rng_next(&r);
		bytes[n++] = '\n';
		begin(bytes, n);
		CHECK_EQ(sfs_pax_next(&at, end, &rec), 1);
		CHECK_EQ(rec.n_key, n_key);
		CHECK_EQ(rec.n_value, n_value);
		CHECK(at == end);
		begin(bytes, n - 1);
		CHECK_EQ(sfs_pax_next(&at, end, &rec), -EBADMSG);
	}
}

int main(void)
{
	good_ones();
	bad_ones();
	keys();
	lengths();
	round_trips();
	free(body);
	return 0;
}
