/* SPDX-License-Identifier: MIT */
/* An ini file sets what is for all and what is for one dataset, its lines may be as long
 * as URLs are, and what is wrong is named by file and line. */
#include "base/alloc.h"
#include "check.h"
#include "config/ini.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder, *path;
static struct sfs_options o;
static struct sfs_strings sources;
static bool has_section;

static void write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f != NULL);
	fputs(text, f);
	CHECK_EQ(fclose(f), 0);
}

static int read_file(const char *text, const char *name, struct sfs_error *err)
{
	write_file(text);
	sfs_options_done(&o);
	sfs_options_init(&o);
	sfs_strings_done(&sources);
	has_section = false;
	return sfs_ini_read(path, name, &o, &sources, &has_section, err);
}

static void reads(const char *text, const char *name)
{
	struct sfs_error err = {0};

	if (read_file(text, name, &err) < 0) {
		fprintf(stderr, "refused: %s\n%s\n", err.text, text);
		exit(1);
	}
}

static void sections(void)
{
	static const char text[] = "; a comment\n"
				   "# another\n"
				   "\n"
				   "seed = 7\n"
				   "lanes=3\n"
				   "[one]\n"
				   "source = a/{0..9}.tar\n"
				   "seed = 8\n"
				   "  \t\n"
				   "[two]\n"
				   "source = b.tar\n"
				   "source = c.tar\n"
				   "lanes = 5\n"
				   "direct_io = yes\n"
				   "[one]\n"
				   "keys = asis\n";

	reads(text, NULL);
	CHECK(o.seed == 7 && o.lanes == 3 && o.direct_io == 0);
	CHECK_EQ(sources.n, 0);
	CHECK(!has_section);
	reads(text, "one");
	CHECK(o.seed == 8 && o.lanes == 3 && o.keys == SFS_KEYS_ASIS);
	CHECK_EQ(sources.n, 1);
	CHECK_STR(sources.s[0], "a/{0..9}.tar");
	CHECK(has_section);
	reads(text, "two");
	CHECK(o.seed == 7 && o.lanes == 5 && o.direct_io == 1);
	CHECK_EQ(sources.n, 2);
	CHECK_STR(sources.s[1], "c.tar");
	reads(text, "three");
	CHECK(!has_section);
	CHECK_EQ(sources.n, 0);
	reads("", "one");
	CHECK(!has_section);
	reads("seed = 3", "one"); /* no newline at the end */
	CHECK_EQ(o.seed, 3);
	reads("seed = 3\r\nlanes = 4\r\n[one]\r\nsource = x y.tar\r\n", "one");
	CHECK(o.seed == 3 && o.lanes == 4);
	CHECK_STR(sources.s[0], "x y.tar");
}

/* Lines that begin with a blank go on with what was before them. */
static void continued(void)
{
	reads("[ds]\nsource = a.tar\n  b.tar\n\tc.tar\nseed = 1\n", "ds");
	CHECK_EQ(sources.n, 3);
	CHECK_STR(sources.s[1], "b.tar");
	CHECK_STR(sources.s[2], "c.tar");
	CHECK_EQ(o.seed, 1);
}

/* What is in the value is the value, whatever it looks like. */
static void values(void)
{
	reads("[ds]\nsource = https://h/x.tar?a=1&b=2\nheader = X-A: b: c\nfsname = "
	      "a=b\n",
	      "ds");
	CHECK_STR(sources.s[0], "https://h/x.tar?a=1&b=2");
	CHECK_STR(o.headers.s[0], "X-A: b: c");
	CHECK_STR(o.fsname, "a=b");
	reads("fsname = a;b#c\n", NULL);
	CHECK_STR(o.fsname, "a;b#c");
}

static void check_long(size_t n, const char *pattern)
{
	sfs_autofree char *value = sfs_malloc(n + 1), *text = NULL;
	size_t i;

	for (i = 0; i < n; i++)
		value[i] = pattern[i % strlen(pattern)];
	value[0] = value[n - 1] = 'x';
	value[n] = 0;
	text = sfs_asprintf(
		"seed = 4\n[ds]\nsource = %s\nsource = b\n%s = 1\n[%s]\nlanes = 2\n",
		value, "retries", "other");
	reads(text, "ds");
	CHECK_EQ(sources.n, 2);
	CHECK_STR(sources.s[0], value);
	CHECK_STR(sources.s[1], "b");
	CHECK(o.seed == 4 && o.retries == 1 && o.lanes == 384);
}

/* inih itself reads 200 bytes of a line. */
static void long_lines(void)
{
	size_t n;

	for (n = 150; n < 250; n++)
		check_long(n, "abcdefghij");
	check_long(5000, "https://host/folder/{000000..001281}.tar?sig=");
	check_long(100000, "x");
	/* Where it is cut, a blank, a ';' or a '=' may come to stand. */
	for (n = 380; n < 420; n++) {
		check_long(n, "a b");
		check_long(n, "a;b");
		check_long(n, "a#b");
		check_long(n, "a=b");
		check_long(n, "a]b[");
	}
	check_long(1000, "word and word ");
}

static void long_comments(void)
{
	char text[3000];

	memset(text, 'c', sizeof text);
	text[0] = '#';
	strcpy(text + 2000, "\nseed = 5\n");
	reads(text, NULL);
	CHECK_EQ(o.seed, 5);
	text[0] = ' ';
	text[1] = ';';
	reads(text, NULL);
	CHECK_EQ(o.seed, 5);
}

/* ---- what is wrong ---- */

static void refused(const char *text, const char *words)
{
	struct sfs_error err = {0};
	int ret = read_file(text, "ds", &err);

	if (ret != -EINVAL) {
		fprintf(stderr, "%d, not -EINVAL, of:\n%s\n", ret, text);
		exit(1);
	}
	CHECK_HAS(err.text, path);
	CHECK_HAS(err.text, words);
	CHECK_EQ(read_file(text, "ds", NULL), -EINVAL);
}

static void bad_ones(void)
{
	char longer[3000];
	struct sfs_error err = {0};

	refused("[ds]\nsorce = x\n", ".ini:2: no option 'sorce'; did you mean 'source'?");
	refused("sed = 7\n", ".ini:1: no option 'sed'; did you mean 'seed'?");
	refused("\n\nseed = x\n", ".ini:3: option 'seed': 'x' is not a number");
	refused("[ds]\nsource = a.tar\nlanes = 0\n", ".ini:3: option 'lanes'");
	refused("seed = x\nlanes = y\n", ".ini:1: option 'seed'"); /* the first counts */
	refused("seed = 1\nconfig = x\n", ".ini:2: 'config' is not allowed in a file");
	refused("seed = 1\nnonsense\n", "line 2: expected '[section]' or 'name = value'");
	refused("[ds\nseed = 1\n", "line 1: expected '[section]' or 'name = value'");

	/* Lines are counted as they stand in the file. */
	memset(longer, 'x', sizeof longer);
	memcpy(longer, "[ds]\nsource = ", 14);
	strcpy(longer + 2000, "\n\nseed = y\n");
	refused(longer, ".ini:4: option 'seed'");

	/* Another's section may hold what we don't know. */
	reads("[other]\nsed = 7\n", "ds");

	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(sfs_ini_read(path, NULL, &o, &sources, &has_section, &err), -ENOENT);
	CHECK_STR(err.text, "");
}

static void paths(void)
{
	struct sfs_strings p = {0};

	setenv("HOME", "/h", 1);
	setenv("XDG_CONFIG_HOME", "/x", 1);
	sfs_ini_paths(&p);
	CHECK_EQ(p.n, 2);
	CHECK_HAS(p.s[0], "/shufflefs.conf");
	CHECK_STR(p.s[1], "/x/shufflefs.conf");
	sfs_strings_done(&p);
	setenv("XDG_CONFIG_HOME", "not/absolute",
	       1); /* is to be ignored, says its standard */
	sfs_ini_paths(&p);
	CHECK_STR(p.s[1], "/h/.config/shufflefs.conf");
	sfs_strings_done(&p);
	unsetenv("XDG_CONFIG_HOME");
	sfs_ini_paths(&p);
	CHECK_STR(p.s[1], "/h/.config/shufflefs.conf");
	sfs_strings_done(&p);
	unsetenv("HOME");
	sfs_ini_paths(&p);
	CHECK_EQ(p.n, 1);
	sfs_strings_done(&p);
}

/* A ';' after a blank begins a comment, to the end of its line. */
static void comments_behind(void)
{
	char text[1000] = "lanes = 5 ; short\n[ds]\nsource = a;b.tar ; c\nfsname = x ; ";
	size_t n = strlen(text);

	memset(text + n, 'c', 500);
	strcpy(text + n + 500, "\nseed = 6\n");
	reads(text, "ds");
	CHECK_EQ(o.lanes, 5);
	CHECK_STR(sources.s[0], "a;b.tar");
	CHECK_EQ(o.seed, 6);
	CHECK_STR(o.fsname, "x");
}

/* Opening a folder succeeds; reading it does not. */
static void unreadable(void)
{
	struct sfs_error err = {0};
	int ret;

	unlink(path);
	CHECK_EQ(mkdir(path, 0700), 0);
	ret = sfs_ini_read(path, NULL, &o, &sources, &has_section, &err);
	CHECK_EQ(rmdir(path), 0);
	CHECK(ret < 0);
	CHECK_HAS(err.text, path);
}

static void remove_folder(void)
{
	unlink(path);
	rmdir(folder);
	free(path);
	free(folder);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	folder = sfs_asprintf("%s/shufflefs-unit-config.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(folder) != NULL);
	path = sfs_asprintf("%s/x.ini", folder);
	atexit(remove_folder);
	sections();
	continued();
	values();
	long_lines();
	long_comments();
	bad_ones();
	paths();
	unreadable();
	comments_behind();
	sfs_options_done(&o);
	sfs_strings_done(&sources);
	return 0;
}
