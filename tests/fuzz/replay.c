/* SPDX-License-Identifier: MIT */
/* replay - runs a fuzz target over files instead of under libFuzzer: the seed corpus as
 * an ordinary test with any compiler, or one input that crashed, under a debugger.
 *
 *	fuzz-X FILE|FOLDER...
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

static void replay_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = NULL;
	size_t n = 0, capacity = 0, got;

	if (!f) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	do {
		capacity = 2 * capacity + 65536;
		bytes = realloc(bytes, capacity);
		if (!bytes)
			abort();
		got = fread(bytes + n, 1, capacity - n, f);
		n += got;
	} while (got > 0);
	fclose(f);
	bytes = realloc(bytes, n > 0 ? n : 1);
	LLVMFuzzerTestOneInput(bytes, n);
	free(bytes);
}

static int replay(const char *path)
{
	struct dirent **names;
	struct stat st;
	int i, n, n_files = 0;
	char file[4096];

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
		replay_file(path);
		return 1;
	}
	n = scandir(path, &names, NULL, alphasort);
	for (i = 0; i < n; i++) {
		snprintf(file, sizeof file, "%s/%s", path, names[i]->d_name);
		if (names[i]->d_name[0] != '.')
			n_files += replay(file);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return n_files;
}

int main(int argc, char **argv)
{
	int i, n_files = 0;

	for (i = 1; i < argc; i++)
		n_files += replay(argv[i]);
	if (n_files == 0) {
		fprintf(stderr, "usage: %s FILE|FOLDER...: no file was replayed\n",
			argv[0]);
		return 2;
	}
	printf("%d inputs\n", n_files);
	return 0;
}
