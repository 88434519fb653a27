/* SPDX-License-Identifier: MIT */
/* Broken samples are an error when they are more than the share that may be: at the end
 * of a stream, or earlier, once 1,000 samples were read.  The error names the last. */
#include "check.h"
#include "decode/skips.h"

#include <errno.h>

static struct sfs_error err;

static void add(struct sfs_skips *s, int n)
{
	struct sfs_error why;

	for (; n > 0; n--) {
		sfs_error_set(&why, 0, "sample %d is bad", n);
		sfs_skips_add(s, &why);
	}
}

int main(void)
{
	struct sfs_skips s;

	sfs_skips_init(&s, 10000);
	CHECK_EQ(sfs_skips_check(&s, 0, true, &err), 0);
	add(&s, 1);
	CHECK_EQ(sfs_skips_check(&s, 99, true, &err), 0);
	CHECK_EQ(sfs_skips_check(&s, 98, false, &err), 0);
	CHECK_EQ(sfs_skips_check(&s, 98, true, &err), -EBADMSG);
	CHECK_STR(err.text, "1 of 99 samples are broken, which is more than "
			    "--max-skip=1%; the last: sample 1 is bad");
	add(&s, 10);
	CHECK_EQ(sfs_skips_check(&s, 988, false, &err), 0);
	CHECK_EQ(sfs_skips_check(&s, 989, false, &err), -EBADMSG);
	CHECK_EQ(sfs_skips_check(&s, 1089, false, &err), 0);
	sfs_skips_init(&s, 0);
	CHECK_EQ(sfs_skips_check(&s, 5000, true, &err), 0);
	add(&s, 1);
	CHECK_EQ(sfs_skips_check(&s, 5000, false, &err), -EBADMSG);
	sfs_skips_init(&s, 1000000);
	add(&s, 2000);
	CHECK_EQ(sfs_skips_check(&s, 0, true, &err), 0);
	return 0;
}
