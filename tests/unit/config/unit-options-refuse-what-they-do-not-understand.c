/* SPDX-License-Identifier: MIT */
/* Each option takes what its table says and nothing else, keeps its old value when it
 * refuses, remembers where its value came from, and never prints a secret. */
#include "base/alloc.h"
#include "check.h"
#include "config/options.h"

#include <errno.h>
#include <unistd.h>

static struct sfs_options o;

static void begin(void)
{
	sfs_options_done(&o);
	sfs_options_init(&o);
}

static void set(const char *name, const char *value)
{
	struct sfs_error err = {0};

	if (sfs_options_set(&o, name, value, "-o", &err) < 0) {
		fprintf(stderr, "%s=%s is refused: %s\n", name, value, err.text);
		exit(1);
	}
}

static char *printed(void)
{
	static char *text;
	struct sfs_strbuf t = {0};

	free(text);
	sfs_options_print(&o, &t);
	text = t.s;
	return text;
}

/* The sentence names the option and has these words; nothing has changed. */
static void refused(const char *name, const char *value, const char *words)
{
	sfs_autofree char *before = sfs_strdup(printed());
	struct sfs_error err = {0};

	if (sfs_options_set(&o, name, value, "x", &err) != -EINVAL) {
		fprintf(stderr, "%s=%s is taken\n", name, value ? value : "(none)");
		exit(1);
	}
	CHECK_HAS(err.text, name);
	CHECK_HAS(err.text, words);
	CHECK_STR(printed(), before);
	CHECK_EQ(sfs_options_set(&o, name, value, "x", NULL), -EINVAL);
}

static void defaults(void)
{
	begin();
	CHECK_EQ(o.seed, 0);
	CHECK_EQ(o.lanes, 384);
	CHECK_EQ(o.buffer, 64 << 20);
	CHECK_EQ(o.keys, SFS_KEYS_AUTO);
	CHECK_EQ(o.on_error, SFS_ON_ERROR_FAIL);
	CHECK_EQ(o.verify, SFS_VERIFY_ETAG);
	CHECK_EQ(o.connect_timeout_ms, 10000);
	CHECK_EQ(o.stall_timeout_ms, 30000);
	CHECK_EQ(o.budget, 0);
	CHECK_EQ(o.epochs, 10);
	CHECK_EQ(o.direct_io, 0);
	CHECK(o.uid == UINT64_MAX && o.gid == UINT64_MAX);
	CHECK(!o.proxy && !o.config && !o.fsname && !o.kernel);
	CHECK_EQ(o.headers.n, 0);
}

static void sizes(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{"0", 0},	    {"4096", 4096},
		{"1K", 1024},	    {"1k", 1024},
		{"64M", 64 << 20},  {"1.5G", 3ULL << 29},
		{"2T", 2ULL << 40}, {"0.5K", 512},
		{"1KiB", 1024},	    {"1KB", 1024},
		{"007", 7},	    {"18446744073709551615", UINT64_MAX},
	};
	static const char *const bad[] = {
		"",
		"x",
		"-1",
		"+1",
		" 1",
		"1 ",
		"1 K",
		"K",
		"1.5",
		".5K",
		"1e3",
		"1e3K",
		"0x10",
		"0x10K",
		"1..5K",
		"1.2.3K",
		"1Kx",
		"1Ki",
		"1P",
		"64MM",
		"18446744073709551616",
		"99999999999T",
		"inf",
		"nan",
		"1,5K",
	};
	uint64_t bytes;
	size_t i;

	for (i = 0; i < SFS_COUNT(good); i++) {
		bytes = 77;
		CHECK_EQ(sfs_options_parse_size(good[i].text, &bytes), 0);
		CHECK(bytes == good[i].bytes);
	}
	begin();
	for (i = 0; i < SFS_COUNT(bad); i++) {
		CHECK_EQ(sfs_options_parse_size(bad[i], &bytes), -EINVAL);
		refused("buffer", bad[i], "is not a size like 256M or 4G");
	}
	set("budget", "1G");
	CHECK_EQ(o.budget, 1 << 30);
	set("budget", "auto");
	CHECK_EQ(o.budget, 0);
	refused("buffer", "auto", "is not a size");
}

static void numbers(void)
{
	static const char *const bad[] = {"",	 "x",
					  "-1",	 "+1",
					  " 1",	 "1 ",
					  "0x1", "1.0",
					  "1K",	 "18446744073709551616"};
	size_t i;

	begin();
	set("seed", "18446744073709551615");
	CHECK(o.seed == UINT64_MAX);
	set("lanes", "1");
	set("lanes", "65536");
	CHECK_EQ(o.lanes, 65536);
	for (i = 0; i < SFS_COUNT(bad); i++) {
		refused("seed", bad[i], "is not a number from 0 to 18446744073709551615");
		refused("lanes", bad[i], "is not a number from 1 to 65536");
	}
	refused("lanes", "0", "from 1 to 65536");
	refused("lanes", "65537", "from 1 to 65536");
	refused("connections", "0", "from 1 to 1024");
	refused("connections", "1025", "from 1 to 1024");
	refused("retries", "1001", "from 0 to 1000");
	set("retries", "0");
	refused("seed", NULL, "needs a value");
}

static void times(void)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} good[] = {
		{"500ms", 500},	 {"30s", 30000}, {"30", 30000},
		{"1.5s", 1500},	 {"5m", 300000}, {"5min", 300000},
		{"1h", 3600000}, {"1ms", 1},	 {"720h", 2592000000},
	};
	static const char *const bad[] = {"",	  "0",	 "0s",	 "0.5ms",  "-1s",
					  "s",	  "1 s", "1d",	 "1S",	   "1e3s",
					  "721h", "inf", "0x1s", "1.2.3s", "soon"};
	size_t i;

	begin();
	for (i = 0; i < SFS_COUNT(good); i++) {
		set("stall-timeout", good[i].text);
		CHECK_EQ(o.stall_timeout_ms, good[i].ms);
	}
	for (i = 0; i < SFS_COUNT(bad); i++)
		refused("stall-timeout", bad[i], "is not a time like 500ms, 30s or 5m");
}

static void flags(void)
{
	static const char *const yes[] = {"yes", "1", "true", "on"},
				 *const no[] = {"no", "0", "false", "off"};
	size_t i;

	begin();
	for (i = 0; i < SFS_COUNT(yes); i++) {
		set("direct_io", yes[i]);
		CHECK_EQ(o.direct_io, 1);
		set("direct_io", no[i]);
		CHECK_EQ(o.direct_io, 0);
	}
	set("direct_io", NULL);
	CHECK_EQ(o.direct_io, 1);
	refused("direct_io", "", "is not yes or no");
	refused("direct_io", "YES", "is not yes or no");
	refused("direct_io", "2", "is not yes or no");
}

static void choices(void)
{
	begin();
	set("keys", "asis");
	CHECK_EQ(o.keys, SFS_KEYS_ASIS);
	set("keys", "auto");
	CHECK_EQ(o.keys, SFS_KEYS_AUTO);
	set("on-error", "skip");
	CHECK_EQ(o.on_error, SFS_ON_ERROR_SKIP);
	set("verify", "size");
	CHECK_EQ(o.verify, SFS_VERIFY_SIZE);
	set("log-level", "debug");
	set("segment", "shard");
	CHECK_HAS(printed(), "segment = shard ");
	refused("keys", "", "is not one of auto|asis");
	refused("keys", "as", "is not one of auto|asis");
	refused("keys", "AUTO", "is not one of auto|asis");
	refused("keys", "auto|asis", "is not one of auto|asis");
	set("segment", "sample");
	CHECK_HAS(printed(), "segment = sample ");
	set("segment", "1500K");
	CHECK_HAS(printed(), "segment = 1500K ");
	set("segment", "513");
	CHECK_HAS(printed(), "segment = 513 ");
	set("segment", "1.5M");
	CHECK_HAS(printed(), "segment = 1536K ");
	set("segment", "1M");
	CHECK_HAS(printed(), "segment = 1M ");
	refused("segment", "511", "is not shard, random, sample, or a size of at least 512");
	refused("segment", "shards", "is not shard, random, sample, or a size");
	set("equal", "pad");
	refused("equal", "yes", "is not one of none|drop|pad");
}

static void owners(void)
{
	begin();
	set("uid", "0");
	CHECK_EQ(o.uid, 0);
	set("uid", "1000");
	CHECK_EQ(o.uid, 1000);
	set("uid", "-1");
	CHECK(o.uid == UINT64_MAX);
	set("uid", "root");
	CHECK_EQ(o.uid, 0);
	set("gid", "root");
	CHECK_EQ(o.gid, 0);
	refused("uid", "no such user", "is not a number or a name on this system");
	refused("gid", "4294967295", "is not a number or a name");
	refused("uid", "", "is not a number or a name");
	set("umask", "022");
	CHECK_EQ(o.umask, 022);
	set("umask", "0077");
	CHECK_EQ(o.umask, 077);
	refused("umask", "", "is not an octal number");
	refused("umask", "8", "is not an octal number");
	refused("umask", "-1", "is not an octal number");
	refused("umask", "00022", "is not an octal number");
}

static void strings(void)
{
	sfs_autofree char *cwd = getcwd(NULL, 0), *path = sfs_asprintf("%s/d.pem", cwd);

	begin();
	set("fsname", "a b");
	CHECK_STR(o.fsname, "a b");
	set("cacert", "/a b/c.pem");
	CHECK_STR(o.cacert, "/a b/c.pem");
	set("cacert", "d.pem");
	CHECK_STR(o.cacert, path);
	set("cacert", "");
	CHECK(!o.cacert);
}

/* What header=@/dev/fd/N means if the pipe has these bytes.  It is read once. */
static char *header_pipe(const char *bytes, size_t n)
{
	static char spec[32];
	static int fds[2] = {-1, -1};

	close(fds[0]);
	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(write(fds[1], bytes, n), n);
	close(fds[1]);
	snprintf(spec, sizeof spec, "@/dev/fd/%d", fds[0]);
	return spec;
}

static void pipe_refused(const char *bytes, size_t n, const char *words)
{
	struct sfs_error err = {0};

	CHECK_EQ(sfs_options_set(&o, "header", header_pipe(bytes, n), "x", &err),
		 -EINVAL);
	CHECK_HAS(err.text, "option 'header': /dev/fd/");
	CHECK_HAS(err.text, words);
}

static void header_pipes(void)
{
	static char large[60 << 10];

	begin();
	set("header", header_pipe("A: b\r\n\n \t\nC: d", 14));
	CHECK_EQ(o.headers.n, 2);
	CHECK_STR(o.headers.s[1], "C: d");
	CHECK_EQ(o.header_specs.n, 2);
	CHECK_STR(o.header_specs.s[0], "A: b");
	pipe_refused("A: b\0", 5, "NUL");
	pipe_refused("A: b\nx\n", 7, "'Name: value'");
	refused("header", "@/dev/zero", "larger than 64 KiB");
	memset(large, '\n', sizeof large);
	memcpy(large, "A: b", 4);
	set("header", header_pipe(large, 60 << 10));
	CHECK_EQ(o.headers.n, 3);
}

static void headers(void)
{
	char path[] = "/tmp/shufflefs-unit-options.XXXXXX";
	sfs_autofree char *at = NULL;
	struct sfs_error err = {0};
	int fd = mkstemp(path);
	static const char text[] = "A: SECRET\r\n\n  \nB:SECRET  \n";

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, text, sizeof text - 1), sizeof text - 1);
	close(fd);
	at = sfs_asprintf("@%s", path);
	begin();
	set("header", "X-One: SECRET, and: more");
	set("header", at);
	CHECK_EQ(o.headers.n, 3);
	CHECK_STR(o.headers.s[0], "X-One: SECRET, and: more");
	CHECK_STR(o.headers.s[1], "A: SECRET");
	CHECK_STR(o.headers.s[2], "B:SECRET");
	CHECK_EQ(o.header_specs.n, 2);
	CHECK_STR(o.header_specs.s[0], "X-One: SECRET, and: more");
	CHECK_HAS(o.header_specs.s[1], at);
	CHECK_HAS(o.header_specs.s[1], "\nA: SECRET\nB:SECRET");
	CHECK_HAS(printed(), "header = X-One: ***, A: ***, B: ***");
	CHECK(!strstr(printed(), "SECRET"));
	unlink(path);

	refused("header", "no colon", "expected 'Name: value'");
	refused("header", ": value", "expected 'Name: value'");
	refused("header", "a b: value", "expected 'Name: value'");
	refused("header", "Name : value", "expected 'Name: value'");
	refused("header", "a: b\nc: d", "expected 'Name: value'");
	refused("header", "a: b\r", "expected 'Name: value'");
	CHECK_EQ(sfs_options_set(&o, "header", at, "x", &err), -ENOENT);
	CHECK_HAS(err.text, path);
	/* A sentence must not show what may be a secret. */
	CHECK_EQ(sfs_options_set(&o, "header", "SECRET", "x", &err), -EINVAL);
	CHECK(!strstr(err.text, "SECRET"));

	set("proxy", "http://u:SECRET@host:3128");
	CHECK_STR(o.proxy, "http://u:SECRET@host:3128");
	CHECK(!strstr(printed(), "SECRET"));
}

static void lists(void)
{
	struct sfs_error err = {0};

	begin();
	CHECK_EQ(sfs_options_set_list(&o, "", "-o", &err), 0);
	CHECK_EQ(sfs_options_set_list(&o, "seed=7,lanes=3,direct_io,,keys=asis,", "-o",
				      &err),
		 0);
	CHECK(o.seed == 7 && o.lanes == 3 && o.direct_io == 1 && o.keys == SFS_KEYS_ASIS);
	CHECK_EQ(sfs_options_set_list(&o, "fsname=a\\,b\\\\c\\d=e,seed=8", "-o", &err),
		 0);
	CHECK_STR(o.fsname, "a,b\\c\\d=e");
	CHECK_EQ(o.seed, 8);
	/* The later wins; what comes before a fault is set. */
	CHECK_EQ(sfs_options_set_list(&o, "seed=9,seed=10,lanes=0,seed=11", "-o", &err),
		 -EINVAL);
	CHECK_HAS(err.text, "option 'lanes': '0' is not a number");
	CHECK_EQ(o.seed, 10);
}

static void names(void)
{
	struct sfs_error err = {0};

	begin();
	refused("sed", "7", "did you mean 'seed'?");
	refused("on_error", "skip", "did you mean 'on-error'?");
	refused("direct-io", NULL, "did you mean 'direct_io'?");
	refused("lane", "7", "did you mean 'lanes'?");
	refused("bananas-and-more", "7", "no option 'bananas-and-more'");
	refused("", "7", "no option ''");
	refused("Seed", "7", "no option 'Seed'");
	refused("remount", NULL, "unmount it, and mount it again");

	CHECK_EQ(sfs_options_has_argument("seed", &err), 1);
	CHECK_EQ(sfs_options_has_argument("direct_io", &err), 0);
	CHECK_EQ(sfs_options_has_argument("sed", &err), -EINVAL);
	CHECK_HAS(err.text, "'seed'");
}

/* What stands in an fstab must not stop a mount. */
static void mount_flags(void)
{
	begin();
	CHECK_EQ(sfs_options_set_list(
			 &o,
			 "ro,defaults,_netdev,nofail,noauto,x-systemd.automount,"
			 "X-mount.mkdir=0755,user=me,nosuid,nodev,comment=a b",
			 "fstab", NULL),
		 0);
	CHECK(!o.kernel);
	/* All that mount(8) lists, and what it adds by itself. */
	CHECK_EQ(sfs_options_set_list(
			 &o,
			 "rw,relatime,async,sync,dirsync,atime,diratime,nodiratime,norelatime,"
			 "strictatime,nostrictatime,lazytime,nolazytime,iversion,"
			 "noiversion,mand,nomand,silent,loud,suid,dev,exec,users,nouser,"
			 "owner,group,nosymfollow,subtype=shufflefs,default_permissions",
			 "fstab", NULL),
		 0);
	CHECK_STR(o.kernel, "exec");
	CHECK_EQ(sfs_options_set_list(&o, "noatime,context=a:b:s0:c1\\,c2", "fstab",
				      NULL),
		 0);
	CHECK_STR(o.kernel, "exec,noatime,context=a:b:s0:c1\\,c2");
}

static void origins(void)
{
	begin();
	CHECK_HAS(printed(), "seed = 0 ");
	CHECK_EQ(sfs_options_set(&o, "seed", "1", "/etc/shufflefs.conf:12", NULL), 0);
	CHECK_HAS(printed(), "# /etc/shufflefs.conf:12\n");
	CHECK_EQ(sfs_options_set(&o, "seed", "2", "--seed", NULL), 0);
	CHECK_HAS(printed(), "# --seed\n");
	CHECK(!strstr(printed(), "/etc/shufflefs.conf"));
	set("buffer", "1.5G");
	set("umask", "22");
	set("stall-timeout", "1500ms");
	CHECK_HAS(printed(), "buffer = 1.5G ");
	CHECK_HAS(printed(), "umask = 022 ");
	CHECK_HAS(printed(), "stall-timeout = 1500ms ");
	CHECK_HAS(printed(), "read-timeout = 300s ");
	CHECK_HAS(printed(), "keys = auto ");
	CHECK_HAS(printed(), "uid = -1 ");
}

/* What is printed can be read again: it is an ini file. */
static void round_trip(void)
{
	sfs_autofree char *before = NULL;
	char *line, *rest, *value;

	begin();
	CHECK_EQ(sfs_options_set_list(
			 &o,
			 "seed=5,buffer=3G,keys=asis,direct_io,uid=3,umask=27,"
			 "stall-timeout=1500ms,budget=123456789,capath=/x",
			 "default", NULL),
		 0);
	before = sfs_strdup(printed());
	sfs_options_done(&o);
	sfs_options_init(&o);
	rest = sfs_strdup(before);
	for (line = strtok(rest, "\n"); line; line = strtok(NULL, "\n")) {
		value = strstr(line, " = ");
		CHECK(value != NULL);
		*value = 0;
		value += 3;
		*strstr(value, "#") = 0;
		while (*value && value[strlen(value) - 1] == ' ')
			value[strlen(value) - 1] = 0;
		CHECK_EQ(sfs_options_set(&o, line, value, "default", NULL), 0);
	}
	free(rest);
	CHECK_STR(printed(), before);
}

static void help(void)
{
	static const char *const macros[] = {".Ss ", ".Bl ", ".It ",
					     ".Cm ", ".El",  "The default is"};
	struct sfs_strbuf plain = {0}, mdoc = {0};
	char *line;
	size_t i;

	sfs_options_help(&plain, false);
	sfs_options_help(&mdoc, true);
	CHECK_HAS(plain.s, "  seed=N ");
	CHECK_HAS(plain.s, "  keys=auto|asis|unique ");
	CHECK_HAS(plain.s, " [384]\n");
	CHECK_HAS(plain.s, "  direct_io ");
	CHECK_HAS(mdoc.s, ".It Cm seed Ns = Ns Ar N\n");
	CHECK_HAS(mdoc.s, ".It Cm direct_io\n");
	for (line = strtok(mdoc.s, "\n"); line; line = strtok(NULL, "\n")) {
		CHECK(strlen(line) <= 80);
		CHECK(*line != '\''); /* roff takes it for a command */
		for (i = 0; *line == '.' && i < SFS_COUNT(macros); i++)
			if (strncmp(line, macros[i], strlen(macros[i])) == 0)
				break;
		CHECK(i < SFS_COUNT(macros));
	}
	sfs_strbuf_done(&plain);
	sfs_strbuf_done(&mdoc);
}

int main(void)
{
	defaults();
	sizes();
	numbers();
	times();
	flags();
	choices();
	owners();
	strings();
	headers();
	header_pipes();
	lists();
	names();
	mount_flags();
	origins();
	round_trip();
	help();
	sfs_options_done(&o);
	sfs_options_done(&o);
	return 0;
}
