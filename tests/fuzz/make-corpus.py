#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Seed inputs for the fuzz targets, and dictionaries of words worth trying.

  make-corpus.py FOLDER        writes FOLDER/TARGET/NAME and FOLDER/TARGET.dict
"""
import io
import os
import struct
import sys
import tarfile


def number(n):
    return struct.pack("<q", n).decode("latin-1")


def word(text):
    return text.ljust(8, "\0")


def chunk(body):
    """As tenbin frames it in a file."""
    return "~TenBin~" + number(len(body)) + body + "\0" * (-len(body) % 64)


TEXTS = {
    "fuzz-braces": [
        "plain.tar", "a-{000..012}.tar", "{a,b{1..3},}x{c..a..2}", "{-3..+3}", "\\{x\\}",
        "{10..0..3}-{z..x}{,}", "{a", "a}", "{}", "{1..2}{1..2}{1..2}", "{0..x}", "a\\", "",
    ],
    "fuzz-list": [
        "a.tar\nb c.tar\n", "\xef\xbb\xbfa.tar\r\n\r\n# no\r\n \tb.tar \r\n", "a\0b\n", "#", "\n", "",
        "https://user:p@h/x-000.tar?sig=1#f\n/x/{0..9}*.tar::@-\n",
    ],
    "fuzz-described": [
        '{"__kind__": "wids-shard-index-v1", "wids_version": 1, "base": "http://h/a",\n "shardlist": '
        '[{"url": "../b.tar", "nsamples": 3, "filesize": 1024}], "datasets": [{"source_url": "x.json"}]}',
        'exclude: []\nsplit_parts:\n  train:\n  - a/{0..2}.tar\n  val: ["b.tar"]\nexclude: [a/1.tar, b.tar/k]\n',
        'prefix: s3://b/\nbuckets: [x]\ndatasets:\n- {name: n, shards: ["{a,b}.tar"], choose: 2, resample: -1}\n',
        '{"shard_counts": {"a.tar": 5}, "energon_version": null}', "a: &x [*x]\n", "? [a]\n: b", "--- a\n--- b", "",
    ],
    "fuzz-uri": [
        "shards/a.tar", "/a b/c.tar", "file:///tmp/a%20b.tar", "file://localhost/x.tar",
        "file://host/x", "http://h/a.tar", "https://user:p%40ss@Host.Example:8443/a/b.tar?sig=1#f",
        "http://[::1]:80/x", "http://h", "http://h/%2e%2e/%2fa%00b", "s3://bucket/key", "http://h:0/",
        "webhdfs://al%20ice@nn:9870/a b?.tar", "hdfs:///x", "swebhdfs://[::1]:9871/x/",
        "hf://datasets/o/n@main/a.tar",
        "http://h:99999/", "HTTP://H?q@r", "http://a\tb/", "",
    ],
    "fuzz-http": [
        "\x00\x00\x00\x65HTTP/1.1 206 Partial Content\r\nContent-Length: 500\r\n"
        "Content-Range: bytes 0-499/1234\r\nETag: \"abc\"\r\n"
        "Last-Modified: Tue, 01 Jan 2030 00:00:00 GMT\r\n\r\n",
        "\x00\x00\x00\x65HTTP/2 416\r\ncontent-range: bytes */1234\r\nRetry-After: 120\r\n",
        "\x65\x65\x65\x65HTTP/1.1 503 x\nRetry-After: Fri, 31 Dec 2027 23:59:59 GMT\n"
        "etag: W/\"x\"\ncontent-type: multipart/byteranges; boundary=x\n"
        "HTTP/1.1 302 Found\nlocation: http://h/x\ncontent-encoding: gzip\n",
        "\0\0\0\0etag: \"" + "e" * 400 + "\"\nlocation: /" + "l" * 4090 + "\nlast-modified: " + "m" * 70,
        "\0\0\0\0content-range: bytes 5-2/10\ncontent-range: bytes 0-10/10\ncontent-range: bytes 9-9/10\n",
        "\x00\x00\x00\x00Content-Range: bytes 0-0/*\ncontent-length: 99999999999999999999\n",
    ],
    "fuzz-wire": [
        "\x03HTTP/1.1 206 Partial Content\r\nContent-Length: 5\r\nETag: \"x\"\r\n\r\nabcde",
        "\x00HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\nContent-Length:0\nConnection: close\n\n",
        "\xffHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "\x09HTTP/1.1 404 U\r\nContent-Length: 70000\r\n\r\nx", "\x01HTTP/1.1 500 F\ncontent-length: 9\n\nx",
        "\x07HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX: " + "x" * 9000 + "\r\n\r\nabc",
        "\x10HTTP/1.1 200 OK\r\n" + "X: yyyyyyyyyyyyyy\r\n" * 3000 + "Content-Length: 1\r\n\r\nabc",
    ],
    "fuzz-config": [
        "seed = 7\n[d]\nsource = https://host/{0..9}.tar\nlanes = 192\n  more.tar\n",
        "; comment\n# comment\n[d]\nheader = A: b ; c\n[e]\nseed=x\n", "[d\n", "nonsense\n",
        "[d]\nsource = " + "x" * 700 + "\n", "Vhttps://host/a.tar?x=1;y=2#z",
        "V" + "".join("%x ;,=[]#" % i for i in range(80)), "\xef\xbb\xbf[d]\nkeys=asis\n",
        "Va" + " " * 400 + "b", "V" + "ab ;"[:3] * 100 + "x", "V" + "[" * 250, "Va" + ";" * 400, "V" + "a b " * 100 + "c", "Va" + "a " * 100 + "b",
        "V" + "ab c" * 100 + "d", "V" + "=" * 250,
    ],
    "fuzz-options": [
        "\x00seed=7,lanes=64,buffer=1.5G,keys=asis,allow_other,nosuid,x-a=b",
        "\x00header=A: b\\, c,proxy=http://u:p@h/,fsname=a\\\\b,umask=022,budget=auto",
        "\x00connect-timeout=1.5s,stall-timeout=500ms,read-timeout=2h,uid=root,gid=-1",
        "\x01retries=1000", "\x01connections=0", "\x01lanes=65537", "\x01umask=08",
        "\x01connect-timeout=0", "\x01uid=4294967295", "\x01keys=", "\x01keys=auto|asis",
        "\x01rw", "\x01sed=1", "\x01buffer=12KiB", "\x01direct_io=off",
        "\x02Authorization: x\n\nB: c\r\n", "\x02nonsense",
    ],
    "fuzz-key": [
        "a.jpg", "dir/a.b.c", ".hidden", "a/.hidden.jpg", "a.b/.x.jpg", "__meta__/x.json",
        "__x__", "__m__.json", "a\n/b.c", "a\nb.c", "__m__\n", "0001.", "/.a", "a/b/", "....", "",
        "___/a.b", "____/a.b", "__a__\n", "__a__\n/b.c", "a.b\n/c/.d.e", "a.b/c\n/.d", "x.y/z/.w",
    ],
    "fuzz-foreign": [
        "\x14v1.2 2\njpg 512 700 a.jpg cls 2048 1 a.cls\njpg 3072 0 b.jpg\n", "\x14v1.1 1\njpg 512 700 cls 2048 1\n",
        "\x14v1.2 1\njpg 512 1 a b.jpg\n", "\x14v1.2 1\n\n", "\x14v1.3 1\n", "\x14v1.1 99999999999999999999\n",
        "\xffv1.1 1\nx 9223372036854775296 0\n", "\x14" + "\0" * 9 + "\x0a" + "\0" * 7 + "\x10" + "\0" * 6,
        "\x14" + "\0" * 8, "\x14" + "\0" * 7, "\x14" + "\xff" * 16,
        "Na.jpg\0a.cls\0b.seg.png\0d/c.x\0README\0a b.c\0f.\0t\xc3\xbcr.q\\\0",
    ],
    "fuzz-json": [
        '{"version": 1, "shards": [{"url": "https://h/x/a.tar?s=1", "n": 10}, {}], "name": null}',
        '[true, false, null, -0.5e+7, "\\u00fc\\ud83d\\ude00\\n", "\xc3\xbc", {}, [[]]]', "[" * 70, '{"a":',
        '{"access_token": "T.1", "expires_in": 3599, "token_type": "Bearer"}', '{"token": "T", "expires_at": 1764172800.5}',
        '{"accessToken": "T", "expiresOn": "2025-11-26 17:00:00.000000", "expires_on": 1764172800}',
        '{"kind": "ExecCredential", "status": {"token": "T", "expirationTimestamp": "2025-11-26T16:00:00+01:00"}}',
        '{"credential": {"access_token": "T", "token_expiry": "2025-11-26T16:00:00Z"}}',
        '{"headers": {"Authorization": ["Bearer T"], "X": "1"}, "expires": "2025-11-26T16:00:00Z"}', "X: 1\r\nY: 2\n",
    ],
    "fuzz-azure": [
        "\xef\xbb\xbf<?xml version='1.0'?><EnumerationResults ContainerName='c'><Blobs><Blob><Name>a.tar</Name><Properties>"
        "<Content-Length>5</Content-Length><Etag>0x8D</Etag><Last-Modified>Wed, 25 Nov 2026 08:00:00 GMT"
        "</Last-Modified></Properties></Blob></Blobs><NextMarker>2!4-</NextMarker></EnumerationResults>",
        "<Error><Code>AuthenticationFailed</Code><Message>x</Message></Error>",
        '{"access_token": "T", "expires_in": "3599"}', "AccountName=a;AccountKey=Zm9v==;", "Zm9vYg==",
    ],
    "fuzz-hf": [
        '[{"type":"directory","oid":"d","size":0,"path":"a"},{"type":"file","oid":"g","size":1024,"path":"a/x.tar",'
        '"lfs":{"oid":"9be7","size":1024,"pointerSize":134},"xetHash":"x"}]',
        '{"id":"o/n","sha":"0123456789abcdef0123456789abcdef01234567"}', '{"error":"Access to x is restricted?a=b"}',
        'HTTP/1.1 200 OK\r\nLink: <https://h/api/datasets/o/n/tree/main?cursor=a%3D>; rel="next", </x?y>; rel=prev\r\n',
        "o/n@refs%2Fconvert%2Fparquet/a/x-*.tar", "o/n@refs/pr/3/", 'W/"9be7"',
    ],
    "fuzz-s3": [
        "<?xml version='1.0'?><ListBucketResult xmlns='x'><EncodingType>url</EncodingType><IsTruncated>true"
        "</IsTruncated><NextContinuationToken>a=</NextContinuationToken><Contents><Key>a+%41.tar</Key>"
        "<Size>5</Size><ETag>&quot;x&quot;</ETag><LastModified>2026-11-25T08:00:00Z</LastModified></Contents>"
        "</ListBucketResult>",
        "<Error><Code>AccessDenied</Code><Message>&#65;<![CDATA[<]]><!-- --></Message><Region>eu-1</Region></Error>",
        "[default]\nregion = x # y\n[profile a]\naws_access_key_id=b\n",
    ],
    "fuzz-webhdfs": [
        '{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"fileId":7,"length":5,'
        '"modificationTime":9,"pathSuffix":"a b.tar","type":"FILE"},{"length":0,"pathSuffix":"b",'
        '"type":"DIRECTORY"}]}},"remainingEntries":3}}',
        '{"FileStatus":{"fileId":7,"length":5,"modificationTime":9,"pathSuffix":"","type":"FILE"}}',
        '{"RemoteException":{"exception":"IOException","message":"Offset=5 out of the range [0, 3)\\n\\tat"}}',
        "http://dn:9864/webhdfs/v1/a?op=OPEN&user.name=a&namenoderpcaddress=nn:8020&length=10&offset=5",
        "HDTS\0\2\1j\1a\1b\1c\1d\1h\1i\1p\25HDFS_DELEGATION_TOKEN\1s", '{"Token":{"urlString":"HAAE"}}',
    ],
    "fuzz-tenbin": [
        chunk(word("u1") + word("img") + number(2) + number(2) + number(3)) + chunk("abcdef")
        + chunk(word("i4") + word("cls") + number(1) + number(2)) + chunk("\7\0\0\0\1\0\0\0"),
        chunk(word("f8") + word("") + number(0)) + chunk("12345678"),
        chunk(word("u4") + word("") + number(1) + number(-1)) + chunk(""),
    ],
    "fuzz-pax": [
        "12 path=a.b\n", "30 mtime=1350244992.023960108\n6 a=b\n7 cc=d\n", "11 size=12\n\0\0\0",
        "5 a=\n", "9999999999999999999 a=b\n", "010 abc=d\n", "6 =bb\n", "6 a b\n",
    ],
}

TAR_WORDS = [
    "ustar\\x0000", "ustar  \\x00", "GNU.sparse.", "major=1", "realsize=", "map=", "offset=",
    "numbytes=", "size=", "path=", "linkpath=", "hdrcharset=BINARY", "\\x80\\x00\\x00\\x00", "SCHILY.",
]

WORDS = {
    "fuzz-http": [
        "HTTP/1.1 ", "content-length:", "content-range:", "bytes ", "*/", "etag:", "W/", "\\x22",
        "last-modified:", "location:", "content-encoding:", "identity", "gzip", "content-type:",
        "multipart/byteranges", "retry-after:", " GMT", "\\x0d\\x0a",
    ],
    "fuzz-wire": [
        "HTTP/1.1 ", "200 ", "206 ", "100 ", "content-length:", "connection:", "close", "keep-alive",
        "transfer-encoding:", "\\x0d\\x0a", "\\x0a\\x0a", ": ",
    ],
    "fuzz-options": [
        "seed=", "lanes=", "buffer=", "segment=shard", "segment=random", "keys=", "auto", "asis", "on-error=", "fail",
        "skip", "header=", "proxy=", "netrc-file=", "verify=", "etag", "size", "connections=",
        "retries=", "connect-timeout=", "ms", "min", "budget=", "KiB", "epochs=", "direct_io",
        "readahead=", "allow_other", "uid=", "umask=", "fsname=", "foreground", "log-level=",
        "debug", "nosuid", "noexec", "_netdev", "rw", "\\\\,", "-1",
    ],
    "fuzz-config": ["[d]", "source", " = ", "seed=", "header=", "config=", ";", "#", "\\x0a "],
    "fuzz-uri": ["://", "http", "https", "s3", "webhdfs", "file", "localhost/", "%2e", "%2F", "%00", "@", "[::1]",
                 ":443", "#", "?"],
    "fuzz-braces": ["..", "{0..9}", "{a,b}", "{", "}", "\\\\", "{a..z..2}", "-"],
    "fuzz-list": ["\\x0a", "\\x0d\\x0a", "#", "\\xef\\xbb\\xbf", "\\x00"],
    "fuzz-described": ["shardlist", "datasets", "source_url", "wids_version: 1", "base", "url", "nsamples",
                       "split_parts", "train", "exclude", "shard_counts", "prefix", "buckets", "shards", "choose",
                       "- ", ": ", "{", "}", "[", "]", "&a", "*a", "<<", "!!str", "\\x22", "|\\x0a", "\\x0a  "],
    "fuzz-tar-differential": TAR_WORDS,
    "fuzz-scan": TAR_WORDS,
    "fuzz-resync": TAR_WORDS,
    "fuzz-edit": TAR_WORDS,
    "fuzz-index": ["SFSINDEX", "\\x00\\x02\\x00\\x00", "\\x70\\x00\\x00\\x00", *TAR_WORDS],
    "fuzz-foreign": ["v1.1 ", "v1.2 ", " 512 ", " 1536 ", ".jpg", "\\x0a", "\\x00\\x02\\x00\\x00\\x00\\x00\\x00\\x00"],
    "fuzz-json": ["\\x22a\\x22:{", "\\x22token\\x22:", "\\x22expires_in\\x22:", "\\x22headers\\x22:{", "\\x22b\\x22:[{", "\\x5cud83d\\x5cude00", "true", "false", "null"],
    "fuzz-azure": ["<EnumerationResults>", "<Blobs>", "<Blob>", "<Name>", "<Properties>", "<Content-Length>", "<Etag>",
                   "</EnumerationResults>", "<NextMarker>", "<Error>", "<Code>", "AccountKey=", "\\x22expires_in\\x22"],
    "fuzz-hf": ["[{", "\\x22type\\x22:\\x22file\\x22", "\\x22path\\x22:\\x22", "\\x22size\\x22:", "\\x22lfs\\x22:{",
                "\\x22oid\\x22:\\x22", "\\x22sha\\x22:\\x22", "Link: <", ">; rel=next", "?cursor=", "o/n@", "refs/pr/", "%2F"],
    "fuzz-s3": ["<ListBucketResult>", "</ListBucketResult>", "<IsTruncated>", "false", "true", "<Contents>",
                "</Contents>", "<Key>", "</Key>", "<Size>", "</Size>", "<EncodingType>url</EncodingType>", "&#x",
                "&amp;", "<![CDATA[", "]]>", "<!--", "-->", "<Error>", "<Code>", "[default]", "[profile ", "\\x0a"],
    "fuzz-webhdfs": ["{\\x22DirectoryListing\\x22:", "{\\x22partialListing\\x22:", "{\\x22FileStatuses\\x22:",
                     "{\\x22FileStatus\\x22:", "\\x22length\\x22:", "\\x22fileId\\x22:", "\\x22pathSuffix\\x22:",
                     "\\x22type\\x22:\\x22FILE\\x22", "\\x22remainingEntries\\x22:", "{\\x22RemoteException\\x22:",
                     "\\x22exception\\x22:", "\\x22message\\x22:", "StandbyException", "HDTS\\x00", "?", "&offset=", "&length="],
    "fuzz-key": ["__", "__/", ".", "/", "\\x0a"],
    "fuzz-tenbin": ["~TenBin~", *("%s\\x00\\x00\\x00\\x00\\x00\\x00" % d for d in ("u1", "i8", "f4"))],
    "fuzz-pax": ["path=", "size=", "mtime=", "GNU.sparse.", " ", "=", "\\x0a"],
}


def programs():
    """Inputs of maketar.h: pseudo-random programs, the same ones each time."""
    state = 7
    for length in (3, 8, 20, 40, 80, 160, 320) * 5:
        program = bytearray()
        for _ in range(length):
            state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
            program.append(state >> 56)
        yield bytes(program).replace(b"R", b"S", 1).replace(b"r", b"s", 1)


def tars():
    """Small tar files of each dialect, as Python writes them."""
    for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form, encoding="utf-8") as tar:
            for name in ("a.jpg", "a.cls", "d/" * 40 + "b.png", "caf\u00e9.txt", "x" * 90 + "/" + "y" * 60 + ".z"):
                info = tarfile.TarInfo(name)
                info.size = len(name)
                info.mtime = 1.5 if form == tarfile.PAX_FORMAT else 1
                tar.addfile(info, io.BytesIO(name.encode()[:info.size]))
            for kind in (tarfile.DIRTYPE, tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.FIFOTYPE):
                info = tarfile.TarInfo("odd.%s" % kind.decode())
                info.type = kind
                info.linkname = "a.jpg"
                tar.addfile(info)
        tar = out.getvalue().rstrip(b"\0")
        yield b"R" + tar + bytes(1024 + -len(tar) % 512)
    yield b"R" + globals_inside() + bytes(1024)
    for odd in odd_ones():
        yield b"R" + odd


def globals_inside():
    """Pax global headers before, inside and between samples."""
    said = tarfile.TarInfo.create_pax_global_header({"comment": "x" * 600})
    out = said
    for name in ("a.jpg", None, "a.cls", "b.jpg", None, "c.jpg", "c.cls", None):
        info = tarfile.TarInfo(name or "")
        info.size = 600
        out += info.tobuf() + bytes(range(1, 201)) * 3 + bytes(424) if name else said
    return out


def member(name, data=b"", kind=b"0", gnu=False, fields=()):
    """A header with its checksum, and padded data."""
    header = bytearray(512)
    for at, value in ((0, name), (100, b"0000644\0"), (108, b"0001750\0"), (116, b"0001750\0"),
                      (124, b"%011o" % len(data)), (136, b"14524770400\0"), (148, b" " * 8),
                      (156, kind), (257, b"ustar  \0" if gnu else b"ustar\x0000"), *fields):
        header[at:at + len(value)] = value
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header) + data + bytes(-len(data) % 512)


def record(key, value):
    body = b" %s=%s\n" % (key, value)
    return b"%d%s" % (len(body) + (2 if len(body) < 98 else 3), body)


def odd_ones():
    """What has been read wrongly once."""
    end = member(b"b.jpg", b"next" * 100) + bytes(1024)
    long_name = member(b"ext", b"n" * 150 + b".jpg\0", b"L", True)
    yield long_name + member(b"n" * 100, b"d" * 5000, gnu=True)[:2000]  # cut in its data
    yield long_name + member(b"ext", b"m.jpg\0", b"L", True) + member(b"x", b"data", gnu=True) + end
    sparse = record(b"GNU.sparse.major", b"1") + record(b"GNU.sparse.minor", b"0")
    name = record(b"GNU.sparse.name", b"a.jpg")
    size = record(b"GNU.sparse.realsize", b"6144")
    for pax, data in (
            (sparse + size + name, b"0\n" + bytes(510)),  # a hole, and no run
            (sparse + record(b"GNU.sparse.realsize", b"46") + name,
             b"1\n4096\n581\n" + bytes(501) + b"d" * 581),  # a run behind the end
            (sparse + size[:-1] + b"\xcd" + name, b"1\n0\n600\n" + bytes(502) + b"d" * 600)):
        yield member(b"ext", pax, b"x") + member(b"GNUSparseFile.1/x", data) + end
    yield member(b"ext", b"short.jpg" + bytes(700), b"L", True) + end  # a body longer than its name
    yield member(b"a.jpg", b"d" * 700, b"S", True) + end  # a sparse file without its size
    yield member(b"a.jpg", kind=b"S", gnu=True, fields=[(386, b"%011o\0" % 9000 + b"%011o" % 0),
                                                        (483, b"%011o" % 9000)]) + end
    # More is stored than the map tells of: a member for who looks behind the last run.
    hidden = b"d" * 512 + member(b"hidden.jpg")
    yield member(b"a.jpg", hidden, b"S", True, [(386, b"%011o\0" % 0 + b"%011o" % 512),
                                                (483, b"%011o" % 2048)]) + end
    size = record(b"GNU.sparse.realsize", b"2048")
    yield (member(b"ext", sparse + size + name, b"x") +
           member(b"GNUSparseFile.1/x", b"1\n0\n512\n" + bytes(504) + hidden) + end)


def index(n_samples, n_members):
    """Samples of two blocks with a member each; its checksums are left to the target."""
    order = b"".join(struct.pack("<IIQ", 2 * i, 2 * i + 2, i) for i in range(n_samples))
    names = b"".join(b"%d.jpg" % i for i in range(n_members))
    members = b"".join(struct.pack("<QQQqQII", 1024 * i, 1024 * i + 512, 500, 0, 5 * i, 0o644, 0)
                       for i in range(n_members))
    members = members + struct.pack("<32xQ8x", len(names)) + names if n_members else b""
    at = 112 + len(order)
    return struct.pack("<8sII11Q8x", b"SFSINDEX", 3, 112, 1024 * n_samples + 1024, 7, n_samples,
                       1024 * n_samples, n_members, 112, len(order), at if members else 0,
                       len(members), 0, 0) + order + members


def main(folder):
    TEXTS["fuzz-index"] = [kind + index(n, m).decode("latin-1") for kind in "iI"
                           for n, m in ((0, 0), (1, 1), (3, 3), (9, 2), (300, 0), (400, 9))]
    TEXTS["fuzz-index"] += [text.decode("latin-1") for text in (*programs(), *tars()) if len(text) < 9000]
    for target, heads in (("fuzz-tar-differential", [""]), ("fuzz-scan", ["\x01\x01"]), ("fuzz-edit", ["\x09"]),
                          ("fuzz-resync", ["\x01\x01\0\x09\0\x07", "\x01\x01\0\x05\0\0", "\x01\x03\0\x0a\0\x03"])):
        TEXTS[target] = [head + text.decode("latin-1") for head in heads for text in (*programs(), *tars())
                         if len(text) < 9000 or not head]
    for target, texts in TEXTS.items():
        os.makedirs(os.path.join(folder, target), exist_ok=True)
        for i, text in enumerate(texts):
            with open(os.path.join(folder, target, "seed-%02d" % i), "wb") as f:
                f.write(text.encode("latin-1"))
    for target, words in WORDS.items():
        with open(os.path.join(folder, target + ".dict"), "w") as f:
            f.writelines('"%s"\n' % word for word in words)


main(sys.argv[1])
