/* SPDX-License-Identifier: MIT */
/* A sample is described by where its fields lie; what a trainer says is taken if it can
 * be so, and refused else. */
#include "check.h"

#include "decode/sample.h"
#include "samples/samples-wire.h"

#include <errno.h>
#include <stdio.h>

static unsigned char ours[100], mounts[100];
static const struct sfs_samples_memory memories[] = {{ours, 100}, {mounts, 100}};

static void a_sample_is_described(void)
{
	struct sfs_sample_field fields[] = {{"jpg", mounts + 7, 90}, {"c", ours, 3}};
	struct sfs_sample sample = {.ordinal = 5,
				    .key = "abc",
				    .fields = fields,
				    .n_fields = 2,
				    .n_bytes = 93};
	struct sfs_samples_head head;
	struct sfs_samples_field field[2];
	unsigned char *wire;
	size_t n;

	CHECK_EQ(sfs_samples_pack(&sample, 3, memories, 2, &wire, &n, NULL), 0);
	CHECK_EQ(n, 32 + 2 * 24 + 8);
	memcpy(&head, wire, sizeof head);
	memcpy(field, wire + sizeof head, sizeof field);
	CHECK(head.epoch == 3 && head.ordinal == 5 && head.n_key == 3 &&
	      head.n_fields == 2 && head.number == 0);
	CHECK(field[0].memory == 1 && field[0].offset == 7 && field[0].n_bytes == 90 &&
	      field[0].n_name == 3);
	CHECK(field[1].memory == 0 && field[1].offset == 0 && field[1].n_bytes == 3);
	CHECK(memcmp(wire + 80, "abcjpgc\0", 8) == 0);
	free(wire);
}

static void a_sample_may_be_too_large(void)
{
	static char key[SFS_SAMPLES_MESSAGE_MAX + 1];
	struct sfs_sample sample = {.key = key};
	struct sfs_error err;
	unsigned char *wire;
	size_t n, most = SFS_SAMPLES_MESSAGE_MAX - sizeof(struct sfs_samples_message) -
			 sizeof(struct sfs_samples_head);

	memset(key, 'k', most);
	CHECK_EQ(sfs_samples_pack(&sample, 0, memories, 2, &wire, &n, NULL), 0);
	CHECK_EQ(n + sizeof(struct sfs_samples_message), SFS_SAMPLES_MESSAGE_MAX);
	free(wire);
	key[most] = 'k';
	CHECK_EQ(sfs_samples_pack(&sample, 0, memories, 2, &wire, &n, &err), -E2BIG);
	CHECK_HAS(err.text, "sends at most");
}

static struct sfs_samples_said said;

static int hear(const struct sfs_samples_want *want, uint64_t release, size_t n)
{
	char bytes[sizeof *want + sizeof release];

	memcpy(bytes, want, sizeof *want);
	memcpy(bytes + sizeof *want, &release, sizeof release);
	return sfs_samples_hear(bytes, n, 10, &said);
}

static void only_what_can_be_is_taken(void)
{
	struct sfs_samples_want w = {SFS_SAMPLES_WANT, 1, 20, 1000, 10, 1}, x;
	struct sfs_samples_leave leave = {SFS_SAMPLES_LEAVE, 0, 10};
	size_t n;

	CHECK_EQ(hear(&w, 9, 48), 0);
	CHECK(!said.is_leave && said.want.n_samples == 20 && said.releases[0] == 9);
	CHECK_EQ(hear(&w, 10, 48), -EPROTO); /* was not sent */
	for (n = 0; n < 48; n++)
		CHECK_EQ(hear(&w, 9, n), -EPROTO);
	x = w, x.n_releases = SFS_SAMPLES_RELEASES_MAX + 1;
	CHECK_EQ(hear(&x, 9, 48), -EPROTO);
	x = w, x.n_released_below = 11;
	CHECK_EQ(hear(&x, 9, 48), -EPROTO);
	x = w, x.is_waiting = 2;
	CHECK_EQ(hear(&x, 9, 48), -EPROTO);
	x = w, x.kind = 3;
	CHECK_EQ(hear(&x, 9, 48), -EPROTO);

	CHECK_EQ(sfs_samples_hear(&leave, sizeof leave, 10, &said), 0);
	CHECK(said.is_leave && said.n_taken == 10);
	CHECK_EQ(sfs_samples_hear(&leave, sizeof leave - 1, 10, &said), -EPROTO);
	CHECK_EQ(sfs_samples_hear(&leave, sizeof leave, 9, &said), -EPROTO);
	leave.zero = 1;
	CHECK_EQ(sfs_samples_hear(&leave, sizeof leave, 10, &said), -EPROTO);
}

int main(void)
{
	a_sample_is_described();
	a_sample_may_be_too_large();
	only_what_can_be_is_taken();
	return 0;
}
