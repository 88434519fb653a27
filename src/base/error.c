/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sfs_error_set(struct sfs_error *err, int code, const char *format, ...)
{
	va_list args;

	if (err) {
		va_start(args, format);
		vsnprintf(err->text, sizeof err->text, format, args);
		va_end(args);
	}
	return code;
}

int sfs_error_wrap(struct sfs_error *err, int code, const char *format, ...)
{
	struct sfs_error was;
	va_list args;
	size_t n;

	if (!err)
		return code;
	was = *err;
	va_start(args, format);
	vsnprintf(err->text, sizeof err->text, format, args);
	va_end(args);
	n = strlen(err->text);
	snprintf(err->text + n, sizeof err->text - n, ": %s", was.text);
	return code;
}

const char *sfs_error_name(int code)
{
	const char *name = strerrorname_np(abs(code));

	return name ? name : "E?";
}
