/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include "base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name may be longer than all there is room for.  It comes first, and the cause at the
 * end: so the middle is left out. */
static void error_take(struct sfs_error *err, const char *text)
{
	static const char gap[] = " ... ";
	size_t n = strlen(text), n_first = sizeof err->text / 3,
	       n_last = sizeof err->text - n_first - sizeof gap;

	if (n < sizeof err->text)
		memcpy(err->text, text, n + 1);
	else
		snprintf(err->text, sizeof err->text, "%.*s%s%s", (int)n_first, text, gap,
			 text + n - n_last);
}

void sfs_error_take(struct sfs_error *err, const char *format, va_list args)
{
	sfs_autofree char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		abort();
	error_take(err, text);
}

int sfs_error_set(struct sfs_error *err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		sfs_error_take(err, format, args);
		va_end(args);
	}
	return code;
}

int sfs_error_wrap(struct sfs_error *err, int code, const char *format, ...)
{
	sfs_autofree char *prefix = NULL, *text = NULL;
	va_list args;

	if (!err)
		return code;
	va_start(args, format);
	if (vasprintf(&prefix, format, args) < 0)
		abort();
	va_end(args);
	text = sfs_asprintf("%s: %s", prefix, err->text);
	error_take(err, text);
	return code;
}

const char *sfs_error_name(int code)
{
	const char *name = strerrorname_np(abs(code));

	return name ? name : "E?";
}
