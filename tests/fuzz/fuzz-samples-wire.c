/* SPDX-License-Identifier: MIT */
/* What a trainer of samples: says, message after message, while it is sent samples:
 * nothing is released twice, or that it was not sent. */
#include "fuzz.h"

#include "samples/samples-held.h"
#include "samples/samples-wire.h"

static void give_back(void *item)
{
	bool *is_held = item;

	if (!item)
		return;
	MUST(*is_held);
	*is_held = false;
}

static void apply(struct sfs_samples_held *held, const struct sfs_samples_said *said)
{
	void *item;
	uint32_t i;

	if (said->is_leave) {
		MUST(said->n_taken <= held->n_put);
		while ((item = sfs_samples_held_take_last(held, said->n_taken)))
			give_back(item);
		return;
	}
	MUST(said->want.n_releases <= SFS_SAMPLES_RELEASES_MAX);
	while ((item = sfs_samples_held_take_below(held, said->want.n_released_below)))
		give_back(item);
	for (i = 0; i < said->want.n_releases; i++)
		give_back(sfs_samples_held_take(held, said->releases[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static bool is_held[1 << 16];
	struct fuzz_in in = {data, n};
	struct sfs_samples_held held = {0};
	struct sfs_samples_said said;
	size_t n_message, i;
	uint8_t *copy;
	void *item;

	while (in.n > 0) {
		for (i = fuzz_below(&in, 8); i > 0 && held.n_put < 1 << 16; i--) {
			is_held[held.n_put] = true;
			sfs_samples_held_put(&held, &is_held[held.n_put]);
		}
		n_message = fuzz_below(&in, 80);
		if (n_message > in.n)
			n_message = in.n;
		copy = fuzz_copy(in.p, n_message);
		if (sfs_samples_hear(copy, n_message, held.n_put, &said) == 0)
			apply(&held, &said);
		free(copy);
		in.p += n_message;
		in.n -= n_message;
	}
	while ((item = sfs_samples_held_take_below(&held, UINT64_MAX)))
		give_back(item);
	MUST(held.n == 0);
	sfs_samples_held_done(&held);
	return 0;
}
