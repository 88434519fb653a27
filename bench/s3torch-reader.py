#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Read all objects of a prefix by s3torchconnector, one after the other.

  s3torch-reader.py ENDPOINT s3://BUCKET/PREFIX

Prints a line of JSON, as copy-reader does.  To import it, and to list the objects, is not timed.
"""
import json
import resource
import sys
import time

from s3torchconnector import S3ClientConfig, S3IterableDataset

READ_BYTES = 1 << 20


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main():
    endpoint, uri = sys.argv[1:]
    dataset = S3IterableDataset.from_prefix(uri, region="us-east-1", endpoint=endpoint,
                                            s3client_config=S3ClientConfig(force_path_style=True))
    objects, n_bytes = iter(dataset), 0
    started, cpu_before = time.monotonic(), cpu()
    for an_object in objects:
        while True:
            piece = an_object.read(READ_BYTES)
            if not piece:
                break
            n_bytes += len(piece)
    print(json.dumps({"bytes": n_bytes, "seconds": time.monotonic() - started, "cpu": cpu() - cpu_before}))


main()
