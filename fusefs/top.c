/* SPDX-License-Identifier: MIT */
/* How this works: a screen is drawn as text (top-report.h) and written in one piece.  A
 * terminal shows it on its alternate screen, so that its contents are restored at the
 * end.  Signals are blocked except during the wait between two screens, so that none is
 * missed and none interrupts a write. */
#include "top.h"

#include "peek.h"

#include "base/alloc.h"
#include "cli/top-report.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ANSWER_MS 10000		     /* until a mount counts as hanging */
#define FIRST_MS  500		     /* until the first screen: rates need two reports */
#define RATE_MS \
	10000	  /* rates are averages of this time, or of that between two reports */
#define N_PAST 32 /* reports that are kept for that */

static volatile sig_atomic_t is_ended, is_stopped;
static int write_err; /* of standard output: a negative errno */

struct top {
	const char *where;
	const struct sfs_top_options *options;
	bool has_keys;	       /* standard input is the terminal */
	struct termios before; /* if has_keys */
	bool is_on;	       /* the alternate screen, and keys without a newline */
	sigset_t open;	       /* what is not blocked while we wait */
};

/* ---- the mount ---- */

static int no_mount(const char *where, const char *path, int err_number,
		    struct sfs_error *err)
{
	if (err_number == ENOENT || err_number == ENOTDIR)
		return sfs_error_set(
			err, -err_number,
			"%s is not a shufflefs mount: it has no " SFS_PEEK_FILE,
			where);
	if (err_number == EINVAL || err_number == EFBIG)
		return sfs_error_set(err, -err_number,
				     "%s was not written by shufflefs: %s", path,
				     err_number == EFBIG ? "it is too large"
							 : "it is not a regular file");
	if (err_number == ETIMEDOUT)
		return sfs_error_set(err, -err_number,
				     "%s: the mount has not responded for %d s", where,
				     ANSWER_MS / 1000);
	return sfs_error_set(err, -err_number, "%s: %s", path, strerror(err_number));
}

/* ---- the terminal ---- */

static void on_end(int sig)
{
	(void)sig;
	is_ended = 1;
}

static void on_stop(int sig)
{
	(void)sig;
	is_stopped = 1;
}

static void on_size(int sig)
{
	(void)sig; /* it ends the wait */
}

static void handle_signals(struct top *top)
{
	static const struct {
		int sig;
		void (*handler)(int sig);
	} all[] = {{SIGINT, on_end},
		   {SIGTERM, on_end},
		   {SIGHUP, on_end},
		   {SIGTSTP, on_stop},
		   {SIGWINCH, on_size}};
	struct sigaction action = {0};
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < SFS_COUNT(all); i++) {
		action.sa_handler = all[i].handler;
		sigaction(all[i].sig, &action, NULL);
		sigaddset(&set, all[i].sig);
	}
	sigprocmask(SIG_BLOCK, &set, &top->open);
	for (i = 0; i < SFS_COUNT(all); i++)
		sigdelset(&top->open, all[i].sig);
}

static void put(const char *s, size_t n)
{
	ssize_t written;

	for (; n > 0; s += written, n -= (size_t)written) {
		written = write(STDOUT_FILENO, s, n);
		if (written < 0 && errno != EINTR) {
			write_err = -errno;
			is_ended = 1;
			return;
		}
		if (written < 0)
			written = 0;
	}
}

static void put_words(const char *words)
{
	put(words, strlen(words));
}

/* The alternate screen, no cursor, keys without a newline. */
static void enter(struct top *top)
{
	struct termios keys = top->before;

	keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	keys.c_cc[VMIN] = 0;
	keys.c_cc[VTIME] = 0;
	if (top->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &keys);
	put_words("\033[?1049h\033[?25l");
	top->is_on = true;
}

static void leave(struct top *top)
{
	top->is_on = false;
	put_words("\033[?25h\033[?1049l");
	if (top->has_keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &top->before);
}

/* As ^Z does with any program; returns when it is continued. */
static void stop(struct top *top)
{
	leave(top);
	is_stopped = 0;
	kill(getpid(), SIGSTOP);
	enter(top);
}

static unsigned from_environment(const char *name)
{
	const char *s = getenv(name);
	unsigned long n = s ? strtoul(s, NULL, 10) : 0;

	return n > 0 && n < 10000 ? (unsigned)n : 0;
}

/* 0: no bound. */
static void size_of_terminal(unsigned *ret_columns, unsigned *ret_lines)
{
	struct winsize size = {0};

	*ret_columns = from_environment("COLUMNS");
	*ret_lines = from_environment("LINES");
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return;
	if (*ret_columns == 0)
		*ret_columns = size.ws_col;
	if (*ret_lines == 0)
		*ret_lines = size.ws_row;
}

/* ---- a look ---- */

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void take_keys(void)
{
	char keys[64];
	ssize_t n = read(STDIN_FILENO, keys, sizeof keys), i;

	for (i = 0; i < n; i++)
		if (keys[i] == 'q' || keys[i] == 'Q')
			is_ended = 1;
}

/* Wait until `end_ms` or a key (0), until the peek has something (1), or until the user
 * ends it or a signal arrives (-EINTR). */
static int wait_until(struct top *top, uint64_t end_ms, const struct sfs_peek *peek)
{
	struct pollfd p[] = {{.fd = peek ? peek->fd : -1, .events = POLLIN},
			     {.fd = top->is_on && top->has_keys ? STDIN_FILENO : -1,
			      .events = POLLIN}};
	uint64_t at = now_ms(), ms = end_ms > at ? end_ms - at : 0;
	const struct timespec left = {.tv_sec = (time_t)(ms / 1000),
				      .tv_nsec = (long)(ms % 1000 * 1000000)};
	int n = ppoll(p, SFS_COUNT(p), &left, &top->open);

	if (n > 0 && p[1].revents & POLLIN)
		take_keys();
	else if (n > 0 && p[1].revents)
		is_ended = 1; /* the terminal has gone */
	if (n < 0 && is_stopped)
		stop(top);
	return is_ended || n < 0 ? -EINTR : n > 0 && p[0].revents;
}

/* Gives up on a mount that hangs. */
static int wait_for_stats(struct top *top, struct sfs_peek *peek)
{
	uint64_t end = now_ms() + ANSWER_MS;
	int status = -EAGAIN;

	while (status == -EAGAIN) {
		if (now_ms() >= end)
			return -ETIMEDOUT;
		if (wait_until(top, end, peek) == 1)
			status = sfs_peek_take(peek);
		if (is_ended)
			return -EINTR;
	}
	return status;
}

static int parse(const char *path, const struct sfs_strbuf *text,
		 struct sfs_top_report *ret, struct sfs_error *err)
{
	struct sfs_error why = {0};
	int status = sfs_top_report_read(text->s ? text->s : "", text->n, ret, &why);

	if (status < 0)
		sfs_error_set(err, status, "%s was not written by shufflefs: %s", path,
			      why.text);
	return status;
}

/* -EINTR without an error: the user has ended it. */
static int look(struct top *top, struct sfs_top_report *ret, struct sfs_error *err)
{
	sfs_autofree char *path = sfs_asprintf("%s/" SFS_PEEK_FILE, top->where);
	struct sfs_peek peek;
	int status;

	status = sfs_peek_start(&peek, top->where);
	if (status == 0)
		status = wait_for_stats(top, &peek);
	if (status == 0)
		status = parse(path, &peek.text, ret, err);
	else if (status != -EINTR)
		status = no_mount(top->where, path, -status, err);
	sfs_peek_end(&peek);
	return status;
}

/* ---- past reports ---- */

/* The last reports, newest first. */
struct past {
	struct sfs_top_report looks[N_PAST];
	size_t n;
};

static int look_again(struct top *top, struct past *past, struct sfs_error *err)
{
	struct sfs_top_report now;
	int status = look(top, &now, err);

	if (status < 0)
		return status;
	if (past->n == N_PAST)
		sfs_top_report_done(&past->looks[--past->n]);
	memmove(past->looks + 1, past->looks, past->n * sizeof now);
	past->looks[0] = now;
	past->n++;
	return 0;
}

static void forget(struct past *past)
{
	while (past->n > 0)
		sfs_top_report_done(&past->looks[--past->n]);
}

/* The report that rates are computed from; NULL: none yet. */
static const struct sfs_top_report *before(const struct past *past)
{
	const struct sfs_top_report *looks = past->looks;
	size_t i = past->n > 1;

	while (i > 0 && i + 1 < past->n &&
	       looks[0].uptime_ms - looks[i + 1].uptime_ms <= RATE_MS)
		i++;
	return i > 0 ? &looks[i] : NULL;
}

/* ---- screens ---- */

/* Each line is cleared to its end, and the rest of the screen. */
static void put_on_screen(const struct sfs_strbuf *text, unsigned lines)
{
	struct sfs_strbuf out = {0};
	const char *p = text->s, *end;

	sfs_strbuf_puts(&out, "\033[H");
	for (; *p && lines != 1; p = end + 1, lines -= lines > 0) {
		end = strchr(p, '\n');
		sfs_strbuf_add(&out, p, (size_t)(end - p));
		sfs_strbuf_puts(&out, "\033[K\n");
	}
	sfs_strbuf_puts(&out, "\033[J");
	put(out.s, out.n);
	sfs_strbuf_done(&out);
}

static void show(const struct top *top, const struct past *past)
{
	struct sfs_strbuf text = {0};
	unsigned columns, lines;

	size_of_terminal(&columns, &lines);
	sfs_top_report_draw(&past->looks[0], before(past), top->where, columns,
			    top->options->is_batch || lines == 0 ? 0 : lines - 1, &text);
	if (top->options->is_batch)
		put(text.s, text.n);
	else
		put_on_screen(&text, lines);
	sfs_strbuf_done(&text);
}

/* Wait, or until the user ends it.  If the size of the window changes, draw the last
 * report again. */
static void wait_for(struct top *top, unsigned ms, const struct past *past)
{
	uint64_t end = now_ms() + ms;

	while (!is_ended && now_ms() < end)
		if (wait_until(top, end, NULL) < 0 && past->n > 1 && !is_ended &&
		    !top->options->is_batch)
			show(top, past);
}

static int watch(struct top *top, struct past *past, struct sfs_error *err)
{
	const struct sfs_top_options *o = top->options;
	unsigned first = o->delay_ms < FIRST_MS ? o->delay_ms : FIRST_MS;
	uint32_t n;
	int status;

	for (n = 0;; n++) {
		wait_for(top, n == 0 ? first : o->delay_ms, past);
		if (is_ended)
			return 0;
		status = look_again(top, past, err);
		if (status < 0)
			return is_ended ? 0 : status;
		if (o->is_batch && n > 0)
			put_words("\n");
		show(top, past);
		if (n + 1 == o->count)
			return 0;
	}
}

int sfs_top(const char *where, const struct sfs_top_options *options,
	    struct sfs_error *err)
{
	struct top top = {.where = where, .options = options};
	struct past past = {0};
	int status;

	top.has_keys = !options->is_batch && tcgetattr(STDIN_FILENO, &top.before) == 0;
	if (options->is_batch)
		sigprocmask(SIG_BLOCK, NULL, &top.open);
	else
		handle_signals(&top);
	status = look_again(&top, &past, err);
	if (status < 0)
		return is_ended ? 0 : status;
	if (!options->is_batch)
		enter(&top);
	status = watch(&top, &past, err);
	if (!options->is_batch)
		leave(&top);
	forget(&past);
	if (status == 0 && write_err < 0)
		status = sfs_error_set(err, write_err, "cannot write: %s",
				       strerror(-write_err));
	return status;
}
