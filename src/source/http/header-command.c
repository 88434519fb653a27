/* SPDX-License-Identifier: MIT */
#include "source/http/header-command.h"

#include "base/alloc.h"
#include "base/process.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_MS 60000

struct sfs_header_command {
	const char *option, *command;
	char *folder; /* that of the start, which a daemon leaves */
	bool is_bearer;
	uint64_t limit_ms;
	struct sfs_renewer_ops ops;
	struct sfs_renewer *renewer;
};

static bool is_same(const void *a, const void *b)
{
	return sfs_header_lines_are_same(a, b);
}

static void *copy(const void *value)
{
	struct sfs_header_lines *lines = sfs_calloc(1, sizeof *lines);

	*lines = sfs_header_lines_copy(value);
	return lines;
}

static void free_value(void *value)
{
	sfs_header_lines_done(value);
	free(value);
}

static int read_output(const struct sfs_header_command *c, struct sfs_strbuf *text,
		       struct sfs_header_lines *ret, struct sfs_error *err)
{
	int code;

	sfs_strbuf_add(text, "", 0);
	code = sfs_header_lines_read(text->s, text->n, c->is_bearer,
				     (int64_t)time(NULL), ret, err);
	if (code < 0)
		return sfs_error_wrap(err, code, "what it printed is of no use");
	if (ret->n == 0)
		return sfs_error_set(err, -EINVAL, "it printed nothing");
	return 0;
}

static int find(void *ctx, const atomic_bool *is_stopped, void **ret_value,
		int64_t *ret_expires_s, struct sfs_error *err)
{
	const struct sfs_header_command *c = ctx;
	struct sfs_header_lines lines = {0};
	struct sfs_strbuf text = {0};
	int code;

	code = sfs_process_run(c->command, c->folder, c->limit_ms, is_stopped, &text,
			       err);
	if (code == 0)
		code = read_output(c, &text, &lines, err);
	if (text.s)
		explicit_bzero(text.s, text.capacity);
	sfs_strbuf_done(&text);
	if (code == 0) {
		*ret_value = copy(&lines);
		*ret_expires_s = lines.expires_s;
	}
	sfs_header_lines_done(&lines);
	return code == -ENOENT ? -EIO : code;
}

struct sfs_header_command *sfs_header_command_start(const char *option,
						    const char *command, bool is_bearer,
						    uint64_t limit_ms,
						    struct sfs_error *err)
{
	struct sfs_header_command *c = sfs_calloc(1, sizeof *c);

	c->option = option;
	c->command = command;
	c->folder = getcwd(NULL, 0);
	c->is_bearer = is_bearer;
	c->limit_ms = limit_ms < MOST_MS ? limit_ms : MOST_MS;
	c->ops = (struct sfs_renewer_ops){
		.what = option,
		.find = find,
		.is_same = is_same,
		.copy = copy,
		.free = free_value,
		.insists = true,
	};
	c->renewer = sfs_renewer_start(&c->ops, c, err);
	if (c->renewer)
		return c;
	sfs_error_wrap(err, -EINVAL, "option '%s'", option);
	free(c->folder);
	free(c);
	return NULL;
}

void sfs_header_command_stop(struct sfs_header_command *c)
{
	if (!c)
		return;
	sfs_renewer_stop(c->renewer);
	free(c->folder);
	free(c);
}

unsigned sfs_header_command_get(struct sfs_header_command *c,
				struct sfs_header_lines *ret)
{
	void *value;
	unsigned edition = sfs_renewer_get(c->renewer, &value);

	*ret = *(struct sfs_header_lines *)value; /* there are some from the start on */
	free(value);
	return edition;
}

unsigned sfs_header_command_edition(struct sfs_header_command *c)
{
	return sfs_renewer_edition(c->renewer);
}

enum sfs_renewal sfs_header_command_renew(struct sfs_header_command *c, unsigned edition,
					  uint64_t made_ns, bool may_wait)
{
	return sfs_renewer_renew(c->renewer, edition, made_ns, may_wait);
}
