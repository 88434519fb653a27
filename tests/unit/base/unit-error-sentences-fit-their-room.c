/* SPDX-License-Identifier: MIT */
/* An error's sentence is never longer than its room, and its code comes back; of a long one
 * the middle is left out, for the cause is at its end. */
#include "base/error.h"
#include "check.h"

#include <errno.h>

static void set_and_wrap(void)
{
	struct sfs_error err = {0};

	CHECK_EQ(sfs_error_set(&err, -EINVAL, "'%s' is not a range", "{0..x}"), -EINVAL);
	CHECK_STR(err.text, "'{0..x}' is not a range");
	CHECK_EQ(sfs_error_wrap(&err, -ENOENT, "dataset '%s'", "imagenet"), -ENOENT);
	CHECK_STR(err.text, "dataset 'imagenet': '{0..x}' is not a range");
	CHECK_EQ(sfs_error_set(&err, -EIO, "%s", "new"), -EIO);
	CHECK_STR(err.text, "new");
}

static void nobody_listens(void)
{
	CHECK_EQ(sfs_error_set(NULL, -E2BIG, "%d names", 1), -E2BIG);
	CHECK_EQ(sfs_error_wrap(NULL, -EIO, "%s", "x"), -EIO);
}

/* A name from outside may be of any length. */
static void too_long(void)
{
	static char name[5000];
	struct sfs_error err = {0};
	size_t n;

	memset(name, 'n', sizeof name - 1);
	CHECK_EQ(sfs_error_set(&err, -EINVAL, "'%s' is bad", name), -EINVAL);
	CHECK_EQ(strlen(err.text), sizeof err.text - 1);
	CHECK(strncmp(err.text, "'nnn", 4) == 0);
	CHECK_HAS(err.text, "nnn ... nnn");
	CHECK_STR(err.text + strlen(err.text) - 12, "nnnn' is bad");
	/* Its own text may be an argument. */
	CHECK_EQ(sfs_error_set(&err, -EIO, "%s!", err.text), -EIO);
	CHECK_STR(err.text + strlen(err.text) - 8, " is bad!");

	for (n = sizeof err.text - 6; n < sizeof err.text + 3; n++) {
		sfs_error_set(&err, -EINVAL, "why");
		CHECK_EQ(sfs_error_wrap(&err, -EINVAL, "%.*s", (int)n, name), -EINVAL);
		CHECK(strlen(err.text) < sizeof err.text);
		CHECK(strncmp(err.text, "nnnn", 4) == 0);
		CHECK_STR(err.text + strlen(err.text) - 5, ": why");
	}
}

static void names(void)
{
	CHECK_STR(sfs_error_name(-ESTALE), "ESTALE");
	CHECK_STR(sfs_error_name(ESTALE), "ESTALE");
	CHECK_STR(sfs_error_name(-123456), "E?");
}

int main(void)
{
	set_and_wrap();
	nobody_listens();
	too_long();
	names();
	return 0;
}
