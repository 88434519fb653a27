#!/bin/sh
# SPDX-License-Identifier: MIT
# In place of the sidecar's unit tests, in a build --without-sidecar.
. "${srcdir:-$(dirname "$0")/../..}/tests/lib/functions.sh"

requires_sidecar
