/* SPDX-License-Identifier: MIT */
/* A file of header lines that changes is read again: replaced by a rename, written in
 * place, or reached over another link.  One that is gone, empty or half written changes
 * nothing. */
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "check.h"
#include "source/http/user-headers.h"

#include <sys/stat.h>
#include <unistd.h>

static char *folder, *path, *other;
static struct sfs_user_headers *headers;
static uint64_t now_ns = SFS_NS_PER_S;

static void write_to(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void put_in_place(const char *text)
{
	write_to(other, text);
	CHECK_EQ(rename(other, path), 0);
}

/* All lines, separated by bars. */
static void are(const char *wanted)
{
	sfs_autofree char *all = sfs_strdup("");
	int i;

	for (i = 0; i < sfs_user_headers_n(headers); i++) {
		char *more = sfs_asprintf("%s%s%s", all, i ? "|" : "",
					  sfs_user_headers_line(headers, i));

		free(all);
		all = more;
	}
	CHECK_STR(all, wanted);
}

/* A second later. */
static bool look(void)
{
	now_ns += SFS_NS_PER_S;
	return sfs_user_headers_look(headers, false, now_ns);
}

static void begin(void)
{
	sfs_autofree char *spec = sfs_asprintf("@%s\nToken: one\nB: b", path);
	char *specs[] = {(char *)"First: x", spec, (char *)"Last: y"};

	write_to(path, "Token: one\nB: b\n");
	headers = sfs_user_headers_new(specs, 3);
	are("First: x|Token: one|B: b|Last: y");
	CHECK(!look());
	CHECK(!sfs_user_headers_look(headers, true, now_ns));
	CHECK_EQ(sfs_user_headers_edition(headers), 0);
}

static void it_changes(void)
{
	put_in_place("Token: two\n");
	CHECK(!sfs_user_headers_look(headers, false,
				     now_ns)); /* it has looked just now */
	are("First: x|Token: one|B: b|Last: y");
	CHECK(look());
	are("First: x|Token: two|Last: y");
	CHECK_EQ(sfs_user_headers_edition(headers), 1);
	CHECK(!look());

	write_to(path, "Token: three\r\n\n");
	CHECK(look());
	are("First: x|Token: three|Last: y");
	/* Refused: at once, and whatever its times say. */
	put_in_place("Token: four");
	CHECK(sfs_user_headers_look(headers, true, now_ns));
	CHECK(!sfs_user_headers_look(headers, true, now_ns));
	are("First: x|Token: four|Last: y");
	CHECK_EQ(sfs_user_headers_edition(headers), 3);
	/* Written anew, but the same. */
	put_in_place("Token: four\n");
	CHECK(!look());
	CHECK_EQ(sfs_user_headers_edition(headers), 3);
}

/* As secrets of Kubernetes are renewed. */
static void another_folder(void)
{
	sfs_autofree char *one = sfs_asprintf("%s/one", folder),
			  *two = sfs_asprintf("%s/two", folder);

	write_to(one, "Token: A\n");
	write_to(two, "Token: B\n");
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(symlink(one, path), 0);
	CHECK(look());
	are("First: x|Token: A|Last: y");
	CHECK_EQ(symlink(two, other), 0);
	CHECK_EQ(rename(other, path), 0);
	CHECK(look());
	are("First: x|Token: B|Last: y");
	CHECK_EQ(unlink(one) | unlink(two), 0);
}

static void it_is_no_use(void)
{
	static char large[(64 << 10) + 2];

	CHECK(!look()); /* gone */
	are("First: x|Token: B|Last: y");
	CHECK_EQ(unlink(path), 0);
	write_to(path, "");
	CHECK(!look());
	write_to(path, "\n \r\n");
	CHECK(!look());
	write_to(path, "Token: C\nhal");
	CHECK(!look());
	CHECK(!sfs_user_headers_look(headers, true, now_ns));
	large[sizeof large - 1] = 0;
	memset(large, '\n', sizeof large - 1);
	memcpy(large, "Token: C", 8);
	write_to(path, large);
	CHECK(!look());
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK(!look());
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK(!look());
	CHECK_EQ(rmdir(path), 0);
	are("First: x|Token: B|Last: y");
	write_to(path, "Token: C\nHalf: no more\n");
	CHECK(look());
	are("First: x|Token: C|Half: no more|Last: y");
}

static void lines(void)
{
	CHECK(sfs_header_lines_is_one("A: b"));
	CHECK(sfs_header_lines_is_one("A:"));
	CHECK(!sfs_header_lines_is_one(""));
	CHECK(!sfs_header_lines_is_one(":"));
	CHECK(!sfs_header_lines_is_one("A"));
	CHECK(!sfs_header_lines_is_one("A b: c"));
	CHECK(!sfs_header_lines_is_one("A : c"));
	CHECK(!sfs_header_lines_is_one("A: b\nC: d"));
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	sfs_log_set_level(SFS_LOG_ERROR);
	folder = sfs_asprintf("%s/shufflefs-unit-headers.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(folder) != NULL);
	path = sfs_asprintf("%s/token", folder);
	other = sfs_asprintf("%s/new", folder);
	lines();
	begin();
	it_changes();
	another_folder();
	it_is_no_use();
	sfs_user_headers_free(headers);
	sfs_user_headers_free(NULL);
	unlink(path);
	rmdir(folder);
	free(path);
	free(other);
	free(folder);
	return 0;
}
