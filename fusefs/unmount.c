/* SPDX-License-Identifier: MIT */
/* How this works: the mount's stats say which process its daemon is, in which PID
 * namespace.  That need not be ours, and then the number is somebody else's here; so the
 * process is looked for in /proc, which shows the namespaces below ours, too.
 *
 * A daemon ends when nobody has its mount any more.  Whether somebody has it, in whatever
 * mount namespace, its folder of /sys/class/bdi says: the kernel removes that with the
 * mount's last copy, before umount(2) returns.  The folder's number is never given to
 * another, its name soon is. */
#include "unmount.h"

#include "mountpoint.h"
#include "peek.h"
#include "watchdog.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS	 20
#define COPY_NS	 (3 * SFS_NS_PER_S) /* after which a mount that is still there stays */
#define LIMIT_NS ((SFS_STOP_SECONDS + 1) * SFS_NS_PER_S)

struct daemon {
	const char *where;
	pid_t pid;	    /* of its stats; 0: not found; -ETIMEDOUT: no response */
	uint64_t namespace; /* of PIDs; 0: not known */
	pid_t seen;	    /* its number here; 0: it is not seen */
	int proc;	    /* its folder there; -1: it is not seen */
	char bdi[64];	    /* the path */
	uint64_t bdi_number;
	bool is_dead;
};

static uint64_t number_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_ino : 0;
}

/* ---- who is it? ---- */

static uint64_t read_stat(const char *json, const char *name)
{
	const char *p = strstr(json, name);

	return p ? strtoull(p + strlen(name), NULL, 10) : 0;
}

static void read_stats(struct daemon *d)
{
	struct sfs_peek peek;
	int ret;

	ret = sfs_peek_start(&peek, d->where);
	if (ret == 0)
		ret = sfs_peek_wait(&peek, 1000);
	if (ret == 0 && peek.text.s) {
		d->pid = (pid_t)read_stat(peek.text.s, "\"pid\":");
		d->namespace = read_stat(peek.text.s, "\"pid_namespace\":");
	}
	if (ret == -ETIMEDOUT)
		d->pid = ret;
	d->is_dead = ret == -ENOTCONN;
	sfs_peek_end(&peek);
}

/* The number that the process has in its own namespace. */
static pid_t own_number(pid_t seen)
{
	sfs_autofree char *path = sfs_asprintf("/proc/%d/status", (int)seen);
	sfs_autofree char *line = NULL;
	size_t capacity = 0;
	pid_t number = 0;
	FILE *f = fopen(path, "re");

	while (f && number == 0 && getline(&line, &capacity, f) > 0)
		if (strncmp(line, "NSpid:", 6) == 0)
			number = (pid_t)atoi(strrchr(line, '\t') + 1);
	if (f)
		fclose(f);
	return number;
}

static bool is_it(const struct daemon *d, pid_t seen)
{
	sfs_autofree char *path = sfs_asprintf("/proc/%d/ns/pid", (int)seen);

	return number_of(path) == d->namespace && own_number(seen) == d->pid;
}

static pid_t find_in_proc(const struct daemon *d)
{
	DIR *proc = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	while (proc && found == 0 && (e = readdir(proc)) != NULL)
		if (atoi(e->d_name) > 0 && is_it(d, (pid_t)atoi(e->d_name)))
			found = (pid_t)atoi(e->d_name);
	if (proc)
		closedir(proc);
	return found;
}

static void find_daemon(struct daemon *d)
{
	read_stats(d);
	if (d->pid <= 0)
		return;
	d->seen = is_it(d, d->pid) ? d->pid : find_in_proc(d);
	/* Who may not look at other users' processes, may see that it is there. */
	if (d->seen == 0 && d->namespace == number_of("/proc/self/ns/pid"))
		d->seen = d->pid;
	if (d->seen == 0)
		return;
	sfs_autofree char *path = sfs_asprintf("/proc/%d", (int)d->seen);

	d->proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->proc < 0)
		d->seen = 0;
}

/* ---- has it ended? ---- */

/* That folder stays the same process's. */
static bool has_ended(const struct daemon *d)
{
	char text[512], *state;
	int fd = openat(d->proc, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return true;
	text[n] = 0;
	state = strrchr(text, ')');
	return state && strchr("ZX", state[2]);
}

static bool is_mounted_elsewhere(const struct daemon *d)
{
	return d->bdi_number != 0 && number_of(d->bdi) == d->bdi_number;
}

/* ---- who else has it? ---- */

/* Where a process has the mount; NULL: nowhere. */
static char *find_mount(const struct daemon *d, const char *process)
{
	sfs_autofree char *path = sfs_asprintf("/proc/%s/mountinfo", process);
	const char *device = strrchr(d->bdi, '/') + 1;
	sfs_autofree char *line = NULL;
	size_t capacity = 0;
	char its[64], *where = NULL;
	FILE *f = fopen(path, "re");
	int at;

	while (f && !where && getline(&line, &capacity, f) > 0)
		if (sscanf(line, "%*s %*s %63s %*s %n", its, &at) == 1 &&
		    strcmp(its, device) == 0)
			where = sfs_strndup(line + at, strcspn(line + at, " "));
	if (f)
		fclose(f);
	return where;
}

static bool has_mounts_of_its_own(const char *process)
{
	sfs_autofree char *path = sfs_asprintf("/proc/%s/ns/mnt", process);

	return number_of(path) != number_of("/proc/self/ns/mnt");
}

/* A sentence's middle: who has it. */
static char *who_has_it(const struct daemon *d)
{
	char *where = find_mount(d, "self"), *who = NULL;
	DIR *proc = where ? NULL : opendir("/proc");
	struct dirent *e;

	if (where)
		who = sfs_asprintf("it is also mounted on %s; unmount that, too",
				   where);
	while (proc && !who && (e = readdir(proc)) != NULL) {
		if (atoi(e->d_name) <= 0 || atoi(e->d_name) == d->seen ||
		    !has_mounts_of_its_own(e->d_name))
			continue;
		where = find_mount(d, e->d_name);
		if (where)
			who = sfs_asprintf("process %s has a copy of the mount in "
					   "another mount namespace; unmount that, too: "
					   "nsenter --target %s --mount umount %s",
					   e->d_name, e->d_name, where);
	}
	if (proc)
		closedir(proc);
	free(where);
	return who ? who
		   : sfs_strdup("another mount namespace (a container's, say) has a copy "
				"of the mount");
}

static int report_copy(const struct daemon *d)
{
	sfs_autofree char *who = who_has_it(d);

	if (d->seen)
		sfs_error("%s is unmounted, but its daemon, process %d, goes on: %s, or "
			  "end the daemon: kill %d",
			  d->where, (int)d->seen, who, (int)d->seen);
	else
		sfs_error("%s is unmounted, but its daemon goes on: %s", d->where, who);
	return 1;
}

/* ---- waiting ---- */

static int wait_for_end(const struct daemon *d)
{
	uint64_t begun = sfs_clock_ns(), waited = 0;

	for (; waited < LIMIT_NS; waited = sfs_clock_ns() - begun) {
		if (d->seen ? has_ended(d) : !is_mounted_elsewhere(d))
			break;
		if (waited >= COPY_NS && is_mounted_elsewhere(d))
			return report_copy(d);
		poll(NULL, 0, LOOK_MS);
	}
	if (waited >= LIMIT_NS) {
		sfs_error("%s is unmounted, but its daemon, process %d, has not ended "
			  "within %d s; end it: kill -KILL %d",
			  d->where, (int)d->seen, SFS_STOP_SECONDS + 1, (int)d->seen);
		return 1;
	}
	if (!d->seen && d->pid > 0)
		sfs_warning("%s is unmounted; nobody waits for its daemon, which is "
			    "process %d of a PID namespace that is not seen from here",
			    d->where, (int)d->pid);
	return 0;
}

/* A daemon that was killed may hang in the kernel, with all who read, because a thread of
 * it waits for a page that a request has locked: nobody answers that, and no signal ends
 * it.  (It is not known whether it was: its stats do not say who it is any more.) */
static int abort_mount(const char *path, const struct sfs_mounted *m,
		       struct sfs_error *err)
{
	const char *minor = strchr(m->device, ':');

	if (strcmp(m->type, "fuse.shufflefs") != 0)
		return 0; /* the unmount says what it is */
	if (sfs_mountpoint_abort(path, m) == 0)
		return 0;
	return sfs_error_set(
		err, -EPERM,
		"cannot end %s by force: /sys/fs/fuse/connections/%s/abort is not there, "
		"or not yours; root can: shufflefs umount --force %s",
		path, minor ? minor + 1 : "", path);
}

/* By force it may be unmounted already. */
static int unmount(const char *path, const struct sfs_mounted *m,
		   enum sfs_umount_how how, struct sfs_error *err)
{
	struct sfs_mounted now;
	int ret;

	if (how == SFS_UMOUNT_FORCE) {
		ret = abort_mount(path, m, err);
		sfs_mountpoint_look(path, &now);
		if (ret < 0 && m->user == (long)getuid())
			return ret;
		if (m->type[0] && strcmp(m->device, now.device) != 0)
			return 0;
	}
	return sfs_mountpoint_unmount(path, how != SFS_UMOUNT_WAIT, err);
}

int sfs_umount(const char *where, enum sfs_umount_how how)
{
	struct daemon d = {.proc = -1};
	sfs_autofree char *path = NULL;
	struct sfs_error err = {0};
	struct sfs_mounted m;
	int ret;

	ret = sfs_mountpoint_resolve(where, &path, &err);
	if (ret == 0) {
		d.where = path;
		sfs_mountpoint_look(path, &m);
		snprintf(d.bdi, sizeof d.bdi, "/sys/class/bdi/%s", m.device);
		d.bdi_number = m.device[0] ? number_of(d.bdi) : 0;
		if (how == SFS_UMOUNT_WAIT && strcmp(m.type, "fuse.shufflefs") == 0)
			find_daemon(&d);
		ret = unmount(path, &m, how, &err);
		if (ret == -EBUSY && d.pid == -ETIMEDOUT) /* by our own file there */
			sfs_error_set(
				&err, ret,
				"%s does not respond; unmount it with umount --lazy, or "
				"if its daemon was killed, with umount --force",
				path);
	}
	if (ret < 0)
		sfs_error("%s", err.text);
	else if (how == SFS_UMOUNT_WAIT && !d.is_dead)
		ret = wait_for_end(&d);
	if (d.proc >= 0)
		close(d.proc);
	return ret == 0 ? 0 : 1;
}
