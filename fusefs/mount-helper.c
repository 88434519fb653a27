/* SPDX-License-Identifier: MIT */
#include "mount-helper.h"

#include "commands.h"

#include <string.h>

static bool has_helpers_name(const char *program)
{
	const char *slash = strrchr(program, '/');

	return strncmp(slash ? slash + 1 : program, "mount.", 6) == 0;
}

bool sfs_mount_helper_is(int argc, char **argv)
{
	if (argc > 0 && has_helpers_name(argv[0]))
		return true;
	if (argc < 3 || argv[1][0] == '-' || argv[2][0] != '/' ||
	    sfs_command_find(argv[1]))
		return false;
	/* mount(8) always gives options, and a person with a slip of the finger none. */
	return argc == 3 ? !sfs_command_guess(argv[1])
			 : argc == 5 && strcmp(argv[3], "-o") == 0;
}

/* -n, -s, -v and -f, and several in one. */
static bool is_flags(const char *word)
{
	return word[0] == '-' && word[1] && !word[1 + strspn(word + 1, "nsvf")];
}

void sfs_mount_helper_strip(int argc, char **argv, int *ret_argc, bool *ret_is_fake)
{
	int i, n = 1;

	*ret_is_fake = false;
	for (i = 1; i < argc; i++) {
		if (is_flags(argv[i])) {
			*ret_is_fake |= strchr(argv[i], 'f') != NULL;
		} else if (strcmp(argv[i], "-t") == 0) {
			i++;
		} else {
			argv[n++] = argv[i];
			if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
				argv[n++] = argv[++i];
		}
	}
	*ret_argc = n;
}
