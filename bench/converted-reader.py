#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Convert shards to another library's format, and read an epoch of it, shuffled.

  converted-reader.py convert mds|litdata FOLDER SHARD...
  converted-reader.py read mds|litdata FOLDER
  converted-reader.py version mds|litdata

A sample has the fields jpg and cls, as bytes, uncompressed; the libraries' defaults
otherwise.  "read" iterates in one process, without a DataLoader, looks into nothing, and prints
a line of JSON: samples, bytes (of the fields), seconds, cpu.  Importing is not timed,
opening the data is.  Runs in a Python that has the libraries; bench/converted calls it.
"""
import json
import os
import resource
import sys
import tarfile
import time


def samples_of(paths):
    for path in paths:
        fields = {}
        for member in tarfile.open(path):
            key, _, field = os.path.basename(member.name).partition(".")
            if fields and fields["key"] != key:
                yield fields["jpg"], fields["cls"]
                fields = {}
            fields["key"] = key
            fields[field] = path, member.offset_data, member.size
        if fields:
            yield fields["jpg"], fields["cls"]


def load(sample):
    """A sample's fields, from where they lie in a shard."""
    values = []
    for path, at, size in sample:
        with open(path, "rb") as f:
            f.seek(at)
            values.append(f.read(size))
    return {"jpg": values[0], "cls": values[1]}


class Mds:
    name = "streaming"

    @staticmethod
    def convert(folder, paths):
        from streaming import MDSWriter

        with MDSWriter(out=folder, columns={"jpg": "bytes", "cls": "bytes"}) as out:
            for sample in samples_of(paths):
                out.write(load(sample))

    @staticmethod
    def open(folder):
        from streaming import StreamingDataset

        return lambda: StreamingDataset(local=folder, shuffle=True, batch_size=1)


class Litdata:
    name = "litdata"

    @staticmethod
    def convert(folder, paths):
        import litdata

        litdata.optimize(
            fn=load, inputs=list(samples_of(paths)), output_dir=folder, num_workers=1, chunk_bytes="64MB"
        )

    @staticmethod
    def open(folder):
        import litdata

        return lambda: litdata.StreamingDataset(folder, shuffle=True)


LIBRARIES = {"mds": Mds, "litdata": Litdata}


def cpu_seconds():
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(r.ru_utime + r.ru_stime for r in both)


def read(library, folder):
    opened = library.open(folder)
    started, cpu = time.monotonic(), cpu_seconds()
    n_samples = n_bytes = 0
    for sample in opened():
        n_samples += 1
        n_bytes += len(sample["jpg"]) + len(sample["cls"])
    seconds = time.monotonic() - started
    print(json.dumps({"samples": n_samples, "bytes": n_bytes, "seconds": seconds, "cpu": cpu_seconds() - cpu}))


def main():
    what, library, folder = sys.argv[1], LIBRARIES[sys.argv[2]], (sys.argv + [""])[3]
    if what == "version":
        from importlib.metadata import version

        __import__(library.name)
        print(version({"streaming": "mosaicml-streaming"}.get(library.name, library.name)))
    elif what == "convert":
        library.convert(folder, sys.argv[4:])
    else:
        read(library, folder)


if __name__ == "__main__":  # litdata starts processes that import this
    main()
