/* SPDX-License-Identifier: MIT */
/* How this works: check what can be checked, fork, start the engine, mount, run
 * libfuse's loop.  A thread of its own asks the mount for its root: when that is
 * answered, the mount works, and the thread says so.  Before that it raises the kernel's
 * readahead: FUSE_INIT cannot ask for more than the device's 128 KiB, but root may write
 * a larger number into /sys.
 *
 * To stop, the loop must run on until the thread of pages.h is back: it may wait in the
 * kernel for a read, and only the loop takes reads and has them answered.  So a thread
 * that took the signal has all that waits fail, then joins that thread, and only then
 * ends the loop.  A watchdog makes sure that the process ends. */
#include "mount.h"

#include "session-io.h"

#include "daemon-signals.h"
#include "daemon.h"
#include "mountpoint.h"
#include "notify.h"
#include "ops.h"
#include "watchdog.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/log.h"
#include "base/reload.h"
#include "base/stall.h"
#include "base/threadpool.h"
#include "catalog/probe.h"
#include "engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOWN_BYTES 1000 /* of the source, at most */

/* Interrupts the wait of libfuse's loop: only main takes it, libfuse's threads block it. */
#define LOOP_SIGNAL SIGQUIT

struct mount {
	struct sfs_options *options;
	const struct sfs_mount_reload *reload;
	const char *where; /* absolute */
	int daemon_fd;	   /* -1: in the foreground */
	struct sfs_engine *engine;
	struct sfs_tree *tree;
	struct sfs_ops ops;
	struct fuse_session *session;
	pthread_t ready_thread, main_thread;

	pthread_mutex_t lock; /* guards the flag */
	pthread_cond_t loop_ended;
	bool has_loop_ended;
};

/* ---- messages of libfuse ---- */

static struct sfs_error fuse_error;

static void take_fuse_log(enum fuse_log_level level, const char *format, va_list args)
{
	size_t n;

	vsnprintf(fuse_error.text, sizeof fuse_error.text, format, args);
	n = strlen(fuse_error.text);
	while (n > 0 && fuse_error.text[n - 1] == '\n')
		fuse_error.text[--n] = 0;
	sfs_debug("libfuse: %s", fuse_error.text);
}

/* ---- the session ---- */

/* The kernel refuses a source of a page or more, so the end of a long one is cut off, but
 * not within a character. */
static char *shorten(const char *s)
{
	size_t n = strlen(s);

	if (n < SHOWN_BYTES)
		return sfs_strdup(s);
	for (n = SHOWN_BYTES - strlen("..."); n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80;)
		n--;
	return sfs_asprintf("%.*s...", (int)n, s);
}

/* Commas and backslashes, as libfuse wants them. */
static char *escape(const char *s)
{
	char *out = sfs_malloc(2 * strlen(s) + 1), *p = out;

	for (; *s; s++) {
		if (*s == ',' || *s == '\\')
			*p++ = '\\';
		*p++ = *s;
	}
	*p = 0;
	return out;
}

static struct fuse_session *new_session(struct mount *m)
{
	const struct sfs_options *o = m->options;
	/* What mount and df show. */
	sfs_autofree char *shown = shorten(o->fsname ? o->fsname : m->engine->title);
	sfs_autofree char *source = escape(shown);
	sfs_autofree char *list = sfs_asprintf(
		"ro,nosuid,nodev,default_permissions,fsname=%s,subtype=shufflefs%s%s%s%s",
		source, o->allow_other ? ",allow_other" : "",
		o->allow_root && !o->allow_other ? ",allow_root" : "",
		o->kernel ? "," : "", o->kernel ? o->kernel : "");
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	struct fuse_session *session;

	fuse_set_log_func(take_fuse_log);
	fuse_opt_add_arg(&args, "shufflefs");
	fuse_opt_add_arg(&args, "-o");
	fuse_opt_add_arg(&args, list);
	session = fuse_session_new(&args, sfs_ops_table(),
				   sizeof(struct fuse_lowlevel_ops), &m->ops);
	fuse_opt_free_args(&args);
	return session;
}

/* The message of fusermount3, without its name; other output goes to standard error. */
static void read_fusermount_error(int fd, char *ret, size_t room)
{
	static const char name[] = "fusermount3: ";
	char *line = NULL;
	size_t capacity = 0;
	FILE *f;

	ret[0] = 0;
	lseek(fd, 0, SEEK_SET);
	f = fdopen(fd, "r");
	while (f && getline(&line, &capacity, f) > 0) {
		if (strncmp(line, name, strlen(name)) != 0)
			fputs(line, stderr);
		else
			snprintf(ret, room, "%.*s",
				 (int)strcspn(line + strlen(name), "\n"),
				 line + strlen(name));
	}
	free(line);
	if (f)
		fclose(f);
}

/* Errors come from libfuse, or from fusermount3, which writes to standard error. */
static int mount_session(struct mount *m, struct sfs_error *err)
{
	int saved = dup(STDERR_FILENO), output = memfd_create("fusermount3", MFD_CLOEXEC);
	char message[512] = "";
	const char *why;
	int ret;

	dup2(output, STDERR_FILENO);
	ret = fuse_session_mount(m->session, m->where);
	dup2(saved, STDERR_FILENO);
	close(saved);
	read_fusermount_error(output, message, sizeof message);
	if (ret == 0)
		return 0;
	why = message[0] ? message : fuse_error.text;
	if (strncmp(why, "fuse: ", 6) == 0)
		why += 6;
	if (access("/dev/fuse", F_OK) < 0)
		why = "/dev/fuse does not exist; start the container with 'docker run "
		      "--device /dev/fuse --cap-add SYS_ADMIN', or use shufflefs cat";
	return sfs_error_set(err, -EIO, "cannot mount on %s: %s", m->where,
			     *why ? why : "fusermount3 failed");
}

static int open_session(struct mount *m, struct sfs_error *err)
{
	m->session = new_session(m);
	if (!m->session)
		return sfs_error_set(err, -EINVAL, "libfuse rejected the options: %s",
				     fuse_error.text);
	sfs_daemon_signals_block();
	if (mount_session(m, err) < 0) {
		sfs_daemon_signals_unblock();
		fuse_session_destroy(m->session);
		return -EIO;
	}
	if (sfs_session_io_use(m->session) < 0)
		sfs_warning("this libfuse cannot enable parallel lookups");
	return 0;
}

/* ---- ready ---- */

static void raise_readahead(const struct mount *m)
{
	unsigned long long kib = m->options->readahead / 1024;
	struct sfs_mounted mounted;
	FILE *f;

	if (kib == 0)
		return;
	sfs_mountpoint_look(m->where, &mounted);
	sfs_autofree char *path =
		sfs_asprintf("/sys/class/bdi/%s/read_ahead_kb", mounted.device);
	f = fopen(path, "we");
	if (!f || fprintf(f, "%llu\n", kib) < 0 || fflush(f) != 0)
		sfs_info("kernel readahead is 128 KiB; for faster reads, run as root: "
			 "echo %llu > %s",
			 kib, path);
	if (f)
		fclose(f);
}

static void *report_ready(void *arg)
{
	struct mount *m = arg;
	struct stat st;

	if (stat(m->where, &st) < 0) {
		sfs_warning("the mount on %s does not respond: %s", m->where,
			    strerror(errno));
	} else {
		raise_readahead(m);
		sfs_info("mounted %s on %s", m->engine->title, m->where);
		sfs_notify_ready(m->engine->title, m->where);
	}
	sfs_daemon_ready(m->daemon_fd);
	return NULL;
}

/* ---- running ---- */

static void interrupt(int number)
{
}

static void loop(struct mount *m)
{
	const struct sigaction action = {.sa_handler = interrupt};
	struct fuse_loop_config *config = fuse_loop_cfg_create();

	m->main_thread = pthread_self();
	sigaction(LOOP_SIGNAL, &action, NULL);
	fuse_loop_cfg_set_clone_fd(config, 0);
	fuse_loop_cfg_set_max_threads(config, 8);
	fuse_session_loop_mt(m->session, config);
	fuse_loop_cfg_destroy(config);
	pthread_mutex_lock(&m->lock);
	m->has_loop_ended = true;
	pthread_cond_signal(&m->loop_ended);
	pthread_mutex_unlock(&m->lock);
}

/* The loop sees that it is to end when a signal interrupts its wait; one that comes just
 * before the wait is lost. */
static void end_loop(struct mount *m)
{
	fuse_session_exit(m->session);
	pthread_mutex_lock(&m->lock);
	while (!m->has_loop_ended) {
		pthread_kill(m->main_thread, LOOP_SIGNAL);
		sfs_cond_wait_until(&m->loop_ended, &m->lock,
				    sfs_clock_ns() + 10 * SFS_NS_PER_MS);
	}
	pthread_mutex_unlock(&m->lock);
}

/* ---- signals ---- */

static void stop(void *ctx)
{
	struct mount *m = ctx;

	sfs_watchdog_wake();
	sfs_pending_table_close(&m->ops.pending_table);
	sfs_pages_stop(&m->ops.pages);
	end_loop(m);
}

static void reload(void *ctx)
{
	struct mount *m = ctx;
	struct sfs_error err = {0};
	enum sfs_log_level level;

	sfs_reload_request();
	if (m->reload->level(m->reload->ctx, &level, &err) < 0) {
		sfs_warning("SIGHUP: keeping the log level: %s", err.text);
		return;
	}
	sfs_log_set_level(level);
	sfs_info("SIGHUP: reading log level, header files and tokens again");
}

/* A mount hides what is below it, which must not be a shard. */
static int check_not_hidden(const struct mount *m, struct sfs_error *err)
{
	const struct sfs_shards *shards = &m->engine->runtime.shards;
	size_t n = strlen(m->where), n_last = 0;
	const char *path, *last = "";
	char folder[PATH_MAX];
	uint32_t i;

	for (i = 0; i < shards->n; i++) {
		if (shards->shards[i].object->uri.scheme != SFS_SCHEME_FILE)
			continue;
		path = shards->shards[i].object->uri.location;
		if (strrchr(path, '/') - path == (ptrdiff_t)n_last &&
		    strncmp(path, last, n_last) == 0)
			continue; /* in the same folder as the one before */
		last = path;
		n_last = (size_t)(strrchr(path, '/') - path);
		sfs_autofree char *parent = sfs_strndup(path, n_last);

		if (realpath(parent, folder) && strncmp(folder, m->where, n) == 0 &&
		    (folder[n] == '/' || !folder[n] || n == 1))
			return sfs_error_set(err, -EINVAL,
					     "mount point %s would hide the shards in "
					     "%s; choose another folder",
					     m->where, folder);
	}
	return 0;
}

static void stop_engine(struct mount *m)
{
	sfs_engine_stop(m->engine);
	sfs_tree_free(m->tree);
	sfs_engine_free(m->engine);
}

/* Everything after the fork.  Returns an exit status. */
static int serve(struct mount *m, const struct sfs_strings *specs)
{
	const struct sfs_daemon_signals signals = {stop, reload, m};
	struct sfs_error err = {0};
	int ret;

	sfs_stall_begin_saying();
	sfs_daemon_signals_ignore();
	m->options->expects_streams = true;
	ret = sfs_engine_start(m->options, specs, false, &m->engine, &err);
	if (ret == 0)
		ret = check_not_hidden(m, &err);
	if (ret == 0 && !m->options->nonempty)
		ret = sfs_mountpoint_check_empty(m->where, &err);
	if (ret == 0)
		ret = sfs_probe_shards(m->engine->sizes, &m->engine->runtime.shards, true,
				       &err);
	if (ret < 0) {
		stop_engine(m);
		sfs_daemon_failed(m->daemon_fd, err.text);
		return 1;
	}
	sfs_stall_end_saying();
	sfs_engine_warn_of_folders(m->engine);
	sfs_weak_order_tell(&m->engine->weak_order);
	m->engine->mountpoint = m->where;
	m->tree = sfs_tree_new(m->engine);
	sfs_ops_init(&m->ops, m->tree);
	ret = open_session(m, &err);
	if (ret < 0) {
		sfs_ops_stop(&m->ops);
		sfs_ops_done(&m->ops);
		stop_engine(m);
		sfs_daemon_failed(m->daemon_fd, err.text);
		return 1;
	}
	sfs_pages_start(&m->ops.pages, m->session);
	sfs_watchdog_start(m->where, fuse_session_fd(m->session));
	sfs_daemon_signals_start(&signals);
	m->ready_thread = sfs_thread_start("sfs-ready", report_ready, m);
	loop(m);
	sfs_watchdog_wake();
	sfs_notify_stopping();
	sfs_daemon_signals_stop();
	/* Before the unmount, which closes the session's descriptor. */
	sfs_ops_stop(&m->ops);
	if (m->ops.pages.is_running)
		sfs_watchdog_abort(); /* the loop has failed: nobody answers */
	sfs_pages_stop(&m->ops.pages);
	sfs_watchdog_unmounting();
	fuse_session_unmount(m->session);
	sfs_watchdog_unmounted();
	pthread_join(m->ready_thread, NULL);
	sfs_ops_done(&m->ops);
	fuse_session_destroy(m->session);
	stop_engine(m);
	return 0;
}

int sfs_mount(struct sfs_options *options, const struct sfs_strings *specs,
	      const char *where, const struct sfs_mount_reload *reload_level)
{
	struct mount m = {.options = options,
			  .reload = reload_level,
			  .daemon_fd = -1,
			  .lock = PTHREAD_MUTEX_INITIALIZER,
			  .loop_ended = PTHREAD_COND_INITIALIZER};
	sfs_autofree char *path = NULL;
	struct sfs_error err = {0};
	int ret;

	sfs_log_set_level((enum sfs_log_level)options->log_level);
	sfs_notify_begin();
	ret = sfs_mountpoint_resolve(where, &path, &err);
	if (ret == 0)
		ret = sfs_mountpoint_prepare(path, &err);
	if (ret < 0) {
		sfs_daemon_failed(-1, err.text);
		return 1;
	}
	m.where = path;
	if (!options->foreground)
		sfs_daemon_fork(&m.daemon_fd);
	return serve(&m, specs);
}
