/* SPDX-License-Identifier: MIT */
/* Times are written in UTC with milliseconds, and the clock never goes back. */
#include "base/clock.h"
#include "check.h"

static void formats(void)
{
	static const struct {
		uint64_t wall_ms;
		const char *wanted;
	} cases[] = {
		{0, "1970-01-01T00:00:00.000Z"},
		{999, "1970-01-01T00:00:00.999Z"},
		{1000, "1970-01-01T00:00:01.000Z"},
		{951782400005, "2000-02-29T00:00:00.005Z"},
		{1795272067123, "2026-11-21T14:41:07.123Z"},
		{4102444800000, "2100-01-01T00:00:00.000Z"},
		{253402300799999, "9999-12-31T23:59:59.999Z"},
	};
	char buf[32];
	size_t i;

	for (i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		memset(buf, 'x', sizeof buf);
		CHECK(sfs_clock_format(cases[i].wall_ms, buf) == buf);
		CHECK_STR(buf, cases[i].wanted);
	}
}

int main(void)
{
	uint64_t before = sfs_clock_ns(), now;
	int i;

	/* Wherever the user is. */
	setenv("TZ", "Asia/Kathmandu", 1);
	formats();
	for (i = 0; i < 100000; i++) {
		now = sfs_clock_ns();
		CHECK(now >= before);
		before = now;
	}
	CHECK(sfs_clock_wall_ms() > 1577836800000); /* 2020: in ms, not in s */
	CHECK(sfs_clock_wall_ms() < 253402300799999);
	return 0;
}
