/* SPDX-License-Identifier: MIT */
/* The signatures are those of azure-storage-blob 12.31 for the same requests. */
#include "base/alloc.h"
#include "check.h"
#include "source/azure/azure-sign.h"

#define KEY                                                                           \
	"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4" \
	"OTo7PD0+Pw=="

static void signs(const char *path, const char *query, const char *if_match,
		  const char *range, const char *wanted)
{
	char date[32];
	const struct sfs_azure_request r = {
		.account = "acct",
		.path = path,
		.query = query,
		.if_match = if_match,
		.range = range,
		.date = sfs_azure_time(1795698911, date),
		.version = "2020-10-02",
	};
	sfs_autofree char *value = sfs_azure_sign(&r, KEY);

	CHECK_STR(date, "Thu, 26 Nov 2026 13:15:11 GMT");
	CHECK_STR(value, wanted);
	CHECK(!sfs_azure_sign(&r, "no key"));
	CHECK(!sfs_azure_sign(&r, ""));
}

int main(void)
{
	signs("/con",
	      "comp=list&delimiter=%2F&prefix=a%20b%2F%C3%A9%2B&restype=container", NULL,
	      NULL, "SharedKey acct:98cW9fVHMrby57lfisKU6BGsEE7iYz/+WCAvroc6UGc=");
	signs("/con/a%20b/%C3%A9%2B.tar", "", "\"0x8D1\"", "bytes=0-511",
	      "SharedKey acct:VGnw7zL8P93cc3jbYSVVpW344Tj6BEbXBR3s+A6qz1I=");
	/* An emulator has the account in the path, too. */
	signs("/acct/con/x.tar", "", NULL, NULL,
	      "SharedKey acct:cQA1ESGsBeFKCXdS9CWgHFPFuFyA2aeCmnpbIhQZqcQ=");
	return 0;
}
