/* SPDX-License-Identifier: MIT */
#include "order/plot.h"

enum {
	WIDTH = 520,
	HEIGHT = 300,
	LEFT = 20,
	TOP = 56,
	GAP = 40,
	N_COLUMNS = 2,
	/* Of a panel with its margins. */
	PITCH_X = WIDTH + GAP,
	PITCH_Y = HEIGHT + TOP + GAP
};

void sfs_panel_begin(struct sfs_panel *p, const char *title, const char *subtitle,
		     uint64_t n_samples, uint32_t n_shards)
{
	p->title = title;
	p->subtitle = subtitle;
	p->n_samples = n_samples;
	p->n_shards = n_shards;
	p->every = (n_samples + SFS_PLOT_DOTS - 1) / SFS_PLOT_DOTS;
	p->every = p->every ? p->every : 1;
	p->n = p->n_dots = 0;
}

void sfs_panel_add(struct sfs_panel *p, uint32_t shard)
{
	if (p->n++ % p->every == 0 && p->n_dots < SFS_PLOT_DOTS)
		p->dots[p->n_dots++] = shard;
}

static void print_panel(const struct sfs_panel *p, int left, int top,
			struct sfs_strbuf *t)
{
	double x, y;
	size_t i;

	sfs_strbuf_printf(
		t,
		"<text x=\"%d\" y=\"%d\" font-size=\"16\" font-weight=\"bold\">%s"
		"</text>\n"
		"<text x=\"%d\" y=\"%d\" font-size=\"12\">%s</text>\n",
		left, top - 24, p->title, left, top - 8, p->subtitle);
	sfs_strbuf_printf(t,
			  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
			  "fill=\"#fafafa\" stroke=\"#bbb\"/>\n",
			  left, top, WIDTH, HEIGHT);
	/* One path of many short strokes: a fraction of the size of many circles. */
	sfs_strbuf_puts(t, "<path stroke=\"#1b5e8a\" stroke-width=\"1.2\" d=\"");
	for (i = 0; i < p->n_dots; i++) {
		x = left + WIDTH * (double)(i * p->every) / (double)p->n_samples;
		y = top + HEIGHT - HEIGHT * (p->dots[i] + 0.5) / p->n_shards;
		sfs_strbuf_printf(t, "M%.1f %.1fh1.2", x, y);
	}
	sfs_strbuf_puts(t, "\"/>\n");
}

void sfs_plot_print(const struct sfs_panel *panels, int n_panels, struct sfs_strbuf *t)
{
	int n_rows = (n_panels + N_COLUMNS - 1) / N_COLUMNS, i;

	sfs_strbuf_printf(t,
			  "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
			  "height=\"%d\" font-family=\"sans-serif\">\n"
			  "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
			  LEFT + N_COLUMNS * PITCH_X, n_rows * PITCH_Y + 24);
	for (i = 0; i < n_panels; i++)
		print_panel(&panels[i], LEFT + i % N_COLUMNS * PITCH_X,
			    TOP + i / N_COLUMNS * PITCH_Y, t);
	sfs_strbuf_printf(t,
			  "<text x=\"%d\" y=\"%d\" font-size=\"12\">x: position in "
			  "the epoch; y: shard</text>\n</svg>\n",
			  LEFT, n_rows * PITCH_Y + 8);
}
