/* SPDX-License-Identifier: MIT */
/* What a mount's stats say is drawn, rates are differences, lines keep to the terminal's
 * width; what is no stats is refused, and nothing unprintable reaches the terminal. */
#include "check.h"
#include "cli/top-report.h"

#include <errno.h>

static const char first[] =
	"{\"version\":\"1.2\",\"pid\":7,\n\"sources\":[\"https://host/"
	"a-{0..9}.tar\",\"b\"],\"uptime_ms\":3600000,\"shards\":1000,\"delivered_bytes\":"
	"1048576,\"fetched_bytes\":0,\"budget_bytes\":1073741824,\"budget_used_bytes\":"
	"536870912,\"slab_bytes\":2097152,\"huge_page_bytes\":1048576,"
	"\"huge_pages_off\":\"why not\","
	"\"requests\":12,\"requests_failed\":3,\"events_retry\":4,\"new\":{"
	"\"a\":[1,{}]},\"streams\":[{\"epoch\":5,\"first_lane\":1,\"lane_step\":8,"
	"\"bytes\":10485760,\"waits\":{\"reader\":1},\"verdict\":\"of the "
	"stream\",\"cursors\":[{\"offset\":0,\"requests\":1,\"waits\":{},\"verdict\":"
	"\"x\"}]},{\"epoch\":6,\"first_lane\":0,\"lane_step\":1,\"bytes\":0,\"verdict\":"
	"\"nobody is reading\",\"cursors\":[]}]}";

static const char second[] =
	"{\"version\":\"1.2\",\"pid\":7,\n\"sources\":[\"https://host/"
	"a-{0..9}.tar\",\"b\"],\"uptime_ms\":3602000,\"shards\":1000,\"delivered_bytes\":"
	"5242880,\"fetched_bytes\":2097152,\"budget_bytes\":1073741824,\"budget_used_"
	"bytes\":536870912,\"slab_bytes\":536870912,\"huge_page_bytes\":268435456,"
	"\"huge_pages_off\":null,\"requests\":12,\"requests_failed\":3,\"events_retry\":4,"
	"\"streams\":[{\"epoch\":5,\"first_lane\":1,\"lane_step\":8,\"bytes\":10485760,"
	"\"waits\":{\"reader\":1},\"verdict\":\"of the "
	"stream\",\"cursors\":[{\"offset\":2097152,\"requests\":9,\"waits\":{\"reader\":"
	"75,\"source\":0,\"network\":20,\"budget\":0,\"cpu\":5,\"block\":0,\"moon\":4},"
	"\"verdict\":\"the reader is the bottleneck: 75 % of the time, 64 parts were "
	"ready for "
	"it\"}]},{\"epoch\":6,\"first_lane\":0,\"lane_step\":1,\"bytes\":0,\"verdict\":"
	"\"nobody is reading\",\"cursors\":[]}]}";

static void test_drawing(void)
{
	struct sfs_top_report before, now;
	struct sfs_strbuf text = {0};

	CHECK_EQ(sfs_top_report_read(first, strlen(first), &before, NULL), 0);
	CHECK_EQ(sfs_top_report_read(second, strlen(second), &now, NULL), 0);
	sfs_top_report_draw(&now, &before, "/mnt/x", 0, 0, &text);
	CHECK_HAS(text.s, "shufflefs 1.2  /mnt/x  up 1:00:02  1000 shards\n");
	CHECK_HAS(text.s, "source    https://host/a-{0..9}.tar, b\n");
	CHECK_HAS(text.s, "rate      2M/s delivered, 1M/s fetched\n");
	CHECK_HAS(text.s, "budget    [##########..........] 512M of 1G\n");
	CHECK_HAS(text.s, "memory    512M for data, 256M in huge pages\n");
	CHECK_HAS(text.s, "requests  9 in flight, 12 ended, 3 failed, 4 retried\n");
	CHECK_HAS(text.s, "\nEPOCH  PART          AT      RATE     ETA  WAITS\n5      "
			  "1/8       20.0 %      1M/s 0:00:08  RRRRRRRRRRRRRRRNNNNC\n    "
			  "   the reader is the bottleneck: 75 % of the time, 64 parts "
			  "were ready for it\n6      -              -         -       -  "
			  "....................\n       nobody is reading\n");
	sfs_strbuf_done(&text);

	/* Without a look before there are no rates. */
	sfs_top_report_draw(&now, NULL, "/mnt/x", 0, 0, &text);
	CHECK_HAS(text.s, "rate      - delivered, - fetched\n");
	CHECK_HAS(text.s, "5      1/8       20.0 %         -       -  R");
	sfs_strbuf_done(&text);
	sfs_top_report_draw(&before, NULL, "/mnt/x", 0, 0, &text);
	CHECK_HAS(text.s, "memory    2M for data, huge pages are off: why not\n");
	sfs_strbuf_done(&text);
	sfs_top_report_done(&before);
	sfs_top_report_done(&now);
}

static void test_width(void)
{
	struct sfs_top_report now;
	struct sfs_strbuf text = {0};
	unsigned columns;
	const char *p, *end;

	CHECK_EQ(sfs_top_report_read(second, strlen(second), &now, NULL), 0);
	for (columns = 18; columns < 90; columns++) {
		sfs_top_report_draw(&now, NULL, "/mnt/\xc3\xa4", columns, 0, &text);
		for (p = text.s; *p; p = end + 1) {
			end = strchr(p, '\n');
			CHECK(end != NULL);
			CHECK(end - p <= columns + 1); /* one is of two bytes */
		}
		sfs_strbuf_done(&text);
	}
	sfs_top_report_draw(&now, NULL, "/", 40, 0, &text);
	CHECK_HAS(text.s, "\n       the reader is the bottleneck: 75\n"
			  "       % of the time, 64 parts were\n       ready for it\n");
	sfs_strbuf_done(&text);
	sfs_top_report_done(&now);
}

static void test_refusals(void)
{
	struct sfs_error why;
	struct sfs_top_report now;
	size_t n;

	for (n = 0; n < strlen(second); n++)
		CHECK_EQ(sfs_top_report_read(second, n, &now, &why), -EBADMSG);
	CHECK_EQ(sfs_top_report_read("{}", 2, &now, &why), -EBADMSG);
	CHECK_HAS(why.text, "these are not the stats of a mount");
	CHECK_EQ(sfs_top_report_read("[]", 2, &now, &why), -EBADMSG);
}

/* A mount of somebody else may say anything. */
static void test_nonsense(void)
{
	static const char json[] =
		"{\"version\":\"\\u001b[2J\\u009b\\u0000\",\"shards\":1,\"uptime_ms\":-3,"
		"\"sources\":[1,[2],\"\\u0007\"],\"streams\":[7,{\"cursors\":[8,{"
		"\"waits\":"
		"{\"reader\":18446744073709551615,\"cpu\":18446744073709551615},"
		"\"verdict\":\"a\\nb\",\"offset\":18446744073709551615}]}]}";
	struct sfs_top_report now;
	struct sfs_strbuf text = {0};

	CHECK_EQ(sfs_top_report_read(json, strlen(json), &now, NULL), 0);
	sfs_top_report_draw(&now, &now, "/\033", 0, 0, &text);
	CHECK(strlen(text.s) == text.n);
	CHECK(!strchr(text.s, '\033') && !strstr(text.s, "\xc2\x9b"));
	CHECK(!strchr(text.s, '\a'));
	CHECK_HAS(text.s, "shufflefs ?[2J??  /?");
	CHECK_HAS(text.s, "RRRRRRRRRRCCCCCCCCCC\n       a?b\n");
	sfs_strbuf_done(&text);
	sfs_top_report_done(&now);
}

/* However many streams there are, the screen has room for some, and says
 * so of the rest. */
static void test_many(void)
{
	struct sfs_strbuf json = {0}, text = {0};
	struct sfs_top_report now;
	unsigned lines, n;
	const char *p;
	int i;

	sfs_strbuf_puts(&json, "{\"version\":\"1\",\"shards\":1,\"streams\":[");
	for (i = 0; i < 100000; i++)
		sfs_strbuf_printf(&json,
				  "%s{\"epoch\":%d,\"verdict\":\"so\",\"cursors\":["
				  "{\"requests\":2}]}",
				  i ? "," : "", i);
	sfs_strbuf_puts(&json, "]}");
	CHECK_EQ(sfs_top_report_read(json.s, json.n, &now, NULL), 0);
	CHECK_EQ(now.n_all, 100000);
	for (lines = 1; lines < 60; lines++) {
		sfs_top_report_draw(&now, &now, "/", 80, lines, &text);
		for (n = 0, p = text.s; *p; p++)
			n += *p == '\n';
		CHECK_EQ(strlen(text.s), text.n);
		CHECK(n <= (lines > 9 ? lines : 9));
		if (lines == 24)
			CHECK_HAS(text.s, "and 99986 more\n");
		sfs_strbuf_done(&text);
	}
	sfs_top_report_draw(&now, &now, "/", 0, 0, &text);
	CHECK_HAS(text.s, "requests  200000 in flight");
	CHECK_HAS(text.s, "and 99000 more\n");
	CHECK(text.n < 200000);
	sfs_strbuf_done(&text);
	sfs_top_report_done(&now);
	sfs_strbuf_done(&json);
}

/* Nor is a string longer than anybody reads. */
static void test_long(void)
{
	struct sfs_strbuf json = {0}, text = {0};
	struct sfs_top_report now;

	sfs_strbuf_printf(&json,
			  "{\"version\":\"%0100000d\",\"shards\":1,\"sources\":"
			  "[\"%0100000d\"],\"streams\":[{\"verdict\":\"%0100000d\"}]}",
			  0, 0, 0);
	CHECK_EQ(sfs_top_report_read(json.s, json.n, &now, NULL), 0);
	sfs_top_report_draw(&now, NULL, "/", 0, 0, &text);
	CHECK(text.n < 5000);
	sfs_strbuf_done(&text);
	sfs_top_report_done(&now);
	sfs_strbuf_done(&json);
}

int main(void)
{
	test_drawing();
	test_width();
	test_refusals();
	test_nonsense();
	test_many();
	test_long();
	return 0;
}
