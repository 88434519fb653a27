/* SPDX-License-Identifier: MIT */
/* The token is that of Python's cryptography for the same account and time. */
#include "base/alloc.h"
#include "check.h"
#include "source/s3/google-jwt.h"

#define TOKEN_URL "https://oauth2.googleapis.com/token"

static const char wanted[] =
	"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjEifQ.eyJpc3MiOiJyZWFkZ"
	"XJAcHJvamVjdCIsInNjb3BlIjoiaHR0cHM6Ly93d3cuZ29vZ2xlYXBpcy5jb20vYXV0a"
	"C9kZXZzdG9yYWdlLnJlYWRfb25seSIsImF1ZCI6Imh0dHBzOi8vb2F1dGgyLmdvb2dsZ"
	"WFwaXMuY29tL3Rva2VuIiwiaWF0IjoxNzk1Njk4OTExLCJleHAiOjE3OTU3MDI1MTF9."
	"usy1ClhHLE_E0uM_gabmOzv_bQJZEWddqXgHL2l6zDVBa0kNom6G5dYZfXzOxYoj4_HC"
	"1md6liPHP6d_Rbq5lHAKkJtA1ld1UmQ3VquNBK4aCSjgfBZwt3IPMr85FW0elvZScZcf"
	"JkfCowRDuYR5mTw4zHpDLY2jJCohvkIczjXvhjOdiTrDDkk-t8KkjMpjQJJJvGMjiqIr"
	"l1uBrqR2Gz6P-XrxmlhY3xP3DzjbnMt0OVRNxqghrHDdOOSuOUUoPile_MBN095Sa2-b"
	"DgSCU6W9EmwChkSuIO41jSr4VU70grRi_SN6oy3xlHqpiTGd0rNzd6wUndpe3B8ilGJV"
	"rw";

static void refused(const char *account, const char *why)
{
	struct sfs_error err = {0};

	CHECK(!sfs_google_jwt(account, TOKEN_URL, 1795698911, &err));
	CHECK_HAS(err.text, why);
	CHECK(!strstr(err.text, "SECRET"));
}

int main(void)
{
	const char *srcdir = getenv("srcdir");
	sfs_autofree char *path = sfs_asprintf("%s/tests/data/google-account.json",
					       srcdir ? srcdir : ".");
	FILE *file = fopen(path, "r");
	sfs_autofree char *jwt = NULL;
	struct sfs_error err = {0};
	char account[8192] = "";

	CHECK(file);
	CHECK(fread(account, 1, sizeof account - 1, file) > 0);
	fclose(file);
	jwt = sfs_google_jwt(account, TOKEN_URL, 1795698911, &err);
	CHECK_STR(jwt, wanted);

	refused("{}", "client_email");
	refused("", "client_email");
	refused("{\"client_email\": \"e\"}", "private_key");
	refused("{\"client_email\": \"e\", \"private_key\": \"SECRET\"}", "private_key");
	return 0;
}
