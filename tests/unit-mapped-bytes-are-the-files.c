/* SPDX-License-Identifier: MIT */
/* A file's bytes are there, mapped or copied, and stay when another file takes its name;
 * what is no file, a link or gone is refused with a sentence that names it. */
#include "check.h"
#include "mapped.h"
#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;

static char *path_of(const char *name)
{
	return sfs_asprintf("%s/%s", folder, name);
}

static void write_file(const char *name, size_t n, int byte)
{
	sfs_autofree char *path = path_of(name);
	sfs_autofree char *bytes = sfs_malloc(n + 1);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	memset(bytes, byte, n);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bytes, n), n);
	close(fd);
}

static void is_file(const char *name, size_t n, int byte)
{
	sfs_autofree char *path = path_of(name);
	sfs_autofree char *other = path_of("other");
	struct sfs_mapped m;
	size_t i;

	write_file(name, n, byte);
	CHECK_EQ(sfs_mapped_open(path, &m, NULL), 0);
	CHECK_EQ(m.n, n);
	CHECK(n >= SFS_MAPPED_MIN || !m.is_mapped);
	CHECK((m.bytes == NULL) == (n == 0));
	CHECK_EQ((size_t)m.bytes % 16, 0);

	write_file("other", n, byte + 1);
	CHECK_EQ(rename(other, path), 0);
	for (i = 0; i < n; i++)
		CHECK_EQ(((char *)m.bytes)[i], byte);
	sfs_mapped_done(&m);
	CHECK(!m.bytes && m.n == 0);
	sfs_mapped_done(&m);
	unlink(path);
}

static void refused(const char *name, int wanted)
{
	sfs_autofree char *path = path_of(name);
	struct sfs_mapped m = {.n = 99};
	struct sfs_error err = {0};

	CHECK_EQ(sfs_mapped_open(path, &m, &err), wanted);
	CHECK_HAS(err.text, path);
	CHECK_EQ(m.n, 99);
}

static void no_files(void)
{
	sfs_autofree char *link = path_of("link"), *fifo = path_of("fifo");
	sfs_autofree char *huge = path_of("huge");

	refused("gone", -ENOENT);
	refused(".", -EINVAL);
	CHECK_EQ(symlink("/etc/passwd", link), 0);
	refused("link", -ELOOP);
	CHECK_EQ(mkfifo(fifo, 0600), 0);
	refused("fifo", -EINVAL);
	write_file("huge", 1, 'x');
	if (truncate(huge, (off_t)SFS_MAPPED_MAX) == 0)
		refused("huge", -EFBIG);
	unlink(link);
	unlink(fifo);
	unlink(huge);
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	folder = sfs_asprintf("%s/shufflefs-mapped.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(folder) != NULL);
	is_file("a", 0, 'a');
	is_file("a", 1, 'a');
	is_file("a", SFS_MAPPED_MIN - 1, 'b');
	is_file("a", SFS_MAPPED_MIN, 'c');
	is_file("a", 3 * SFS_MAPPED_MIN + 5, 'd');
	no_files();
	CHECK_EQ(rmdir(folder), 0);
	free(folder);
	return 0;
}
