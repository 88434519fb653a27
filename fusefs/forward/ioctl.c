/* SPDX-License-Identifier: MIT */
/* How this works: a table of commands.  Size, flags and texts are checked here; then each
 * command is a call of forward.h. */
#include "forward/ioctl.h"

#include "forward/forward.h"
#include "forward/sidecar.h"
#include "forward/target.h"

#include "base/alloc.h"
#include "base/error.h"
#include "options/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BATCH_MAX (1U << 20)
#define MILLION	  1000000

struct call {
	struct sfs_forward *forward;
	uid_t caller, owner;
};

static int do_version(const struct call *call, union sfs_ioctl_argument *arg)
{
	arg->version.ret_abi = SHUFFLEFS_IOCTL_ABI;
	arg->version.ret_commands = (1U << (_IOC_NR(SHUFFLEFS_RING) + 1)) - 1;
	if (!SFS_HAS_SIDECAR)
		arg->version.ret_commands &= ~(1U << _IOC_NR(SHUFFLEFS_FORWARD));
	snprintf(arg->version.ret_text, sizeof arg->version.ret_text, "%s", VERSION);
	return 0;
}

static bool is_text(const char *s, size_t room)
{
	return *s && memchr(s, 0, room) != NULL;
}

static int check_batches(const struct shufflefs_forward *f, struct sfs_error *err)
{
	if (!is_text(f->fields, sizeof f->fields))
		return sfs_error_set(err, -EINVAL, "fields is empty");
	if (f->batch < 1 || f->batch > BATCH_MAX)
		return sfs_error_set(err, -EINVAL,
				     "batch is %u; it must be from 1 to %u",
				     f->batch, BATCH_MAX);
	return 0;
}

/* What says how batches are made is left out. */
static int check_samples(const struct shufflefs_forward *f, struct sfs_error *err)
{
	if (f->fields[0])
		return sfs_error_set(err, -EINVAL,
				     "samples: gives samples as they are, so fields "
				     "must be empty");
	if (f->batch || f->workers || f->slots || f->seed || f->flags)
		return sfs_error_set(err, -EINVAL,
				     "samples: makes no batches, so batch, workers, "
				     "slots, seed and flags must be 0");
	return 0;
}

/* The mount's working directory is not the caller's. */
static int check_secret(const struct shufflefs_forward *f, struct sfs_error *err)
{
	if (!f->secret_file[0] || (f->secret_file[0] == '/' &&
				   is_text(f->secret_file, sizeof f->secret_file)))
		return 0;
	return sfs_error_set(err, -EINVAL, "secret_file is not an absolute path");
}

static int check_forward(const struct shufflefs_forward *f, struct sfs_error *err)
{
	int ret = check_secret(f, err);

	if (ret < 0)
		return ret;
	if (!is_text(f->target, sizeof f->target))
		return sfs_error_set(err, -EINVAL, "target is empty");
	ret = sfs_target_check(f->target, err);
	if (ret < 0)
		return ret;
	if (sfs_sidecar_gives_samples(f->target))
		ret = check_samples(f, err);
	else
		ret = check_batches(f, err);
	if (ret < 0)
		return ret;
	if (f->max_skip > MILLION)
		return sfs_error_set(err, -EINVAL,
				     "max_skip is %u; it must be at most %d, which is "
				     "all samples",
				     f->max_skip, MILLION);
	if (f->unused)
		return sfs_error_set(err, -EINVAL, "unused is %u; it must be 0", f->unused);
	return sfs_sidecar_options_check_choices(f, err);
}

/* It starts a process of the mount's owner, which connects to where the caller says. */
static int do_forward(const struct call *call, union sfs_ioctl_argument *arg)
{
	struct sfs_error err = {""};
	int ret;

	if (!SFS_HAS_SIDECAR)
		ret = sfs_error_set(&err, -EOPNOTSUPP, SFS_NO_SIDECAR);
	else if (call->caller != 0 && call->caller != call->owner)
		ret = sfs_error_set(
			&err, -EPERM,
			"only root and the user who mounted it may do this");
	else
		ret = check_forward(&arg->forward, &err);
	if (ret == 0)
		ret = sfs_forward_start(call->forward, &arg->forward, &err);
	snprintf(arg->forward.ret_error, sizeof arg->forward.ret_error, "%.*s",
		 (int)sizeof arg->forward.ret_error - 1, err.text);
	return ret;
}

static int do_status(const struct call *call, union sfs_ioctl_argument *arg)
{
	sfs_forward_status(call->forward, &arg->status);
	arg->status.size = sizeof arg->status;
	return 0;
}

static int do_seek(const struct call *call, union sfs_ioctl_argument *arg)
{
	return sfs_forward_seek(call->forward, arg->seek.first);
}

static int do_stop(const struct call *call, union sfs_ioctl_argument *arg)
{
	sfs_forward_end(call->forward, arg->stop.flags & SHUFFLEFS_STOP_KILL);
	return 0;
}

static int do_ring(const struct call *call, union sfs_ioctl_argument *arg)
{
	return sfs_forward_ring(call->forward, arg->ring.ret_path,
				sizeof arg->ring.ret_path);
}

static const struct {
	unsigned cmd;
	uint32_t flags; /* that are known */
	int (*run)(const struct call *call,
		   union sfs_ioctl_argument *arg); /* NULL: WAIT */
} commands[] = {
	{SHUFFLEFS_VERSION, 0, do_version},
	{SHUFFLEFS_FORWARD, SHUFFLEFS_DROP_LAST | SHUFFLEFS_CRC, do_forward},
	{SHUFFLEFS_STATUS, 0, do_status},
	{SHUFFLEFS_WAIT, 0, NULL},
	{SHUFFLEFS_SEEK, 0, do_seek},
	{SHUFFLEFS_STOP, SHUFFLEFS_STOP_KILL, do_stop},
	{SHUFFLEFS_RING, 0, do_ring},
};

/* ---- calls ---- */

/* The number in `commands`; -ENOTTY: no command of ours; -EINVAL: of another size. */
static int find(unsigned cmd)
{
	unsigned nr = _IOC_NR(cmd);

	if (_IOC_TYPE(cmd) != SHUFFLEFS_IOCTL_TYPE || nr >= SFS_COUNT(commands))
		return -ENOTTY;
	return cmd == commands[nr].cmd ? (int)nr : -EINVAL;
}

int sfs_ioctl_run(struct sfs_forward *forward, const struct sfs_ioctl *ioctl,
		  union sfs_ioctl_argument *arg, size_t *ret_n)
{
	const struct call call = {forward, ioctl->caller, ioctl->owner};
	size_t n = _IOC_SIZE(ioctl->cmd);
	int i = find(ioctl->cmd);

	*ret_n = 0;
	if (i >= 0 && ioctl->n != n)
		i = -EINVAL;
	if (i < 0)
		return i;
	*arg = (union sfs_ioctl_argument){.head = {0}};
	memcpy(arg, ioctl->bytes, n);
	if (arg->head.size != n || (arg->head.flags & ~commands[i].flags))
		return -EINVAL;
	if (!commands[i].run)
		return -EINPROGRESS;
	*ret_n = n;
	return commands[i].run(&call, arg);
}
