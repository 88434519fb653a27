/* SPDX-License-Identifier: MIT */
/* main - the `shufflefs` command: finds out which of its doors to open. */
#include "bench.h"
#include "cmdline.h"
#include "mount.h"
#include "top.h"

#include "base/alloc.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/threadpool.h"
#include "cli/cat.h"
#include "cli/index.h"
#include "cli/plan.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { OK = 0, FAILED = 1, USAGE = 2 };

static const char synopsis[] =
	"usage: shufflefs mount [-f] [-o OPTION[,...]] SOURCE... DIR\n"
	"       shufflefs umount [--lazy] DIR\n"
	"       shufflefs cat [-o OPTION[,...]] SOURCE... PATH\n"
	"       shufflefs plan [-o OPTION[,...]] [--batch=N] [--ranks=W] [--quality=N]\n"
	"                      [--exact] [--svg=FILE] SOURCE...\n"
	"       shufflefs bench [-o OPTION[,...]] [--seconds=N] [--stages=LIST] "
	"[--json]\n"
	"                       SOURCE...\n"
	"       shufflefs index [-o OPTION[,...]] [--to=DIR] [--part=I/N] SOURCE...\n"
	"       shufflefs where FILE OFFSET\n"
	"       shufflefs top [-b] [-d SECONDS] [-n COUNT] DIR\n"
	"       shufflefs --help | --version\n";

/* clang-format off: a line here is a line there */
static const char introduction[] =
	"\n"
	"Mount a dataset of tar shards and read each epoch as one shuffled tar.\n"
	"\n"
	"Commands:\n"
	"  mount   mount the dataset on the folder DIR\n"
	"  umount  unmount DIR, and wait until its daemon has exited\n"
	"  cat     write a file of the dataset to standard output, without a mount\n"
	"  plan    predict how well these options shuffle, and what reading costs\n"
	"  bench   measure source, shuffling and mount, and name the bottleneck\n"
	"  index   create the indexes of all shards in advance\n"
	"  where   print which sample (from 0) of a mounted stream holds byte OFFSET\n"
	"  top     show what a mount is doing, and what limits it\n"
	"\n"
	"Arguments:\n"
	"  SOURCE  a path, a folder, or a file://, http:// or https:// URL; braces are\n"
	"          expanded: 'https://host/train-{000000..000099}.tar'; or the name of\n"
	"          a section in " SYSCONFDIR
	"/shufflefs.conf or ~/.config/shufflefs.conf\n"
	"  DIR     an existing folder\n"
	"  PATH    a file of the dataset, as a mount shows it: epochs/0.tar, README, "
	"...\n"
	"  FILE    a stream of a mount: DIR/epochs/0.tar, ...\n"
	"\n"
	"Options, for -o, as --long options, and in the ini files:\n";
/* clang-format on */

/* The command line is wrong: say how, and where to look. */
static int misused(const char *format, ...)
{
	sfs_autofree char *problem = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&problem, format, args) < 0)
		abort();
	va_end(args);
	sfs_error("%s", problem);
	fprintf(stderr, "Try 'shufflefs --help' for more information.\n");
	return USAGE;
}

/* What a command ends with. */
static int finish(int status, const struct sfs_error *err)
{
	if (status == USAGE)
		return misused("%s", err->text);
	if (status != OK)
		sfs_error("%s", err->text);
	return status;
}

static int help(bool as_mdoc)
{
	struct sfs_strbuf text = {0};

	if (!as_mdoc)
		printf("%s%s", synopsis, introduction);
	sfs_options_help(&text, as_mdoc);
	printf("%s", text.s);
	if (!as_mdoc)
		printf("\nSee the manual for details: man shufflefs\n");
	sfs_strbuf_done(&text);
	return OK;
}

static int version(void)
{
	printf("shufflefs " VERSION "\n");
	return OK;
}

static int do_mount(const struct sfs_cmdline *c)
{
	struct sfs_strings specs = {0};
	struct sfs_error err = {0};
	struct sfs_options o;
	int status = USAGE;

	if (c->arguments.n < 2)
		return misused("mount needs a SOURCE and a DIR");
	if (sfs_cmdline_resolve(c, c->arguments.n - 1, &o, &specs, &err) < 0)
		misused("%s", err.text);
	else
		status = sfs_mount(&o, &specs, c->arguments.s[c->arguments.n - 1]);
	sfs_strings_done(&specs);
	sfs_options_done(&o);
	return status;
}

static int do_umount(const struct sfs_cmdline *c)
{
	if (c->arguments.n != 1)
		return misused("umount needs one DIR");
	return sfs_umount(c->arguments.s[0], c->is_lazy);
}

/* End as a program ends whose reader has gone. */
static void die_of_pipe(void)
{
	signal(SIGPIPE, SIG_DFL);
	raise(SIGPIPE);
}

static int do_cat(const struct sfs_cmdline *c)
{
	struct sfs_strings specs = {0};
	struct sfs_error err = {0};
	struct sfs_options o;
	int status = USAGE, ret;

	if (c->arguments.n < 2)
		return misused("cat needs a SOURCE and a PATH, such as epochs/0.tar");
	if (sfs_cmdline_resolve(c, c->arguments.n - 1, &o, &specs, &err) == 0) {
		sfs_log_set_level((enum sfs_log_level)o.log_level);
		signal(SIGPIPE, SIG_IGN);
		ret = sfs_cat(&o, &specs, c->arguments.s[c->arguments.n - 1],
			      STDOUT_FILENO, &err);
		status = ret < 0 ? FAILED : OK;
		if (ret == -EPIPE)
			die_of_pipe();
	}
	finish(status, &err);
	sfs_strings_done(&specs);
	sfs_options_done(&o);
	return status;
}

/* ---- plan ---- */

enum { BATCH, RANKS, QUALITY, EXACT, SVG };

static struct sfs_own plan_own[] = {
	[BATCH] = {"batch", true, NULL, 0},	[RANKS] = {"ranks", true, NULL, 0},
	[QUALITY] = {"quality", true, NULL, 0}, [EXACT] = {"exact", false, NULL, 0},
	[SVG] = {"svg", true, NULL, 0},		{0},
};

/* A whole number from `least` to `most`; `otherwise`, if it was not given. */
static int own_number(const struct sfs_own *own, uint32_t least, uint32_t most,
		      uint32_t otherwise, uint32_t *ret, struct sfs_error *err)
{
	unsigned long n;
	char *end;

	*ret = otherwise;
	if (!own->value)
		return 0;
	n = strtoul(own->value, &end, 10);
	if (*own->value < '0' || *own->value > '9' || *end || n < least || n > most)
		return sfs_error_set(err, -EINVAL,
				     "--%s: '%s' is not a number from %u to %u",
				     own->name, own->value, least, most);
	*ret = (uint32_t)n;
	return 0;
}

static int read_plan(const struct sfs_options *o, struct sfs_plan_options *plan,
		     struct sfs_error *err)
{
	uint32_t quality = 0;
	int ret;

	*plan = (struct sfs_plan_options){.is_exact = plan_own[EXACT].value,
					  .svg = plan_own[SVG].value};
	ret = own_number(&plan_own[BATCH], 2, 1 << 20, 256, &plan->batch, err);
	if (ret == 0)
		ret = own_number(&plan_own[RANKS], 1, 65536, 0, &plan->n_ranks, err);
	if (ret == 0)
		ret = own_number(&plan_own[QUALITY], 1, plan->batch, 0, &quality, err);
	plan->quality = quality;
	if (ret == 0 && plan->n_ranks && o->lanes % plan->n_ranks != 0)
		ret = sfs_error_set(err, -EINVAL, "--ranks=%u does not divide lanes=%u",
				    plan->n_ranks, (unsigned)o->lanes);
	return ret;
}

static int do_plan(const struct sfs_cmdline *c)
{
	struct sfs_strings specs = {0};
	struct sfs_strbuf text = {0};
	struct sfs_error err = {0};
	struct sfs_plan_options plan;
	struct sfs_options o;
	int status = USAGE;

	if (c->arguments.n < 1)
		return misused("plan needs a SOURCE");
	if (sfs_cmdline_resolve(c, c->arguments.n, &o, &specs, &err) == 0 &&
	    read_plan(&o, &plan, &err) == 0) {
		sfs_log_set_level((enum sfs_log_level)o.log_level);
		status = sfs_plan(&o, &specs, &plan, &text, &err) < 0 ? FAILED : OK;
	}
	if (status == OK)
		printf("%s", text.s);
	finish(status, &err);
	sfs_strbuf_done(&text);
	sfs_strings_done(&specs);
	sfs_options_done(&o);
	return status;
}

/* ---- index ---- */

enum { TO, PART };

static struct sfs_own index_own[] = {
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

static int do_index(const struct sfs_cmdline *c)
{
	struct sfs_index_dataset_options wanted = {0};
	struct sfs_strings specs = {0};
	struct sfs_strbuf text = {0};
	struct sfs_error err = {0};
	struct sfs_options o;
	int status = USAGE;

	if (c->arguments.n < 1)
		return misused("index needs a SOURCE");
	if (sfs_cmdline_resolve(c, c->arguments.n, &o, &specs, &err) == 0 &&
	    read_part(index_own[PART].value, &wanted, &err) == 0) {
		o.index_to = index_own[TO].value ? sfs_strdup(index_own[TO].value) : NULL;
		sfs_log_set_level((enum sfs_log_level)o.log_level);
		status = sfs_index_dataset(&o, &specs, &wanted, &text, &err) < 0 ? FAILED
										 : OK;
	}
	if (text.n > 0)
		printf("%s", text.s);
	finish(status, &err);
	sfs_strbuf_done(&text);
	sfs_strings_done(&specs);
	sfs_options_done(&o);
	return status;
}

/* ---- bench ---- */

enum { SECONDS, STAGES, JSON };

static struct sfs_own bench_own[] = {
	[SECONDS] = {"seconds", true, NULL},
	[STAGES] = {"stages", true, NULL},
	[JSON] = {"json", false, NULL},
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

static int do_bench(const struct sfs_cmdline *c)
{
	struct sfs_bench_options bench = {.as_json = bench_own[JSON].value};
	struct sfs_strings specs = {0};
	struct sfs_strbuf text = {0};
	struct sfs_error err = {0};
	struct sfs_options o;
	int status = USAGE;

	if (c->arguments.n < 1)
		return misused("bench needs a SOURCE");
	if (sfs_cmdline_resolve(c, c->arguments.n, &o, &specs, &err) == 0 &&
	    own_number(&bench_own[SECONDS], 1, 86400, 10, &bench.seconds, &err) == 0 &&
	    read_stages(bench_own[STAGES].value, &bench, &err) == 0) {
		sfs_log_set_level((enum sfs_log_level)o.log_level);
		sfs_cmdline_repeat(c, &bench.mount);
		status = sfs_bench(&o, &specs, &bench, &text, &err) < 0 ? FAILED : OK;
	}
	if (text.n > 0)
		printf("%s", text.s);
	finish(status, &err);
	sfs_strbuf_done(&text);
	sfs_strings_done(&bench.mount);
	sfs_strings_done(&specs);
	sfs_options_done(&o);
	return status;
}

static int do_where(const struct sfs_cmdline *c)
{
	sfs_autofree char *name = NULL;
	char number[32];
	ssize_t n;

	if (c->arguments.n != 2)
		return misused("where needs a FILE and an OFFSET");
	name = sfs_asprintf("user.shufflefs.sample-at.%s", c->arguments.s[1]);
	n = getxattr(c->arguments.s[0], name, number, sizeof number);
	if (n >= 0) {
		printf("%.*s\n", (int)n, number);
		return OK;
	}
	if (errno == EINVAL || errno == ERANGE)
		sfs_error("'%s' is not a byte offset", c->arguments.s[1]);
	else if (errno == ENODATA || errno == ENOTSUP)
		sfs_error("%s is not a stream of a shufflefs mount", c->arguments.s[0]);
	else
		sfs_error("%s: %s", c->arguments.s[0], strerror(errno));
	return FAILED;
}

/* ---- top ---- */

enum { DELAY, COUNT, TOP_BATCH };

static struct sfs_own top_own[] = {
	[DELAY] = {"delay", true, NULL, 'd'},
	[COUNT] = {"count", true, NULL, 'n'},
	[TOP_BATCH] = {"batch", false, NULL, 'b'},
	{0},
};

/* A program whose output is no terminal gets one picture, if it does not say more. */
static int read_top(struct sfs_top_options *top, struct sfs_error *err)
{
	const char *delay = top_own[DELAY].value;
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
	top->is_batch = top_own[TOP_BATCH].value || !is_terminal;
	return own_number(&top_own[COUNT], 1, UINT32_MAX, is_terminal ? 0 : 1,
			  &top->count, err);
}

static int do_top(const struct sfs_cmdline *c)
{
	struct sfs_top_options top = {0};
	struct sfs_error err = {0};

	if (c->arguments.n != 1)
		return misused("top needs one DIR");
	if (read_top(&top, &err) < 0)
		return finish(USAGE, &err);
	return finish(sfs_top(c->arguments.s[0], &top, &err) < 0 ? FAILED : OK, &err);
}

static const struct door {
	const char *name;
	int (*run)(const struct sfs_cmdline *command);
	bool has_source;     /* it takes the options of the table */
	struct sfs_own *own; /* NULL: it has no options of its own */
} doors[] = {
	{"mount", do_mount, true, NULL},      {"umount", do_umount, false, NULL},
	{"unmount", do_umount, false, NULL},  {"cat", do_cat, true, NULL},
	{"index", do_index, true, index_own}, {"plan", do_plan, true, plan_own},
	{"bench", do_bench, true, bench_own}, {"where", do_where, false, NULL},
	{"top", do_top, false, top_own},
};

static const struct door *find_door(const char *name)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(doors); i++)
		if (strcmp(doors[i].name, name) == 0)
			return &doors[i];
	return NULL;
}

static int no_such_door(const char *name)
{
	size_t i, d, least = 3, nearest = SFS_COUNT(doors);

	for (i = 0; i < SFS_COUNT(doors); i++) {
		d = sfs_strbuf_distance(name, doors[i].name);
		if (d < least) {
			least = d;
			nearest = i;
		}
	}
	if (nearest < SFS_COUNT(doors))
		return misused("there is no command '%s'; did you mean '%s'?", name,
			       doors[nearest].name);
	return misused("there is no command '%s'", name);
}

/* The command line has no command where it should be. */
static int no_door(const struct sfs_cmdline *c)
{
	const char *name = c->arguments.n ? c->arguments.s[0] : NULL;

	if (!name)
		return misused("no command given");
	if (find_door(name))
		return misused(
			"the command must come before its options: shufflefs %s ...",
			name);
	return no_such_door(name);
}

static int run_door(const struct door *door, const struct sfs_cmdline *c)
{
	if (!door->has_source && c->n_settings > 0)
		return misused("%s does not take %s", door->name, c->settings[0].origin);
	if (c->is_lazy && door->run != do_umount)
		return misused("%s does not take --lazy", door->name);
	return door->run(c);
}

/* What has been printed has not been written yet. */
static int flush(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	sfs_error("cannot write: %s", strerror(errno));
	return status == OK ? FAILED : status;
}

int main(int argc, char **argv)
{
	struct sfs_cmdline c = {0};
	struct sfs_error err = {0};
	const struct door *door;
	int status;

	mallopt(M_ARENA_MAX, 2); /* small memory is small; keep it so */
	if (argc < 2)
		return no_door(&c);
	if (strcmp(argv[1], "help") == 0)
		return flush(help(argc > 2 && strcmp(argv[2], "--mdoc") == 0));
	door = find_door(argv[1]);
	c.own = door ? door->own : NULL;
	if (sfs_cmdline_parse(&c, argc, argv, door ? 2 : 1, &err) < 0) {
		status = finish(USAGE, &err);
	} else if (c.wants_help) {
		status = help(false);
	} else if (c.wants_version) {
		status = version();
	} else {
		status = door ? run_door(door, &c) : no_door(&c);
	}
	sfs_cmdline_done(&c);
	status = flush(status);
	if (sfs_threads_are_left()) /* they may use what an exit would free */
		_exit(status);
	return status;
}
