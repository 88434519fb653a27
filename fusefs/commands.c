/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include "bench.h"
#include "mount.h"
#include "top.h"
#include "unmount.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cli/cat.h"
#include "cli/index.h"
#include "cli/ls.h"
#include "cli/plan.h"
#include "forward/command.h"
#include "forward/sidecar.h"
#include "forward/target.h"
#include "options/options.h"
#include "order/name.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

int sfs_command_misused(const char *format, ...)
{
	sfs_autofree char *problem = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&problem, format, args) < 0)
		abort();
	va_end(args);
	sfs_error("%s", problem);
	fprintf(stderr, "Try 'shufflefs --help' for more information.\n");
	return SFS_EXIT_USAGE;
}

/* Print the error, if there is one; returns the status. */
static int finish(int status, const struct sfs_error *err)
{
	if (status == SFS_EXIT_USAGE)
		return sfs_command_misused("%s", err->text);
	if (status != SFS_EXIT_OK && err->text[0])
		sfs_error("%s", err->text);
	return status;
}

/* A whole number from `least` to `most`; `otherwise`, if the option was not given. */
static int read_large(const struct sfs_command_option *option, uint64_t least,
		      uint64_t most, uint64_t otherwise, uint64_t *ret,
		      struct sfs_error *err)
{
	unsigned long long n;
	char *end;

	*ret = otherwise;
	if (!option->value)
		return 0;
	errno = 0;
	n = strtoull(option->value, &end, 10);
	if (*option->value < '0' || *option->value > '9' || *end || errno || n < least ||
	    n > most)
		return sfs_error_set(err, -EINVAL,
				     "--%s: '%s' is not a number from %llu to %llu",
				     option->name, option->value,
				     (unsigned long long)least, (unsigned long long)most);
	*ret = n;
	return 0;
}

static int read_number(const struct sfs_command_option *option, uint32_t least,
		       uint32_t most, uint32_t otherwise, uint32_t *ret,
		       struct sfs_error *err)
{
	uint64_t n;
	int code = read_large(option, least, most, otherwise, &n, err);

	*ret = (uint32_t)n;
	return code;
}

/* ---- commands on a dataset ---- */

/* What such a command works with. */
struct run {
	const struct sfs_cmdline *cmdline;
	const char *last; /* argument */
	struct sfs_options options;
	struct sfs_strings specs;
	struct sfs_strbuf text; /* to be printed, whatever the status */
	struct sfs_error err;
};

static int run_on_dataset(const struct sfs_cmdline *c, int n_sources,
			  int (*run)(struct run *r))
{
	struct run r = {.cmdline = c, .last = c->arguments.s[c->arguments.n - 1]};
	int status = SFS_EXIT_USAGE;

	if (sfs_cmdline_resolve(c, n_sources, &r.options, &r.specs, &r.err) == 0) {
		sfs_log_set_level((enum sfs_log_level)r.options.log_level);
		status = run(&r);
	}
	if (r.text.n > 0)
		printf("%s", r.text.s);
	finish(status, &r.err);
	sfs_strbuf_done(&r.text);
	sfs_strings_done(&r.specs);
	sfs_options_done(&r.options);
	return status;
}

static int status_of(int ret)
{
	return ret < 0 ? SFS_EXIT_FAILED : SFS_EXIT_OK;
}

/* A daemon leaves the folder in which the command was given. */
struct mounting {
	const struct sfs_cmdline *cmdline;
	char folder[PATH_MAX];
};

static int level_of(void *ctx, enum sfs_log_level *ret, struct sfs_error *err)
{
	const struct mounting *m = ctx;

	return sfs_cmdline_log_level(m->cmdline, m->cmdline->arguments.n - 1, m->folder,
				     ret, err);
}

static int run_mount(struct run *r)
{
	struct mounting m = {.cmdline = r->cmdline};
	const struct sfs_mount_reload reload = {level_of, &m};

	if (!getcwd(m.folder, sizeof m.folder))
		m.folder[0] = 0;
	return sfs_mount(&r->options, &r->specs, r->last, &reload); /* prints errors */
}

static int do_mount(const struct sfs_cmdline *c)
{
	if (c->arguments.n < 2)
		return sfs_command_misused("mount needs a SOURCE and a DIR");
	return run_on_dataset(c, c->arguments.n - 1, run_mount);
}

/* End like a program whose reader has closed the pipe. */
static void die_of_pipe(void)
{
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

static int run_cat(struct run *r)
{
	int ret;

	signal(SIGPIPE, SIG_IGN);
	ret = sfs_cat(&r->options, &r->specs, r->last, STDOUT_FILENO, &r->err);
	if (ret == -EPIPE)
		die_of_pipe();
	return status_of(ret);
}

static int do_cat(const struct sfs_cmdline *c)
{
	if (c->arguments.n < 2)
		return sfs_command_misused(
			"cat needs a SOURCE and a PATH, such as epochs/0.tar");
	return run_on_dataset(c, c->arguments.n - 1, run_cat);
}

/* ---- plan ---- */

enum { BATCH, RANKS, QUALITY, EXACT, SVG };

static struct sfs_command_option plan_options[] = {
	[BATCH] = {"batch", true, NULL, 0},	[RANKS] = {"ranks", true, NULL, 0},
	[QUALITY] = {"quality", true, NULL, 0}, [EXACT] = {"exact", false, NULL, 0},
	[SVG] = {"svg", true, NULL, 0},		{0},
};

/* Do they divide the lanes? */
static int check_ranks(const struct sfs_options *o, uint32_t n_ranks,
		       struct sfs_error *err)
{
	const struct sfs_name first = {.n_ranks = n_ranks};

	return sfs_name_check(&first, (uint32_t)o->lanes, SFS_NOT_DEALT, err);
}

static int read_plan(const struct sfs_options *o, struct sfs_plan_options *plan,
		     struct sfs_error *err)
{
	uint32_t quality = 0;
	int ret;

	*plan = (struct sfs_plan_options){.is_exact = plan_options[EXACT].value,
					  .svg = plan_options[SVG].value};
	ret = read_number(&plan_options[BATCH], 2, 1 << 20, 256, &plan->batch, err);
	if (ret == 0)
		ret = read_number(&plan_options[RANKS], 1, 65536, 0, &plan->n_ranks, err);
	if (ret == 0)
		ret = read_number(&plan_options[QUALITY], 1, plan->batch, 0, &quality,
				  err);
	plan->quality = quality;
	if (ret == 0 && quality == 0)
		ret = check_ranks(o, plan->n_ranks, err);
	return ret;
}

static int run_plan(struct run *r)
{
	struct sfs_plan_options plan;
	int ret;

	if (read_plan(&r->options, &plan, &r->err) < 0)
		return SFS_EXIT_USAGE;
	ret = sfs_plan(&r->options, &r->specs, &plan, &r->text, &r->err);
	if (ret < 0)
		sfs_strbuf_done(&r->text);
	return status_of(ret);
}

static int do_plan(const struct sfs_cmdline *c)
{
	if (c->arguments.n < 1)
		return sfs_command_misused("plan needs a SOURCE");
	return run_on_dataset(c, c->arguments.n, run_plan);
}

/* ---- ls ---- */

static struct sfs_command_option ls_options[] = {{"json", false, NULL, 0}, {0}};

static int run_ls(struct run *r)
{
	return status_of(
		sfs_ls(&r->options, &r->specs, ls_options[0].value, &r->text, &r->err));
}

static int do_ls(const struct sfs_cmdline *c)
{
	if (c->arguments.n < 1)
		return sfs_command_misused("ls needs a SOURCE");
	return run_on_dataset(c, c->arguments.n, run_ls);
}

/* ---- index ---- */

enum { TO, PART };

static struct sfs_command_option index_options[] = {
	[TO] = {"to", true, NULL, 0},
	[PART] = {"part", true, NULL, 0},
	{0},
};

/* "I/N", from 1/1. */
static int read_part(const char *s, struct sfs_index_dataset_options *wanted,
		     struct sfs_error *err)
{
	unsigned i = 1, n = 1;
	int end = 0;

	/* (%u by itself takes signs and spaces.) */
	if (s && (s[strspn(s, "0123456789/")] ||
		  sscanf(s, "%9u/%9u%n", &i, &n, &end) != 2 || s[end] || i < 1 || i > n))
		return sfs_error_set(err, -EINVAL,
				     "--part: '%s' is not I/N with I from 1 to N", s);
	wanted->part = i - 1;
	wanted->n_parts = n;
	return 0;
}

static int run_index(struct run *r)
{
	struct sfs_index_dataset_options wanted = {0};
	const char *to = index_options[TO].value;

	if (read_part(index_options[PART].value, &wanted, &r->err) < 0)
		return SFS_EXIT_USAGE;
	r->options.index_to = to ? sfs_strdup(to) : NULL;
	return status_of(
		sfs_index_dataset(&r->options, &r->specs, &wanted, &r->text, &r->err));
}

static int do_index(const struct sfs_cmdline *c)
{
	if (c->arguments.n < 1)
		return sfs_command_misused("index needs a SOURCE");
	return run_on_dataset(c, c->arguments.n, run_index);
}

/* ---- bench ---- */

enum { SECONDS, STAGES, JSON };

static struct sfs_command_option bench_options[] = {
	[SECONDS] = {"seconds", true, NULL, 0},
	[STAGES] = {"stages", true, NULL, 0},
	[JSON] = {"json", false, NULL, 0},
	{0},
};

/* "source,order,mount", or some of them. */
static int read_stages(const char *list, struct sfs_bench_options *bench,
		       struct sfs_error *err)
{
	const char *rest = list ? list : "source,order,mount";
	size_t n;
	int i;

	for (;; rest += n + 1) {
		n = strcspn(rest, ",");
		for (i = 0; i <= SFS_BENCH_STAGE_MOUNT; i++) {
			const char *name = sfs_bench_stage_name((enum sfs_bench_stage)i);

			if (strlen(name) == n && strncmp(rest, name, n) == 0)
				break;
		}
		if (i > SFS_BENCH_STAGE_MOUNT)
			return sfs_error_set(err, -EINVAL,
					     "--stages: '%s' is not a comma-separated "
					     "list of source, order and mount",
					     list);
		bench->wants[i] = true;
		if (!rest[n])
			return 0;
	}
}

static int run_bench(struct run *r)
{
	struct sfs_bench_options bench = {.as_json = bench_options[JSON].value};
	int ret;

	if (read_number(&bench_options[SECONDS], 1, 86400, 10, &bench.seconds, &r->err) <
		    0 ||
	    read_stages(bench_options[STAGES].value, &bench, &r->err) < 0)
		return SFS_EXIT_USAGE;
	sfs_cmdline_repeat(r->cmdline, &bench.mount);
	ret = sfs_bench(&r->options, &r->specs, &bench, &r->text, &r->err);
	sfs_strings_done(&bench.mount);
	return status_of(ret);
}

static int do_bench(const struct sfs_cmdline *c)
{
	if (c->arguments.n < 1)
		return sfs_command_misused("bench needs a SOURCE");
	return run_on_dataset(c, c->arguments.n, run_bench);
}

/* ---- commands on a mount ---- */

static int do_umount(const struct sfs_cmdline *c)
{
	if (c->arguments.n != 1)
		return sfs_command_misused("umount needs one DIR");
	return sfs_umount(c->arguments.s[0], c->is_forced ? SFS_UMOUNT_FORCE
					     : c->is_lazy ? SFS_UMOUNT_LAZY
							  : SFS_UMOUNT_WAIT);
}

static int do_where(const struct sfs_cmdline *c)
{
	sfs_autofree char *name = NULL;
	char number[32];
	ssize_t n;

	if (c->arguments.n != 2)
		return sfs_command_misused("where needs a FILE and an OFFSET");
	name = sfs_asprintf("user.shufflefs.sample-at.%s", c->arguments.s[1]);
	n = getxattr(c->arguments.s[0], name, number, sizeof number);
	if (n >= 0) {
		printf("%.*s\n", (int)n, number);
		return SFS_EXIT_OK;
	}
	if (errno == EINVAL || errno == ERANGE)
		sfs_error("'%s' is not a byte offset", c->arguments.s[1]);
	else if (errno == ENODATA || errno == ENOTSUP)
		sfs_error("%s is not a stream of a shufflefs mount", c->arguments.s[0]);
	else
		sfs_error("%s: %s", c->arguments.s[0], strerror(errno));
	return SFS_EXIT_FAILED;
}

enum { DELAY, COUNT, TOP_BATCH };

static struct sfs_command_option top_options[] = {
	[DELAY] = {"delay", true, NULL, 'd'},
	[COUNT] = {"count", true, NULL, 'n'},
	[TOP_BATCH] = {"batch", false, NULL, 'b'},
	{0},
};

/* Without a terminal, the default is one screen. */
static int read_top(struct sfs_top_options *top, struct sfs_error *err)
{
	const char *delay = top_options[DELAY].value;
	bool is_terminal = isatty(STDOUT_FILENO);
	double s = 1;
	char *end;

	if (delay) {
		s = strtod(delay, &end);
		if (*delay < '0' || *delay > '9' || *end || !(s >= 0.1 && s <= 86400))
			return sfs_error_set(err, -EINVAL,
					     "--delay: '%s' is not a number of seconds "
					     "from 0.1 to 86400",
					     delay);
	}
	top->delay_ms = (unsigned)(s * 1000);
	top->is_batch = top_options[TOP_BATCH].value || !is_terminal;
	return read_number(&top_options[COUNT], 1, UINT32_MAX, is_terminal ? 0 : 1,
			   &top->count, err);
}

static int do_top(const struct sfs_cmdline *c)
{
	struct sfs_top_options top = {0};
	struct sfs_error err = {0};

	if (c->arguments.n != 1)
		return sfs_command_misused("top needs one DIR");
	if (read_top(&top, &err) < 0)
		return finish(SFS_EXIT_USAGE, &err);
	return finish(status_of(sfs_top(c->arguments.s[0], &top, &err)), &err);
}

/* ---- forward ---- */

static struct sfs_command_option forward_options[SFS_SIDECAR_OPTIONS + 1];

/* Of the one table, those that it has. */
static void fill_forward_options(void)
{
	struct sfs_command_option *o = forward_options;
	int i;

	for (i = 0; i < SFS_SIDECAR_OPTIONS; i++) {
		o->name = sfs_sidecar_option_name((enum sfs_sidecar_option_id)i,
						  SFS_SIDECAR_FORWARD, &o->has_value);
		o += o->name != NULL;
	}
	o->name = NULL;
}

static int read_values(struct sfs_sidecar_values *v, struct sfs_error *err)
{
	const struct sfs_command_option *o = forward_options;
	bool has_value;
	int i, ret;

	for (i = 0; i < SFS_SIDECAR_OPTIONS; i++) {
		enum sfs_sidecar_option_id id = (enum sfs_sidecar_option_id)i;

		if (!sfs_sidecar_option_name(id, SFS_SIDECAR_FORWARD, &has_value))
			continue;
		if (o->value) {
			ret = sfs_sidecar_option_set(v, id, o->value, err);
			if (ret < 0)
				return ret;
		}
		o++;
	}
	return 0;
}

/* Batches have fields, and samples have none to choose. */
static int check_fields(const struct sfs_sidecar_values *v, const char *target,
			struct sfs_error *err)
{
	const char *fields = v->texts[SFS_SIDECAR_FIELDS];

	if (sfs_sidecar_gives_samples(target))
		return sfs_sidecar_options_check_samples(v, err);
	if (fields && *fields)
		return 0;
	return sfs_error_set(err, -EINVAL,
			     "forward needs --fields, such as "
			     "--fields='jpg:rgb,224;cls:i4'");
}

/* The mount has another working directory. */
static char *absolute_path(const char *path)
{
	sfs_autofree char *here = path && *path != '/' ? getcwd(NULL, 0) : NULL;

	return here ? sfs_asprintf("%s/%s", here, path) : NULL;
}

static int read_forward(const char *target, struct shufflefs_forward *f,
			struct sfs_error *err)
{
	struct sfs_sidecar_values v = {0};
	sfs_autofree char *here = getcwd(NULL, 0), *secret = NULL;
	sfs_autofree char *absolute = sfs_target_absolute(target, here ? here : "");
	int ret;

	if (strlen(absolute) >= sizeof f->target)
		return sfs_error_set(err, -EINVAL, "the target is longer than %zu bytes",
				     sizeof f->target - 1);
	strcpy(f->target, absolute);
	ret = sfs_target_check(absolute, err);
	if (ret == 0)
		ret = read_values(&v, err);
	if (ret == 0)
		ret = check_fields(&v, target, err);
	if (ret < 0)
		return ret;
	secret = absolute_path(v.texts[SFS_SIDECAR_SECRET]);
	if (secret)
		v.texts[SFS_SIDECAR_SECRET] = secret;
	f->batch = sfs_sidecar_gives_samples(target) ? 0 : 256;
	return sfs_sidecar_options_to_forward(&v, f, err);
}

static int do_forward(const struct sfs_cmdline *c)
{
	struct shufflefs_forward f = {.size = sizeof f};
	struct sfs_error err = {0};

	if (!SFS_HAS_SIDECAR) {
		sfs_error_set(&err, -EOPNOTSUPP, SFS_NO_SIDECAR);
		return finish(SFS_EXIT_FAILED, &err);
	}
	if (c->arguments.n != 2)
		return sfs_command_misused("forward needs a FILE and a TARGET");
	if (read_forward(c->arguments.s[1], &f, &err) < 0)
		return finish(SFS_EXIT_USAGE, &err);
	return finish(status_of(sfs_forward_command(c->arguments.s[0], &f, &err)), &err);
}

/* ---- the table ---- */

static const struct sfs_command commands[] = {
	{"mount", do_mount, true, false, NULL},
	{"umount", do_umount, false, true, NULL},
	{"unmount", do_umount, false, true, NULL},
	{"cat", do_cat, true, false, NULL},
	{"ls", do_ls, true, false, ls_options},
	{"index", do_index, true, false, index_options},
	{"plan", do_plan, true, false, plan_options},
	{"bench", do_bench, true, false, bench_options},
	{"forward", do_forward, false, false, forward_options},
	{"where", do_where, false, false, NULL},
	{"top", do_top, false, false, top_options},
};

const struct sfs_command *sfs_command_find(const char *name)
{
	size_t i;

	fill_forward_options();
	for (i = 0; i < SFS_COUNT(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

const struct sfs_command *sfs_command_guess(const char *name)
{
	const struct sfs_command *found = NULL;
	size_t i, distance, least = 3;

	for (i = 0; i < SFS_COUNT(commands); i++) {
		distance = sfs_strbuf_distance(name, commands[i].name);
		if (distance < least) {
			least = distance;
			found = &commands[i];
		}
	}
	return found;
}
