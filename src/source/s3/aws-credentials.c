/* SPDX-License-Identifier: MIT */
/* How this works: each place gives credentials, or says that it is not in use here
 * (-ENOENT), or fails: then none of the later ones is asked, as AWS's tools do it. */
#include "source/s3/aws-credentials.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/process.h"
#include "base/xml.h"
#include "source/http/curl-call.h"
#include "source/http/key-url.h"
#include "source/s3/aws-profile.h"
#include "source/s3/s3-url.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define CONTAINER_URL "http://169.254.170.2"
#define INSTANCE_URL  "http://169.254.169.254"
#define TOKEN_PATH    "/latest/api/token"
#define ROLES_PATH    "/latest/meta-data/iam/security-credentials/"
#define PROGRAM_MS    60000

struct search {
	struct sfs_curl_caller *caller;
	const atomic_bool *is_stopped;
	struct sfs_aws_profile profile;
};

static char *copy_variable(const char *name)
{
	const char *value = sfs_credentials_variable(name);

	return value ? sfs_strdup(value) : NULL;
}

/* ---- what the places give ---- */

static int check(struct sfs_credentials *c, struct sfs_error *err)
{
	if (c->token && !*c->token)
		free(steal(&c->token));
	if (!c->key_id || !*c->key_id || !c->secret || !*c->secret)
		return sfs_error_set(
			err, -EBADMSG,
			"credentials from %s: they lack an access key or its "
			"secret",
			c->from);
	if (!sfs_credentials_is_clean(c->key_id) || !sfs_credentials_is_clean(c->secret) || !sfs_credentials_is_clean(c->token))
		return sfs_error_set(err, -EBADMSG,
				     "credentials from %s: they hold a blank, or a byte "
				     "that no key has",
				     c->from);
	return 0;
}

static void take_member(struct sfs_credentials *c, const char *name,
			const struct sfs_json *json)
{
	const char *text = json->text.s ? json->text.s : "";
	char **field = strcmp(name, "AccessKeyId") == 0	      ? &c->key_id
		       : strcmp(name, "SecretAccessKey") == 0 ? &c->secret
		       : strcmp(name, "SessionToken") == 0 || strcmp(name, "Token") == 0
			       ? &c->token
			       : NULL;

	if (strcmp(name, "Expiration") == 0)
		c->expires_s = sfs_credentials_read_time(text);
	if (!field)
		return;
	free(*field);
	*field = sfs_strdup(text);
}

int sfs_aws_credentials_read(const char *text, size_t n, const char *from,
			     struct sfs_credentials *ret, struct sfs_error *err)
{
	struct sfs_credentials c = {.from = sfs_strdup(from)};
	sfs_autofree char *name = NULL;
	enum sfs_json_token token;
	struct sfs_json json;
	int code = 0;

	sfs_json_init(&json, text, n);
	token = sfs_json_next(&json);
	while (token == SFS_JSON_OBJECT && sfs_json_next(&json) == SFS_JSON_KEY) {
		free(steal(&name));
		name = sfs_strdup(json.text.s ? json.text.s : "");
		token = sfs_json_next(&json);
		if (token == SFS_JSON_STRING)
			take_member(&c, name, &json);
		else if (!sfs_json_skip(&json, token))
			break;
		token = SFS_JSON_OBJECT;
	}
	if (token != SFS_JSON_OBJECT || sfs_json_next(&json) != SFS_JSON_END)
		code = sfs_error_set(err, -EBADMSG, "credentials from %s: no JSON object",
				     from);
	sfs_json_done(&json);
	if (code == 0)
		code = check(&c, err);
	if (code < 0)
		sfs_credentials_done(&c);
	else
		*ret = c;
	return code;
}

/* ---- the environment ---- */

static int from_environment(struct search *s, struct sfs_credentials *c,
			    struct sfs_error *err)
{
	if (!sfs_credentials_variable("AWS_ACCESS_KEY_ID") || !sfs_credentials_variable("AWS_SECRET_ACCESS_KEY"))
		return -ENOENT;
	c->key_id = sfs_strdup(sfs_credentials_variable("AWS_ACCESS_KEY_ID"));
	c->secret = sfs_strdup(sfs_credentials_variable("AWS_SECRET_ACCESS_KEY"));
	c->token = copy_variable("AWS_SESSION_TOKEN");
	c->from = sfs_strdup("the environment");
	return check(c, err);
}

/* ---- a profile's keys ---- */

static int from_profile(struct search *s, struct sfs_credentials *c,
			struct sfs_error *err)
{
	c->key_id = sfs_aws_profile_get(&s->profile, "aws_access_key_id");
	if (!c->key_id)
		return -ENOENT;
	c->secret = sfs_aws_profile_get(&s->profile, "aws_secret_access_key");
	c->token = sfs_aws_profile_get(&s->profile, "aws_session_token");
	c->from = sfs_asprintf("profile '%s'", s->profile.name);
	return check(c, err);
}

/* ---- a program ---- */

static int from_process(struct search *s, struct sfs_credentials *c,
			struct sfs_error *err)
{
	sfs_autofree char *command =
		sfs_aws_profile_get(&s->profile, "credential_process");
	sfs_autofree char *from = NULL;
	struct sfs_strbuf text = {0};
	int ret;

	if (!command)
		return -ENOENT;
	from = sfs_asprintf("the credential_process of profile '%s'", s->profile.name);
	ret = sfs_process_run(command, NULL, PROGRAM_MS, s->is_stopped, &text, err);
	if (ret < 0)
		sfs_error_wrap(err, ret, "%s", from);
	else
		ret = sfs_aws_credentials_read(text.s ? text.s : "", text.n, from, c,
					       err);
	if (text.s)
		explicit_bzero(text.s, text.n);
	sfs_strbuf_done(&text);
	return ret;
}

/* ---- a web identity ---- */

static void take_element(struct sfs_credentials *c, const struct sfs_xml *xml)
{
#define CREDENTIALS                          \
	"AssumeRoleWithWebIdentityResponse/" \
	"AssumeRoleWithWebIdentityResult/Credentials/"
	char **field = sfs_xml_at(xml, CREDENTIALS "AccessKeyId")	? &c->key_id
		       : sfs_xml_at(xml, CREDENTIALS "SecretAccessKey") ? &c->secret
		       : sfs_xml_at(xml, CREDENTIALS "SessionToken")	? &c->token
									: NULL;

	if (sfs_xml_at(xml, CREDENTIALS "Expiration"))
		c->expires_s = sfs_credentials_read_time(xml->text.s);
	if (!field)
		return;
	free(*field);
	*field = sfs_strdup(xml->text.s);
}

static void take_code(struct sfs_strbuf *code, const struct sfs_xml *xml)
{
	if (sfs_xml_at(xml, "ErrorResponse/Error/Code") && sfs_credentials_is_clean(xml->text.s)) {
		sfs_strbuf_done(code);
		sfs_strbuf_printf(code, " %.60s", xml->text.s);
	}
}

/* The response of STS. */
static int read_sts(const struct sfs_curl_answer *answer, struct sfs_credentials *c,
		    struct sfs_error *err)
{
	struct sfs_strbuf code = {0};
	enum sfs_xml_token token;
	struct sfs_xml xml;
	int ret = 0;

	sfs_xml_init(&xml, answer->body.s ? answer->body.s : "", answer->body.n);
	while ((token = sfs_xml_next(&xml)) > SFS_XML_END) {
		if (token != SFS_XML_CLOSE)
			continue;
		take_element(c, &xml);
		take_code(&code, &xml);
	}
	sfs_xml_done(&xml);
	if (answer->headers.status != 200)
		ret = sfs_error_set(err, -EACCES, "%s: HTTP %d%s from STS", c->from,
				    answer->headers.status, code.s ? code.s : "");
	sfs_strbuf_done(&code);
	return ret < 0 ? ret : check(c, err);
}

static char *url_of_sts(void)
{
	sfs_autofree char *region = NULL, *endpoint = NULL;
	struct sfs_error ignored;

	if (sfs_credentials_variable("AWS_ENDPOINT_URL_STS"))
		return sfs_strdup(sfs_credentials_variable("AWS_ENDPOINT_URL_STS"));
	if (sfs_aws_settings(&region, &endpoint, &ignored) < 0 || !region)
		return sfs_strdup("https://sts.amazonaws.com/");
	return sfs_asprintf("https://sts.%s.amazonaws.com%s/", region,
			    strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
}

static int assume(struct search *s, const char *role, const char *session,
		  const char *token_file, struct sfs_credentials *c,
		  struct sfs_error *err)
{
	sfs_autofree char *url = url_of_sts(), *token = NULL;
	struct sfs_curl_call call = {.method = "POST", .url = url};
	struct sfs_curl_answer answer = {0};
	struct sfs_strbuf body = {0};
	int ret = 0;

	c->from = sfs_asprintf("the web identity of role '%s'", role);
	token = sfs_credentials_read_file(token_file, &ret, err);
	if (!token)
		return sfs_error_wrap(err, ret == -ENOENT ? -EINVAL : ret, "%s", c->from);
	sfs_strbuf_puts(&body, "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&"
			       "RoleArn=");
	sfs_key_encode(&body, role, false);
	sfs_strbuf_puts(&body, "&RoleSessionName=");
	sfs_key_encode(&body, session ? session : "shufflefs", false);
	sfs_strbuf_puts(&body, "&WebIdentityToken=");
	sfs_key_encode(&body, token, false);
	call.body = body.s;
	ret = sfs_curl_call(s->caller, &call, &answer, err);
	if (ret < 0)
		sfs_error_wrap(err, ret, "%s", c->from);
	else
		ret = read_sts(&answer, c, err);
	sfs_curl_answer_done(&answer);
	explicit_bzero(body.s, body.n);
	sfs_strbuf_done(&body);
	return ret;
}

static int from_web_identity_of_profile(struct search *s, struct sfs_credentials *c,
					struct sfs_error *err)
{
	sfs_autofree char *role = sfs_aws_profile_get(&s->profile, "role_arn");
	sfs_autofree char *file =
		sfs_aws_profile_get(&s->profile, "web_identity_token_file");
	sfs_autofree char *session =
		sfs_aws_profile_get(&s->profile, "role_session_name");

	if (role && !file)
		return sfs_error_set(
			err, -EOPNOTSUPP,
			"profile '%s' has a role_arn without a web_identity_token_file: "
			"shufflefs assumes no role with other keys; a line "
			"credential_process = aws configure export-credentials --profile "
			"%s of another profile does it",
			s->profile.name, s->profile.name);
	return role ? assume(s, role, session, file, c, err) : -ENOENT;
}

static int from_web_identity(struct search *s, struct sfs_credentials *c,
			     struct sfs_error *err)
{
	const char *file = sfs_credentials_variable("AWS_WEB_IDENTITY_TOKEN_FILE"),
		   *role = sfs_credentials_variable("AWS_ROLE_ARN");

	if (!file || !role)
		return -ENOENT;
	return assume(s, role, sfs_credentials_variable("AWS_ROLE_SESSION_NAME"), file, c, err);
}

/* ---- a container, an instance ---- */

static int ask_local(struct search *s, struct sfs_curl_call *call, const char *what,
		     struct sfs_curl_answer *answer, struct sfs_error *err)
{
	int ret;

	call->is_local = true;
	ret = sfs_curl_call(s->caller, call, answer, err);
	if (ret < 0)
		return sfs_error_wrap(err, ret, "credentials from %s", what);
	if (answer->headers.status != 200)
		return sfs_error_set(err, -EACCES, "credentials from %s: HTTP %d", what,
				     answer->headers.status);
	return 0;
}

/* A token must not go to any host without TLS: only to this machine and to the addresses
 * that AWS gives to such services. */
static bool is_own_host(const char *url)
{
	static const char *const hosts[] = {"localhost",      "127.0.0.1",
					    "[::1]",	      "169.254.170.2",
					    "169.254.170.23", "[fd00:ec2::23]"};
	const char *path;
	sfs_autofree char *host = NULL;
	size_t i, n;

	if (strncmp(url, "https://", 8) == 0)
		return true;
	if (strncmp(url, "http://", 7) != 0)
		return false;
	host = sfs_s3_host(url, &path);
	for (i = 0; i < SFS_COUNT(hosts); i++) {
		n = strlen(hosts[i]);
		if (strncmp(host, hosts[i], n) == 0 && (host[n] == 0 || host[n] == ':'))
			return true;
	}
	return false;
}

/* The header line with the container's token; NULL: there is none to be sent. */
static int container_line(char **ret_line, struct sfs_error *err)
{
	const char *file = sfs_credentials_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
	sfs_autofree char *token = NULL;
	int ret = 0;

	*ret_line = NULL;
	if (file)
		token = sfs_credentials_read_file(file, &ret, err);
	else
		token = copy_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
	if (file && !token)
		return ret == -ENOENT ? -EINVAL : ret;
	if (token && strpbrk(token, "\r\n"))
		return sfs_error_set(err, -EINVAL,
				     "the container's authorization token has more than "
				     "one line");
	if (token)
		*ret_line = sfs_asprintf("Authorization: %s\r\n", token);
	return 0;
}

static int from_container(struct search *s, struct sfs_credentials *c,
			  struct sfs_error *err)
{
	const char *relative = sfs_credentials_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"),
		   *full = sfs_credentials_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
	sfs_autofree char *url = NULL, *line = NULL;
	struct sfs_curl_call call = {.method = "GET"};
	struct sfs_curl_answer answer = {0};
	int ret;

	if (!relative && !full)
		return -ENOENT;
	url = relative ? sfs_asprintf("%s%s", CONTAINER_URL, relative) : sfs_strdup(full);
	if (!is_own_host(url))
		return sfs_error_set(err, -EINVAL,
				     "AWS_CONTAINER_CREDENTIALS_FULL_URI: over http only "
				     "this machine is asked, or 169.254.170.2");
	ret = container_line(&line, err);
	if (ret < 0)
		return ret;
	call.url = url;
	call.lines = line;
	ret = ask_local(s, &call, "the container", &answer, err);
	if (ret == 0)
		ret = sfs_aws_credentials_read(answer.body.s ? answer.body.s : "",
					       answer.body.n, "the container", c, err);
	sfs_curl_answer_done(&answer);
	return ret;
}

/* GET a path of the instance's metadata. */
static int ask_instance(struct search *s, const char *base, const char *path,
			const char *role, const char *lines,
			struct sfs_curl_answer *answer, struct sfs_error *err)
{
	sfs_autofree char *url = sfs_asprintf("%s%s%s", base, path, role);
	struct sfs_curl_call call = {.method = "GET", .url = url, .lines = lines};

	return ask_local(s, &call, "the instance's metadata", answer, err);
}

/* The header line with a token; NULL: there is no such service. */
static char *instance_line(struct search *s, const char *base)
{
	sfs_autofree char *url = sfs_asprintf("%s%s", base, TOKEN_PATH);
	struct sfs_curl_call call = {
		.method = "PUT",
		.url = url,
		.lines = "X-aws-ec2-metadata-token-ttl-seconds: 21600\r\n"};
	struct sfs_curl_answer answer = {0};
	struct sfs_error ignored;
	char *line = NULL;

	if (ask_local(s, &call, "", &answer, &ignored) == 0 && answer.body.s &&
	    sfs_credentials_is_clean(answer.body.s))
		line = sfs_asprintf("X-aws-ec2-metadata-token: %s\r\n", answer.body.s);
	sfs_curl_answer_done(&answer);
	return line;
}

static int from_instance(struct search *s, struct sfs_credentials *c,
			 struct sfs_error *err)
{
	const char *base = sfs_credentials_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT"),
		   *disabled = sfs_credentials_variable("AWS_EC2_METADATA_DISABLED");
	struct sfs_curl_answer roles = {0}, answer = {0};
	sfs_autofree char *line = NULL;
	int ret;

	if (disabled && strcasecmp(disabled, "true") == 0)
		return -ENOENT;
	base = base ? base : INSTANCE_URL;
	line = instance_line(s, base);
	if (!line)
		return -ENOENT;
	ret = ask_instance(s, base, ROLES_PATH, "", line, &roles, err);
	if (roles.headers.status == 404 || (ret == 0 && !roles.body.s))
		ret = -ENOENT; /* the instance has no role */
	if (ret == 0) {
		roles.body.s[strcspn(roles.body.s, "\r\n")] = 0;
		ret = ask_instance(s, base, ROLES_PATH, roles.body.s, line, &answer, err);
	}
	if (ret == 0)
		ret = sfs_aws_credentials_read(answer.body.s ? answer.body.s : "",
					       answer.body.n, "the instance's metadata",
					       c, err);
	sfs_curl_answer_done(&answer);
	sfs_curl_answer_done(&roles);
	return ret;
}

/* ---- all of them ---- */

int sfs_aws_credentials_find(const void *ctx, struct sfs_curl_caller *caller,
			     const atomic_bool *is_stopped,
			     struct sfs_credentials *ret, struct sfs_error *err)
{
	static int (*const places[])(struct search *, struct sfs_credentials *,
				     struct sfs_error *) = {
		from_environment, from_profile,	     from_web_identity_of_profile,
		from_process,	  from_web_identity, from_container,
		from_instance,
	};
	struct search s = {.caller = caller, .is_stopped = is_stopped};
	struct sfs_credentials c = {0};
	int code = -ENOENT;
	size_t i;

	for (i = 0; i < SFS_COUNT(places) && code == -ENOENT; i++) {
		if (i == 1)
			code = sfs_aws_profile_load(&s.profile, err);
		if (i == 1 && code < 0)
			break;
		code = places[i](&s, &c, err);
		if (code < 0)
			sfs_credentials_done(&c);
	}
	sfs_aws_profile_done(&s.profile);
	if (code == 0)
		*ret = c;
	return code;
}

int sfs_aws_settings(char **ret_region, char **ret_endpoint, struct sfs_error *err)
{
	const char *region = sfs_credentials_variable("AWS_REGION"),
		   *endpoint = sfs_credentials_variable("AWS_ENDPOINT_URL_S3");
	struct sfs_aws_profile profile = {0};
	int ret;

	region = region ? region : sfs_credentials_variable("AWS_DEFAULT_REGION");
	endpoint = endpoint ? endpoint : sfs_credentials_variable("AWS_ENDPOINT_URL");
	ret = region && endpoint ? 0 : sfs_aws_profile_load(&profile, err);
	if (ret < 0)
		return ret;
	*ret_region = region ? sfs_strdup(region) : NULL;
	*ret_endpoint = endpoint ? sfs_strdup(endpoint) : NULL;
	if (!region)
		*ret_region = sfs_aws_profile_get(&profile, "region");
	if (!endpoint)
		*ret_endpoint = sfs_aws_profile_get(&profile, "endpoint_url");
	sfs_aws_profile_done(&profile);
	return 0;
}
