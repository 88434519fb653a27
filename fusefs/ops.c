/* SPDX-License-Identifier: MIT */
/* How this works: an operation becomes a pending request.  Each attempt asks the tree and
 * replies, or waits and is made again.  Nothing in a mount changes, so the kernel may
 * cache names, attributes, folders and pages forever. */
#include "ops.h"

#include "ioctl.h"
#include "mountpoint.h"

#include "base/alloc.h"
#include "engine/engine.h"
#include "forward/forward.h"
#include "tree/file.h"
#include "tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOREVER	    (365.0 * 86400)
#define BLOCK_BYTES (1 << 20)		 /* what Python and cat read at a time */
#define KEPT_BYTES  ((uint64_t)64 << 20) /* pages that stay behind a reader */

/* Cookies of "." and ".."; those of the tree follow. */
enum { DOT = 1, DOTDOT = 2, COOKIES = 3 };

struct handle {
	struct sfs_file *file;
	bool is_direct;
	struct sfs_forward *forward; /* from the first ioctl of a stream on */
	struct sfs_pages_reader pages;
	struct sfs_link link;
};

static struct sfs_ops *ops_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static struct sfs_pending *new_pending(fuse_req_t req, uint64_t node,
				       int (*attempt)(struct sfs_pending *))
{
	struct sfs_pending *pending = sfs_pending_new(&ops_of(req)->pending_table, req);

	pending->node = node;
	pending->attempt = attempt;
	return pending;
}

/* ---- attributes ---- */

static void fill_stat(const struct sfs_ops *ops, const struct sfs_attr *attr,
		      struct stat *st)
{
	const struct timespec time = {.tv_sec = attr->mtime, .tv_nsec = attr->mtime_ns};

	*st = (struct stat){
		.st_ino = attr->node,
		.st_mode =
			(attr->is_folder ? S_IFDIR | 0555 : S_IFREG | 0444) & ~ops->umask,
		.st_nlink = 1, /* of a folder: how many there are in it is not known */
		.st_uid = ops->uid,
		.st_gid = ops->gid,
		.st_size = (off_t)attr->size,
		.st_blksize = BLOCK_BYTES,
		.st_blocks = (blkcnt_t)((attr->size + 511) / 512),
		.st_mtim = time,
		.st_ctim = time,
		.st_atim = time,
	};
}

/* How long may the kernel keep attributes? */
static double kept_s(const struct sfs_attr *attr)
{
	return attr->is_live || attr->is_unsure ? 0 : FOREVER;
}

static struct fuse_entry_param entry_of(const struct sfs_ops *ops,
					const struct sfs_attr *attr)
{
	struct fuse_entry_param e = {.ino = attr->node,
				     .attr_timeout = kept_s(attr),
				     .entry_timeout = FOREVER};

	fill_stat(ops, attr, &e.attr);
	return e;
}

static int try_getattr(struct sfs_pending *pending)
{
	struct sfs_ops *ops = ops_of(pending->req);
	struct sfs_attr attr;
	struct stat st;
	int ret;

	ret = sfs_tree_attr(ops->tree, pending->node, &pending->waiter, &attr);
	if (ret < 0)
		return ret;
	fill_stat(ops, &attr, &st);
	fuse_req_interrupt_func(pending->req, NULL, NULL);
	fuse_reply_attr(pending->req, &st, kept_s(&attr));
	return 0;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	/* (If its size was guessed, the kernel asks at the end of the file.  By now it may
	 * be that of another guess, and the end of one that was opened since then.) */
	if (fi && handle_of(fi) && sfs_file_is_wrong(handle_of(fi)->file)) {
		fuse_reply_err(req, EIO);
		return;
	}
	sfs_pending_run(new_pending(req, ino, try_getattr));
}

static int try_lookup(struct sfs_pending *pending)
{
	struct sfs_ops *ops = ops_of(pending->req);
	struct fuse_entry_param none = {.entry_timeout = FOREVER}, e;
	struct sfs_attr attr;
	uint64_t node;
	int ret;

	ret = sfs_tree_lookup(ops->tree, pending->node, pending->name, &pending->waiter,
			      &node);
	if (ret == -ENOENT) {
		/* Cached forever: a name that is not there never appears. */
		fuse_req_interrupt_func(pending->req, NULL, NULL);
		fuse_reply_entry(pending->req, &none);
		return 0;
	}
	if (ret == 0)
		ret = sfs_tree_attr(ops->tree, node, &pending->waiter, &attr);
	if (ret < 0)
		return ret == -ENODEV ? -ENOENT : ret;
	fuse_req_interrupt_func(pending->req, NULL, NULL);
	e = entry_of(ops, &attr);
	fuse_reply_entry(pending->req, &e);
	return 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct sfs_pending *pending = new_pending(req, parent, try_lookup);

	pending->name = sfs_strdup(name);
	sfs_pending_run(pending);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	fuse_reply_none(req); /* nodes have no state */
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	fuse_reply_none(req);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct sfs_engine *engine = sfs_tree_engine(ops_of(req)->tree);
	struct statvfs st = {.f_bsize = 4096,
			     .f_frsize = 4096,
			     .f_namemax = 255,
			     .f_flag = ST_RDONLY};
	uint64_t bytes = 0;
	uint32_t i;

	if (sfs_sizes_known(engine->sizes) == engine->runtime.shards.n)
		for (i = 0; i < engine->runtime.shards.n; i++)
			bytes += engine->runtime.shards.shards[i].object->size;
	st.f_blocks = (bytes + 4095) / 4096;
	fuse_reply_statfs(req, &st);
}

/* ---- folders ---- */

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	bool is_growing = sfs_tree_is_growing(ops_of(req)->tree, ino);

	fi->cache_readdir = !is_growing;
	fi->keep_cache = !is_growing;
	fuse_reply_open(req, fi);
}

struct listing_reply {
	struct sfs_pending *pending;
	char *buf;
	size_t n;
};

/* Append an entry.  false: the buffer is full. */
static bool add_entry(struct listing_reply *reply, const char *name, uint64_t node,
		      bool is_folder, uint64_t cookie)
{
	struct sfs_pending *pending = reply->pending;
	struct sfs_ops *ops = ops_of(pending->req);
	struct fuse_entry_param e = {.attr_timeout = FOREVER, .entry_timeout = FOREVER};
	struct sfs_attr attr;
	size_t n;

	e.attr.st_ino = node;
	e.attr.st_mode = is_folder ? S_IFDIR : S_IFREG;
	if (!pending->is_plus) {
		n = fuse_add_direntry(pending->req, reply->buf + reply->n,
				      pending->size - reply->n, name, &e.attr,
				      (off_t)cookie);
	} else {
		/* Attributes only if they are known without waiting; e.ino 0 says they
		 * are not.  The kernel does not count lookups of "." and "..". */
		if (cookie > DOTDOT && sfs_tree_attr(ops->tree, node, NULL, &attr) == 0)
			e = entry_of(ops, &attr);
		n = fuse_add_direntry_plus(pending->req, reply->buf + reply->n,
					   pending->size - reply->n, name, &e,
					   (off_t)cookie);
	}
	if (n > pending->size - reply->n)
		return false;
	reply->n += n;
	return true;
}

static bool add_tree_entry(void *ctx, const char *name, uint64_t node, bool is_folder,
			   uint64_t cookie)
{
	return add_entry(ctx, name, node, is_folder, cookie + COOKIES);
}

static int try_readdir(struct sfs_pending *pending)
{
	struct sfs_tree *tree = ops_of(pending->req)->tree;
	sfs_autofree char *buf = sfs_malloc(pending->size);
	struct listing_reply reply = {.pending = pending, .buf = buf};
	uint64_t cookie = pending->cookie > COOKIES ? pending->cookie - COOKIES : 0;
	bool has_room = true;
	int ret = 0;

	if (pending->cookie < DOT)
		has_room = add_entry(&reply, ".", pending->node, true, DOT);
	if (pending->cookie < DOTDOT && has_room)
		has_room = add_entry(&reply, "..", sfs_tree_parent(tree, pending->node),
				     true, DOTDOT);
	if (has_room)
		ret = sfs_tree_list(tree, pending->node, cookie, &pending->waiter,
				    add_tree_entry, &reply);
	if (ret < 0 && (ret == -EINPROGRESS || reply.n == 0))
		return ret;
	fuse_req_interrupt_func(pending->req, NULL, NULL);
	fuse_reply_buf(pending->req, buf, reply.n);
	return 0;
}

static void read_folder(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			bool is_plus)
{
	struct sfs_pending *pending = new_pending(req, ino, try_readdir);

	pending->size = size;
	pending->cookie = (uint64_t)off;
	pending->is_plus = is_plus;
	pending->is_list = true;
	sfs_pending_run(pending);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	read_folder(req, ino, size, off, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			   struct fuse_file_info *fi)
{
	read_folder(req, ino, size, off, true);
}

/* ---- files ---- */

static void close_handle(struct sfs_ops *ops, struct handle *handle)
{
	sfs_pages_close(&ops->pages, &handle->pages);
	sfs_forward_free(handle->forward);
	sfs_file_close(handle->file);
	free(handle);
}

static int try_open(struct sfs_pending *pending)
{
	struct sfs_ops *ops = ops_of(pending->req);
	struct fuse_file_info *fi = &pending->fi;
	struct sfs_file *file;
	bool is_live = sfs_tree_is_live(pending->node);
	struct handle *handle;
	int ret;

	ret = sfs_file_open(ops->tree, pending->node, &pending->waiter, &file);
	if (ret < 0)
		return ret;
	handle = sfs_calloc(1, sizeof *handle);
	handle->file = file;
	pthread_mutex_lock(&ops->lock);
	sfs_list_push(&ops->handles, &handle->link);
	pthread_mutex_unlock(&ops->lock);

	fi->fh = (uintptr_t)handle;
	/* Without direct_io, the kernel sends no INTERRUPT for a waiting O_DIRECT read,
	 * and its reader could not be killed. */
	fi->direct_io = (fi->flags & O_DIRECT) || is_live ||
			(ops->direct_io && sfs_file_is_stream(file));
	handle->is_direct = fi->direct_io;
	if (sfs_file_is_stream(file) && !fi->direct_io)
		sfs_pages_open(&ops->pages, &handle->pages, pending->node);
	/* Files never change.  And to drop pages, a direct open would wait for those that
	 * a waiting read has locked; not even SIGKILL ends that.  A live file's reads never
	 * wait; it has pages from sendfile() and mmap().  A stale file's do, but it is a
	 * rare one. */
	fi->keep_cache = !is_live && !sfs_file_is_stale(file);
	fi->noflush = 1;
	fuse_req_interrupt_func(pending->req, NULL, NULL);
	/* -ENOENT: the opener was interrupted, and there will be no release. */
	if (fuse_reply_open(pending->req, fi) == -ENOENT) {
		pthread_mutex_lock(&ops->lock);
		sfs_link_remove(&handle->link);
		pthread_mutex_unlock(&ops->lock);
		close_handle(ops, handle);
	}
	return 0;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sfs_pending *pending;

	if ((fi->flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EROFS);
		return;
	}
	pending = new_pending(req, ino, try_open);
	pending->fi = *fi;
	sfs_pending_run(pending);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sfs_ops *ops = ops_of(req);
	struct handle *handle = handle_of(fi);

	pthread_mutex_lock(&ops->lock);
	sfs_link_remove(&handle->link);
	pthread_mutex_unlock(&ops->lock);
	close_handle(ops, handle);
	fuse_reply_err(req, 0);
}

static int try_read(struct sfs_pending *pending)
{
	pending->read.offset = pending->cookie;
	pending->read.n_bytes = pending->size;
	sfs_file_read(handle_of(&pending->fi)->file, &pending->read);
	return -EINPROGRESS;
}

/* A short reply before the end of the file would truncate the file in the page cache
 * forever.  sfs_file_read() never returns one. */
static void answer_read(struct sfs_pending *pending)
{
	if (pending->read.n_answered == 0)
		fuse_reply_buf(pending->req, NULL, 0);
	else
		fuse_reply_iov(pending->req, pending->read.iov, pending->read.n_iov);
	sfs_read_release(&pending->read);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct sfs_pending *pending = new_pending(req, ino, try_read);

	sfs_pages_read(&ops_of(req)->pages, &handle_of(fi)->pages, (uint64_t)off, size);
	pending->is_read = true;
	pending->is_cached = !handle_of(fi)->is_direct;
	pending->node = ino;
	pending->answer = answer_read;
	pending->fi = *fi;
	pending->cookie = (uint64_t)off;
	pending->size = size;
	sfs_pending_run(pending);
}

/* NULL: it is no stream.  (Most files that are open are never forwarded, and it is some
 * KiB.) */
static struct sfs_forward *forward_of(struct sfs_ops *ops, struct handle *handle,
				      uint64_t node)
{
	if (!sfs_file_is_stream(handle->file))
		return NULL;
	pthread_mutex_lock(&ops->lock);
	if (!handle->forward)
		handle->forward = sfs_forward_new(ops->forwards, node);
	pthread_mutex_unlock(&ops->lock);
	return handle->forward;
}

static void op_ioctl(fuse_req_t req, fuse_ino_t ino, unsigned cmd, void *arg,
		     struct fuse_file_info *fi, unsigned flags, const void *in,
		     size_t n_in, size_t n_out)
{
	struct sfs_ops *ops = ops_of(req);
	struct sfs_forward *forward = NULL;

	if (!(flags & FUSE_IOCTL_DIR))
		forward = forward_of(ops, handle_of(fi), ino);
	if (!forward)
		fuse_reply_err(req, ENOTTY);
	else
		sfs_ioctl_answer(&ops->pending_table, req, forward,
				 &(struct sfs_ioctl){cmd, in, n_in,
						     fuse_req_ctx(req)->uid, getuid()});
}

/* ---- extended attributes ---- */

/* `size` 0 asks how long the value is. */
static int reply_xattr(fuse_req_t req, const struct sfs_strbuf *text, size_t size)
{
	if (size > 0 && size < text->n)
		return -ERANGE;
	fuse_req_interrupt_func(req, NULL, NULL);
	if (size == 0)
		fuse_reply_xattr(req, text->n);
	else
		fuse_reply_buf(req, text->s, text->n);
	return 0;
}

static int try_getxattr(struct sfs_pending *pending)
{
	struct sfs_strbuf text = {0};
	int ret;

	ret = sfs_tree_xattr(ops_of(pending->req)->tree, pending->node, pending->name,
			     &pending->waiter, &text);
	if (ret == 0)
		ret = reply_xattr(pending->req, &text, pending->size);
	sfs_strbuf_done(&text);
	return ret;
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct sfs_pending *pending;

	/* Access lists, labels of SELinux: after this answer, `ls -l` asks for them no
	 * more.  After ENODATA it asks for those of each file. */
	if (strncmp(name, "user.", 5) != 0) {
		fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	pending = new_pending(req, ino, try_getxattr);
	pending->name = sfs_strdup(name);
	pending->size = size;
	sfs_pending_run(pending);
}

static int try_listxattr(struct sfs_pending *pending)
{
	struct sfs_strbuf text = {0};
	int ret;

	sfs_tree_list_xattrs(ops_of(pending->req)->tree, pending->node, &text);
	ret = reply_xattr(pending->req, &text, pending->size);
	sfs_strbuf_done(&text);
	return ret;
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct sfs_pending *pending = new_pending(req, ino, try_listxattr);

	pending->size = size;
	sfs_pending_run(pending);
}

/* ---- life ---- */

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	/* With the kernel's default of 12, a dozen waiting reads block
	 * all other files. */
	conn->max_background = 1024;
	conn->congestion_threshold = 1024;
	/* Attributes come with names, always: with AUTO the kernel asks for them with the
	 * first names only, and then for each file that `ls -l` shows. */
	conn->want &= ~(unsigned)FUSE_CAP_READDIRPLUS_AUTO;
	/* Replies are sent by writev(); splice() costs three times as much. */
	conn->want &= ~(unsigned)(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
				  FUSE_CAP_SPLICE_MOVE);
}

const struct fuse_lowlevel_ops *sfs_ops_table(void)
{
	static const struct fuse_lowlevel_ops table = {
		.init = op_init,
		.lookup = op_lookup,
		.forget = op_forget,
		.forget_multi = op_forget_multi,
		.getattr = op_getattr,
		.statfs = op_statfs,
		.opendir = op_opendir,
		.readdir = op_readdir,
		.readdirplus = op_readdirplus,
		.open = op_open,
		.release = op_release,
		.read = op_read,
		.ioctl = op_ioctl,
		.getxattr = op_getxattr,
		.listxattr = op_listxattr,
	};

	return &table;
}

/* See sfs_forwards_new(). */
static bool is_mounted(void *arg)
{
	struct sfs_ops *ops = arg;
	const char *where = sfs_tree_engine(ops->tree)->mountpoint;
	struct sfs_mounted mounted;

	if (!ops->device[0] && where) {
		sfs_mountpoint_look(where, &mounted);
		snprintf(ops->device, sizeof ops->device, "%s", mounted.device);
	}
	return ops->device[0] && sfs_mountpoint_is_there(ops->device);
}

void sfs_ops_init(struct sfs_ops *ops, struct sfs_tree *tree)
{
	const struct sfs_options *o = sfs_tree_engine(tree)->options;

	*ops = (struct sfs_ops){
		.tree = tree,
		.uid = o->uid == UINT64_MAX ? getuid() : (uid_t)o->uid,
		.gid = o->gid == UINT64_MAX ? getgid() : (gid_t)o->gid,
		.umask = (mode_t)o->umask,
		.direct_io = o->direct_io,
	};
	pthread_mutex_init(&ops->lock, NULL);
	sfs_list_init(&ops->handles);
	sfs_pages_init(&ops->pages,
		       o->keep_pages ? UINT64_MAX : KEPT_BYTES + 2 * o->readahead);
	ops->forwards = sfs_forwards_new(tree, is_mounted, ops);
	sfs_pending_table_start(&ops->pending_table, o->read_timeout_ms);
}

void sfs_ops_stop(struct sfs_ops *ops)
{
	sfs_pending_table_stop(&ops->pending_table);
	sfs_forwards_stop(ops->forwards);
}

void sfs_ops_done(struct sfs_ops *ops)
{
	struct sfs_link *link;

	while ((link = sfs_list_pop(&ops->handles)) != NULL)
		close_handle(ops, sfs_container(link, struct handle, link));
	sfs_forwards_free(ops->forwards);
	sfs_pages_done(&ops->pages);
	pthread_mutex_destroy(&ops->lock);
}
