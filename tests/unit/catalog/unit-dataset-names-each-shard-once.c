/* SPDX-License-Identifier: MIT */
/* Specs become a list of shards in the order in which they were written, each with a
 * name of its own: its path without the folders that all have in common.  One that is
 * named again is taken once. */
#include "base/alloc.h"
#include "catalog/dataset.h"
#include "check.h"

#include <errno.h>

/* A disk with a folder /data/ds of three tars and other things, one that has only
 * folders, an empty one, and one that is shut; some paths that look like something else;
 * and lists. */
static void take(char *const *names, char ***ret, size_t *ret_n)
{
	size_t n;

	for (n = 0; names[n]; n++)
		;
	*ret = sfs_calloc(n + 1, sizeof **ret);
	for (*ret_n = 0; *ret_n < n; ++*ret_n)
		(*ret)[*ret_n] = sfs_strdup(names[*ret_n]);
}

static int list(const char *folder, struct sfs_folder *ret, struct sfs_error *err)
{
	static char *const none[] = {NULL};
	static char *const shards[] = {"a.tar", "b{1}.tar", "c d.tar", NULL};
	static char *const others[] = {"README", "a.idx",    "a.tar.idx", "more/",
				       "x.idx",	 "y.tar.gz", NULL};
	static char *const folders[] = {"one/", "two/", NULL};
	bool is_full = strcmp(folder, "/data/ds") == 0;

	CHECK(folder[0] == '/');
	if (strcmp(folder, "/data/shut") == 0)
		return sfs_error_set(err, -EACCES, "%s: Permission denied", folder);
	if (!is_full && strcmp(folder, "/data/empty") != 0 &&
	    strcmp(folder, "/data/folders") != 0 && strcmp(folder, "/") != 0)
		return -ENOTDIR;
	take(is_full ? shards : none, &ret->shards, &ret->n_shards);
	take(is_full				    ? others
	     : strcmp(folder, "/data/folders") == 0 ? folders
						    : none,
	     &ret->others, &ret->n_others);
	return 0;
}

static bool exists(const char *path)
{
	return strcmp(path, "/data/odd::name*.tar") == 0 ||
	       strcmp(path, "/data/@home.tar") == 0 || strcmp(path, "/data/-") == 0 ||
	       strcmp(path, "/data/[x]?.tar") == 0 ||
	       strcmp(path, "/data/there-@02.tar") == 0;
}

static int match(const char *pattern, char ***ret_paths, size_t *ret_n,
		 struct sfs_error *err)
{
	static char *const paths[] = {"/data/p/0.tar", "/data/p/1{2}.tar", "/data/ds",
				      NULL};

	CHECK(pattern[0] == '/');
	if (strcmp(pattern, "/data/p*/**") != 0)
		return sfs_error_set(err, -ENOENT, "nothing matches '%s'", pattern);
	take(paths, ret_paths, ret_n);
	return 0;
}

static const struct {
	const char *path, *text;
	bool is_pipe;
} files[] = {
	{"/data/lists/l.txt", "x.tar\n\n# a comment\r\n  /y/z.tar \r\nhttp://h/{1}*.tar",
	 false},
	{"/data/lists/again.txt", "x.tar\n../lists/../x.tar\nx.tar\n", false},
	{"/data/lists/empty.txt", "# nothing\n\n", false},
	{"/data/lists/bad.txt", "x.tar\nhttp://u:SECRET@host:99999/a.tar\n", false},
	{"/data/lists/pipe.txt", "x.tar\npipe:curl -s http://h/x.tar\n", false},
	{"/dev/fd/63", "x.tar\n", true},
	{"-", "s-1.tar\ns-0.tar\n", true},
};

static int read_file(const char *path, struct sfs_strbuf *text, bool *ret_is_pipe,
		     struct sfs_error *err)
{
	size_t i;

	for (i = 0; i < SFS_COUNT(files); i++) {
		if (strcmp(path, files[i].path) != 0)
			continue;
		sfs_strbuf_puts(text, files[i].text);
		*ret_is_pipe = files[i].is_pipe;
		return 0;
	}
	return sfs_error_set(err, -ENOENT, "%s: No such file or directory", path);
}

static const struct sfs_dataset_disk disk = {.cwd = "/data",
					     .exists = exists,
					     .list = list,
					     .match = match,
					     .read = read_file};

#define SPECS(...)                \
	(char *[])                \
	{                         \
		__VA_ARGS__, NULL \
	}

static int load(char **specs, struct sfs_dataset *d, struct sfs_error *err)
{
	int n = 0;

	while (specs[n])
		n++;
	return sfs_dataset_load(specs, n, &disk, d, err);
}

/* Each shard as "NAME<LOCATION#SPEC ", in their order. */
static void gives(char **specs, const char *wanted)
{
	struct sfs_dataset d = {0};
	struct sfs_error err = {0};
	char got[4096] = "";
	uint32_t i;

	if (load(specs, &d, &err) < 0) {
		fprintf(stderr, "'%s' is refused: %s\n", specs[0], err.text);
		exit(1);
	}
	for (i = 0; i < d.n; i++)
		snprintf(got + strlen(got), sizeof got - strlen(got), "%s<%s#%u ",
			 d.names[i], d.uris[i].location, d.spec_of[i]);
	CHECK_STR(got, wanted);
	sfs_dataset_done(&d);
	sfs_dataset_done(&d);
}

/* What the user is told besides. */
static void tells(char **specs, const char *repeated, const char *not_taken)
{
	struct sfs_dataset d = {0};

	CHECK_EQ(load(specs, &d, NULL), 0);
	CHECK_STR(d.repeated.text, repeated);
	CHECK_STR(d.not_taken.text, not_taken);
	sfs_dataset_done(&d);
}

static void local(void)
{
	gives(SPECS("a.tar"), "a.tar</data/a.tar#0 ");
	gives(SPECS("/x/y/a.tar"), "a.tar</x/y/a.tar#0 ");
	gives(SPECS("./a.tar", ".//b.tar"), "a.tar</data/a.tar#0 b.tar</data/b.tar#1 ");
	gives(SPECS("/x//y/./a.tar"), "a.tar</x/y/a.tar#0 ");
	/* ".." may lead through a link, so it stays. */
	gives(SPECS("../x/a.tar"), "a.tar</data/../x/a.tar#0 ");
	gives(SPECS("../x/a.tar", "b.tar", "y/../../../c.tar"),
	      "x/a.tar</data/../x/a.tar#0 data/b.tar</data/b.tar#1 "
	      "c.tar</data/y/../../../c.tar#2 ");
	gives(SPECS("x-{000..002}.tar"),
	      "x-000.tar</data/x-000.tar#0 x-001.tar</data/x-001.tar#0 "
	      "x-002.tar</data/x-002.tar#0 ");
	gives(SPECS("file:///x/a%20b.tar"), "a b.tar</x/a b.tar#0 ");
	gives(SPECS("no-extension"), "no-extension</data/no-extension#0 ");
}

static void folders(void)
{
	gives(SPECS("ds"), "a.tar</data/ds/a.tar#0 b{1}.tar</data/ds/b{1}.tar#0 "
			   "c d.tar</data/ds/c d.tar#0 ");
	gives(SPECS("ds/"), "a.tar</data/ds/a.tar#0 b{1}.tar</data/ds/b{1}.tar#0 "
			    "c d.tar</data/ds/c d.tar#0 ");
	gives(SPECS("x.tar", "/data/./ds"),
	      "x.tar</data/x.tar#0 ds/a.tar</data/ds/a.tar#1 "
	      "ds/b{1}.tar</data/ds/b{1}.tar#1 ds/c d.tar</data/ds/c d.tar#1 ");
}

static void urls(void)
{
	gives(SPECS("http://host/p/x-{0..1}.tar"),
	      "x-0.tar<http://host/p/x-0.tar#0 x-1.tar<http://host/p/x-1.tar#0 ");
	gives(SPECS("https://u:p@host/p/x.tar?sig=1"),
	      "x.tar<https://host/p/x.tar?sig=1#0 ");
	gives(SPECS("https://host/a%20b.tar"), "a b.tar<https://host/a%20b.tar#0 ");
}

/* Those with the same path are told apart by their hosts, or by numbers. */
static void hosts(void)
{
	gives(SPECS("http://h/x.tar", "http://i/x.tar", "https://h:8443/d/y.tar",
		    "/d/y.tar"),
	      "h/x.tar<http://h/x.tar#0 i/x.tar<http://i/x.tar#1 "
	      "h:8443/d/y.tar<https://h:8443/d/y.tar#2 d/y.tar</d/y.tar#3 ");
	gives(SPECS("s3://a/p/x.tar", "s3://b/p/x.tar"),
	      "a/p/x.tar<s3://a/p/x.tar#0 b/p/x.tar<s3://b/p/x.tar#1 ");
	gives(SPECS("http://[::1]/x.tar", "http://u:p@[::1]:81/x.tar"),
	      "[::1]/x.tar<http://[::1]/x.tar#0 [::1]:81/x.tar<http://[::1]:81/x.tar#1 ");
	gives(SPECS("http://h/p/x.tar?k=1", "http://h/p/y.tar", "http://h/p/x.tar?k=2",
		    "http://h/p/x.tar"),
	      "x.tar<http://h/p/x.tar?k=1#0 y.tar<http://h/p/y.tar#1 "
	      "x~2.tar<http://h/p/x.tar?k=2#2 x~3.tar<http://h/p/x.tar#3 ");
	gives(SPECS("http://h/x?a", "http://h/x?b", "http://i/x?a", "http://i/x?a"),
	      "h/x<http://h/x?a#0 h/x~2<http://h/x?b#1 i/x<http://i/x?a#2 ");
	/* Where all paths differ, nothing is added. */
	gives(SPECS("http://h/x.tar", "http://i/y.tar"),
	      "x.tar<http://h/x.tar#0 y.tar<http://i/y.tar#1 ");
}

static void lists(void)
{
	/* Paths are relative to the list, and nothing in a line is special. */
	gives(SPECS("@lists/l.txt"),
	      "data/lists/x.tar</data/lists/x.tar#0 y/z.tar</y/z.tar#0 "
	      "{1}*.tar<http://h/%7B1%7D*.tar#0 ");
	/* Those of a pipe have no folder but the current one. */
	gives(SPECS("@/dev/fd/63"), "x.tar</data/x.tar#0 ");
	gives(SPECS("a.tar", "-"),
	      "a.tar</data/a.tar#0 s-1.tar</data/s-1.tar#1 s-0.tar</data/s-0.tar#1 ");
}

static void patterns(void)
{
	gives(SPECS("p*/**", "q.tar"),
	      "p/0.tar</data/p/0.tar#0 p/1{2}.tar</data/p/1{2}.tar#0 "
	      "ds/a.tar</data/ds/a.tar#0 ds/b{1}.tar</data/ds/b{1}.tar#0 "
	      "ds/c d.tar</data/ds/c d.tar#0 q.tar</data/q.tar#1 ");
	gives(SPECS("/./data//p*/**/"),
	      "p/0.tar</data/p/0.tar#0 p/1{2}.tar</data/p/1{2}.tar#0 "
	      "ds/a.tar</data/ds/a.tar#0 ds/b{1}.tar</data/ds/b{1}.tar#0 "
	      "ds/c d.tar</data/ds/c d.tar#0 ");
	/* In URLs they are characters. */
	gives(SPECS("file:///x/[a]*?.tar"), "[a]*?.tar</x/[a]*?.tar#0 ");
	gives(SPECS("http://h/[a]*.tar"), "[a]*.tar<http://h/[a]*.tar#0 ");
}

static void several_in_one(void)
{
	gives(SPECS("b.tar::a-{1..0}.tar::/x/c.tar", "d.tar"),
	      "data/b.tar</data/b.tar#0 data/a-1.tar</data/a-1.tar#1 "
	      "data/a-0.tar</data/a-0.tar#1 x/c.tar</x/c.tar#2 "
	      "data/d.tar</data/d.tar#3 ");
	gives(SPECS("http://[::1]/a.tar::http://u:p::q@h/b.tar::@lists/again.txt"),
	      "a.tar<http://[::1]/a.tar#0 b.tar<http://h/b.tar#1 "
	      "data/lists/x.tar</data/lists/x.tar#2 "
	      "data/x.tar</data/lists/../lists/../x.tar#2 ");
	gives(SPECS("a.tar::http://u:p@h/a.tar?b::http://u:p@h/c.tar"),
	      "data/a.tar</data/a.tar#0 a.tar<http://h/a.tar?b#1 "
	      "c.tar<http://h/c.tar#2 ");
	gives(SPECS("file:///x/a%3A%3Ab.tar"), "a::b.tar</x/a::b.tar#0 ");
}

/* As dlinputs has it: the digits say how many, and how long a number is. */
static void a_number_of_shards(void)
{
	gives(SPECS("t-@003.tar"),
	      "t-000.tar</data/t-000.tar#0 t-001.tar</data/t-001.tar#0 "
	      "t-002.tar</data/t-002.tar#0 ");
	gives(SPECS("http://u:p@h/{a,b}/@02?v=@03.x"),
	      "a/00<http://h/a/00?v=@03.x#0 a/01<http://h/a/01?v=@03.x#0 "
	      "b/00<http://h/b/00?v=@03.x#0 b/01<http://h/b/01?v=@03.x#0 ");
	/* These are names. */
	gives(SPECS("t@3.tar", "t@0.tar", "t@003x.tar", "a@01/b.tar"),
	      "t@3.tar</data/t@3.tar#0 t@0.tar</data/t@0.tar#1 "
	      "t@003x.tar</data/t@003x.tar#2 a@01/b.tar</data/a@01/b.tar#3 ");
	gives(SPECS("there-@02.tar"), "there-@02.tar</data/there-@02.tar#0 ");
}

/* A path that exists is that path, as a shell would take it. */
static void what_exists_wins(void)
{
	gives(SPECS("odd::name*.tar", "[x]?.tar", "@home.tar"),
	      "odd::name*.tar</data/odd::name*.tar#0 [x]?.tar</data/[x]?.tar#1 "
	      "@home.tar</data/@home.tar#2 ");
	/* But "-" is what it is everywhere. */
	gives(SPECS("-"), "s-1.tar</data/s-1.tar#0 s-0.tar</data/s-0.tar#0 ");
	gives(SPECS("./-"), "-</data/-#0 ");
}

static void once(void)
{
	gives(SPECS("a.tar", "./a.tar"), "a.tar</data/a.tar#0 ");
	gives(SPECS("{a,b,a}.tar"), "a.tar</data/a.tar#0 b.tar</data/b.tar#0 ");
	gives(SPECS("/data/ds/c d.tar", "ds"),
	      "c d.tar</data/ds/c d.tar#0 a.tar</data/ds/a.tar#1 "
	      "b{1}.tar</data/ds/b{1}.tar#1 ");
	tells(SPECS("b.tar", "a.tar", "./a.tar"),
	      "a shard is named more than once, and taken once: /data/a.tar", "");
	tells(SPECS("{z,a,z,a,z}.tar", "a.tar"),
	      "shards are named again 4 times, and each is taken once; the first: "
	      "/data/z.tar",
	      "");
	tells(SPECS("http://u:SECRET@h/a.tar?s=SECRET::http://h/a.tar?s=SECRET"),
	      "a shard is named more than once, and taken once: http://h/a.tar?***", "");
}

static void what_is_not_taken(void)
{
	tells(SPECS("ds"), "",
	      "4 entries of /data/ds were not taken: README, more/, x.idx, ...");
	tells(SPECS("ds", "p*/**"),
	      "shards are named again 3 times, and each is taken once; the first: "
	      "/data/ds/a.tar",
	      "4 entries of /data/ds were not taken: README, more/, x.idx, ...; nor 4 of "
	      "1 "
	      "other folder");
	tells(SPECS("ds/a.tar"), "", "");
}

/* What all have in common goes, as far as whole folders do. */
static void names(void)
{
	gives(SPECS("/d/a/x-0.tar", "/d/b/x-0.tar"),
	      "a/x-0.tar</d/a/x-0.tar#0 b/x-0.tar</d/b/x-0.tar#1 ");
	gives(SPECS("/d/train/0.tar", "/d/trial/0.tar"),
	      "train/0.tar</d/train/0.tar#0 trial/0.tar</d/trial/0.tar#1 ");
	gives(SPECS("/d/x.tar", "/d/e/x.tar"), "x.tar</d/x.tar#0 e/x.tar</d/e/x.tar#1 ");
	gives(SPECS("/x.tar", "/y.tar"), "x.tar</x.tar#0 y.tar</y.tar#1 ");
	gives(SPECS("/a/x.tar", "http://host/b/y.tar"),
	      "a/x.tar</a/x.tar#0 b/y.tar<http://host/b/y.tar#1 ");
	gives(SPECS("/a/b/x.tar", "http://host/a/b/y.tar"),
	      "x.tar</a/b/x.tar#0 y.tar<http://host/a/b/y.tar#1 ");
	gives(SPECS("http://h/b/x.tar", "http://i/b/y.tar"),
	      "x.tar<http://h/b/x.tar#0 y.tar<http://i/b/y.tar#1 ");
	/* In the order in which they were written, not by name. */
	gives(SPECS("z.tar", "a.tar", "m-{2..1}.tar"),
	      "z.tar</data/z.tar#0 a.tar</data/a.tar#1 m-2.tar</data/m-2.tar#2 "
	      "m-1.tar</data/m-1.tar#2 ");
}

static void refused(char **specs, int wanted, const char *words)
{
	struct sfs_dataset d = {.n = 77};
	struct sfs_error err = {0};

	CHECK_EQ(load(specs, &d, &err), wanted);
	CHECK_HAS(err.text, words);
	CHECK(d.n == 77 && !d.uris && !d.names);
	CHECK(!strstr(err.text, "SECRET"));
	CHECK_EQ(load(specs, &d, NULL), wanted);
}

static void bad_ones(void)
{
	struct sfs_error err = {0};
	struct sfs_dataset d;

	CHECK_EQ(sfs_dataset_load(NULL, 0, &disk, &d, &err), -EINVAL);
	CHECK_HAS(err.text, "no shards");
	refused(SPECS("x-{0..y}.tar"), -EINVAL,
		"'x-{0..y}.tar': '{0..y}' is neither a range");
	refused(SPECS("https://u:SECRET@host/{0..y}.tar?SECRET"), -EINVAL,
		"is neither a range");
	refused(SPECS("gopher://bucket/x.tar"), -EINVAL, "'gopher://' is not understood");
	refused(SPECS("good.tar", ""), -EINVAL, "empty");
	refused(SPECS("empty"), -ENOENT, "no *.tar in the folder /data/empty");
	refused(SPECS("folders"), -ENOENT,
		"no *.tar in the folder /data/folders; those of its folders are "
		"/data/folders/**");
	refused(SPECS("q*.tar"), -ENOENT, "nothing matches '/data/q*.tar'");
	refused(SPECS("@lists/none.txt"), -ENOENT, "/data/lists/none.txt: No such file");
	refused(SPECS("@lists/empty.txt"), -ENOENT,
		"/data/lists/empty.txt: the list is empty");
	refused(SPECS("@lists/bad.txt"), -EINVAL, "/data/lists/bad.txt:2: ");
	refused(SPECS("@lists/pipe.txt"), -EINVAL,
		"/data/lists/pipe.txt:2: 'pipe:' is refused");
	refused(SPECS("@http://u:SECRET@h/list.txt"), -EOPNOTSUPP,
		"cannot read http://***@h/list.txt: it is no local file");
	refused(SPECS("pipe:cat a::b {0..x"), -EINVAL, "'pipe:' is refused");
	refused(SPECS("a.tar::pipe:cat b.tar"), -EINVAL, "'pipe:' is refused");
	refused(SPECS("http://u:SECRET/x@0123.h"), -EINVAL, "");
	refused(SPECS("http://u:SECRET@0123"), -EINVAL, "is a folder");
	refused(SPECS("a.tar::"), -EINVAL, "nothing is named beside '::'");
	refused(SPECS("::a.tar"), -EINVAL, "nothing is named beside '::'");
	refused(SPECS("a.tar::::http://u:SECRET@h/b.tar"), -EINVAL,
		"nothing is named beside '::'");
	refused(SPECS("http://u:SECRET/x::SECRET@h/b.tar"), -EINVAL,
		"in a password write %3A%3A");
	refused(SPECS("{a.tar,http://u:SECRET/x::SECRET@h/b.tar}"), -EINVAL,
		"in a password write %3A%3A");
	refused(SPECS("good.tar", "shut"), -EACCES, "/data/shut: Permission denied");
	refused(SPECS("http://host/folder/"), -EINVAL, "is a folder, not a shard");
	refused(SPECS("http://u:SECRET@host/?x=SECRET"), -EINVAL,
		"is a folder, not a shard");
	refused(SPECS("a.tar", "../data/a.tar"), -EEXIST, "two shards are named 'a.tar'");
	refused(SPECS("http://h/a.tar", "http://h/%61.tar"), -EEXIST, "'a.tar'");
	refused(SPECS("http://h/x.tar?a", "http://h/x~2.tar", "http://h/x.tar?b"),
		-EEXIST, "'x~2.tar'");
}

/* More than a few: each spec's number is its own. */
static void many(void)
{
	struct sfs_dataset d;
	uint32_t i;

	CHECK_EQ(load(SPECS("one.tar", "http://host/{00000..19999}.tar", "two.tar"), &d,
		      NULL),
		 0);
	CHECK_EQ(d.n, 20002);
	for (i = 0; i < d.n; i++)
		CHECK_EQ(d.spec_of[i], i == 0 ? 0 : i == 20001 ? 2 : 1);
	CHECK_STR(d.names[0], "data/one.tar");
	CHECK_STR(d.names[1], "00000.tar");
	CHECK_STR(d.names[20000], "19999.tar");
	CHECK_STR(d.uris[20000].origin, "http://host:80");
	sfs_dataset_done(&d);
}

int main(void)
{
	local();
	folders();
	urls();
	hosts();
	lists();
	patterns();
	several_in_one();
	a_number_of_shards();
	what_exists_wins();
	once();
	what_is_not_taken();
	names();
	bad_ones();
	many();
	return 0;
}
