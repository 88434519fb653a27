/* SPDX-License-Identifier: MIT */
/* How this works: an operation becomes a park, whose attempt asks the tree and
 * replies.  Nothing in a mount ever changes, so the kernel may keep names,
 * attributes, folders and pages as long as it likes. */
#include "ops.h"

#include "base/alloc.h"
#include "tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FOREVER	    (365.0 * 86400)
#define BLOCK_BYTES (1 << 20) /* Python and cat read so much at a time */

/* Cookies of "." and ".."; those of the tree come behind them. */
enum { DOT = 1, DOTDOT = 2, COOKIES = 3 };

struct handle {
	struct sfs_file *file;
	bool is_direct;
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

static struct sfs_pending *new_park(fuse_req_t req, uint64_t node,
				    int (*attempt)(struct sfs_pending *))
{
	struct sfs_pending *park = sfs_pending_new(&ops_of(req)->parking, req);

	park->node = node;
	park->attempt = attempt;
	return park;
}

/* ---- attributes ---- */

static void fill_stat(const struct sfs_ops *ops, const struct sfs_attr *attr,
		      struct stat *st)
{
	*st = (struct stat){
		.st_ino = attr->node,
		.st_mode =
			(attr->is_folder ? S_IFDIR | 0555 : S_IFREG | 0444) & ~ops->umask,
		.st_nlink = attr->is_folder ? 2 : 1,
		.st_uid = ops->uid,
		.st_gid = ops->gid,
		.st_size = (off_t)attr->size,
		.st_blksize = BLOCK_BYTES,
		.st_blocks = (blkcnt_t)((attr->size + 511) / 512),
		.st_mtim.tv_sec = attr->mtime,
		.st_ctim.tv_sec = attr->mtime,
		.st_atim.tv_sec = attr->mtime,
	};
}

static struct fuse_entry_param entry_of(const struct sfs_ops *ops,
					const struct sfs_attr *attr)
{
	struct fuse_entry_param e = {.ino = attr->node,
				     .attr_timeout = FOREVER,
				     .entry_timeout = FOREVER};

	fill_stat(ops, attr, &e.attr);
	return e;
}

static int try_getattr(struct sfs_pending *park)
{
	struct sfs_ops *ops = ops_of(park->req);
	struct sfs_attr attr;
	struct stat st;
	int ret;

	ret = sfs_tree_attr(ops->tree, park->node, &park->waiter, &attr);
	if (ret < 0)
		return ret;
	fill_stat(ops, &attr, &st);
	fuse_req_interrupt_func(park->req, NULL, NULL);
	fuse_reply_attr(park->req, &st, FOREVER);
	return 0;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	sfs_pending_run(new_park(req, ino, try_getattr));
}

static int try_lookup(struct sfs_pending *park)
{
	struct sfs_ops *ops = ops_of(park->req);
	struct fuse_entry_param none = {.entry_timeout = FOREVER}, e;
	struct sfs_attr attr;
	uint64_t node;
	int ret;

	ret = sfs_tree_lookup(ops->tree, park->node, park->name, &park->waiter, &node);
	if (ret == -ENOENT) {
		/* For good: what a mount shows does not change. */
		fuse_req_interrupt_func(park->req, NULL, NULL);
		fuse_reply_entry(park->req, &none);
		return 0;
	}
	if (ret == 0)
		ret = sfs_tree_attr(ops->tree, node, &park->waiter, &attr);
	if (ret < 0)
		return ret == -ENODEV ? -ENOENT : ret;
	fuse_req_interrupt_func(park->req, NULL, NULL);
	e = entry_of(ops, &attr);
	fuse_reply_entry(park->req, &e);
	return 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct sfs_pending *park = new_park(req, parent, try_lookup);

	park->name = sfs_strdup(name);
	sfs_pending_run(park);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	fuse_reply_none(req); /* nothing is kept for a node */
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	fuse_reply_none(req);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct sfs_engine *core = ops_of(req)->core;
	struct statvfs st = {.f_bsize = 4096,
			     .f_frsize = 4096,
			     .f_namemax = 255,
			     .f_flag = ST_RDONLY};
	uint64_t bytes = 0;
	uint32_t i;

	if (sfs_sizes_known(core->census) == core->env.shards.n)
		for (i = 0; i < core->env.shards.n; i++)
			bytes += core->env.shards.shards[i].object.size;
	st.f_blocks = (bytes + 4095) / 4096;
	fuse_reply_statfs(req, &st);
}

/* ---- folders ---- */

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fi->cache_readdir = !sfs_tree_is_growing(ino);
	fi->keep_cache = !sfs_tree_is_growing(ino);
	fuse_reply_open(req, fi);
}

struct listing_reply {
	struct sfs_pending *park;
	char *buf;
	size_t n;
};

/* Append an entry.  false: the buffer is full. */
static bool add_entry(struct listing_reply *reply, const char *name, uint64_t node,
		      bool is_folder, uint64_t cookie)
{
	struct sfs_pending *park = reply->park;
	struct sfs_ops *ops = ops_of(park->req);
	struct fuse_entry_param e = {.attr_timeout = FOREVER, .entry_timeout = FOREVER};
	struct sfs_attr attr;
	size_t n;

	e.attr.st_ino = node;
	e.attr.st_mode = is_folder ? S_IFDIR : S_IFREG;
	if (!park->is_plus) {
		n = fuse_add_direntry(park->req, reply->buf + reply->n,
				      park->size - reply->n, name, &e.attr,
				      (off_t)cookie);
	} else {
		/* Attributes only if nobody has to wait for them: e.ino 0 says there
		 * are none.  The kernel counts no look-up for "." and "..". */
		if (cookie > DOTDOT && sfs_tree_attr(ops->tree, node, NULL, &attr) == 0)
			e = entry_of(ops, &attr);
		n = fuse_add_direntry_plus(park->req, reply->buf + reply->n,
					   park->size - reply->n, name, &e,
					   (off_t)cookie);
	}
	if (n > park->size - reply->n)
		return false;
	reply->n += n;
	return true;
}

static bool tell(void *ctx, const char *name, uint64_t node, bool is_folder,
		 uint64_t cookie)
{
	return add_entry(ctx, name, node, is_folder, cookie + COOKIES);
}

static int try_readdir(struct sfs_pending *park)
{
	struct sfs_tree *tree = ops_of(park->req)->tree;
	sfs_autofree char *buf = sfs_malloc(park->size);
	struct listing_reply reply = {.park = park, .buf = buf};
	uint64_t cookie = park->cookie > COOKIES ? park->cookie - COOKIES : 0;
	bool has_room = true;
	int ret = 0;

	if (park->cookie < DOT)
		has_room = add_entry(&reply, ".", park->node, true, DOT);
	if (park->cookie < DOTDOT && has_room)
		has_room = add_entry(&reply, "..", sfs_tree_parent(tree, park->node),
				     true, DOTDOT);
	if (has_room)
		ret = sfs_tree_list(tree, park->node, cookie, &park->waiter, tell,
				    &reply);
	if (ret < 0 && (ret == -EINPROGRESS || reply.n == 0))
		return ret;
	fuse_req_interrupt_func(park->req, NULL, NULL);
	fuse_reply_buf(park->req, buf, reply.n);
	return 0;
}

static void read_folder(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			bool is_plus)
{
	struct sfs_pending *park = new_park(req, ino, try_readdir);

	park->size = size;
	park->cookie = (uint64_t)off;
	park->is_plus = is_plus;
	park->is_list = true;
	sfs_pending_run(park);
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

static int try_open(struct sfs_pending *park)
{
	struct sfs_ops *ops = ops_of(park->req);
	struct fuse_file_info *fi = &park->fi;
	struct sfs_file *file;
	struct handle *handle;
	struct sfs_attr attr;
	int ret;

	ret = sfs_tree_attr(ops->tree, park->node, &park->waiter, &attr);
	if (ret == 0)
		ret = sfs_file_open(ops->tree, park->node, &park->waiter, &file);
	if (ret < 0)
		return ret;
	handle = sfs_calloc(1, sizeof *handle);
	handle->file = file;
	pthread_mutex_lock(&ops->lock);
	sfs_list_push(&ops->handles, &handle->link);
	pthread_mutex_unlock(&ops->lock);

	fi->fh = (uintptr_t)handle;
	/* O_DIRECT must be answered so: a parked direct read gets no INTERRUPT
	 * otherwise, and its reader could not be killed. */
	fi->direct_io = (fi->flags & O_DIRECT) || attr.is_snapshot ||
			(ops->direct_io && sfs_file_is_stream(file));
	handle->is_direct = fi->direct_io;
	/* Files never change, and to drop their pages a direct open would have to wait
	 * for those that a parked read has locked, SIGKILL or not. */
	fi->keep_cache = 1;
	fi->noflush = 1;
	fuse_req_interrupt_func(park->req, NULL, NULL);
	/* -ENOENT: the opener was interrupted, and there will be no release. */
	if (fuse_reply_open(park->req, fi) == -ENOENT) {
		pthread_mutex_lock(&ops->lock);
		sfs_link_remove(&handle->link);
		pthread_mutex_unlock(&ops->lock);
		sfs_file_close(file);
		free(handle);
	}
	return 0;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sfs_pending *park;

	if ((fi->flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EROFS);
		return;
	}
	park = new_park(req, ino, try_open);
	park->fi = *fi;
	sfs_pending_run(park);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct sfs_ops *ops = ops_of(req);
	struct handle *handle = handle_of(fi);

	pthread_mutex_lock(&ops->lock);
	sfs_link_remove(&handle->link);
	pthread_mutex_unlock(&ops->lock);
	sfs_file_close(handle->file);
	free(handle);
	fuse_reply_err(req, 0);
}

static int try_read(struct sfs_pending *park)
{
	park->read.offset = park->cookie;
	park->read.n_bytes = park->size;
	sfs_file_read(handle_of(&park->fi)->file, &park->read);
	return -EINPROGRESS;
}

/* Never fewer bytes than were asked for, below the file's end: one short reply would
 * cut a file in the page cache for good.  The core sees to that. */
static void answer_read(struct sfs_pending *park)
{
	if (park->read.n_answered == 0)
		fuse_reply_buf(park->req, NULL, 0);
	else
		fuse_reply_iov(park->req, park->read.iov, park->read.n_iov);
	sfs_read_release(&park->read);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct sfs_pending *park = new_park(req, ino, try_read);

	park->is_read = true;
	park->is_cached = !handle_of(fi)->is_direct;
	park->node = ino;
	park->answer = answer_read;
	park->fi = *fi;
	park->cookie = (uint64_t)off;
	park->size = size;
	sfs_pending_run(park);
}

/* ---- extended attributes ---- */

/* The size, if that is what was asked for, or the bytes. */
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

static int try_getxattr(struct sfs_pending *park)
{
	struct sfs_strbuf text = {0};
	int ret;

	ret = sfs_tree_xattr(ops_of(park->req)->tree, park->node, park->name,
			     &park->waiter, &text);
	if (ret == 0)
		ret = reply_xattr(park->req, &text, park->size);
	sfs_strbuf_done(&text);
	return ret;
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct sfs_pending *park = new_park(req, ino, try_getxattr);

	park->name = sfs_strdup(name);
	park->size = size;
	sfs_pending_run(park);
}

static int try_listxattr(struct sfs_pending *park)
{
	struct sfs_strbuf text = {0};
	int ret;

	sfs_tree_list_xattrs(ops_of(park->req)->tree, park->node, &text);
	ret = reply_xattr(park->req, &text, park->size);
	sfs_strbuf_done(&text);
	return ret;
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct sfs_pending *park = new_park(req, ino, try_listxattr);

	park->size = size;
	sfs_pending_run(park);
}

/* ---- life ---- */

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	/* With the kernel's 12, a dozen parked reads would block every other file. */
	conn->max_background = 1024;
	conn->congestion_threshold = 1024;
	/* Memory goes to the kernel by writev; splicing costs three times as much. */
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
		.getxattr = op_getxattr,
		.listxattr = op_listxattr,
	};

	return &table;
}

void sfs_ops_init(struct sfs_ops *ops, struct sfs_engine *core, struct sfs_tree *tree)
{
	const struct sfs_options *o = core->options;

	*ops = (struct sfs_ops){
		.core = core,
		.tree = tree,
		.uid = o->uid == UINT64_MAX ? getuid() : (uid_t)o->uid,
		.gid = o->gid == UINT64_MAX ? getgid() : (gid_t)o->gid,
		.umask = (mode_t)o->umask,
		.direct_io = o->direct_io,
	};
	pthread_mutex_init(&ops->lock, NULL);
	sfs_list_init(&ops->handles);
	sfs_pending_table_start(&ops->parking, o->read_timeout_ms);
}

void sfs_ops_stop(struct sfs_ops *ops)
{
	sfs_pending_table_stop(&ops->parking);
}

void sfs_ops_done(struct sfs_ops *ops)
{
	struct sfs_link *link;

	while ((link = sfs_list_pop(&ops->handles)) != NULL) {
		struct handle *handle = sfs_container(link, struct handle, link);

		sfs_file_close(handle->file);
		free(handle);
	}
	pthread_mutex_destroy(&ops->lock);
}
