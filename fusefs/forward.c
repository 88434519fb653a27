/* SPDX-License-Identifier: MIT */
/* How this works: a thread, started with the first session, polls for all children: their
 * reports, what they say on standard error, and their end (a pidfd).  Only that thread
 * signals, waits for, and forgets a child, so no other process can have its number.
 *
 * A session has ended when its child was waited for and its feeder is gone.  Then the
 * state is final, and those who wait are told.  The error that STATUS gives is the
 * feeder's, if the stream broke: the child only knows that it was cut. */
#include "forward.h"

#include "feeder.h"
#include "sidecar.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/threadpool.h"
#include "engine/engine.h"
#include "memory/slab.h"
#include "tree/epochs.h"
#include "tree/tree.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_NS	  (5 * SFS_NS_PER_S)
#define RATE_NS	  SFS_NS_PER_S
#define LINE_ROOM 16384

/* Bytes that a child has written, up to the end of a line. */
struct line {
	char bytes[LINE_ROOM];
	size_t n;
};

struct sfs_forward {
	struct sfs_forwards *all;
	uint64_t node;

	/* The watching thread's, from start to the end of the session. */
	struct sfs_link link; /* in `running`; guarded by all->lock */
	struct sfs_sidecar sidecar;
	struct sfs_feeder feeder;
	char *path;
	struct line report, log;
	struct sfs_error last_said; /* on standard error */
	bool is_reaped, was_asked;
	int exit;	  /* as in struct shufflefs_status */
	uint64_t kill_ns; /* when it is killed; 0: never */
	uint32_t said_state;
	uint64_t rated_ns, rated_bytes; /* of the report up to which the rate is known */

	/* Guarded by all->lock. */
	struct shufflefs_status status;
	struct sfs_link waiters;
	uint64_t first;	   /* of the next session */
	char target[1024]; /* of the last */
	bool must_end, must_end_at_once, is_free;
};

struct sfs_forwards {
	struct sfs_tree *tree;
	int wake_fd;
	pthread_t thread;

	pthread_mutex_t lock; /* guards all below */
	pthread_cond_t is_empty;
	struct sfs_link running;
	uint32_t n_started;
	bool has_thread, is_stopped;
};

static bool is_running(const struct sfs_forward *f)
{
	return sfs_link_is_in(&f->link);
}

static void wake(struct sfs_forwards *all)
{
	eventfd_write(all->wake_fd, 1);
}

/* ---- what a child says ---- */

static uint32_t state_of(const struct sfs_json *json)
{
	static const struct {
		const char *name;
		uint32_t state;
	} states[] = {{"connecting", SHUFFLEFS_CONNECTING},
		      {"streaming", SHUFFLEFS_STREAMING},
		      {"draining", SHUFFLEFS_DRAINING},
		      {"done", SHUFFLEFS_DONE},
		      {"failed", SHUFFLEFS_FAILED}};
	size_t i;

	for (i = 0; i < SFS_COUNT(states); i++)
		if (sfs_json_is(json, states[i].name))
			return states[i].state;
	return SHUFFLEFS_NONE;
}

/* A time in seconds. */
static uint64_t read_ns(const struct sfs_json *json)
{
	double s = strtod(json->text.s, NULL);

	return s > 0 && s < 1e9 ? (uint64_t)(s * 1e9) : 0;
}

static void read_number(struct sfs_json *json, const char *name,
			struct shufflefs_status *st)
{
	const struct {
		const char *name;
		uint64_t *value;
	} counts[] = {{"batches", &st->ret_batches},
		      {"samples", &st->ret_samples},
		      {"skipped", &st->ret_skipped},
		      {"bytes", &st->ret_bytes},
		      {"next", &st->ret_next}};
	size_t i;

	for (i = 0; i < SFS_COUNT(counts); i++)
		if (strcmp(name, counts[i].name) == 0)
			sfs_json_uint(json, counts[i].value);
	if (strcmp(name, "seconds") == 0)
		st->ret_ns = read_ns(json);
}

static void read_wait(struct sfs_json *json, const char *name,
		      struct shufflefs_status *st)
{
	if (strcmp(name, "reader") == 0)
		st->ret_reader_ns = read_ns(json);
	else if (strcmp(name, "decoder") == 0)
		st->ret_decoder_ns = read_ns(json);
	else if (strcmp(name, "transport") == 0 || strcmp(name, "trainers") == 0)
		st->ret_target_ns = read_ns(json);
}

static void read_string(struct sfs_json *json, const char *name,
			struct shufflefs_status *st)
{
	const char *text = json->text.s ? json->text.s : "";

	if (strcmp(name, "state") == 0)
		st->ret_state = state_of(json);
	else if (strcmp(name, "error") == 0)
		snprintf(st->ret_error, sizeof st->ret_error, "%s", text);
}

/* The members of an object in a report: its "waits", or those of its "transport" or
 * "memory", where the placement is. */
static void read_object(struct sfs_json *json, const char *object,
			struct shufflefs_status *st)
{
	enum sfs_json_token token;
	char name[32];

	while ((token = sfs_json_next(json)) == SFS_JSON_KEY) {
		snprintf(name, sizeof name, "%s", json->text.s);
		token = sfs_json_next(json);
		if (token == SFS_JSON_NUMBER && strcmp(object, "waits") == 0)
			read_wait(json, name, st);
		else if (token == SFS_JSON_STRING && strcmp(name, "placement") == 0)
			snprintf(st->ret_placement, sizeof st->ret_placement, "%s",
				 json->text.s ? json->text.s : "");
		if (token == SFS_JSON_OBJECT && strcmp(name, "memory") == 0)
			read_object(json, name, st);
		else
			sfs_json_skip(json, token);
	}
}

/* One member of a report; others than these may come. */
static void read_member(struct sfs_json *json, const char *name,
			struct shufflefs_status *st)
{
	enum sfs_json_token token = sfs_json_next(json);

	if (token == SFS_JSON_NUMBER)
		read_number(json, name, st);
	else if (token == SFS_JSON_STRING)
		read_string(json, name, st);
	if (token == SFS_JSON_OBJECT &&
	    (strcmp(name, "waits") == 0 || strcmp(name, "transport") == 0))
		read_object(json, name, st);
	else
		sfs_json_skip(json, token);
}

/* The rate since the report before the last second. */
static void rate(struct sfs_forward *f, struct shufflefs_status *st)
{
	uint64_t ns = st->ret_ns - f->rated_ns;

	if (st->ret_ns < f->rated_ns + RATE_NS || st->ret_bytes < f->rated_bytes)
		return;
	st->ret_rate =
		(uint64_t)((double)(st->ret_bytes - f->rated_bytes) * 1e9 / (double)ns);
	f->rated_ns = st->ret_ns;
	f->rated_bytes = st->ret_bytes;
}

/* A report: one JSON object.  A line that is none changes nothing. */
static void take_report(struct sfs_forward *f, const char *line, size_t n)
{
	struct shufflefs_status st;
	struct sfs_json json;
	enum sfs_json_token token;
	char name[32];

	pthread_mutex_lock(&f->all->lock);
	st = f->status;
	pthread_mutex_unlock(&f->all->lock);
	sfs_json_init(&json, line, n);
	token = sfs_json_next(&json);
	while (token == SFS_JSON_OBJECT || token == SFS_JSON_KEY) {
		token = sfs_json_next(&json);
		if (token != SFS_JSON_KEY)
			break;
		snprintf(name, sizeof name, "%s", json.text.s);
		read_member(&json, name, &st);
	}
	sfs_json_done(&json);
	if (token != SFS_JSON_OBJECT_END)
		return;
	rate(f, &st);
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
static void read_lines(struct sfs_forward *f, int fd, struct line *line,
		       void (*take)(struct sfs_forward *, const char *, size_t))
{
	char *begin, *end;
	ssize_t n;

	while ((n = read(fd, line->bytes + line->n, LINE_ROOM - line->n)) > 0) {
		line->n += (size_t)n;
		begin = line->bytes;
		while ((end = memchr(begin, '\n',
				     line->n - (size_t)(begin - line->bytes))) != NULL) {
			take(f, begin, (size_t)(end - begin));
			begin = end + 1;
		}
		line->n -= (size_t)(begin - line->bytes);
		memmove(line->bytes, begin, line->n);
		if (line->n == LINE_ROOM)
			line->n = 0;
	}
}

static void listen_to(struct sfs_forward *f)
{
	read_lines(f, f->sidecar.report_fd, &f->report, take_report);
	read_lines(f, f->sidecar.log_fd, &f->log, take_log);
}

/* ---- the end of a session ---- */

/* Why has it failed?  The feeder knows best, then the child. */
static void explain(const struct sfs_forward *f, struct shufflefs_status *st)
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
		explain(f, st);
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
	nfds_t n = 1;

	pthread_mutex_lock(&all->lock);
	for (link = all->running.next; link != &all->running; link = link->next)
		n += PER_SESSION;
	fds = sfs_calloc(n, sizeof *fds);
	n = 0;
	fds[n++] = (struct pollfd){.fd = all->wake_fd, .events = POLLIN};
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

static void *watch(void *arg)
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

/* ---- all sessions ---- */

struct sfs_forwards *sfs_forwards_new(struct sfs_tree *tree)
{
	struct sfs_forwards *all = sfs_calloc(1, sizeof *all);

	all->tree = tree;
	all->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->is_empty, NULL);
	sfs_list_init(&all->running);
	return all;
}

void sfs_forwards_stop(struct sfs_forwards *all)
{
	struct sfs_link *link;

	pthread_mutex_lock(&all->lock);
	all->is_stopped = true;
	for (link = all->running.next; link != &all->running; link = link->next)
		sfs_container(link, struct sfs_forward, link)->must_end = true;
	wake(all);
	while (!sfs_list_is_empty(&all->running))
		pthread_cond_wait(&all->is_empty, &all->lock);
	pthread_mutex_unlock(&all->lock);
	wake(all);
	if (all->has_thread)
		pthread_join(all->thread, NULL);
	all->has_thread = false;
}

void sfs_forwards_free(struct sfs_forwards *all)
{
	close(all->wake_fd);
	pthread_cond_destroy(&all->is_empty);
	pthread_mutex_destroy(&all->lock);
	free(all);
}

/* ---- one ---- */

struct sfs_forward *sfs_forward_new(struct sfs_forwards *all, uint64_t node)
{
	struct sfs_forward *f = sfs_calloc(1, sizeof *f);

	f->all = all;
	f->node = node;
	sfs_list_init(&f->waiters);
	return f;
}

void sfs_forward_free(struct sfs_forward *f)
{
	bool is_now;

	if (!f)
		return;
	pthread_mutex_lock(&f->all->lock);
	is_now = !is_running(f);
	f->is_free = f->must_end = true;
	if (!is_now)
		wake(f->all);
	pthread_mutex_unlock(&f->all->lock);
	if (is_now)
		free(f);
}

/* Before a session: as if there had been none. */
static void forget_last(struct sfs_forward *f)
{
	f->report.n = f->log.n = 0;
	f->last_said.text[0] = 0;
	f->is_reaped = f->was_asked = f->must_end = f->must_end_at_once = false;
	f->exit = 0;
	f->kill_ns = f->rated_ns = f->rated_bytes = 0;
	f->said_state = SHUFFLEFS_NONE;
	f->status = (struct shufflefs_status){.ret_state = SHUFFLEFS_NONE};
}

/* From the first session on, slabs are shared, if the system lets us. */
static bool can_share(const struct sfs_forwards *all)
{
	uint64_t n_bytes;
	int fd, ret;

	ret = sfs_slabs_share(sfs_tree_engine(all->tree)->runtime.slabs, &fd, &n_bytes);
	if (ret == 0)
		close(fd);
	return ret == 0;
}

static void start_feeder(struct sfs_forward *f, uint64_t node, bool with_pieces)
{
	struct sfs_tree *tree = f->all->tree;

	f->feeder.tree = tree;
	f->feeder.node = node;
	f->feeder.path = f->path;
	f->feeder.fd = f->sidecar.stream_fd;
	f->feeder.wake_fd = f->all->wake_fd;
	f->feeder.with_pieces = with_pieces;
	f->feeder.timeout_ms = sfs_tree_engine(tree)->options->read_timeout_ms;
	sfs_feeder_start(&f->feeder);
}

/* Start child, feeder and, with the first, the thread; the lock is held.  *path is taken.
 */
static int start(struct sfs_forward *f, const struct shufflefs_forward *wanted,
		 uint64_t node, char **path, bool with_pieces, struct sfs_error *err)
{
	struct sfs_forwards *all = f->all;
	int ret;

	if (all->is_stopped)
		return sfs_error_set(err, -ESHUTDOWN, "the mount goes away");
	if (is_running(f))
		return sfs_error_set(err, -EBUSY,
				     "this file is being forwarded: stop that first, or "
				     "open the file once more");
	ret = sfs_sidecar_start(wanted, *path, with_pieces, &f->sidecar, err);
	if (ret < 0)
		return ret;
	forget_last(f);
	f->path = steal(path);
	snprintf(f->target, sizeof f->target, "%s", wanted->target);
	f->status.ret_session = ++all->n_started;
	f->status.ret_state = SHUFFLEFS_CONNECTING;
	f->status.ret_pid = f->sidecar.pid;
	f->status.ret_next = wanted->first;
	start_feeder(f, node, with_pieces);
	sfs_list_push(&all->running, &f->link);
	if (!all->has_thread)
		all->thread = sfs_thread_start("sfs-forward", watch, all);
	all->has_thread = true;
	wake(all);
	return 0;
}

int sfs_forward_start(struct sfs_forward *f, struct shufflefs_forward *wanted,
		      struct sfs_error *err)
{
	struct sfs_forwards *all = f->all;
	struct sfs_epochs *epochs = sfs_tree_epochs(all->tree);
	struct sfs_strbuf path = {0};
	bool with_pieces = can_share(all);
	uint64_t node;
	int ret;

	pthread_mutex_lock(&all->lock);
	if (wanted->first == 0)
		wanted->first = f->first;
	pthread_mutex_unlock(&all->lock);
	ret = sfs_epochs_from(epochs, sfs_node_rest(f->node), wanted->first, &node);
	if (ret < 0)
		return sfs_error_set(err, ret,
				     "too many names were looked up in epochs/: unmount "
				     "and mount again");
	sfs_epochs_print_path(epochs, node, &path);
	pthread_mutex_lock(&all->lock);
	ret = start(f, wanted, sfs_node_make(SFS_NODE_UNDER_EPOCHS, node), &path.s,
		    with_pieces, err);
	wanted->ret_session = ret == 0 ? f->status.ret_session : 0;
	pthread_mutex_unlock(&all->lock);
	free(path.s);
	return ret;
}

void sfs_forward_status(struct sfs_forward *f, struct shufflefs_status *ret)
{
	pthread_mutex_lock(&f->all->lock);
	*ret = f->status;
	pthread_mutex_unlock(&f->all->lock);
}

int sfs_forward_wait(struct sfs_forward *f, struct sfs_waiter *waiter,
		     uint32_t *ret_state)
{
	int ret = 0;

	pthread_mutex_lock(&f->all->lock);
	if (is_running(f)) {
		waiter->lock = &f->all->lock;
		sfs_list_push(&f->waiters, &waiter->link);
		ret = -EINPROGRESS;
	} else if (f->status.ret_state == SHUFFLEFS_NONE) {
		ret = -ENODATA;
	} else {
		*ret_state = f->status.ret_state;
	}
	pthread_mutex_unlock(&f->all->lock);
	return ret;
}

int sfs_forward_seek(struct sfs_forward *f, uint64_t first)
{
	int ret = -EBUSY;

	pthread_mutex_lock(&f->all->lock);
	if (!is_running(f)) {
		f->first = first;
		ret = 0;
	}
	pthread_mutex_unlock(&f->all->lock);
	return ret;
}

void sfs_forward_end(struct sfs_forward *f, bool at_once)
{
	pthread_mutex_lock(&f->all->lock);
	if (is_running(f)) {
		f->must_end = true;
		f->must_end_at_once |= at_once;
		wake(f->all);
	}
	pthread_mutex_unlock(&f->all->lock);
}

int sfs_forward_ring(struct sfs_forward *f, char *ret, size_t room)
{
	int err = -ENODATA;
	size_t n, skip;

	pthread_mutex_lock(&f->all->lock);
	n = strcspn(f->target, "?"); /* (?memory= may follow the path) */
	skip = strcspn(f->target, ":") + 1;
	if ((strncmp(f->target, "local:", skip) == 0 ||
	     sfs_sidecar_gives_samples(f->target)) &&
	    n >= skip && n - skip < room) {
		snprintf(ret, room, "%.*s", (int)(n - skip), f->target + skip);
		err = 0;
	}
	pthread_mutex_unlock(&f->all->lock);
	return err;
}
