/* SPDX-License-Identifier: MIT */
/* The token of HDFS among others in Hadoop's file, or as text. */
#include "base/alloc.h"
#include "check.h"
#include "source/webhdfs/webhdfs-token.h"

#include <string.h>

static void is_read(const char *bytes, size_t n, const char *want)
{
	char *got = NULL;

	CHECK(sfs_webhdfs_token_read(bytes, n, &got));
	if (want)
		CHECK_STR(got, want);
	else
		CHECK(!got);
	free(got);
}

static void is_refused(const char *bytes, size_t n)
{
	char *got = NULL;

	CHECK(!sfs_webhdfs_token_read(bytes, n, &got));
	CHECK(!got);
}

#define IS_READ(text, want) is_read(text, sizeof text - 1, want)
#define IS_REFUSED(text)    is_refused(text, sizeof text - 1)

/* Its identifier, password, kind and service. */
#define JOB  "\1a\1b\15mapreduce.job\1s"
#define HDFS "\1i\2pw\25HDFS_DELEGATION_TOKEN\1s"

int main(void)
{
	static const char two[] = "HDTS\0\2\3job" JOB "\1h" HDFS;
	char many[400] = "HDTS\0\1\1h";
	char *token;
	size_t n = 8, i;

	IS_READ("HDTS\0\1\1h" HDFS, "AWkCcHcVSERGU19ERUxFR0FUSU9OX1RPS0VOAXM");
	IS_READ(two, "AWkCcHcVSERGU19ERUxFR0FUSU9OX1RPS0VOAXM");
	IS_READ("HDTS\0\1\3job" JOB, NULL);
	IS_READ("HDTS\0\0", NULL);
	IS_REFUSED("HDTS");
	IS_REFUSED("HDTS\1\0"); /* protobuf */
	for (i = 6; i < sizeof two - 1; i++)
		is_refused(two, i);

	/* A field of 200 bytes: 0x8f, and its length in a byte. */
	many[n++] = (char)0x8f;
	many[n++] = (char)200;
	memset(many + n, 0, 200);
	n += 200;
	memcpy(many + n, "\2pw\25HDFS_DELEGATION_TOKEN\1s", 27);
	CHECK(sfs_webhdfs_token_read(many, n + 27, &token) && token);
	free(token);
	is_refused(many, n);
	/* Lengths that are negative, or take more bytes than memory has. */
	IS_REFUSED("HDTS\0\1\377h");
	IS_REFUSED("HDTS\0\1\210\1\1\1\1\1\1\1\1h");
	IS_REFUSED("HDTS\0\1\214\377\377\377\377h");

	IS_READ("HAAEcm9v-_9\n", "HAAEcm9v-_9");
	IS_READ(" {\"Token\":{\"urlString\":\"HAAE\"}}\n", "HAAE");
	IS_REFUSED("{\"Token\":null}");
	IS_REFUSED("{\"Token\":{\"urlString\":\"a&b\"}}");
	IS_REFUSED("a b");
	IS_REFUSED("a\nb");
	IS_REFUSED(" \n");
	IS_REFUSED("");
	return 0;
}
