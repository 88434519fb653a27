/* SPDX-License-Identifier: MIT */
/* How this works: the thread polls for all children: their reports, what they say on
 * standard error, and their end (a pidfd).  Only this thread signals, waits for, and
 * forgets a child, so no other process can have its number.
 *
 * A session has ended when its child was waited for and its feeder is gone.  Then the
 * state is final, and those who wait are told.  The error that STATUS gives is the
 * feeder's, if the stream broke: the child only knows that it was cut.
 *
 * A mount that was unmounted lazily lives on while a file of it is open, as that of each
 * session is.  So the thread looks at the table of mounts when that changes. */
#include "forward/forward-internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_NS (5 * SFS_NS_PER_S)

/* ---- what a child says ---- */

/* A line that is no report changes nothing. */
static void take_report(struct sfs_forward *f, const char *line, size_t n)
{
	struct shufflefs_status st;

	pthread_mutex_lock(&f->all->lock);
	st = f->status;
	pthread_mutex_unlock(&f->all->lock);
	if (!sfs_reports_read(&f->reports, line, n, &st))
		return;
	f->said_state = st.ret_state;
	/* It has ended when it is gone, and not before. */
	if (st.ret_state == SHUFFLEFS_DONE || st.ret_state == SHUFFLEFS_FAILED)
		st.ret_state = SHUFFLEFS_DRAINING;
	pthread_mutex_lock(&f->all->lock);
	f->status = st;
	pthread_mutex_unlock(&f->all->lock);
}

/* A line of its standard error: into our log, and kept as the reason if it fails. */
static void take_log(struct sfs_forward *f, const char *line, size_t n)
{
	sfs_info("sidecar of %s: %.*s", f->path, (int)n, line);
	snprintf(f->last_said.text, sizeof f->last_said.text, "%.*s", (int)n, line);
}

/* Read what there is, and hand it on in lines.  A line that is too long is cut. */
static void read_lines(struct sfs_forward *f, int fd, struct sfs_forward_lines *line,
		       void (*take)(struct sfs_forward *, const char *, size_t))
{
	char *begin, *end;
	ssize_t n;

	while ((n = read(fd, line->bytes + line->n, sizeof line->bytes - line->n)) > 0) {
		line->n += (size_t)n;
		begin = line->bytes;
		while ((end = memchr(begin, '\n',
				     line->n - (size_t)(begin - line->bytes))) != NULL) {
			take(f, begin, (size_t)(end - begin));
			begin = end + 1;
		}
		line->n -= (size_t)(begin - line->bytes);
		memmove(line->bytes, begin, line->n);
		if (line->n == sizeof line->bytes)
			line->n = 0;
	}
}

static void listen_to(struct sfs_forward *f)
{
	read_lines(f, f->sidecar.report_fd, &f->report_lines, take_report);
	read_lines(f, f->sidecar.log_fd, &f->log_lines, take_log);
}

/* ---- the end of a session ---- */

/* Why has it failed?  The feeder knows best, then the child. */
static void explain_failure(const struct sfs_forward *f, struct shufflefs_status *st)
{
	const char *said = f->last_said.text, *why = st->ret_error;
	sfs_autofree char *copy = NULL;

	if (f->feeder.error.text[0])
		why = f->feeder.error.text;
	else if (f->exit < 0)
		why = copy = sfs_asprintf("the sidecar was killed by signal %d (%s)",
					  -f->exit, strsignal(-f->exit));
	else if (!*why && *said)
		why = strncmp(said, "shufflefs", 9) == 0 && strstr(said, ": ")
			      ? strstr(said, ": ") + 2
			      : said;
	else if (!*why && f->exit == 0)
		why = "the sidecar ended before it was done";
	else if (!*why)
		why = copy = sfs_asprintf("the sidecar exited with status %d", f->exit);
	if (why != st->ret_error)
		snprintf(st->ret_error, sizeof st->ret_error, "%.*s",
			 (int)sizeof st->ret_error - 1, why);
}

/* Child and feeder are gone; the lock is held. */
static void conclude(struct sfs_forward *f)
{
	struct shufflefs_status *st = &f->status;

	st->ret_pid = 0;
	st->ret_exit = f->exit;
	if (f->exit == 0 && f->said_state == SHUFFLEFS_DONE && !f->feeder.error.text[0]) {
		st->ret_state = SHUFFLEFS_DONE;
	} else if (f->must_end) {
		st->ret_state = SHUFFLEFS_STOPPED;
		st->ret_error[0] = 0;
	} else {
		st->ret_state = SHUFFLEFS_FAILED;
		explain_failure(f, st);
	}
}

/* After the lock, `f` may be gone: its owner can free it. */
static void end_session(struct sfs_forward *f)
{
	struct sfs_forwards *all = f->all;
	sfs_autofree char *path = steal(&f->path);
	struct sfs_error why = {""};
	struct sfs_link ended;
	bool is_free;

	sfs_feeder_join(&f->feeder);
	sfs_sidecar_close(&f->sidecar);
	sfs_list_init(&ended);
	pthread_mutex_lock(&all->lock);
	conclude(f);
	snprintf(why.text, sizeof why.text, "%s", f->status.ret_error);
	is_free = f->is_free;
	sfs_link_remove(&f->link);
	sfs_waiters_tell(&f->waiters, &ended);
	if (sfs_list_is_empty(&all->running))
		pthread_cond_broadcast(&all->is_empty);
	pthread_mutex_unlock(&all->lock);
	if (why.text[0])
		sfs_warning("%s is no longer forwarded: %s", path, why.text);
	if (is_free)
		free(f);
	sfs_waiters_end(&ended, 0);
}

/* The child has ended: whatever it has started ends too. */
static void reap(struct sfs_forward *f)
{
	siginfo_t info = {.si_pid = 0};

	kill(-f->sidecar.pid, SIGKILL);
	if (waitid(P_PID, (id_t)f->sidecar.pid, &info, WEXITED | WNOHANG) < 0 ||
	    info.si_pid == 0)
		return;
	f->exit = info.si_code == CLD_EXITED ? info.si_status : -info.si_status;
	f->is_reaped = true;
	f->kill_ns = 0;
	sfs_feeder_stop(&f->feeder);
}

/* ---- the thread ---- */

/* Signal it, if it is to end. */
static void urge(struct sfs_forward *f, bool must_end, bool at_once)
{
	uint64_t now = sfs_clock_ns();

	if (!must_end || f->is_reaped)
		return;
	if (!f->was_asked) {
		/* The feeder goes on, or the child may report a cut stream. */
		f->was_asked = true;
		f->kill_ns = now + STOP_NS;
		kill(-f->sidecar.pid, SIGTERM);
	}
	if (f->kill_ns && (at_once || now >= f->kill_ns)) {
		kill(-f->sidecar.pid, SIGKILL);
		f->kill_ns = 0;
	}
}

/* Look after one session.  It may be gone after that. */
static void look(struct sfs_forward *f)
{
	struct pollfd end = {.fd = f->sidecar.pid_fd, .events = POLLIN};
	bool has_exited = !f->is_reaped && poll(&end, 1, 0) > 0, must_end, at_once;

	listen_to(f);
	pthread_mutex_lock(&f->all->lock);
	must_end = f->must_end;
	at_once = f->must_end_at_once;
	pthread_mutex_unlock(&f->all->lock);
	if (has_exited)
		reap(f);
	urge(f, must_end, at_once);
	if (f->is_reaped && atomic_load(&f->feeder.has_ended))
		end_session(f);
}

enum { PER_SESSION = 3 };

/* What to wait for; returns for how long.  *ret_fds is the caller's. */
static int fill_polls(struct sfs_forwards *all, struct pollfd **ret_fds, nfds_t *ret_n)
{
	uint64_t now = sfs_clock_ns(), next = UINT64_MAX;
	struct sfs_link *link;
	struct sfs_forward *f;
	struct pollfd *fds;
	nfds_t n = 2;

	pthread_mutex_lock(&all->lock);
	for (link = all->running.next; link != &all->running; link = link->next)
		n += PER_SESSION;
	fds = sfs_calloc(n, sizeof *fds);
	n = 0;
	fds[n++] = (struct pollfd){.fd = all->wake_fd, .events = POLLIN};
	fds[n++] = (struct pollfd){.fd = all->mounts_fd, .events = POLLPRI};
	for (link = all->running.next; link != &all->running; link = link->next) {
		f = sfs_container(link, struct sfs_forward, link);
		if (f->kill_ns && f->kill_ns < next)
			next = f->kill_ns;
		if (f->is_reaped)
			continue; /* its feeder will wake us */
		fds[n++] = (struct pollfd){.fd = f->sidecar.pid_fd, .events = POLLIN};
		fds[n++] = (struct pollfd){.fd = f->sidecar.report_fd, .events = POLLIN};
		fds[n++] = (struct pollfd){.fd = f->sidecar.log_fd, .events = POLLIN};
	}
	pthread_mutex_unlock(&all->lock);
	*ret_fds = fds;
	*ret_n = n;
	return next == UINT64_MAX ? -1
	       : next <= now	  ? 0
				  : (int)((next - now) / SFS_NS_PER_MS + 1);
}

/* The next session after `f`, NULL: the first.  Only this thread takes any out. */
static struct sfs_forward *next_of(struct sfs_forwards *all, struct sfs_forward *f)
{
	struct sfs_link *link;

	pthread_mutex_lock(&all->lock);
	link = f ? f->link.next : all->running.next;
	pthread_mutex_unlock(&all->lock);
	return link == &all->running ? NULL
				     : sfs_container(link, struct sfs_forward, link);
}

void *sfs_forward_watch(void *arg)
{
	struct sfs_forwards *all = arg;
	struct sfs_forward *f, *following;
	bool is_over = false;
	eventfd_t n_wakes;

	while (!is_over) {
		struct pollfd *fds;
		nfds_t n_fds;
		int timeout_ms = fill_polls(all, &fds, &n_fds);

		poll(fds, n_fds, timeout_ms);
		if (fds[0].revents)
			eventfd_read(all->wake_fd, &n_wakes);
		if (fds[1].revents && !all->is_mounted(all->arg)) {
			pthread_mutex_lock(&all->lock);
			sfs_forward_end_all(all);
			pthread_mutex_unlock(&all->lock);
		}
		free(fds);
		for (f = next_of(all, NULL); f; f = following) {
			following = next_of(all, f);
			look(f);
		}
		pthread_mutex_lock(&all->lock);
		is_over = all->is_stopped && sfs_list_is_empty(&all->running);
		pthread_mutex_unlock(&all->lock);
	}
	return NULL;
}
