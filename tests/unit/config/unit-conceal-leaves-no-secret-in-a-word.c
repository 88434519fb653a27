/* SPDX-License-Identifier: MIT */
/* Headers, passwords, queries and hidden options are overwritten in the words of a
 * command line, however they are written; all else stays as it is. */
#include "base/alloc.h"
#include "check.h"
#include "config/conceal.h"

/* The words, separated by bars, become these. */
static void becomes(const char *words, const char *wanted)
{
	sfs_autofree char *text = sfs_strdup(words);
	char *argv[16], *rest = text, *all = sfs_strdup(""), *more;
	size_t lengths[16];
	int argc = 0, i;

	while (rest) {
		argv[argc] = strsep(&rest, "|");
		lengths[argc] = strlen(argv[argc]);
		argc++;
	}
	sfs_conceal_args(argc, argv, 1);
	for (i = 0; i < argc; i++) {
		/* Nothing is left behind the word's end. */
		for (size_t k = strlen(argv[i]); k <= lengths[i]; k++)
			CHECK_EQ(argv[i][k], 0);
		more = sfs_asprintf("%s%s%s", all, i ? "|" : "", argv[i]);
		free(all);
		all = more;
	}
	CHECK_STR(all, wanted);
	CHECK(!strstr(all, "SECRET"));
	free(all);
}

int main(void)
{
	becomes("mount|data/train-{000..009}.tar|-o|seed=7,lanes=3|--index=dir|/mnt",
		"mount|data/train-{000..009}.tar|-o|seed=7,lanes=3|--index=dir|/mnt");
	becomes("mount|-o|header=A: SECRET,seed=7|mnt",
		"mount|-o|header=A: ***,seed=7|mnt");
	becomes("mount|-oseed=7,header=A: SECRET\\,SECRET,ro|mnt",
		"mount|-oseed=7,header=A: ***,ro|mnt");
	becomes("cat|--header=Authorization: SECRET|x",
		"cat|--header=Authorization: ***|x");
	becomes("cat|--header|Authorization: SECRET|x",
		"cat|--header|Authorization: ***|x");
	becomes("cat|-o|header=@/etc/token|--header=@token",
		"cat|-o|header=@/etc/token|--header=@token");
	becomes("ls|http://ann:SECRET@host/a.tar?sig=SECRET",
		"ls|http://***@host/a.tar?***");
	becomes("ls|http://h/a.tar?SECRET::https://u:SECRET@h/b",
		"ls|http://h/a.tar?***");
	becomes("ls|-o|index=http://u:SECRET@h/i,seed=1|--|http://u:SECRET@h/--header=x",
		"ls|-o|index=http://***@h/i,seed=1|--|http://***@h/--header=x");
	becomes("ls|--proxy=u:SECRET@proxy|--proxy|u:SECRET@proxy|-o|proxy=SECRET",
		"ls|--proxy=(set)|--proxy|(set)|-o|proxy=(set)");
	becomes("ls|--bearer-token-command=echo SECRET|-o|header-command=echo A: SECRET",
		"ls|--bearer-token-command=(set)|-o|header-command=(set)");
	/* Shorter than what would be shown. */
	becomes("ls|http://u@h/a|http://h/a?x", "ls|http://***@h|http://h/a?*");
	becomes("ls|-o|header=A:x|--header=A:", "ls|-o|header=A: |--header=A:");
	becomes("ls|--frobnicate|http://u:SECRET@h/|-o",
		"ls|--frobnicate|http://***@h/|-o");
	becomes("ls|--seed|7|-f|-|", "ls|--seed|7|-f|-|");
	return 0;
}
