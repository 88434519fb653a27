/* SPDX-License-Identifier: MIT */
/* Option strings.  The first byte chooses: a list as after -o, one name and value, or a
 * file of header lines.  A failure has a sentence, a success an origin, and what
 * .shufflefs/config would show has a line for each option and no header's value. */
#include "fuzz.h"

#include "config/options.h"
#include "order/order.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_print(const struct sfs_options *o)
{
	struct sfs_strbuf text = {0};
	const char *name;
	int i;

	sfs_options_print(o, &text);
	MUST(text.n > 0 && text.s[text.n - 1] == '\n' && strlen(text.s) == text.n);
	for (i = 0; i < o->headers.n; i++) {
		name = o->headers.s[i];
		MUST(strchr(name, ':') > name && !strpbrk(name, "\r\n"));
	}
	MUST(o->headers.n == 0 || strstr(text.s, ": ***"));
	sfs_strbuf_done(&text);
}

static void check_numbers(const struct sfs_options *o)
{
	MUST(o->lanes >= 1 && o->lanes <= 65536);
	MUST(o->connections >= 1 && o->connections <= 1024);
	MUST(o->retries <= 1000 && o->umask <= 07777);
	MUST(o->keys <= SFS_KEYS_UNIQUE && o->on_error <= SFS_ON_ERROR_SKIP);
	MUST(o->verify <= SFS_VERIFY_SIZE && o->log_level <= 3);
	MUST(o->segment <= SFS_SEGMENT_RANDOM || o->segment >= SFS_SEGMENT_SIZE_MIN);
	MUST(o->direct_io <= 1 && o->allow_other <= 1 && o->foreground <= 1);
	MUST(o->connect_timeout_ms >= 1 && o->connect_timeout_ms <= 30ULL * 86400000);
	MUST(o->read_timeout_ms >= 1 && o->stall_timeout_ms >= 1);
	MUST(o->uid == UINT64_MAX || o->uid < UINT32_MAX);
}

static int set_one(struct sfs_options *o, char *text, struct sfs_error *err)
{
	char *value = strchr(text, '=');

	if (value)
		*value++ = 0;
	return sfs_options_set(o, text, value, "--fuzz", err);
}

/* "header=@FILE", the file's bytes being the input. */
static int set_header_file(struct sfs_options *o, const char *bytes,
			   struct sfs_error *err)
{
	int fd = memfd_create("headers", MFD_CLOEXEC), ret;
	char path[64];

	MUST(fd >= 0 && write(fd, bytes, strlen(bytes)) == (ssize_t)strlen(bytes));
	snprintf(path, sizeof path, "@/proc/self/fd/%d", fd);
	ret = sfs_options_set(o, "header", path, "--header", err);
	close(fd);
	return ret;
}

static void check_size(const char *text)
{
	uint64_t bytes = 12345, again;
	char *more;

	if (sfs_options_parse_size(text, &bytes) < 0) {
		MUST(bytes == 12345 || strspn(text, "0123456789") > 0);
		return;
	}
	more = malloc(strlen(text) + 2);
	sprintf(more, "0%s", text);
	MUST(sfs_options_parse_size(more, &again) == 0 && again == bytes);
	sprintf(more, "-%s", text);
	MUST(sfs_options_parse_size(more, &again) == -EINVAL);
	free(more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct fuzz_in in = {data, n};
	unsigned how = fuzz_byte(&in) % 3;
	char *text = fuzz_string(in.p, in.n), *p;
	struct sfs_error err = {0};
	struct sfs_options o;
	int ret;

	sfs_options_init(&o);
	check_size(text);
	if (how == 2) {
		ret = set_header_file(&o, text, &err);
	} else {
		for (p = text; *p; p++)
			*p = *p == '@' ? 'A' : *p; /* header=@/dev/stdin would wait */
		ret = how == 0 ? sfs_options_set_list(&o, text, "-o", &err)
			       : set_one(&o, text, &err);
	}
	MUST((ret == 0) == !err.text[0] && ret <= 0);
	check_numbers(&o);
	check_print(&o);
	ret = sfs_options_has_argument(text, NULL);
	MUST(ret == 0 || ret == 1 || ret == -EINVAL);
	sfs_options_done(&o);
	free(text);
	return 0;
}
