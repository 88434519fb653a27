/* SPDX-License-Identifier: MIT */
/* How this works: the upper bits of a node are its kind.  The rest is the number of an
 * epoch (a file or a folder), or of a name in the table of names.
 *
 * A name with @K is an extract of the stream without @K.  The stream finds the bytes of
 * the extract once, when all its shards are known. */
#include "tree/epochs-internal.h"

#include "base/alloc.h"
#include "base/ledger.h"
#include "catalog/sizes.h"
#include "order/partition.h"

#include <errno.h>
#include <stdio.h>

#define KIND_SHIFT 57
#define REST_MASK  ((1ULL << KIND_SHIFT) - 1)

enum kind { EPOCH, EPOCH_FOLDER, NAMED, EPOCHS };

struct sfs_epochs *sfs_epochs_new(struct sfs_engine *engine)
{
	struct sfs_epochs *e = sfs_calloc(1, sizeof *e);

	e->engine = engine;
	e->names = sfs_names_new();
	e->order_files = sfs_order_files_new(&engine->runtime, e->names);
	return e;
}

void sfs_epochs_free(struct sfs_epochs *e)
{
	if (!e)
		return;
	sfs_order_files_free(e->order_files);
	sfs_names_free(e->names);
	free(e);
}

/* Are names checked before anything is known of the shards? */
static bool deals_shards(const struct sfs_epochs *e)
{
	return sfs_order_deals_shards(&e->engine->runtime.order);
}

bool sfs_epochs_is_exact(const struct sfs_epochs *e)
{
	return sfs_order_wants_equal_lanes(&e->engine->runtime.order);
}

/* ---- nodes ---- */

static enum kind kind_of(uint64_t node)
{
	return (enum kind)(node >> KIND_SHIFT);
}

static uint64_t node_of(enum kind kind, uint64_t rest)
{
	return (uint64_t)kind << KIND_SHIFT | rest;
}

bool sfs_epochs_is_text_name(const struct sfs_name *name)
{
	return name->is_order || name->is_index;
}

struct sfs_name sfs_epochs_name(struct sfs_epochs *e, uint64_t node)
{
	uint64_t rest = node & REST_MASK;

	if (kind_of(node) == NAMED)
		return sfs_names_get(e->names, (uint32_t)rest);
	return (struct sfs_name){.epoch = rest,
				 .is_folder = kind_of(node) == EPOCH_FOLDER};
}

/* false: the table of names is full. */
static bool node_of_name(struct sfs_epochs *e, const struct sfs_name *name,
			 uint64_t *ret_node)
{
	uint32_t number;

	if (name->n_ranks == 0 && !name->has_first && !sfs_epochs_is_text_name(name)) {
		*ret_node = node_of(name->is_folder ? EPOCH_FOLDER : EPOCH, name->epoch);
		return true;
	}
	if (!sfs_names_put(e->names, name, &number))
		return false;
	*ret_node = node_of(NAMED, number);
	return true;
}

/* ---- look-up ---- */

/* A lookup returns only an errno: the ledger says why, and what to do. */
static int refuse(const struct sfs_name *name, int err, const char *why)
{
	struct sfs_strbuf path = {0};

	sfs_strbuf_puts(&path, "epochs/");
	sfs_name_print_path(name, &path);
	sfs_ledger_add(SFS_EVENT_REFUSED, path.s, SFS_NO_OFFSET, "", "%s", why);
	sfs_strbuf_done(&path);
	return err;
}

int sfs_epochs_lookup(struct sfs_epochs *e, uint64_t folder, const char *component,
		      uint64_t *ret_node)
{
	struct sfs_runtime *runtime = &e->engine->runtime;
	const struct sfs_sample_tables tables = sfs_shards_tables(&runtime->shards);
	struct sfs_dealt dealt = SFS_NOT_DEALT;
	struct sfs_name parent, name;
	struct sfs_error why;
	int ret;

	if (folder == SFS_EPOCHS_ROOT) {
		ret = sfs_name_parse(NULL, component, &name);
	} else {
		parent = sfs_epochs_name(e, folder);
		ret = parent.is_folder ? sfs_name_parse(&parent, component, &name)
				       : -ENOTDIR;
	}
	if (ret < 0)
		return ret;
	if (deals_shards(e)) /* (else see check_rank()) */
		dealt = sfs_partition_dealt(&runtime->order, runtime->shards.n, &tables);
	ret = sfs_name_check(&name, runtime->order.lanes, dealt, &why);
	if (ret < 0)
		return refuse(&name, ret, why.text);
	if (!node_of_name(e, &name, ret_node))
		return refuse(&name, -ENFILE,
			      "too many names were looked up in epochs/: unmount and "
			      "mount again");
	return 0;
}

uint64_t sfs_epochs_parent(struct sfs_epochs *e, uint64_t node)
{
	struct sfs_name name, folder;
	uint64_t parent = SFS_EPOCHS_ROOT;

	if (node == SFS_EPOCHS_ROOT)
		return node;
	name = sfs_epochs_name(e, node);
	if (sfs_name_parent(&name, &folder))
		node_of_name(e, &folder, &parent);
	return parent;
}

int sfs_epochs_from(struct sfs_epochs *e, uint64_t node, uint64_t first,
		    uint64_t *ret_node)
{
	struct sfs_name name = sfs_epochs_name(e, node);

	if (first == 0) {
		*ret_node = node;
		return 0;
	}
	name.has_first = true;
	name.first = first;
	return node_of_name(e, &name, ret_node) ? 0 : -ENFILE;
}

void sfs_epochs_print_path(struct sfs_epochs *e, uint64_t node, struct sfs_strbuf *text)
{
	struct sfs_name name = sfs_epochs_name(e, node);

	sfs_strbuf_puts(text, "epochs/");
	sfs_name_print_path(&name, text);
}

/* ---- folders ---- */

static void list_first(struct sfs_epochs *e, uint64_t cookie, sfs_add_entry *add,
		       void *ctx)
{
	char name[32];
	uint64_t i;

	for (i = cookie; i < e->engine->options->epochs && i <= SFS_EPOCH_MAX; i++) {
		snprintf(name, sizeof name, "%llu.tar", (unsigned long long)i);
		if (!add(ctx, name, node_of(EPOCH, i), false, i + 1))
			break;
	}
}

int sfs_epochs_list(struct sfs_epochs *e, uint64_t node, uint64_t cookie,
		    sfs_add_entry *add, void *ctx)
{
	struct sfs_name folder, name;
	uint32_t number;
	bool is_taken = true;

	if (node == SFS_EPOCHS_ROOT) {
		list_first(e, cookie, add, ctx);
		return 0;
	}
	folder = sfs_epochs_name(e, node);
	if (!folder.is_folder)
		return -ENOTDIR;
	if (cookie > SFS_NAMES_MAX)
		return 0;
	for (number = (uint32_t)cookie;
	     is_taken && sfs_names_next(e->names, &folder, &number, &name); number++) {
		struct sfs_strbuf text = {0};

		sfs_name_print(&name, &text);
		is_taken = add(ctx, text.s, node_of(NAMED, number), name.is_folder,
			       (uint64_t)number + 1);
		sfs_strbuf_done(&text);
	}
	return 0;
}

/* ---- files ---- */

struct sfs_stream *sfs_epochs_open_stream(struct sfs_epochs *e, uint64_t node)
{
	const struct sfs_name name = sfs_epochs_name(e, node);
	struct sfs_stream *stream =
		sfs_stream_open(&e->engine->streams, name.epoch, sfs_name_share(&name));
	struct sfs_place place;

	if (kind_of(node) == NAMED &&
	    sfs_names_place(e->names, (uint32_t)(node & REST_MASK), &place))
		sfs_stream_know_end(stream, place.end);
	return stream;
}

int sfs_epochs_know_sizes(struct sfs_epochs *e, struct sfs_waiter *waiter)
{
	int ret = sfs_sizes_all(e->engine->sizes, waiter);

	return ret == 0 || ret == -EINPROGRESS || ret == -ECANCELED ? ret : -EIO;
}

int sfs_epochs_know_shards(struct sfs_epochs *e, struct sfs_waiter *waiter)
{
	int ret = sfs_epochs_know_sizes(e, waiter);

	return ret == 0 && sfs_streams_need_tables(&e->engine->runtime)
		       ? sfs_scan_all_request(e->engine->scan_all, waiter)
		       : ret;
}

/* A rank to which no segment is dealt. */
static int check_dealt(struct sfs_epochs *e, const struct sfs_name *name)
{
	struct sfs_runtime *runtime = &e->engine->runtime;
	const struct sfs_sample_tables tables = sfs_shards_tables(&runtime->shards);
	struct sfs_error why;
	int ret;

	ret = sfs_name_check(
		name, runtime->order.lanes,
		sfs_partition_dealt(&runtime->order, runtime->shards.n, &tables), &why);
	return ret < 0 ? refuse(name, ret, why.text) : 0;
}

/* A rank may have nothing, which was not known before: refuse its name.  The shards are
 * known. */
static int check_rank(struct sfs_epochs *e, const struct sfs_name *name)
{
	const struct sfs_order_settings *order = &e->engine->runtime.order;
	uint64_t n, n_bytes;
	uint32_t most;
	char why[160];

	if (name->n_ranks == 0 || deals_shards(e))
		return 0;
	if (!sfs_epochs_is_exact(e))
		return check_dealt(e, name);
	sfs_scan_all_sum(e->engine->scan_all, &n, &n_bytes);
	if (name->rank < sfs_order_positions(order, n, name->n_ranks))
		return 0;
	if (n == 0)
		return refuse(name, -EINVAL, "the shards contain no samples");
	most = sfs_name_ranks_most(order->lanes, n);
	snprintf(why, sizeof why,
		 "rank %u of %u has no samples: the dataset has only %llu; use %u "
		 "rank%s at most, or mount with equal=pad",
		 name->rank, name->n_ranks, (unsigned long long)n, most,
		 most == 1 ? "" : "s");
	return refuse(name, -EINVAL, why);
}

/* A job that has come to the end asks for @K with K the number of samples; one that asks
 * for more has counted wrong, and would train on nothing. */
static void note_beyond(const struct sfs_name *name, const struct sfs_place *place)
{
	struct sfs_strbuf path = {0};

	if (name->first <= place->n_samples)
		return;
	sfs_strbuf_puts(&path, "epochs/");
	sfs_name_print_path(name, &path);
	sfs_ledger_add(SFS_EVENT_EMPTY, path.s, SFS_NO_OFFSET,
		       "readers get an empty tar",
		       "it begins beyond the end: the stream has only %llu samples",
		       (unsigned long long)place->n_samples);
	sfs_strbuf_done(&path);
}

static int locate_in_stream(struct sfs_epochs *e, uint64_t node,
			    const struct sfs_name *name, struct sfs_waiter *waiter,
			    struct sfs_place *ret_place)
{
	struct sfs_stream *stream;
	int ret;

	ret = check_rank(e, name);
	if (ret < 0)
		return ret;
	stream = sfs_epochs_open_stream(e, node);
	ret = sfs_stream_locate(stream, name->first, waiter, ret_place);
	sfs_stream_close(stream);
	return ret;
}

int sfs_epochs_locate(struct sfs_epochs *e, uint64_t node, const struct sfs_name *name,
		      struct sfs_waiter *waiter, struct sfs_place *ret_place)
{
	uint32_t number = (uint32_t)(node & REST_MASK);
	bool is_kept = kind_of(node) == NAMED;
	int ret;

	if (is_kept && sfs_names_place(e->names, number, ret_place))
		return 0;
	if (sfs_epochs_is_exact(e) && !is_kept) { /* the whole epoch */
		*ret_place = (struct sfs_place){0};
		sfs_scan_all_sum(e->engine->scan_all, &ret_place->n_samples,
				 &ret_place->end);
		return 0;
	}
	if (!waiter)
		return -EINPROGRESS; /* read no shards for a caller that does not wait */
	ret = locate_in_stream(e, node, name, waiter, ret_place);
	if (ret == 0 && is_kept)
		sfs_names_set_place(e->names, number, *ret_place);
	if (ret == 0)
		note_beyond(name, ret_place);
	return ret;
}

static int size_of_open(const struct sfs_name *name, struct sfs_stream *stream,
			struct sfs_waiter *waiter, uint64_t *ret_bytes, bool *ret_is_sure)
{
	int ret;

	if (waiter)
		waiter->translate = sfs_read_err;
	ret = sfs_stream_size(stream, waiter, ret_bytes, ret_is_sure);
	if (ret == -ENFILE)
		return refuse(name, ret,
			      "too many epochs are open at a time: close the files of "
			      "some");
	return ret == 0 || ret == -EINPROGRESS ? ret : sfs_read_err(ret);
}

/* Did a guess turn out to be wrong before anything was read?  The next stream does not
 * guess in that shard. */
static bool should_try_again(struct sfs_epochs *e, struct sfs_stream *stream, int ret,
			     uint32_t *n_tries)
{
	return ret != -EINPROGRESS && sfs_stream_is_wrong(stream) &&
	       (*n_tries)++ <= e->engine->runtime.shards.n;
}

/* The size of a stream with dealt lanes. */
static int measure(struct sfs_epochs *e, uint64_t node, const struct sfs_name *name,
		   struct sfs_waiter *waiter, uint64_t *ret_bytes, bool *ret_is_sure)
{
	struct sfs_stream *stream;
	uint32_t n_tries = 0;
	bool is_again;
	int ret;

	*ret_is_sure = true;
	if (sfs_streams_size(&e->engine->runtime, name->epoch, sfs_name_share(name),
			     ret_bytes))
		return 0;
	do {
		stream = sfs_epochs_open_stream(e, node);
		ret = size_of_open(name, stream, waiter, ret_bytes, ret_is_sure);
		is_again = should_try_again(e, stream, ret, &n_tries);
		sfs_stream_close(stream);
	} while (is_again);
	return ret;
}

int sfs_epochs_find_extract(struct sfs_epochs *e, uint64_t node,
			    struct sfs_waiter *waiter, struct sfs_extract *ret,
			    bool *ret_is_sure)
{
	struct sfs_name name = sfs_epochs_name(e, node);
	struct sfs_place place;
	int err = sfs_epochs_know_shards(e, waiter);

	if (err < 0)
		return err;
	*ret_is_sure = true;
	if (!name.has_first && !sfs_epochs_is_exact(e)) {
		err = check_rank(e, &name);
		if (err < 0)
			return err;
		ret->offset = 0;
		return measure(e, node, &name, waiter, &ret->n_bytes, ret_is_sure);
	}
	err = sfs_epochs_locate(e, node, &name, waiter, &place);
	if (err == 0) {
		ret->offset = place.offset;
		ret->n_bytes = place.end - place.offset + 2 * SFS_TAR_BLOCK;
	}
	return err;
}

static int64_t newest_mtime(const struct sfs_shards *shards)
{
	int64_t newest = 0;
	uint32_t i;

	for (i = 0; i < shards->n; i++)
		if (shards->shards[i].object->mtime_s > newest)
			newest = shards->shards[i].object->mtime_s;
	return newest;
}

/* Request what a text about a stream is made from. */
static int know_members(struct sfs_epochs *e, const struct sfs_name *name,
			struct sfs_waiter *waiter)
{
	int ret = sfs_epochs_know_sizes(e, waiter);

	if (ret == 0)
		ret = sfs_scan_all_request(e->engine->members, waiter);
	if (ret == 0 && !deals_shards(e))
		ret = sfs_scan_all_request(e->engine->scan_all, waiter);
	return ret == 0 ? check_rank(e, name) : ret;
}

static struct sfs_order_text text_of(uint64_t node, const struct sfs_name *name)
{
	return (struct sfs_order_text){.epoch = name->epoch,
				       .first = name->first,
				       .share = sfs_name_share(name),
				       .is_index = name->is_index,
				       .number = (uint32_t)(node & REST_MASK)};
}

static int size_of_text(struct sfs_epochs *e, uint64_t node, const struct sfs_name *name,
			struct sfs_waiter *waiter, uint64_t *ret_size)
{
	const struct sfs_order_text text = text_of(node, name);
	struct sfs_text_size size;
	int ret = 0;

	if (!sfs_names_text(e->names, text.number, &size)) {
		if (!waiter) /* read no shards for a caller that does not wait */
			return -EINPROGRESS;
		ret = know_members(e, name, waiter);
		if (ret == 0)
			ret = sfs_order_file_measure(e->order_files, &text, waiter,
						     &size);
	}
	if (ret == 0)
		*ret_size = size.n_bytes;
	return ret;
}

static int size_of_stream(struct sfs_epochs *e, uint64_t node, struct sfs_waiter *waiter,
			  struct sfs_attr *attr)
{
	struct sfs_extract extract;
	bool is_sure;
	int ret = sfs_epochs_find_extract(e, node, waiter, &extract, &is_sure);

	if (ret == 0) {
		attr->size = extract.n_bytes;
		attr->is_unsure = !is_sure;
	}
	return ret;
}

int sfs_epochs_attr(struct sfs_epochs *e, uint64_t node, struct sfs_waiter *waiter,
		    struct sfs_attr *attr)
{
	struct sfs_name name;
	int64_t mtime;
	int ret;

	attr->is_folder = node == SFS_EPOCHS_ROOT || sfs_epochs_name(e, node).is_folder;
	if (attr->is_folder)
		return 0;
	name = sfs_epochs_name(e, node);
	ret = sfs_epochs_is_text_name(&name)
		      ? size_of_text(e, node, &name, waiter, &attr->size)
		      : size_of_stream(e, node, waiter, attr);
	if (ret < 0)
		return ret;
	mtime = newest_mtime(&e->engine->runtime.shards);
	attr->mtime = mtime ? mtime : attr->mtime;
	return 0;
}

int sfs_epochs_open(struct sfs_epochs *e, uint64_t node, struct sfs_waiter *waiter,
		    struct sfs_stream **ret_stream, struct sfs_extract *ret_extract)
{
	const struct sfs_name name = sfs_epochs_name(e, node);
	struct sfs_stream *stream;
	uint32_t n_tries = 0;
	uint64_t n_bytes;
	bool is_sure, is_again;
	int ret;

	do {
		stream = sfs_epochs_open_stream(e, node);
		ret = sfs_epochs_find_extract(e, node, waiter, ret_extract, &is_sure);
		if (ret == 0)
			ret = size_of_open(&name, stream, waiter, &n_bytes, &is_sure);
		is_again = should_try_again(e, stream, ret, &n_tries);
		if (ret < 0 || is_again)
			sfs_stream_close(stream);
	} while (is_again);
	if (ret == 0)
		*ret_stream = stream;
	return ret;
}

bool sfs_epochs_is_text(struct sfs_epochs *e, uint64_t node)
{
	struct sfs_name name;

	if (node == SFS_EPOCHS_ROOT)
		return false;
	name = sfs_epochs_name(e, node);
	return sfs_epochs_is_text_name(&name);
}

int sfs_epochs_open_text(struct sfs_epochs *e, uint64_t node, struct sfs_waiter *waiter,
			 struct sfs_order_file **ret_file)
{
	const struct sfs_name name = sfs_epochs_name(e, node);
	const struct sfs_order_text text = text_of(node, &name);
	uint64_t size;
	int ret = know_members(e, &name, waiter);

	/* (An .order can be read without its size, so `cat` does not wait for that.) */
	if (ret == 0 && text.is_index)
		ret = size_of_text(e, node, &name, waiter, &size);
	if (ret == 0)
		*ret_file = sfs_order_file_open(e->order_files, &text);
	return ret;
}
