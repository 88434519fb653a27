/* SPDX-License-Identifier: MIT */
#include "help.h"

#include "base/alloc.h"
#include "catalog/yaml.h"
#include "config/options.h"
#include "forward/sidecar.h"
#include "options/options.h"
#include "source/http/curl-get.h"
#include "tar/libarchive.h"

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#include <fuse_lowlevel.h>
#include <stdio.h>
#include <string.h>

static const char synopsis[] =
	"usage: shufflefs mount [-f] [-o OPTION[,...]] SOURCE... DIR\n"
	"       shufflefs umount [--lazy | --force] DIR\n"
	"       shufflefs cat [-o OPTION[,...]] SOURCE... PATH\n"
	"       shufflefs ls [-o OPTION[,...]] [--json] SOURCE...\n"
	"       shufflefs plan [-o OPTION[,...]] [--batch=N] [--ranks=W] [--quality=N]\n"
	"                      [--exact] [--svg=FILE] SOURCE...\n"
	"       shufflefs bench [-o OPTION[,...]] [--seconds=N] [--stages=LIST] "
	"[--json]\n"
	"                       SOURCE...\n"
	"       shufflefs index [-o OPTION[,...]] [--to=DIR] [--part=I/N] SOURCE...\n"
#if SFS_HAS_SIDECAR
	"       shufflefs forward --fields=SPEC [--batch=N] [OPTION...] FILE TARGET\n"
#endif
	"       shufflefs where FILE OFFSET\n"
	"       shufflefs top [-b] [-d SECONDS] [-n COUNT] DIR\n"
	"       shufflefs COMMAND --help\n"
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
	"  ls      print the shards of the dataset and their sizes\n"
	"  plan    predict how well these options shuffle, and what reading costs\n"
	"  bench   measure source, shuffling and mount, and name the bottleneck\n"
	"  index   create the indexes of all shards in advance\n"
#if SFS_HAS_SIDECAR
	"  forward let a mount decode a stream, and send batches of tensors to TARGET\n"
#endif
	"  where   print which sample (from 0) of a mounted stream holds byte OFFSET\n"
	"  top     show what a mount is doing, and what limits it\n"
	"\n"
	"Arguments:\n"
	"  SOURCE  a path, a folder, or a URL (file, http, https, s3, gs, az, ais,\n"
	"          hf, webhdfs);\n"
	"          braces are expanded: 'https://host/train-{000000..000099}.tar';\n"
	"          a pattern: 'data/*/train-*.tar', 'data/**', 's3://bucket/**'; @FILE\n"
	"          or -: a list, one URL or path a line; several with :: between them;\n"
	"          or the name of a section in " SYSCONFDIR "/shufflefs.conf or\n"
	"          ~/.config/shufflefs.conf\n"
	"  DIR     an existing folder\n"
	"  PATH    a file of the dataset, as a mount shows it: epochs/0.tar, README, "
	"...\n"
	"  FILE    a stream of a mount: DIR/epochs/0.tar, ...\n"
#if SFS_HAS_SIDECAR
	"  TARGET  local:SOCKET, tcp://HOST:PORT, rdma://..., zpush://... and their like;\n"
	"          or samples:SOCKET: samples as they are, without --fields\n"
#endif
	"\n"
	"Options, for -o, as --long options, and in the ini files:\n";
/* clang-format on */

#define SOURCES                                                                      \
	"  SOURCE  a path, a folder, or a URL (file, http, https, s3, gs, az, ais,\n"   \
	"          hf, webhdfs);\n"                                                     \
	"          a pattern, a list, or the name of a section of an ini file: see\n"   \
	"          shufflefs --help\n"
#define DATASET                                                                      \
	"  -o OPTION[,...], --OPTION\n"                                                 \
	"          options of the dataset: shufflefs mount --help lists them\n"

/* clang-format off: a line here is a line there */
static const struct {
	const char *name, *text;
	bool has_options; /* all of the table follow */
} commands[] = {
	{"mount",
	 "usage: shufflefs mount [-f] [-o OPTION[,...]] SOURCE... DIR\n\n"
	 "Mount a dataset of tar shards on the folder DIR.  Returns when the mount\n"
	 "answers, and goes on in the background.\n\n" SOURCES
	 "  DIR     an existing, empty folder\n"
	 "  -f      stay in the foreground, and log to standard error\n\n"
	 "Options, for -o, as --long options, and in the ini files:\n",
	 true},
	{"umount",
	 "usage: shufflefs umount [--lazy | --force] DIR\n\n"
	 "Unmount DIR, and wait until its daemon has exited.\n\n"
	 "  --lazy   unmount now even if somebody still uses it\n"
	 "  --force  make all reads fail now: for a mount that hangs because its daemon\n"
	 "           was killed\n",
	 false},
	{"cat",
	 "usage: shufflefs cat [-o OPTION[,...]] SOURCE... PATH\n\n"
	 "Write a file of the dataset to standard output, without a mount.\n\n" SOURCES
	 "  PATH    a file as a mount shows it: epochs/0.tar, epochs/0@100.tar,\n"
	 "          epochs/0/rank-1-of-4.tar, epochs/0.order, README, ...\n" DATASET,
	 false},
	{"ls",
	 "usage: shufflefs ls [-o OPTION[,...]] [--json] SOURCE...\n\n"
	 "Print the shards of the dataset, in its order, with their sizes.\n\n" SOURCES
	 "  --json  print one JSON object\n" DATASET,
	 false},
	{"plan",
	 "usage: shufflefs plan [-o OPTION[,...]] [--batch=N] [--ranks=W]\n"
	 "                      [--quality=N] [--exact] [--svg=FILE] SOURCE...\n\n"
	 "Predict how well these options shuffle the dataset, and what reading "
	 "costs.\n\n" SOURCES "  --batch=N    samples of a batch [256]\n"
	 "  --ranks=W    also judge the batches of one of W ranks\n"
	 "  --quality=N  find the options of least memory with which a batch is worth\n"
	 "               N samples\n"
	 "  --exact      read the headers of all shards, instead of estimating\n"
	 "  --svg=FILE   draw which shard each position of epoch 0 comes from\n" DATASET,
	 false},
	{"bench",
	 "usage: shufflefs bench [-o OPTION[,...]] [--seconds=N] [--stages=LIST]\n"
	 "                       [--json] SOURCE...\n\n"
	 "Measure source, shuffling and mount one after the other, and name the\n"
	 "bottleneck.\n\n" SOURCES
	 "  --seconds=N    how long each stage is measured [10]\n"
	 "  --stages=LIST  only some of source,order,mount\n"
	 "  --json         print one JSON object\n" DATASET,
	 false},
	{"index",
	 "usage: shufflefs index [-o OPTION[,...]] [--to=DIR] [--part=I/N] SOURCE...\n\n"
	 "Create the indexes of all shards in advance.\n\n" SOURCES
	 "  --to=DIR    the folder for them, instead of the cache\n"
	 "  --part=I/N  only part I (from 1) of N: to share the work among "
	 "machines\n" DATASET,
	 false},
#if SFS_HAS_SIDECAR
	{"forward",
	 "usage: shufflefs forward --fields=SPEC [OPTION...] FILE TARGET\n"
	 "       shufflefs forward [OPTION...] FILE samples:SOCKET\n\n"
	 "Let a mount decode one of its streams, and send batches of tensors.\n\n"
	 "  FILE         a stream of a mount: DIR/epochs/0.tar, ...\n"
	 "  TARGET       local:SOCKET, tcp://HOST:PORT, rdma://..., zpush://... and\n"
	 "               their like; samples:SOCKET gives samples as they are\n",
	 false},
#else
	{"forward",
	 "usage: shufflefs forward ...\n\n"
	 "Let a mount decode one of its streams: " SFS_NO_SIDECAR ".\n",
	 false},
#endif
	{"where",
	 "usage: shufflefs where FILE OFFSET\n\n"
	 "Print which sample (from 0) of a mounted stream holds byte OFFSET.  A reader\n"
	 "that stopped there resumes with @K, where K is this number.\n",
	 false},
	{"top",
	 "usage: shufflefs top [-b] [-d SECONDS] [-n COUNT] DIR\n\n"
	 "Show what the mount on DIR is doing, and what limits it.  Press q to quit.\n\n"
	 "  -b, --batch           write plain lines, for a pipe\n"
	 "  -d, --delay=SECONDS   time between two updates [1]\n"
	 "  -n, --count=COUNT     stop after this many updates\n",
	 false},
};
/* clang-format on */

static void print_options(bool as_mdoc)
{
	struct sfs_strbuf text = {0};

	sfs_options_help(&text, as_mdoc);
	printf("%s", text.s);
	sfs_strbuf_done(&text);
}

static void print_forward_options(bool as_mdoc)
{
	struct sfs_strbuf text = {0};

	if (!SFS_HAS_SIDECAR)
		return;
	sfs_sidecar_options_help(SFS_SIDECAR_FORWARD, as_mdoc, &text);
	printf("%s%s", as_mdoc ? "" : "\n", text.s);
	sfs_strbuf_done(&text);
}

void sfs_help_print(const char *how)
{
	bool as_mdoc = strcmp(how, "--mdoc") == 0;

	if (strcmp(how, "--mdoc-forward") == 0) {
		print_forward_options(true);
		return;
	}
	if (!as_mdoc)
		printf("%s%s", synopsis, introduction);
	print_options(as_mdoc);
	if (!as_mdoc)
		printf("\nSee the manual for details: man shufflefs\n");
}

void sfs_help_print_command(const char *name)
{
	size_t i = 0;

	if (strcmp(name, "unmount") == 0)
		name = "umount";
	while (strcmp(commands[i].name, name) != 0)
		i++;
	printf("%s", commands[i].text);
	if (commands[i].has_options)
		print_options(false);
	if (strcmp(name, "forward") == 0)
		print_forward_options(false);
	printf("\nSee the manual for details: man shufflefs\n");
}

void sfs_version_print(void)
{
	printf("shufflefs " VERSION "%s%s%s\n", *sfs_commit ? " (commit " : "",
	       sfs_commit, *sfs_commit ? ")" : "");
	printf("libfuse %s\n", fuse_pkgversion());
	printf("libcurl %s\n", sfs_curl_version());
	printf("libarchive %s\n", sfs_libarchive_version());
	if (sfs_yaml_version())
		printf("libyaml %s\n", sfs_yaml_version());
	printf("inih " INIH_VERSION "\n");
}
