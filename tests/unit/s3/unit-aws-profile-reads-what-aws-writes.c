/* SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "check.h"
#include "source/s3/aws-profile.h"

#include <errno.h>
#include <unistd.h>

static void is_value(const char *text, const char *section, const char *name,
		     const char *wanted)
{
	sfs_autofree char *found = sfs_aws_profile_find(text, section, name);

	if (!wanted)
		CHECK(!found);
	else
		CHECK_STR(found, wanted);
}

static void check_text(void)
{
	static const char text[] = "# a comment = 1\n"
				   "key = outside\n"
				   "[default]\r\n"
				   "aws_access_key_id=AKID\r\n"
				   "AWS_Secret_Access_Key  =  a/b+c==  \n"
				   "region = eu-west-1 # here\n"
				   "password = a#b;c\n"
				   "s3 =\n"
				   "  region = nested\n"
				   "[ profile  two words ] # x\n"
				   "region = us-west-2\n"
				   "; region = no\n"
				   "[profile]\n"
				   "region = odd\n"
				   "[default]\n"
				   "region = later\n"
				   "empty =\n"
				   "no line end";

	is_value(text, "default", "aws_access_key_id", "AKID");
	is_value(text, "default", "aws_secret_access_key", "a/b+c==");
	is_value(text, "default", "region", "later");
	is_value(text, "default", "password", "a#b;c");
	is_value(text, "default", "s3", "");
	is_value(text, "default", "empty", "");
	is_value(text, "default", "key", NULL);
	is_value(text, "profile two words", "region", "us-west-2");
	is_value(text, "profile", "region", "odd");
	is_value(text, "profile two", "region", NULL);
	is_value(text, "profile two", NULL, NULL);
	is_value(text, "profile", NULL, "");
	is_value("", "default", "region", NULL);
	is_value("[default", "default", NULL, NULL);
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file);
	fputs(text, file);
	fclose(file);
}

static void is_setting(const char *profile, const char *name, const char *wanted)
{
	struct sfs_aws_profile p = {0};
	struct sfs_error err = {0};
	sfs_autofree char *found = NULL;

	if (profile)
		setenv("AWS_PROFILE", profile, 1);
	else
		unsetenv("AWS_PROFILE");
	CHECK_EQ(sfs_aws_profile_load(&p, &err), 0);
	found = sfs_aws_profile_get(&p, name);
	if (!wanted)
		CHECK(!found);
	else
		CHECK_STR(found, wanted);
	sfs_aws_profile_done(&p);
}

static void check_files(void)
{
	char folder[] = "/tmp/unit-aws-profile.XXXXXX";
	struct sfs_aws_profile p = {0};
	struct sfs_error err = {0};

	CHECK(mkdtemp(folder) && chdir(folder) == 0);
	setenv("AWS_SHARED_CREDENTIALS_FILE", "credentials", 1);
	setenv("AWS_CONFIG_FILE", "config", 1);
	is_setting(NULL, "region", NULL); /* neither file is there */
	write_file("credentials", "[default]\na = 1\n[x]\na = 2\nb = keys\n");
	write_file("config",
		   "[default]\nregion = r1\n[profile x]\nregion = r2\nb = config\n"
		   "[y]\nregion = r3\n[profile z]\nc = 1\n");
	is_setting(NULL, "a", "1");
	is_setting("default", "region", "r1");
	is_setting("x", "region", "r2");
	is_setting("x", "b", "keys");
	is_setting("z", "c", "1");
	setenv("AWS_PROFILE", "y", 1); /* in that file it would be [profile y] */
	CHECK_EQ(sfs_aws_profile_load(&p, &err), -EINVAL);
	CHECK_HAS(err.text, "no profile 'y' in credentials or config");
	CHECK(unlink("credentials") == 0 && symlink("config", "credentials") == 0);
	is_setting(NULL, "region", "r1"); /* a link is fine */
	CHECK(unlink("credentials") == 0 && unlink("config") == 0);
	CHECK(chdir("/") == 0 && rmdir(folder) == 0);
}

int main(void)
{
	check_text();
	check_files();
	return 0;
}
