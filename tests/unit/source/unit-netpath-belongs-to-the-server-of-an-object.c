/* SPDX-License-Identifier: MIT */
/* A dataset may mix local, near and far shards: the path of each is that to the server
 * that gave its bytes, wherever redirects led; and its source's, until there was one. */
#include "scripted-fetch.h"

static struct sfs_object here, near, far, stored;

/* The GET that is pending gets all that it asks for. */
static void give(void)
{
	static const char bytes[2048];
	struct sfs_get *get = script_nth(0);

	script_begin(get);
	CHECK(script_head(
		get, "HTTP/1.1 206 OK\nContent-Range: bytes %d-%d/2048\nETag: \"x\"\n",
		(int)get->first, (int)get->last));
	CHECK(script_body(get, bytes, get->last + 1 - get->first));
	script_end(get);
}

static void ask(struct sfs_object *object)
{
	struct asked one;

	ask_for_size(&one, object);
	give();
	CHECK_EQ(one.err, 0);
	asked_free(&one);
}

int main(void)
{
	const struct sfs_http_options options = {.n_connections = 32,
						 .n_retries = 2,
						 .read_timeout_ms = 60000};
	const struct sfs_netpath all = {.n_parallel = 20, .rtt_ns = 7},
				 a = {.n_parallel = 6, .rtt_ns = 1, .wait_ns = 2},
				 b = {.n_parallel = 64, .rtt_ns = 9, .bytes_per_s = 3};
	struct sfs_netpath_record to_near = {0}, to_far = {0};
	struct sfs_source *files = sfs_source_file_start(3, false), *http;
	struct sfs_error err;
	struct asked one;

	http = sfs_source_http_start(&options, &err);
	make_object(&here, files, "/x.tar");
	make_object(&near, http, "http://near/x.tar");
	make_object(&far, http, "http://somewhere/x.tar");
	CHECK_EQ(sfs_object_netpath(&here).n_parallel, 3);
	CHECK(!sfs_netpath_is_far(&(struct sfs_netpath){.n_parallel = 3}));
	CHECK_EQ(sfs_object_netpath(&near).n_parallel, 16);
	script.options.path_changed(script.options.ctx, &all);
	CHECK_EQ(sfs_object_netpath(&near).n_parallel, 20);
	CHECK_EQ(sfs_object_netpath(&near).rtt_ns, 7);
	CHECK(!sfs_object_netpath(&near).has_costly_requests);
	make_object(&stored, http, "s3://bucket/x.tar");
	CHECK(sfs_object_netpath(&stored).has_costly_requests);
	CHECK_EQ(sfs_object_netpath(&stored).n_parallel, 20);

	script.path = &to_near;
	ask(&near);
	CHECK_EQ(sfs_object_netpath(&near).rtt_ns, 7); /* nothing is known of it yet */
	sfs_netpath_store(&to_near, &a);
	CHECK_EQ(sfs_object_netpath(&near).n_parallel, 6);
	CHECK_EQ(sfs_object_netpath(&near).rtt_ns, 1);
	CHECK_EQ(sfs_object_netpath(&near).wait_ns, 2);

	/* The redirecting server does not count, nor one that has failed. */
	sfs_netpath_store(&to_far, &b);
	ask_for_size(&one, &far);
	script_begin(script_nth(0));
	CHECK(script_head(script_nth(0),
			  "HTTP/1.1 302 There\nLocation: http://far/x.tar\n"));
	script_end(script_nth(0));
	script_begin(script_nth(0));
	script_lose(script_nth(0));
	CHECK_EQ(sfs_object_netpath(&far).n_parallel, 20);
	script.path = &to_far;
	give();
	CHECK_EQ(one.err, 0);
	asked_free(&one);
	CHECK_EQ(sfs_object_netpath(&far).n_parallel, 64);
	CHECK_EQ(sfs_object_netpath(&far).bytes_per_s, 3);
	CHECK_EQ(sfs_object_netpath(&near).n_parallel, 6);
	CHECK_EQ(sfs_object_netpath(&here).rtt_ns, 0);

	sfs_source_stop(http);
	sfs_source_stop(files);
	sfs_object_done(&here);
	sfs_object_done(&near);
	sfs_object_done(&far);
	sfs_object_done(&stored);
	sfs_source_free(http);
	sfs_source_free(files);
	return 0;
}
