/* SPDX-License-Identifier: MIT */
#include "mountpoint.h"

#include "peek.h"

#include "base/alloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUR_TYPE  "fuse.shufflefs"
#define MAX_LINKS 40

#define RESPONSE_MS 5000 /* how long a mount may take to show its stats */

/* Octal escapes of mountinfo (\040 is a blank), decoded in place. */
static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++, to++) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] && s[3]) {
			*to = (char)((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
			s += 3;
		} else {
			*to = *s;
		}
	}
	*to = 0;
}

/* "36 35 98:0 /root /mnt/ds rw shared:1 - fuse.shufflefs source rw,user_id=0,..."
 * (proc(5)) */
static bool parse_line(char *line, const char *path, struct sfs_mounted *m)
{
	char *device, *where, *dash, *type, *options, *user;

	strtok(line, " ");
	strtok(NULL, " ");
	device = strtok(NULL, " ");
	strtok(NULL, " ");
	where = strtok(NULL, " ");
	if (!where)
		return false;
	unescape(where);
	if (strcmp(where, path) != 0)
		return false;
	while ((dash = strtok(NULL, " ")) != NULL && strcmp(dash, "-") != 0)
		;
	type = strtok(NULL, " ");
	if (!type)
		return false;
	snprintf(m->type, sizeof m->type, "%s", type);
	snprintf(m->device, sizeof m->device, "%s", device);
	strtok(NULL, " ");
	options = strtok(NULL, " ");
	user = options ? strstr(options, "user_id=") : NULL;
	m->user = user ? strtol(user + 8, NULL, 10) : -1;
	return true;
}

void sfs_mountpoint_look(const char *path, struct sfs_mounted *ret_mounted)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	sfs_autofree char *line = NULL;
	size_t capacity = 0;

	*ret_mounted = (struct sfs_mounted){.user = -1};
	while (f && getline(&line, &capacity, f) > 0)
		parse_line(line, path, ret_mounted); /* the last one is on top */
	if (f)
		fclose(f);
}

bool sfs_mountpoint_is_there(const char *device)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	sfs_autofree char *line = NULL;
	size_t capacity = 0;
	bool is_there = !f;
	char its[32];

	while (f && !is_there && getline(&line, &capacity, f) > 0)
		is_there = sscanf(line, "%*s %*s %31s", its) == 1 &&
			   strcmp(its, device) == 0;
	if (f)
		fclose(f);
	return is_there;
}

/* The path with the folder above it resolved, and the last name as it is: what is
 * mounted there may be dead, and must not be asked. */
static char *resolve_parent(const char *path)
{
	sfs_autofree char *copy = sfs_strdup(path);
	char *slash, *name, whole[PATH_MAX];
	size_t n = strlen(copy);

	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = 0;
	slash = strrchr(copy, '/');
	name = slash ? slash + 1 : copy;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return realpath(path, whole) ? sfs_strdup(whole) : NULL;
	if (slash)
		*slash = 0;
	if (!realpath(!slash ? "." : slash == copy ? "/" : copy, whole))
		return NULL;
	return sfs_asprintf("%s/%s", strcmp(whole, "/") == 0 ? "" : whole, name);
}

/* If the path is a symbolic link, where that leads; else NULL. */
static char *follow(const char *path)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof to - 1);
	const char *slash = strrchr(path, '/');

	if (n < 0)
		return NULL;
	to[n] = 0;
	return to[0] == '/' ? sfs_strdup(to)
			    : sfs_asprintf("%.*s%s", (int)(slash + 1 - path), path, to);
}

static int refuse(const char *path, int code, struct sfs_error *err)
{
	const char *hint = "";

	if (strstr(path, "://"))
		hint = "; the last argument is the folder to mount on";
	else if (code == ENOENT)
		hint = "; create it with mkdir -p";
	return sfs_error_set(err, -code, "mount point %s: %s%s", path, strerror(code), hint);
}

int sfs_mountpoint_resolve(const char *path, char **ret_path, struct sfs_error *err)
{
	char *at = sfs_strdup(path), *whole, *to;
	int n_links = 0;

	if (!*path) {
		free(at);
		return sfs_error_set(err, -ENOENT,
				     "the mount point is empty; name a folder");
	}
	for (;;) {
		whole = resolve_parent(at);
		free(at);
		if (!whole)
			return refuse(path, errno, err);
		to = n_links++ < MAX_LINKS ? follow(whole) : NULL;
		if (!to)
			break;
		free(whole);
		at = to;
	}
	*ret_path = whole;
	return 0;
}

/* ---- unmounting ---- */

/* Start it with its standard error in the pipe. */
static int spawn_fusermount(const char *path, bool lazily, const int fds[2],
			    pid_t *ret_pid)
{
	const char *argv[] = {"fusermount3", lazily ? "-uz" : "-u", "--", path, NULL};
	posix_spawn_file_actions_t actions;
	extern char **environ;
	int ret;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDERR_FILENO);
	ret = posix_spawnp(ret_pid, argv[0], &actions, NULL, (char **)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -ret;
}

/* All that comes until the other end is closed, as one line. */
static void read_line(int fd, char *line, size_t room)
{
	size_t n = 0;
	ssize_t got;

	while (n < room - 1 && (got = read(fd, line + n, room - 1 - n)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	line[n] = 0;
	line[strcspn(line, "\n")] = 0;
}

/* fusermount3 -u [-z] -- PATH.  -EBUSY without an error message, others with one. */
static int run_fusermount(const char *path, bool lazily, struct sfs_error *err)
{
	char said[512];
	int fds[2], status = 0, ret;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return sfs_error_set(err, -errno, "cannot unmount %s: %s", path,
				     strerror(errno));
	ret = spawn_fusermount(path, lazily, fds, &pid);
	close(fds[1]);
	if (ret == 0) {
		read_line(fds[0], said, sizeof said);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(fds[0]);
	if (ret < 0)
		return sfs_error_set(
			err, ret,
			"cannot run fusermount3, which unmounts for ordinary users: %s",
			strerror(-ret));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (strstr(said, strerror(EBUSY)))
		return -EBUSY;
	return sfs_error_set(err, -EPERM, "cannot unmount %s: %s", path,
			     *said ? said : "fusermount3 failed");
}

/* Only who has mounted it may unmount it, and root. */
static int not_yours(const char *path, long user, struct sfs_error *err)
{
	const struct passwd *pw = getpwuid((uid_t)user);

	if (pw)
		return sfs_error_set(err, -EPERM,
				     "%s was mounted by %s: only %s%s can unmount it",
				     path, pw->pw_name, pw->pw_name,
				     user == 0 ? "" : " or root");
	return sfs_error_set(err, -EPERM,
			     "%s was mounted by user %ld: only they or root can unmount "
			     "it",
			     path, user);
}

int sfs_mountpoint_unmount(const char *path, bool lazily, struct sfs_error *err)
{
	struct sfs_mounted m;
	int ret = 0;

	sfs_mountpoint_look(path, &m);
	if (!m.type[0])
		return sfs_error_set(err, -EINVAL, "nothing is mounted on %s", path);
	if (strcmp(m.type, OUR_TYPE) != 0)
		return sfs_error_set(err, -EINVAL,
				     "%s is not a shufflefs mount: its type is %s", path,
				     m.type);
	if (umount2(path, UMOUNT_NOFOLLOW | (lazily ? MNT_DETACH : 0)) < 0)
		ret = -errno;
	if (ret == -EPERM && m.user >= 0 && m.user != (long)getuid())
		return not_yours(path, m.user, err);
	if (ret == -EPERM) {
		ret = run_fusermount(path, lazily, err);
		if (ret < 0 && ret != -EBUSY)
			return ret;
	}
	if (ret == -EBUSY)
		return sfs_error_set(err, ret,
				     "%s is in use; find its users with 'fuser -m %s', "
				     "or use umount --lazy",
				     path, path);
	if (ret < 0)
		return sfs_error_set(err, ret, "cannot unmount %s: %s", path,
				     strerror(-ret));
	return 0;
}

int sfs_mountpoint_abort(const char *path, const struct sfs_mounted *mounted)
{
	const char *minor = strchr(mounted->device, ':');
	struct sfs_mounted now;
	bool is_done = false;
	char *control;
	int fd;

	if (!minor)
		return -EINVAL;
	control = sfs_asprintf("/sys/fs/fuse/connections/%s/abort", minor + 1);
	fd = open(control, O_WRONLY | O_CLOEXEC);
	free(control);
	if (fd >= 0) {
		is_done = write(fd, "1", 1) == 1;
		close(fd);
	}
	sfs_mountpoint_look(path, &now);
	if (is_done || strcmp(now.device, mounted->device) != 0)
		return 0;
	if (umount2(path, UMOUNT_NOFOLLOW | MNT_FORCE) < 0 && errno != EBUSY)
		return -errno;
	return 0;
}

/* What happens to an open in this mount?  (Names and attributes are in the kernel's cache
 * for good.)  -ENOTCONN: its daemon has died.  -ETIMEDOUT: it does not respond. */
static int ask(const char *path)
{
	struct sfs_peek peek;
	int ret;

	ret = sfs_peek_start(&peek, path);
	if (ret < 0)
		return ret;
	ret = sfs_peek_wait(&peek, RESPONSE_MS);
	sfs_peek_end(&peek);
	return ret;
}

static int already_mounted(const char *path, bool responds, struct sfs_error *err)
{
	if (responds)
		return sfs_error_set(err, -EBUSY,
				     "%s is already mounted; unmount it first: "
				     "shufflefs umount %s",
				     path, path);
	return sfs_error_set(err, -EBUSY,
			     "%s is already mounted, and does not respond; unmount it "
			     "first: shufflefs umount --lazy %s, or if its daemon was "
			     "killed: shufflefs umount --force %s",
			     path, path, path);
}

int sfs_mountpoint_prepare(const char *path, struct sfs_error *err)
{
	struct sfs_mounted m;
	struct stat st;
	int ret;

	sfs_mountpoint_look(path, &m);
	if (strcmp(m.type, OUR_TYPE) == 0) {
		ret = ask(path);
		if (ret != -ENOTCONN)
			return already_mounted(path, ret != -ETIMEDOUT, err);
		ret = sfs_mountpoint_unmount(path, true, err); /* its daemon is dead */
		if (ret < 0)
			return ret;
	}
	if (stat(path, &st) < 0)
		return refuse(path, errno, err);
	if (!S_ISDIR(st.st_mode))
		return sfs_error_set(err, -ENOTDIR, "mount point %s is not a folder",
				     path);
	return 0;
}

int sfs_mountpoint_check_empty(const char *path, struct sfs_error *err)
{
	struct sfs_mounted m;
	struct dirent *entry;
	bool is_empty = true;
	DIR *dir;

	/* Opening an automount point would wait for this mount. */
	sfs_mountpoint_look(path, &m);
	if (strcmp(m.type, "autofs") == 0)
		return 0;
	dir = opendir(path);
	while (dir && is_empty && (entry = readdir(dir)) != NULL)
		is_empty = strcmp(entry->d_name, ".") == 0 ||
			   strcmp(entry->d_name, "..") == 0;
	if (dir)
		closedir(dir);
	if (is_empty)
		return 0;
	return sfs_error_set(err, -ENOTEMPTY,
			     "mount point %s is not empty; choose an empty folder, or "
			     "hide what is in it with -o nonempty",
			     path);
}
