/* SPDX-License-Identifier: MIT */
#include "help.h"

#include "config/options.h"
#include "source/http/curl-get.h"
#include "tar/libarchive.h"

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 12)
#include <fuse_lowlevel.h>
#include <stdio.h>

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
	"       shufflefs forward --fields=SPEC [--batch=N] [OPTION...] FILE TARGET\n"
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
	"  ls      print the shards of the dataset and their sizes\n"
	"  plan    predict how well these options shuffle, and what reading costs\n"
	"  bench   measure source, shuffling and mount, and name the bottleneck\n"
	"  index   create the indexes of all shards in advance\n"
	"  forward decode a stream of a mount, and send batches of tensors to TARGET\n"
	"  where   print which sample (from 0) of a mounted stream holds byte OFFSET\n"
	"  top     show what a mount is doing, and what limits it\n"
	"\n"
	"Arguments:\n"
	"  SOURCE  a path, a folder, or a file://, http(s)://, s3:// or ais:// URL;\n"
	"          braces are expanded: 'https://host/train-{000000..000099}.tar';\n"
	"          a pattern: 'data/*/train-*.tar', 'data/**', 's3://bucket/**'; @FILE\n"
	"          or -: a list, one URL or path a line; several with :: between them;\n"
	"          or the name of a section in " SYSCONFDIR "/shufflefs.conf or\n"
	"          ~/.config/shufflefs.conf\n"
	"  DIR     an existing folder\n"
	"  PATH    a file of the dataset, as a mount shows it: epochs/0.tar, README, "
	"...\n"
	"  FILE    a stream of a mount: DIR/epochs/0.tar, ...\n"
	"  TARGET  local:SOCKET, tcp://HOST:PORT, rdma://..., zpush://... and their like;\n"
	"          or samples:SOCKET: samples as they are, without --fields\n"
	"\n"
	"Options, for -o, as --long options, and in the ini files:\n";
/* clang-format on */

void sfs_help_print(bool as_mdoc)
{
	struct sfs_strbuf text = {0};

	if (!as_mdoc)
		printf("%s%s", synopsis, introduction);
	sfs_options_help(&text, as_mdoc);
	printf("%s", text.s);
	if (!as_mdoc)
		printf("\nSee the manual for details: man shufflefs\n");
	sfs_strbuf_done(&text);
}

void sfs_version_print(void)
{
	printf("shufflefs " VERSION "%s%s%s\n", *sfs_commit ? " (commit " : "",
	       sfs_commit, *sfs_commit ? ")" : "");
	printf("libfuse %s\n", fuse_pkgversion());
	printf("libcurl %s\n", sfs_curl_version());
	printf("libarchive %s\n", sfs_libarchive_version());
	printf("inih " INIH_VERSION "\n");
}
