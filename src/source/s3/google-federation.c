/* SPDX-License-Identifier: MIT */
#include "source/s3/google-federation.h"

#include "base/alloc.h"
#include "base/json-find.h"
#include "base/json.h"
#include "source/http/header-lines.h"
#include "source/http/key-url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define STS_URL	   "https://sts.googleapis.com/v1/token"
#define READ_SCOPE "https://www.googleapis.com/auth/devstorage.read_only"
#define ALL_SCOPE  "https://www.googleapis.com/auth/cloud-platform"
#define LIFETIME_S "3600"

struct federation {
	struct sfs_curl_caller *caller;
	const char *account, *from;
	struct sfs_error *err;
};

/* What the account says at this path; NULL: nothing. */
static char *member(const struct federation *f, const char *path)
{
	char *value = sfs_credentials_member(f->account, path);

	if (value && !*value)
		free(steal(&value));
	return value;
}

static void forget(char *secret)
{
	if (secret)
		explicit_bzero(secret, strlen(secret));
	free(secret);
}

static void forget_text(struct sfs_strbuf *text)
{
	if (text->s)
		explicit_bzero(text->s, text->capacity);
	sfs_strbuf_done(text);
}

static int refuse_status(const struct federation *f, const char *what, int status,
			 const char *remedy)
{
	return sfs_error_set(f->err, -EACCES, "a token for %s: %s: HTTP %d: %s", f->from,
			     what, status, remedy);
}

/* ---- the other provider's token ---- */

/* The text is the token, or JSON that has it.  NULL: neither. */
static char *take_subject(const struct federation *f, const char *text)
{
	sfs_autofree char *type = member(f, "credential_source.format.type"),
			  *name = member(f, "credential_source.format."
					    "subject_token_field_name");
	bool is_json = type && strcmp(type, "json") == 0;
	char *token;
	size_t n;

	if (is_json)
		token = name ? sfs_json_find(text, strlen(text), name, true) : NULL;
	else
		token = sfs_strdup(text + strspn(text, " \t\r\n"));
	n = token ? strlen(token) : 0;
	while (n > 0 && isspace((unsigned char)token[n - 1]))
		token[--n] = 0;
	if (token && (!*token || !sfs_credentials_is_clean(token))) {
		forget(token);
		return NULL;
	}
	return token;
}

static char *read_subject(const struct federation *f, const char *path)
{
	int code = 0;
	char *text = sfs_credentials_read_file(path, &code, f->err), *token;

	if (!text) {
		sfs_error_wrap(f->err, code, "%s: its credential_source", f->from);
		return NULL;
	}
	token = take_subject(f, text);
	if (!token)
		sfs_error_set(f->err, -EBADMSG,
			      "%s: no token is in its credential_source, %s", f->from,
			      path);
	forget(text);
	return token;
}

/* The header lines for the URL.  false: they are none. */
static bool write_headers(const struct federation *f, struct sfs_strbuf *lines)
{
	enum sfs_json_token token;
	struct sfs_json json;
	bool is_good = true;

	sfs_json_init(&json, f->account, strlen(f->account));
	token = sfs_json_seek(&json, "credential_source.headers");
	while (is_good && token == SFS_JSON_OBJECT &&
	       sfs_json_next(&json) == SFS_JSON_KEY) {
		sfs_autofree char *line =
			sfs_asprintf("%s: ", json.text.s ? json.text.s : "");

		is_good = sfs_json_next(&json) == SFS_JSON_STRING && json.text.n > 0 &&
			  !memchr(json.text.s, 0, json.text.n) &&
			  !strpbrk(json.text.s, "\r\n") && sfs_header_lines_is_one(line);
		if (is_good)
			sfs_strbuf_printf(lines, "%s%s\r\n", line, json.text.s);
	}
	sfs_json_done(&json);
	return is_good;
}

static char *fetch_subject(const struct federation *f, const char *url)
{
	struct sfs_curl_call call = {
		.method = "GET", .url = url, .is_local = strncmp(url, "http:", 5) == 0};
	sfs_autofree char *shown = sfs_uri_redact(url);
	struct sfs_curl_answer answer;
	struct sfs_strbuf lines = {0};
	char *token = NULL;
	int code;

	if (!write_headers(f, &lines)) {
		sfs_strbuf_done(&lines);
		sfs_error_set(f->err, -EBADMSG,
			      "%s: the headers of its credential_source are none",
			      f->from);
		return NULL;
	}
	call.lines = lines.s;
	code = sfs_curl_call(f->caller, &call, &answer, f->err);
	if (code < 0)
		sfs_error_wrap(f->err, code, "%s: its credential_source, %s", f->from,
			       shown);
	else if (answer.headers.status != 200)
		refuse_status(f, shown, answer.headers.status,
			      "check its credential_source");
	else
		token = take_subject(f, answer.body.s ? answer.body.s : "");
	if (code == 0 && answer.headers.status == 200 && !token)
		sfs_error_set(f->err, -EBADMSG,
			      "%s: no token is in what its credential_source says, %s",
			      f->from, shown);
	if (answer.body.s)
		explicit_bzero(answer.body.s, answer.body.n);
	sfs_curl_answer_done(&answer);
	forget_text(&lines);
	return token;
}

/* NULL, with an error. */
static char *find_subject(const struct federation *f)
{
	sfs_autofree char *file = member(f, "credential_source.file"),
			  *url = member(f, "credential_source.url"),
			  *aws = member(f, "credential_source.environment_id");

	if (aws || (!file && !url)) {
		sfs_error_set(
			f->err, -EOPNOTSUPP,
			"%s: its credential_source is %s, and shufflefs takes a token "
			"from a file or a URL: set bearer-token-command='gcloud auth "
			"print-access-token'",
			f->from, aws ? "AWS's signatures" : "a program or a certificate");
		return NULL;
	}
	return file ? read_subject(f, file) : fetch_subject(f, url);
}

/* ---- Google's ---- */

static void add_field(struct sfs_strbuf *body, const char *name, const char *value)
{
	sfs_strbuf_printf(body, "%s%s=", body->n ? "&" : "", name);
	sfs_key_encode(body, value ? value : "", false);
}

/* POST, and read what comes with status 200.  The caller wipes and frees it. */
static char *post(const struct federation *f, const struct sfs_curl_call *call,
		  const char *what, const char *remedy)
{
	struct sfs_curl_answer answer;
	char *text = NULL;
	int code = sfs_curl_call(f->caller, call, &answer, f->err);

	if (code < 0)
		sfs_error_wrap(f->err, code, "a token for %s: %s", f->from, what);
	else if (answer.headers.status != 200)
		refuse_status(f, what, answer.headers.status, remedy);
	else
		text = sfs_strdup(answer.body.s ? answer.body.s : "");
	if (answer.body.s)
		explicit_bzero(answer.body.s, answer.body.n);
	sfs_curl_answer_done(&answer);
	return text;
}

static int exchange(const struct federation *f, const char *subject, const char *scope,
		    struct sfs_credentials *c)
{
	sfs_autofree char *url = member(f, "token_url"),
			  *audience = member(f, "audience"),
			  *type = member(f, "subject_token_type"),
			  *project = member(f, "workforce_pool_user_project");
	struct sfs_curl_call call = {.method = "POST", .url = url ? url : STS_URL};
	struct sfs_strbuf body = {0};
	char *text;
	int code = -EACCES;

	add_field(&body, "grant_type", "urn:ietf:params:oauth:grant-type:token-exchange");
	add_field(&body, "requested_token_type",
		  "urn:ietf:params:oauth:token-type:access_token");
	add_field(&body, "audience", audience);
	add_field(&body, "scope", scope);
	add_field(&body, "subject_token_type", type);
	add_field(&body, "subject_token", subject);
	if (project) {
		sfs_autofree char *options = sfs_asprintf("{\"userProject\":\"%s\"}",
							  project);

		add_field(&body, "options", options);
	}
	call.body = body.s;
	text = post(f, &call, "the exchange of tokens",
		    "check the pool and its provider, and whether the other token is "
		    "still valid");
	if (text)
		code = sfs_credentials_read_grant(text, f->from, (int64_t)time(NULL), c,
						  f->err);
	forget(text);
	forget_text(&body);
	return code;
}

/* In place of the token, that of a service account. */
static int impersonate(const struct federation *f, const char *url,
		       struct sfs_credentials *c)
{
	sfs_autofree char *seconds =
		member(f, "service_account_impersonation.token_lifetime_seconds");
	sfs_autofree char *body = sfs_asprintf(
		"{\"delegates\":[],\"scope\":[\"" READ_SCOPE "\"],\"lifetime\":\"%ss\"}",
		seconds ? seconds : LIFETIME_S);
	char *lines = sfs_asprintf("Authorization: Bearer %s\r\n"
				   "Content-Type: application/json\r\n",
				   c->token),
	     *text = NULL, *token = NULL;
	const struct sfs_curl_call call = {
		.method = "POST", .url = url, .lines = lines, .body = body};

	text = post(f, &call, "its service account",
		    "the other identity needs the role of a workload identity user "
		    "(roles/iam.workloadIdentityUser) on it");
	if (text)
		token = sfs_credentials_member(text, "accessToken");
	if (token && *token && sfs_credentials_is_clean(token)) {
		sfs_autofree char *end = sfs_credentials_member(text, "expireTime");

		forget(c->token);
		c->token = steal(&token);
		c->expires_s = end ? sfs_credentials_read_time(end) : 0;
	} else if (text) {
		sfs_error_set(f->err, -EBADMSG,
			      "a token for %s: none came of its service account",
			      f->from);
		forget(steal(&c->token));
	} else {
		forget(steal(&c->token));
	}
	forget(token);
	forget(text);
	forget(lines);
	return c->token ? 0 : -EACCES;
}

int sfs_google_federate(struct sfs_curl_caller *caller, const char *account,
			const char *from, struct sfs_credentials *ret,
			struct sfs_error *err)
{
	const struct federation f = {caller, account, from, err};
	sfs_autofree char *url = member(&f, "service_account_impersonation_url");
	struct sfs_credentials c = {0};
	char *subject = find_subject(&f);
	int code;

	if (!subject)
		return -EACCES;
	code = exchange(&f, subject, url ? ALL_SCOPE : READ_SCOPE, &c);
	forget(subject);
	if (code == 0 && url)
		code = impersonate(&f, url, &c);
	if (code < 0)
		sfs_credentials_done(&c);
	else
		*ret = c;
	return code;
}
