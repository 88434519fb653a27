/* SPDX-License-Identifier: MIT */
/* The account of a mount, and the times of a SAS.  What needs a server:
 * cat-az-errors-name-a-remedy. */
#include "base/alloc.h"
#include "check.h"
#include "source/azure/azure-account.h"
#include "source/azure/azure-credentials.h"
#include "source/uri.h"

#include <errno.h>

static struct sfs_azure_account account;
static struct sfs_error err;

static void finds(const char *endpoint, const char *name, const char *url)
{
	sfs_azure_account_done(&account);
	CHECK_EQ(sfs_azure_account_find(endpoint, &account, &err), 0);
	CHECK_STR(account.name, name);
	CHECK_STR(account.url, url);
}

static void meets(const char *bucket, const char *name, const char *url)
{
	CHECK_EQ(sfs_azure_account_meet(&account, bucket, &err), 0);
	CHECK_STR(account.name, name);
	CHECK_STR(account.url, url);
}

static void check_accounts(void)
{
	CHECK_EQ(sfs_azure_account_find(NULL, &account, &err), 0);
	CHECK(!account.url);
	CHECK_EQ(sfs_azure_account_meet(&account, "con", &err), -EINVAL);
	CHECK_HAS(err.text, "needs an account");
	CHECK_EQ(sfs_azure_account_meet(&account, "con@example.org", &err), -EINVAL);
	meets("con@a1.blob.core.windows.net", "a1", "https://a1.blob.core.windows.net");
	meets("other@a1.blob.core.windows.net", "a1", "https://a1.blob.core.windows.net");
	meets("con", "a1", "https://a1.blob.core.windows.net");
	CHECK_EQ(sfs_azure_account_meet(&account, "c@a2.blob.core.windows.net", &err),
		 -EINVAL);
	CHECK_HAS(err.text, "reads one account");

	finds("http://127.0.0.1:10000/emulated/", "emulated",
	      "http://127.0.0.1:10000/emulated");
	finds("http://azurite:9/emulated", "emulated", "http://azurite:9/emulated");
	finds("https://a3.blob.core.chinacloudapi.cn", "a3",
	      "https://a3.blob.core.chinacloudapi.cn");
	setenv("AZURE_STORAGE_ACCOUNT_NAME", "a5", 1);
	finds(NULL, "a5", "https://a5.blob.core.windows.net");
	setenv("AZURE_STORAGE_ACCOUNT", "a4", 1);
	finds(NULL, "a4", "https://a4.blob.core.windows.net");
	finds("https://store.example.org", "a4", "https://store.example.org");
	setenv("AZURE_STORAGE_CONNECTION_STRING",
	       "DefaultEndpointsProtocol=https;AccountName=a6;AccountKey=a=b==;"
	       "EndpointSuffix=core.usgovcloudapi.net",
	       1);
	finds(NULL, "a6", "https://a6.blob.core.usgovcloudapi.net");
	CHECK_EQ(sfs_azure_account_find("ftp://x", &account, &err), -EINVAL);
	setenv("AZURE_STORAGE_ACCOUNT", "A_4", 1);
	unsetenv("AZURE_STORAGE_CONNECTION_STRING");
	CHECK_EQ(sfs_azure_account_find(NULL, &account, &err), -EINVAL);
	CHECK_HAS(err.text, "not a name of a storage account");
	sfs_azure_account_done(&account);
}

static void check_connection(void)
{
	static const char text[] = "accountname=x;AccountKey=a=b==;;Last=";
	sfs_autofree char *name = sfs_azure_connection_get(text, "AccountName"),
			  *key = sfs_azure_connection_get(text, "AccountKey");

	CHECK_STR(name, "x");
	CHECK_STR(key, "a=b==");
	CHECK(!sfs_azure_connection_get(text, "Account"));
	CHECK(!sfs_azure_connection_get("", "Account"));
}

static void check_times(void)
{
	CHECK_EQ(sfs_azure_sas_time("sv=1&se=2026-11-26T13%3A15%3a11Z&sig=x", "se"),
		 1795698911);
	CHECK_EQ(sfs_azure_sas_time("se=2026-11-26T13:15Z", "se"), 1795698900);
	CHECK_EQ(sfs_azure_sas_time("st=2026-11-26&se=x", "st"), 1795651200);
	CHECK_EQ(sfs_azure_sas_time("st=2026-11-26&se=x", "se"), 0);
	CHECK_EQ(sfs_azure_sas_time("ses=2026-11-26", "se"), 0);
	CHECK_EQ(sfs_azure_sas_time("", "se"), 0);
}

/* The forms of Azure's URLs, and no others. */
static void check_urls(void)
{
	static const char *const good[][2] = {
		{"az://con-1/a b/x?.tar", "az://con-1/a b/x?.tar"},
		{"abfs://con", "az://con/"},
		{"abfss://con@acct.dfs.core.windows.net/x",
		 "az://con@acct.blob.core.windows.net/x"},
		{"az://con@Acct.DFS.core.windows.net/x",
		 "az://con@acct.blob.core.windows.net/x"},
		{"az://con@acct/x", "az://con@acct.blob.core.windows.net/x"},
		{"az://acct.blob.core.windows.net/con/x/y",
		 "az://con@acct.blob.core.windows.net/x/y"},
		{"az://acct.blob.core.windows.net/$web",
		 "az://$web@acct.blob.core.windows.net/"},
	};
	static const char *const bad[] = {
		"az://",
		"az:///x",
		"az://Con/x",
		"az://a_b/x",
		"az://@acct/x",
		"az://con@/x",
		"az://con@a b/x",
		"az://con:SECRET@acct/x",
		"az://acct.blob.core.windows.net",
		"az://acct.blob.core.windows.net//x",
		"az://con/../x",
		"az://con/x?sv=1&sig=SECRET",
	};
	sfs_autofree char *shown = sfs_uri_redact("abfs://con@acct.dfs.net/x");
	struct sfs_uri uri, again;
	size_t i;

	CHECK_STR(shown, "abfs://con@acct.dfs.net/x");
	for (i = 0; i < SFS_COUNT(good); i++) {
		CHECK_EQ(sfs_uri_parse(good[i][0], &uri, &err), 0);
		CHECK_EQ(uri.scheme, SFS_SCHEME_AZ);
		CHECK_STR(uri.location, good[i][1]);
		CHECK_EQ(sfs_uri_parse(uri.location, &again, &err), 0);
		CHECK_STR(again.location, uri.location);
		sfs_uri_done(&uri);
		sfs_uri_done(&again);
	}
	for (i = 0; i < SFS_COUNT(bad); i++) {
		CHECK_EQ(sfs_uri_parse(bad[i], &uri, &err), -EINVAL);
		CHECK(!strstr(err.text, "SECRET"));
	}
}

int main(void)
{
	check_accounts();
	check_connection();
	check_times();
	check_urls();
	return 0;
}
