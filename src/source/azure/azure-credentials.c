/* SPDX-License-Identifier: MIT */
/* How this works: each place gives credentials, or says that it is not in use here
 * (-ENOENT), or fails: then none of the later ones is asked. */
#include "source/azure/azure-credentials.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "source/azure/azure-account.h"
#include "source/http/curl-call.h"
#include "source/http/key-url.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define MOST_KEY  256 /* bytes */
#define AUTHORITY "https://login.microsoftonline.com"
#define METADATA  "http://169.254.169.254"
#define IDENTITY                                                      \
	"/metadata/identity/oauth2/token?api-version=2018-02-01&"     \
	"resource=https%3A%2F%2Fstorage.azure.com%2F"

#define variable sfs_credentials_variable

/* ---- what the places give ---- */

static int take_key(const char *key, const char *from, struct sfs_credentials *c,
		    struct sfs_error *err)
{
	unsigned char bytes[MOST_KEY];
	ssize_t n = sfs_base64_decode(key, bytes, sizeof bytes);

	explicit_bzero(bytes, sizeof bytes);
	if (n <= 0)
		return sfs_error_set(err, -EINVAL,
				     "what %s holds is not the key of an account: "
				     "such a key is Base64, and ends in ==",
				     from);
	c->secret = sfs_strdup(key);
	c->from = sfs_strdup(from);
	return 0;
}

/* It goes into URLs as it is. */
static int take_sas(const char *sas, const char *from, struct sfs_credentials *c,
		    struct sfs_error *err)
{
	sas += *sas == '?';
	if ((strncmp(sas, "sig=", 4) != 0 && !strstr(sas, "&sig=")) ||
	    !sfs_credentials_is_clean(sas) || strpbrk(sas, "?#"))
		return sfs_error_set(err, -EINVAL,
				     "what %s holds is not a SAS: one looks like "
				     "sv=...&se=...&sp=rl&sig=..., in one line",
				     from);
	c->query = sfs_strdup(sas);
	c->from = sfs_strdup(from);
	return 0;
}

static int take_token(const char *token, const char *from, struct sfs_credentials *c,
		      struct sfs_error *err)
{
	if (!sfs_credentials_is_clean(token))
		return sfs_error_set(err, -EINVAL,
				     "the token from %s holds a blank, or a byte that no "
				     "token has",
				     from);
	c->token = sfs_strdup(token);
	c->from = sfs_strdup(from);
	return 0;
}

/* The value that a query has under this name; NULL: none. */
static const char *find_value(const char *query, const char *name)
{
	size_t n_name = strlen(name), n;

	for (; *query; query += n + (query[n] == '&')) {
		n = strcspn(query, "&");
		if (n > n_name && query[n_name] == '=' &&
		    strncmp(query, name, n_name) == 0)
			return query + n_name + 1;
	}
	return NULL;
}

/* "2026-11-26T14%3A00%3A00Z", or with colons, or without seconds, or only a day. */
int64_t sfs_azure_sas_time(const char *sas, const char *name)
{
	static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
					      "%Y-%m-%d"};
	const char *value = find_value(sas, name);
	char text[32] = "";
	struct tm tm;
	size_t i;

	for (i = 0; value && *value && *value != '&' && i + 1 < sizeof text; i++) {
		bool is_colon = strncasecmp(value, "%3A", 3) == 0;

		text[i] = is_colon ? ':' : *value;
		value += is_colon ? 3 : 1;
	}
	for (i = 0; i < SFS_COUNT(formats); i++) {
		tm = (struct tm){0};
		if (strptime(text, formats[i], &tm))
			return (int64_t)timegm(&tm);
	}
	return 0;
}

/* ---- files and the environment ---- */

struct search {
	struct sfs_curl_caller *caller;
	const char *sas_file;
};

/* It may be written anew before it expires. */
static int from_sas_file(const struct search *s, struct sfs_credentials *c,
			 struct sfs_error *err)
{
	sfs_autofree char *text = NULL, *from = NULL;
	int ret = 0;

	if (!s->sas_file)
		return -ENOENT;
	from = sfs_asprintf("the file '%s'", s->sas_file);
	text = sfs_credentials_read_file(s->sas_file, &ret, err);
	if (!text)
		return sfs_error_wrap(err, ret == -ENOENT ? -EINVAL : ret, "sas-file");
	ret = take_sas(text, from, c, err);
	if (ret == 0)
		c->expires_s = sfs_azure_sas_time(c->query, "se");
	explicit_bzero(text, strlen(text));
	return ret;
}

static int from_connection(const struct search *s, struct sfs_credentials *c,
			   struct sfs_error *err)
{
	static const char from[] = "AZURE_STORAGE_CONNECTION_STRING";
	const char *text = variable(from);
	char *key, *sas;
	int ret = -ENOENT;

	if (!text)
		return -ENOENT;
	key = sfs_azure_connection_get(text, "AccountKey");
	sas = sfs_azure_connection_get(text, "SharedAccessSignature");
	if (key)
		ret = take_key(key, from, c, err);
	else if (sas)
		ret = take_sas(sas, from, c, err);
	if (key)
		explicit_bzero(key, strlen(key));
	if (sas)
		explicit_bzero(sas, strlen(sas));
	free(key);
	free(sas);
	return ret;
}

static int from_key(const struct search *s, struct sfs_credentials *c,
		    struct sfs_error *err)
{
	const char *name = variable("AZURE_STORAGE_KEY") ? "AZURE_STORAGE_KEY"
							 : "AZURE_STORAGE_ACCOUNT_KEY";

	return variable(name) ? take_key(variable(name), name, c, err) : -ENOENT;
}

static int from_sas(const struct search *s, struct sfs_credentials *c,
		    struct sfs_error *err)
{
	static const char from[] = "AZURE_STORAGE_SAS_TOKEN";

	return variable(from) ? take_sas(variable(from), from, c, err) : -ENOENT;
}

static int from_token(const struct search *s, struct sfs_credentials *c,
		      struct sfs_error *err)
{
	static const char from[] = "AZURE_STORAGE_TOKEN";

	return variable(from) ? take_token(variable(from), from, c, err) : -ENOENT;
}

/* ---- services that give tokens ---- */

static int ask(const struct search *s, const struct sfs_curl_call *call, const char *from,
	       struct sfs_credentials *c, struct sfs_error *err)
{
	struct sfs_curl_answer answer;
	int ret = sfs_curl_call(s->caller, call, &answer, err);

	if (ret < 0)
		sfs_error_wrap(err, ret, "a token from %s", from);
	else if (answer.headers.status != 200)
		ret = sfs_error_set(err, -EACCES, "a token from %s: HTTP %d", from,
				    answer.headers.status);
	else
		ret = sfs_credentials_read_grant(answer.body.s ? answer.body.s : "", from,
						 (int64_t)time(NULL), c, err);
	sfs_curl_answer_done(&answer);
	return ret;
}

static void add_field(struct sfs_strbuf *body, const char *name, const char *value)
{
	sfs_strbuf_printf(body, "&%s=", name);
	sfs_key_encode(body, value, false);
}

static void refused_by_entra(bool has_file, struct sfs_error *err)
{
	struct sfs_error answer = *err;

	sfs_error_set(err, -EACCES, "%s: check AZURE_TENANT_ID, AZURE_CLIENT_ID and %s",
		      answer.text,
		      has_file ? "AZURE_FEDERATED_TOKEN_FILE" : "AZURE_CLIENT_SECRET");
}

/* A workload's identity, as Kubernetes has it at Azure, or an application's secret. */
static int from_entra(const struct search *s, struct sfs_credentials *c,
		      struct sfs_error *err)
{
	const char *tenant = variable("AZURE_TENANT_ID"),
		   *client = variable("AZURE_CLIENT_ID"),
		   *file = variable("AZURE_FEDERATED_TOKEN_FILE"),
		   *secret = variable("AZURE_CLIENT_SECRET"),
		   *authority = variable("AZURE_AUTHORITY_HOST");
	sfs_autofree char *url = NULL, *token = NULL;
	struct sfs_curl_call call = {.method = "POST"};
	struct sfs_strbuf body = {0};
	int ret = 0;

	if (!tenant || !client || !(file || secret))
		return -ENOENT;
	if (file)
		token = sfs_credentials_read_file(file, &ret, err);
	if (file && !token)
		return sfs_error_wrap(err, ret == -ENOENT ? -EINVAL : ret,
				      "AZURE_FEDERATED_TOKEN_FILE");
	authority = authority ? authority : AUTHORITY;
	url = sfs_asprintf("%s%s%s/oauth2/v2.0/token", authority,
			   authority[strlen(authority) - 1] == '/' ? "" : "/", tenant);
	sfs_strbuf_puts(&body, "grant_type=client_credentials");
	add_field(&body, "scope", "https://storage.azure.com/.default");
	add_field(&body, "client_id", client);
	if (file)
		add_field(&body, "client_assertion_type",
			  "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
	add_field(&body, file ? "client_assertion" : "client_secret",
		  file ? token : secret);
	call.url = url;
	call.body = body.s;
	ret = ask(s, &call, "Entra ID", c, err);
	if (ret == -EACCES)
		refused_by_entra(file != NULL, err);
	explicit_bzero(body.s, body.n);
	sfs_strbuf_done(&body);
	return ret;
}

/* Elsewhere there is no such service, or another one. */
static int from_machine(const struct search *s, struct sfs_credentials *c,
			struct sfs_error *err)
{
	const char *host = variable("AZURE_POD_IDENTITY_AUTHORITY_HOST"),
		   *client = variable("AZURE_CLIENT_ID");
	struct sfs_curl_call call = {
		.method = "GET", .lines = "Metadata: true\r\n", .is_local = true};
	struct sfs_strbuf url = {0};
	int ret;

	sfs_strbuf_printf(&url, "%s%s", host ? host : METADATA, IDENTITY);
	if (client)
		add_field(&url, "client_id", client);
	call.url = url.s;
	ret = ask(s, &call, "the machine's managed identity", c, err);
	sfs_strbuf_done(&url);
	return ret < 0 ? -ENOENT : 0;
}

/* ---- all of them ---- */

int sfs_azure_credentials_find(const void *ctx, struct sfs_curl_caller *caller,
			       const atomic_bool *is_stopped, struct sfs_credentials *ret,
			       struct sfs_error *err)
{
	static int (*const places[])(const struct search *, struct sfs_credentials *,
				     struct sfs_error *) = {
		from_sas_file, from_connection, from_key,     from_sas,
		from_token,    from_entra,	from_machine,
	};
	const struct search s = {.caller = caller, .sas_file = ctx};
	struct sfs_credentials c = {0};
	int code = -ENOENT;
	size_t i;

	for (i = 0; i < SFS_COUNT(places) && code == -ENOENT; i++) {
		code = places[i](&s, &c, err);
		if (code < 0)
			sfs_credentials_done(&c);
	}
	if (code == 0)
		*ret = c;
	return code;
}
