/* SPDX-License-Identifier: MIT */
/* plan-report - what `shufflefs plan` prints. */
#ifndef SFS_PLAN_REPORT_H
#define SFS_PLAN_REPORT_H

#include "base/strbuf.h"
#include "cli/plan-estimate.h"

/* Append the whole report; the n_others are settings with less lift. */
void sfs_plan_report(struct sfs_plan_dataset *dataset,
		     const struct sfs_plan_estimate *estimate,
		     const struct sfs_plan_estimate *others, size_t n_others,
		     struct sfs_strbuf *text);

/* Append the settings as -o takes them. */
void sfs_plan_print_settings(const struct sfs_order_settings *settings,
			     struct sfs_strbuf *text);

#endif
