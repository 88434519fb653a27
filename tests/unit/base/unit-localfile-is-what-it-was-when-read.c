/* SPDX-License-Identifier: MIT */
/* A file's bytes stay as they were read, whatever becomes of it; what is no file, a link,
 * too large or gone is refused with a sentence that names it.  Standard input can be read
 * again. */
#include "base/alloc.h"
#include "base/localfile.h"
#include "check.h"
#include "whole-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

static void is_file(size_t n, int byte)
{
	sfs_autofree char *path = path_of("a"), *other = path_of("other");
	sfs_autofree char *bytes = NULL, *some = sfs_malloc(n + 1);
	struct sfs_localfile file;
	size_t n_read = 99, i;

	write_file("a", n, byte);
	CHECK_EQ(read_whole_file(path, n, (void **)&bytes, &n_read, NULL), 0);
	CHECK_EQ(n_read, n);
	CHECK_EQ(sfs_localfile_open(path, &file, NULL), 0);
	CHECK_EQ(file.n, n);

	/* Another file of its name is another file. */
	write_file("other", n, byte + 1);
	CHECK_EQ(rename(other, path), 0);
	CHECK_EQ(sfs_localfile_read(&file, n / 2, some, n - n / 2), 0);
	for (i = 0; i < n; i++)
		CHECK(bytes[i] == byte && (i >= n - n / 2 || some[i] == byte));
	sfs_localfile_close(&file);

	/* Cut off in place, it is an error, and what was read before is as it was. */
	CHECK_EQ(sfs_localfile_open(path, &file, NULL), 0);
	CHECK_EQ(truncate(path, (off_t)(n / 2)), 0);
	CHECK_EQ(sfs_localfile_read(&file, 0, some, n), n / 2 == n ? 0 : -ESTALE);
	CHECK_EQ(sfs_localfile_read(&file, 0, some, n / 2), 0);
	for (i = 0; i < n; i++)
		CHECK_EQ(bytes[i], byte);
	sfs_localfile_close(&file);
	unlink(path);
}

static void refused(const char *name, int wanted)
{
	sfs_autofree char *path = path_of(name);
	struct sfs_error err = {0};
	void *bytes = NULL;
	size_t n = 99;

	CHECK_EQ(read_whole_file(path, 1 << 20, &bytes, &n, &err), wanted);
	CHECK_HAS(err.text, path);
	CHECK(n == 99 && !bytes);
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
	if (truncate(huge, (1 << 20) + 1) == 0)
		refused("huge", -EFBIG);
	unlink(link);
	unlink(fifo);
	unlink(huge);
}

/* ---- whole files ---- */

static void gives(const char *path, size_t n_most, const char *wanted, bool is_pipe)
{
	struct sfs_strbuf text = {0};
	bool got_pipe = !is_pipe;

	sfs_strbuf_puts(&text, ">");
	CHECK_EQ(sfs_localfile_append(path, n_most, &text, &got_pipe, NULL), 0);
	CHECK_STR(text.s + 1, wanted);
	CHECK_EQ(got_pipe, is_pipe);
	sfs_strbuf_done(&text);
}

static void gives_none(const char *path, int wanted, const char *words)
{
	struct sfs_strbuf text = {0};
	struct sfs_error err = {0};
	bool is_pipe;

	CHECK_EQ(sfs_localfile_append(path, 1 << 20, &text, &is_pipe, &err), wanted);
	CHECK_HAS(err.text, words);
	sfs_strbuf_done(&text);
}

/* A pipe that ends after these bytes. */
static int pipe_of(const char *bytes)
{
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(write(fds[1], bytes, strlen(bytes)), strlen(bytes));
	close(fds[1]);
	return fds[0];
}

static void reads_any_file_to_its_end(void)
{
	sfs_autofree char *path = path_of("list"), *none = path_of("none");
	sfs_autofree char *large = path_of("large"), *by_fd = NULL;
	int fd;

	write_file("list", 3, 'x');
	gives(path, 3, "xxx", false);
	gives_none(none, -ENOENT, none);
	gives_none(folder, -EISDIR, folder);
	write_file("large", (1 << 20) + 1, 'x');
	gives_none(large, -EFBIG, "larger than 1 MiB");
	fd = pipe_of("from a pipe");
	by_fd = sfs_asprintf("/dev/fd/%d", fd);
	gives(by_fd, 100, "from a pipe", true);
	close(fd);
	unlink(path);
	unlink(large);
}

/* What came by standard input can be read again, and by children. */
static void keeps_standard_input(void)
{
	int fd = pipe_of("one\ntwo\n"), status;
	pid_t child;

	CHECK_EQ(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	close(fd);
	CHECK(!sfs_localfile_stdin_is_kept());
	gives("-", 100, "one\ntwo\n", true);
	CHECK(sfs_localfile_stdin_is_kept());
	gives("-", 100, "one\ntwo\n", true);
	lseek(STDIN_FILENO, 0, SEEK_SET);
	child = fork();
	if (child == 0) {
		execlp("grep", "grep", "-qx", "two", NULL);
		_exit(99);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	gives("-", 100, "one\ntwo\n", true);
	CHECK(write(STDIN_FILENO, "x", 1) < 0); /* nobody changes it */
}

int main(void)
{
	const char *tmp = getenv("TMPDIR");

	folder = sfs_asprintf("%s/shufflefs-localfile.XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(folder) != NULL);
	is_file(0, 'a');
	is_file(1, 'a');
	is_file(65536, 'c');
	is_file(3 * 65536 + 5, 'd');
	no_files();
	reads_any_file_to_its_end();
	keeps_standard_input();
	CHECK_EQ(rmdir(folder), 0);
	free(folder);
	return 0;
}
