/* SPDX-License-Identifier: MIT */
#include "order/name.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- reading ---- */

/* Parse a canonical decimal of at most `max` at *p, and move *p past it. */
static bool take_number(const char **p, uint64_t max, uint64_t *ret)
{
	const char *s = *p;
	uint64_t n = 0, digit;

	if (!isdigit((unsigned char)*s) || (*s == '0' && isdigit((unsigned char)s[1])))
		return false;
	for (; isdigit((unsigned char)*s); s++) {
		digit = (uint64_t)(*s - '0');
		if (n > (max - digit) / 10)
			return false;
		n = 10 * n + digit;
	}
	*ret = n;
	*p = s;
	return true;
}

static bool take_word(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

/* "rank-R-of-W", "worker-I-of-N". */
static bool take_part(const char **p, const char *word, uint32_t *ret_i, uint32_t *ret_n)
{
	uint64_t i, n;

	if (!take_word(p, word) || !take_number(p, UINT32_MAX, &i) ||
	    !take_word(p, "-of-") || !take_number(p, UINT32_MAX, &n) || n == 0)
		return false;
	*ret_i = (uint32_t)i;
	*ret_n = (uint32_t)n;
	return true;
}

int sfs_name_parse(const struct sfs_name *folder, const char *component,
		   struct sfs_name *ret_name)
{
	struct sfs_name name = folder ? *folder : (struct sfs_name){0};
	const char *p = component;
	bool is_part;

	name.is_folder = false;
	if (!folder)
		is_part = take_number(&p, SFS_EPOCH_MAX, &name.epoch);
	else if (name.n_ranks == 0)
		is_part = take_part(&p, "rank-", &name.rank, &name.n_ranks);
	else
		is_part = take_part(&p, "worker-", &name.worker, &name.n_workers);
	if (!is_part)
		return -ENOENT;
	if (!*p && name.n_workers == 0) {
		name.is_folder = true;
	} else {
		name.has_first = take_word(&p, "@");
		if (name.has_first && !take_number(&p, INT64_MAX, &name.first))
			return -ENOENT;
		name.is_order = strcmp(p, ".order") == 0;
		name.is_index = strcmp(p, ".idx") == 0;
		if (!name.is_order && !name.is_index && strcmp(p, ".tar") != 0)
			return -ENOENT;
	}
	*ret_name = name;
	return 0;
}

/* ---- writing ---- */

void sfs_name_print(const struct sfs_name *name, struct sfs_strbuf *text)
{
	if (name->n_workers > 0)
		sfs_strbuf_printf(text, "worker-%u-of-%u", name->worker, name->n_workers);
	else if (name->n_ranks > 0)
		sfs_strbuf_printf(text, "rank-%u-of-%u", name->rank, name->n_ranks);
	else
		sfs_strbuf_printf(text, "%llu", (unsigned long long)name->epoch);
	if (name->has_first)
		sfs_strbuf_printf(text, "@%llu", (unsigned long long)name->first);
	if (!name->is_folder)
		sfs_strbuf_puts(text, name->is_order   ? ".order"
				      : name->is_index ? ".idx"
						       : ".tar");
}

void sfs_name_print_path(const struct sfs_name *name, struct sfs_strbuf *text)
{
	struct sfs_name folder;

	if (sfs_name_parent(name, &folder)) {
		sfs_name_print_path(&folder, text);
		sfs_strbuf_puts(text, "/");
	}
	sfs_name_print(name, text);
}

bool sfs_name_parent(const struct sfs_name *name, struct sfs_name *ret_folder)
{
	struct sfs_name folder = {.is_folder = true, .epoch = name->epoch};

	if (name->n_ranks == 0)
		return false;
	if (name->n_workers > 0) {
		folder.rank = name->rank;
		folder.n_ranks = name->n_ranks;
	}
	*ret_folder = folder;
	return true;
}

bool sfs_name_equal(const struct sfs_name *a, const struct sfs_name *b)
{
	return a->is_folder == b->is_folder && a->epoch == b->epoch &&
	       a->rank == b->rank && a->n_ranks == b->n_ranks && a->worker == b->worker &&
	       a->n_workers == b->n_workers && a->has_first == b->has_first &&
	       a->first == b->first && a->is_order == b->is_order &&
	       a->is_index == b->is_index;
}

/* ---- whose part ---- */

static int check_number(const char *what, uint32_t i, uint32_t n, struct sfs_error *err)
{
	if (i < n)
		return 0;
	return sfs_error_set(err, -EINVAL, "%s %u of %u: %ss are numbered from 0 to %u",
			     what, i, n, what, n - 1);
}

/* The ranks must divide the lanes: name the next multiples of them. */
static int check_divides(uint32_t n_ranks, uint32_t lanes, struct sfs_error *err)
{
	uint32_t below = lanes / n_ranks * n_ranks, above = below + n_ranks;
	char choice[64];

	if (below == lanes)
		return 0;
	if (n_ranks > SFS_LANES_MAX)
		return sfs_error_set(err, -EINVAL,
				     "%u ranks are too many: there can be at most %u",
				     n_ranks, SFS_LANES_MAX);
	if (below == 0 || above > SFS_LANES_MAX)
		snprintf(choice, sizeof choice, "%u", below ? below : above);
	else
		snprintf(choice, sizeof choice, "%u (or %u)", above, below);
	return sfs_error_set(err, -EINVAL,
			     "%u ranks do not divide %u lanes: mount with lanes=%s, "
			     "which is another order",
			     n_ranks, lanes, choice);
}

uint32_t sfs_name_ranks_most(uint32_t lanes, uint64_t n)
{
	uint32_t n_ranks = n < lanes ? (uint32_t)n : lanes;

	while (n_ranks > 1 && lanes % n_ranks != 0)
		n_ranks--;
	return n_ranks;
}

/* A rank has a lane in use, to which something is dealt. */
static int check_dealt(const struct sfs_name *name, uint32_t lanes,
		       struct sfs_dealt dealt, struct sfs_error *err)
{
	uint32_t most = sfs_name_ranks_most(lanes, dealt.n);

	if (name->rank < dealt.n)
		return 0;
	return sfs_error_set(
		err, -EINVAL,
		"no %s for rank %u of %u: there %s only %u; use %u rank%s "
		"at most, or mount with segment=SIZE",
		dealt.what, name->rank, name->n_ranks, dealt.n == 1 ? "is" : "are",
		dealt.n, most, most == 1 ? "" : "s");
}

int sfs_name_check(const struct sfs_name *name, uint32_t lanes, struct sfs_dealt dealt,
		   struct sfs_error *err)
{
	int ret;

	if (name->n_ranks == 0)
		return 0;
	ret = check_number("rank", name->rank, name->n_ranks, err);
	if (ret == 0)
		ret = check_divides(name->n_ranks, lanes, err);
	if (ret == 0)
		ret = check_dealt(name, lanes, dealt, err);
	if (ret == 0 && name->n_workers > 0)
		ret = check_number("worker", name->worker, name->n_workers, err);
	return ret;
}

void sfs_name_print_resume(const struct sfs_order_settings *settings,
			   struct sfs_strbuf *text)
{
	if (sfs_order_wants_equal_lanes(settings))
		sfs_strbuf_printf(text,
				  "mid-epoch with any number of ranks that divides "
				  "lanes=%u",
				  settings->lanes);
	else
		sfs_strbuf_puts(text, "mid-epoch only with the same number of ranks");
}

struct sfs_share sfs_name_share(const struct sfs_name *name)
{
	uint64_t n_ranks = name->n_ranks ? name->n_ranks : 1;
	uint64_t n_workers = name->n_workers ? name->n_workers : 1;

	return (struct sfs_share){.first = name->rank + n_ranks * name->worker,
				  .step = n_ranks * n_workers,
				  .n_ranks = (uint32_t)n_ranks};
}
