/* SPDX-License-Identifier: MIT */
/* How this works: as with AWS's, each place gives credentials, or says that it is not in
 * use here (-ENOENT), or fails: then none of the later ones is asked. */
#include "source/s3/google-credentials.h"

#include "base/alloc.h"
#include "source/http/curl-call.h"
#include "source/http/key-url.h"
#include "source/s3/aws-profile.h"
#include "source/s3/google-federation.h"
#include "source/s3/google-jwt.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define ENDPOINT      "https://storage.googleapis.com"
#define TOKEN_URL     "https://oauth2.googleapis.com/token"
#define METADATA_HOST "metadata.google.internal"
#define METADATA_PATH "/computeMetadata/v1/instance/service-accounts/default/token"

#define variable sfs_credentials_variable

static int64_t now_s(void)
{
	return (int64_t)time(NULL);
}

static int check(const struct sfs_credentials *c, struct sfs_error *err)
{
	const char *first = c->token ? c->token : c->key_id,
		   *second = c->token ? "-" : c->secret;

	if (!first || !*first || !second || !*second)
		return sfs_error_set(err, -EBADMSG, "credentials from %s: %s", c->from,
				     c->token ? "an empty token"
					      : "an access key or its secret is missing");
	if (!sfs_credentials_is_clean(first) || !sfs_credentials_is_clean(second))
		return sfs_error_set(err, -EBADMSG,
				     "credentials from %s: they hold a blank, or a byte "
				     "that no key or token has",
				     c->from);
	return 0;
}

/* ---- access tokens ---- */

static int from_token_file(struct sfs_curl_caller *caller, struct sfs_credentials *c,
			   struct sfs_error *err)
{
	const char *path = variable("CLOUDSDK_AUTH_ACCESS_TOKEN_FILE");
	int ret = 0;

	if (!path)
		return -ENOENT;
	c->from = sfs_asprintf("the file '%s'", path);
	c->token = sfs_credentials_read_file(path, &ret, err);
	if (!c->token)
		return sfs_error_wrap(err, ret == -ENOENT ? -EINVAL : ret,
				      "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE");
	return check(c, err);
}

static int from_token(struct sfs_curl_caller *caller, struct sfs_credentials *c,
		      struct sfs_error *err)
{
	static const char *const names[] = {"CLOUDSDK_AUTH_ACCESS_TOKEN",
					    "GOOGLE_OAUTH_ACCESS_TOKEN"};
	size_t i;

	for (i = 0; i < SFS_COUNT(names); i++) {
		if (!variable(names[i]))
			continue;
		c->token = sfs_strdup(variable(names[i]));
		c->from = sfs_strdup(names[i]);
		return check(c, err);
	}
	return -ENOENT;
}

/* ---- HMAC keys ---- */

static int from_key(struct sfs_curl_caller *caller, struct sfs_credentials *c,
		    struct sfs_error *err)
{
	if (!variable("GS_ACCESS_KEY_ID") || !variable("GS_SECRET_ACCESS_KEY"))
		return -ENOENT;
	c->key_id = sfs_strdup(variable("GS_ACCESS_KEY_ID"));
	c->secret = sfs_strdup(variable("GS_SECRET_ACCESS_KEY"));
	c->from = sfs_strdup("GS_ACCESS_KEY_ID");
	return check(c, err);
}

/* The path below the home folder, unless the variable names another. */
static char *path_of(const char *name, const char *below_home)
{
	const char *home = variable("HOME");

	if (variable(name))
		return sfs_strdup(variable(name));
	return home ? sfs_asprintf("%s/%s", home, below_home) : NULL;
}

/* What the file holds, which need not be there if no variable names it: then NULL with
 * -ENOENT. */
static char *read_file(const char *name, const char *below_home, char **ret_path,
		       int *ret_err, struct sfs_error *err)
{
	char *text = NULL;

	*ret_path = path_of(name, below_home);
	*ret_err = -ENOENT;
	if (*ret_path)
		text = sfs_credentials_read_file(*ret_path, ret_err, err);
	if (text)
		*ret_err = 0;
	else if (variable(name))
		*ret_err = sfs_error_wrap(
			err, *ret_err == -ENOENT ? -EINVAL : *ret_err, "%s", name);
	else if (*ret_path && access(*ret_path, F_OK) < 0) /* or HOME is odd */
		*ret_err = -ENOENT;
	return text;
}

static int from_boto(struct sfs_curl_caller *caller, struct sfs_credentials *c,
		     struct sfs_error *err)
{
	sfs_autofree char *path = NULL, *text = NULL;
	int ret;

	text = read_file("BOTO_CONFIG", ".boto", &path, &ret, err);
	if (!text)
		return ret;
	c->key_id = sfs_aws_profile_find(text, "Credentials", "gs_access_key_id");
	c->secret = sfs_aws_profile_find(text, "Credentials", "gs_secret_access_key");
	c->from = sfs_asprintf("the file '%s'", path);
	explicit_bzero(text, strlen(text));
	return c->key_id ? check(c, err) : -ENOENT;
}

/* ---- application default credentials ---- */

static void add_field(struct sfs_strbuf *body, const char *name, const char *text)
{
	char *value = sfs_credentials_member(text, name);

	sfs_strbuf_printf(body, "&%s=", name);
	sfs_key_encode(body, value ? value : "", false);
	if (value)
		explicit_bzero(value, strlen(value));
	free(value);
}

/* What is sent for an access token: a user's refresh token, */
static int write_refresh(const char *text, struct sfs_strbuf *body)
{
	sfs_strbuf_puts(body, "grant_type=refresh_token");
	add_field(body, "client_id", text);
	add_field(body, "client_secret", text);
	add_field(body, "refresh_token", text);
	return 0;
}

/* or what a service account has signed. */
static int write_assertion(const char *text, const char *url, const char *from,
			   struct sfs_strbuf *body, struct sfs_error *err)
{
	sfs_autofree char *jwt = sfs_google_jwt(text, url, now_s(), err);

	if (!jwt)
		return sfs_error_wrap(err, -EBADMSG, "%s", from);
	sfs_strbuf_printf(body,
			  "grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3A"
			  "jwt-bearer&assertion=%s",
			  jwt);
	return 0;
}

static int ask(struct sfs_curl_caller *caller, const char *text, bool is_user,
	       const char *from, struct sfs_credentials *c, struct sfs_error *err)
{
	sfs_autofree char *named = sfs_credentials_member(text, "token_uri");
	struct sfs_curl_call call = {.method = "POST",
				     .url = named && *named ? named : TOKEN_URL};
	struct sfs_curl_answer answer;
	struct sfs_strbuf body = {0};
	int ret;

	ret = is_user ? write_refresh(text, &body)
		      : write_assertion(text, call.url, from, &body, err);
	if (ret < 0)
		return ret;
	call.body = body.s;
	ret = sfs_curl_call(caller, &call, &answer, err);
	if (ret < 0)
		sfs_error_wrap(err, ret, "a token for %s", from);
	else if (answer.headers.status != 200)
		ret = sfs_error_set(
			err, -EACCES, "a token for %s: HTTP %d: %s", from,
			answer.headers.status,
			is_user ? "log in again, with gcloud auth application-default "
				  "login"
				: "check whether the account's key is still valid, and "
				  "this machine's clock");
	else
		ret = sfs_credentials_read_grant(answer.body.s ? answer.body.s : "", from,
						 now_s(), c, err);
	sfs_curl_answer_done(&answer);
	explicit_bzero(body.s, body.n);
	sfs_strbuf_done(&body);
	return ret;
}

static int from_application_default(struct sfs_curl_caller *caller,
				    struct sfs_credentials *c, struct sfs_error *err)
{
	sfs_autofree char *path = NULL, *text = NULL, *type = NULL, *from = NULL;
	int ret;

	text = read_file("GOOGLE_APPLICATION_CREDENTIALS",
			 ".config/gcloud/application_default_credentials.json", &path,
			 &ret, err);
	if (!text)
		return ret;
	type = sfs_credentials_member(text, "type");
	from = sfs_asprintf("the file '%s'", path);
	if (!type)
		ret = sfs_error_set(err, -EBADMSG, "%s: it holds no credentials of Google's", path);
	else if (strcmp(type, "authorized_user") == 0 ||
		 strcmp(type, "service_account") == 0)
		ret = ask(caller, text, *type == 'a', from, c, err);
	else if (strcmp(type, "external_account") == 0)
		ret = sfs_google_federate(caller, text, from, c, err);
	else
		ret = sfs_error_set(
			err, -EOPNOTSUPP,
			"%s: shufflefs does not understand credentials of the type "
			"'%s': set bearer-token-command='gcloud auth "
			"print-access-token', or use an HMAC key (GS_ACCESS_KEY_ID, "
			"GS_SECRET_ACCESS_KEY)",
			path, sfs_credentials_is_clean(type) ? type : "?");
	explicit_bzero(text, strlen(text));
	return ret;
}

/* ---- a machine at Google ---- */

static int from_metadata(struct sfs_curl_caller *caller, struct sfs_credentials *c,
			 struct sfs_error *err)
{
	const char *host = variable("GCE_METADATA_HOST"), *off = variable("NO_GCE_CHECK");
	sfs_autofree char *url = sfs_asprintf("http://%s%s", host ? host : METADATA_HOST,
					      METADATA_PATH);
	struct sfs_curl_call call = {.method = "GET",
				     .url = url,
				     .lines = "Metadata-Flavor: Google\r\n",
				     .is_local = true};
	struct sfs_curl_answer answer;
	int ret;

	if (off && strcasecmp(off, "true") == 0)
		return -ENOENT;
	ret = sfs_curl_call(caller, &call, &answer, err);
	if (ret < 0 && !host)
		ret = -ENOENT; /* no such machine */
	else if (ret < 0)
		sfs_error_wrap(err, ret, "GCE_METADATA_HOST");
	else if (answer.headers.status == 404)
		ret = -ENOENT; /* the machine has no account */
	else if (answer.headers.status != 200)
		ret = sfs_error_set(err, -EACCES,
				    "a token from the metadata server: HTTP %d",
				    answer.headers.status);
	else
		ret = sfs_credentials_read_grant(answer.body.s ? answer.body.s : "",
						 "the metadata server", now_s(), c, err);
	sfs_curl_answer_done(&answer);
	return ret;
}

/* ---- all of them ---- */

int sfs_google_credentials_find(const void *ctx, struct sfs_curl_caller *caller,
				const atomic_bool *is_stopped,
				struct sfs_credentials *ret, struct sfs_error *err)
{
	static int (*const places[])(struct sfs_curl_caller *, struct sfs_credentials *,
				     struct sfs_error *) = {
		from_token_file, from_token,		   from_key,
		from_boto,	 from_application_default, from_metadata,
	};
	struct sfs_credentials c = {0};
	int code = -ENOENT;
	size_t i;

	for (i = 0; i < SFS_COUNT(places) && code == -ENOENT; i++) {
		code = places[i](caller, &c, err);
		if (code < 0)
			sfs_credentials_done(&c);
	}
	if (code == 0)
		*ret = c;
	return code;
}

int sfs_google_settings(char **ret_region, char **ret_endpoint, struct sfs_error *err)
{
	const char *emulator = variable("STORAGE_EMULATOR_HOST");

	*ret_region = NULL;
	*ret_endpoint = emulator && !strstr(emulator, "://")
				? sfs_asprintf("http://%s", emulator)
				: sfs_strdup(emulator ? emulator : ENDPOINT);
	return 0;
}
