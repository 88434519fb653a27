/* SPDX-License-Identifier: MIT */
/* check - what a unit test needs: a check that says what was wrong and ends it. */
#ifndef SFS_TESTS_CHECK_H
#define SFS_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                           \
	do {                                                                       \
		if (!(condition)) {                                                \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
				#condition);                                       \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

#define CHECK_EQ(got, wanted)                                                      \
	do {                                                                       \
		long long got_ = (long long)(got), wanted_ = (long long)(wanted);  \
		if (got_ != wanted_) {                                             \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, \
				__LINE__, #got, got_, wanted_);                    \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

#define CHECK_STR(got, wanted)                                                     \
	do {                                                                       \
		const char *got_ = (got), *wanted_ = (wanted);                     \
		if (!got_ || strcmp(got_, wanted_) != 0) {                         \
			fprintf(stderr, "%s:%d: %s is '%s', not '%s'\n", __FILE__, \
				__LINE__, #got, got_ ? got_ : "(NULL)", wanted_);  \
			exit(1);                                                   \
		}                                                                  \
	} while (0)

/* Does the text hold these words? */
#define CHECK_HAS(text, words)                                                          \
	do {                                                                            \
		const char *text_ = (text);                                             \
		if (!text_ || !strstr(text_, words)) {                                  \
			fprintf(stderr, "%s:%d: '%s' lacks '%s'\n", __FILE__, __LINE__, \
				text_ ? text_ : "(NULL)", words);                       \
			exit(1);                                                        \
		}                                                                       \
	} while (0)

#endif
