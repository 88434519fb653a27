/* SPDX-License-Identifier: MIT */
#include "report.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json-writer.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Rates and waits since the line before, of which `last` is. */
static void add_text(const struct sfs_report *r, const struct sfs_report *last,
		     struct sfs_strbuf *text)
{
	double s = r->seconds > last->seconds ? r->seconds - last->seconds : 1;
	uint32_t i;

	sfs_strbuf_printf(text, "%s: %s, %llu %s, %.0f samples/s, %.1f MB/s", r->role,
			  r->state,
			  (unsigned long long)(r->has_no_batches ? r->n_samples
								 : r->n_batches),
			  r->has_no_batches ? "samples" : "batches",
			  (double)(r->n_samples - last->n_samples) / s,
			  (double)(r->n_bytes - last->n_bytes) / s / 1e6);
	if (r->n_skipped > 0)
		sfs_strbuf_printf(text, ", %llu skipped",
				  (unsigned long long)r->n_skipped);
	if (r->n_refused > 0)
		sfs_strbuf_printf(text, ", %llu connections refused",
				  (unsigned long long)r->n_refused);
	for (i = 0; i < r->n_waits; i++)
		sfs_strbuf_printf(text, "%s %s %.0f %%", i ? "," : "; waits for",
				  r->waits[i].who,
				  (double)sfs_clock_between(last->waits[i].ns,
							    r->waits[i].ns) /
					  s / 1e7);
	if (r->placement && strcmp(r->memory, "host") != 0)
		sfs_strbuf_printf(text, "; memory %s, %s", r->memory, r->placement);
	sfs_strbuf_puts(text, "\n");
}

static void add_json(const struct sfs_report *r, struct sfs_strbuf *text)
{
	struct sfs_json_writer w = {.text = text};
	uint32_t i;

	sfs_json_open(&w, NULL, '{');
	sfs_json_put_string(&w, "state", r->state);
	sfs_json_put_string(&w, "error", r->error);
	sfs_json_put_uint(&w, "batches", r->n_batches);
	sfs_json_put_uint(&w, "samples", r->n_samples);
	sfs_json_put_uint(&w, "skipped", r->n_skipped);
	sfs_json_put_uint(&w, "bytes", r->n_bytes);
	sfs_json_put_uint(&w, "next", r->next);
	sfs_json_put_double(&w, "seconds", 3, r->seconds);
	sfs_json_open(&w, "waits", '{');
	for (i = 0; i < r->n_waits; i++)
		sfs_json_put_double(&w, r->waits[i].who, 3, (double)r->waits[i].ns / 1e9);
	sfs_json_close(&w, '}');
	if (r->transport) {
		sfs_json_open(&w, "transport", '{');
		sfs_strbuf_puts(text, r->transport);
		sfs_json_close(&w, '}');
	}
	sfs_json_close(&w, '}');
	sfs_strbuf_puts(text, "\n");
}

/* The labels of a process: the name of its file tells it from others of its role, whose
 * files may be collected together. */
static char *labels_of(const struct sfs_report *r, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strlen(base);
	bool has_end = n > 5 && strcmp(base + n - 5, ".prom") == 0;
	sfs_autofree char *name = sfs_strndup(base, has_end ? n - 5 : n);
	struct sfs_strbuf text = {0};

	sfs_strbuf_printf(&text, "role=\"%s\",name=", r->role);
	sfs_strbuf_label(&text, name);
	return text.s; /* the caller frees it */
}

static void add_metrics(const struct sfs_report *r, const char *path,
			struct sfs_strbuf *text)
{
	const struct {
		const char *name, *help;
		uint64_t n;
	} counters[] = {{"batches", "Batches that were sent or received.", r->n_batches},
			{"samples", "Samples that were sent or received.", r->n_samples},
			{"skipped_samples", "Samples that were left out.", r->n_skipped},
			{"bytes", "Bytes that were sent or received.", r->n_bytes},
			{"refused_connections", "Connections that recv refused.",
			 r->n_refused}};
	sfs_autofree char *labels = labels_of(r, path);
	size_t i, n;

	n = SFS_COUNT(counters) - (strcmp(r->role, "recv") != 0); /* the last is recv's */
	for (i = 0; i < n; i++)
		sfs_strbuf_printf(text,
				  "# HELP shufflefs_sidecar_%s_total %s\n"
				  "# TYPE shufflefs_sidecar_%s_total counter\n"
				  "shufflefs_sidecar_%s_total{%s} %llu\n",
				  counters[i].name, counters[i].help, counters[i].name,
				  counters[i].name, labels,
				  (unsigned long long)counters[i].n);
	sfs_strbuf_puts(text,
			"# HELP shufflefs_sidecar_wait_seconds_total Time spent waiting, "
			"and for whom.\n"
			"# TYPE shufflefs_sidecar_wait_seconds_total counter\n");
	for (i = 0; i < r->n_waits; i++)
		sfs_strbuf_printf(text,
				  "shufflefs_sidecar_wait_seconds_total{%s,for=\"%s\"} "
				  "%.3f\n",
				  labels, r->waits[i].who, (double)r->waits[i].ns / 1e9);
	if (!r->placement)
		return;
	sfs_strbuf_printf(text,
			  "# HELP shufflefs_sidecar_ring_info Where the ring is.\n"
			  "# TYPE shufflefs_sidecar_ring_info gauge\n"
			  "shufflefs_sidecar_ring_info{%s,memory=\"%s\","
			  "device=\"%s\",placement=\"%s\"} 1\n",
			  labels, r->memory, r->device, r->placement);
}

static int write_all(int fd, const struct sfs_strbuf *text)
{
	size_t at = 0;
	ssize_t n;

	while (at < text->n) {
		n = write(fd, text->s + at, text->n - at);
		if (n < 0 && errno != EINTR)
			return -errno;
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* A reader of the file sees the old one or the new one. */
static void save(const char *path, const struct sfs_strbuf *text)
{
	sfs_autofree char *temporary = sfs_asprintf("%s.tmp", path);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int ret = fd < 0 ? -errno : write_all(fd, text);

	if (fd >= 0)
		close(fd);
	if (ret == 0 && rename(temporary, path) < 0)
		ret = -errno;
	if (ret < 0)
		sfs_warning("%s: cannot write the metrics: %s", path, strerror(-ret));
}

int sfs_report_write(struct sfs_report_outputs *o, const struct sfs_report *r,
		     bool is_last)
{
	struct sfs_strbuf text = {0};
	int ret = 0;

	if (o->stats_s > 0 && (is_last || r->seconds >= o->next_s)) {
		add_text(r, is_last ? &(struct sfs_report){0} : &o->last, &text);
		o->last = *r; /* (of its texts, nothing is used) */
		write_all(STDERR_FILENO, &text);
		o->next_s = r->seconds + o->stats_s;
	}
	text.n = 0;
	if (o->metrics) {
		add_metrics(r, o->metrics, &text);
		save(o->metrics, &text);
	}
	text.n = 0;
	if (o->json_fd >= 0) {
		add_json(r, &text);
		ret = write_all(o->json_fd, &text);
	}
	sfs_strbuf_done(&text);
	return ret;
}
