/* SPDX-License-Identifier: MIT */
#include "cli/plan-draw.h"

#include "base/alloc.h"
#include "base/rng.h"
#include "cli/plan-report.h"
#include "order/iterate.h"
#include "order/partition.h"
#include "order/plot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const struct sfs_share everything = {.first = 0, .step = 1, .n_ranks = 1};

enum { BUFFER = 1000, INITIAL = 100 }; /* of WebDataset's shuffle(1000) */

/* As its filters.py does: from the 100th sample on one leaves for each that comes, or for
 * each second until the buffer is full.  Its list of shards is shuffled as well. */
static void draw_webdataset(const struct sfs_plan_dataset *d, struct sfs_panel *panel)
{
	sfs_autofree uint32_t *shards = sfs_calloc(d->n_shards, sizeof *shards);
	uint32_t held[BUFFER], n = 0, i, at = 0;
	struct sfs_rng r = {1};
	uint64_t left = 0, k;
	bool is_second = false;

	for (i = 0; i < d->n_shards; i++)
		shards[i] = i;
	sfs_rng_shuffle(&r, shards, d->n_shards);
	for (k = 0; k < d->n_all + BUFFER; k++) {
		while (at < d->n_shards && left == 0)
			left = d->n_samples[shards[at++]];
		if (left > 0) {
			held[n++] = shards[at - 1];
			left--;
			if (n < INITIAL || (n < BUFFER && (is_second = !is_second)))
				continue;
		}
		if (n == 0)
			break;
		i = (uint32_t)sfs_rng_below(&r, n);
		sfs_panel_add(panel, held[i]);
		held[i] = held[--n];
	}
}

static void draw_in_order(const struct sfs_plan_dataset *d, struct sfs_panel *panel)
{
	uint64_t k;
	uint32_t i;

	for (i = 0; i < d->n_shards; i++)
		for (k = 0; k < d->n_samples[i]; k++)
			sfs_panel_add(panel, i);
}

static void draw_permutation(const struct sfs_plan_dataset *d, struct sfs_panel *panel)
{
	sfs_autofree uint32_t *all = sfs_reallocarray(NULL, d->n_all, sizeof *all);
	struct sfs_rng r = {1};
	uint64_t k, n = 0;
	uint32_t i;

	for (i = 0; i < d->n_shards; i++)
		for (k = 0; k < d->n_samples[i]; k++)
			all[n++] = i;
	sfs_rng_shuffle(&r, all, n);
	for (k = 0; k < n; k++)
		sfs_panel_add(panel, all[k]);
}

static void draw_ours(struct sfs_plan_dataset *d,
		      const struct sfs_order_settings *settings, struct sfs_panel *panel)
{
	const struct sfs_sample_tables tables = sfs_plan_tables(d);
	const struct sfs_block_sample *s;
	struct sfs_order order;
	struct sfs_iterator play;

	sfs_partition(&order, settings, 0, d->n_shards, &tables, everything);
	sfs_iterator_init(&play, &order, &tables);
	while ((s = sfs_iterator_next(&play)) != NULL)
		sfs_panel_add(panel, s->shard);
	sfs_iterator_done(&play);
	sfs_order_done(&order);
}

/* Is there a file that is not a drawing? */
static bool is_other_file(const char *path)
{
	static const char begins[] = "<svg xmlns";
	char found[sizeof begins] = "";
	struct stat st;
	FILE *f;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	f = fopen(path, "re");
	if (f && fread(found, 1, sizeof begins - 1, f) == 0)
		found[0] = 0;
	if (f)
		fclose(f);
	return strcmp(found, begins) != 0;
}

static int write_file(const char *path, const struct sfs_strbuf *text,
		      struct sfs_error *err)
{
	bool is_written;
	FILE *f;

	/* "--svg SHARD SHARD": the first one is the drawing's name. */
	if (is_other_file(path))
		return sfs_error_set(err, -EEXIST,
				     "--svg=%s: the file exists and is not an SVG "
				     "drawing; choose another name",
				     path);
	f = fopen(path, "we");
	is_written = f && fwrite(text->s, 1, text->n, f) == text->n;
	if (f && fclose(f) != 0)
		is_written = false;
	if (!is_written)
		return sfs_error_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

int sfs_plan_draw(struct sfs_plan_dataset *d, const struct sfs_order_settings *settings,
		  const char *path, struct sfs_error *err)
{
	enum { OURS, IN_ORDER, WEBDATASET, PERMUTATION, N_PANELS };
	sfs_autofree struct sfs_panel *panels = sfs_calloc(N_PANELS, sizeof *panels);
	struct sfs_strbuf svg = {0};
	struct sfs_strbuf words = {0};
	int ret;

	sfs_plan_print_settings(settings, &words);
	sfs_panel_begin(&panels[OURS], "shufflefs", words.s, d->n_all, d->n_shards);
	sfs_panel_begin(&panels[IN_ORDER], "no shuffle", "one shard after another",
			d->n_all, d->n_shards);
	sfs_panel_begin(&panels[WEBDATASET], "WebDataset's shuffle(1000)",
			"and the list of shards shuffled", d->n_all, d->n_shards);
	sfs_panel_begin(&panels[PERMUTATION], "a full permutation",
			"each sample anywhere", d->n_all, d->n_shards);
	draw_ours(d, settings, &panels[OURS]);
	draw_in_order(d, &panels[IN_ORDER]);
	draw_webdataset(d, &panels[WEBDATASET]);
	draw_permutation(d, &panels[PERMUTATION]);
	sfs_plot_print(panels, N_PANELS, &svg);
	ret = write_file(path, &svg, err);
	sfs_strbuf_done(&svg);
	sfs_strbuf_done(&words);
	return ret;
}
