#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do two namenodes give the same answers to the same questions?

  webhdfs-questions.py URL URL PORT PORT

The URLs of a real namenode and of webhdfs.py, whose roots hold the same files in the folder "/the
set", which only root may enter but for "/the set/open"; and the ports where they talk RPC.  Compared
are statuses, the headers that mean something, and bodies, without ports, times, and the numbers of
files.  Standard library only.
"""
import http.client
import json
import re
import sys
import urllib.parse

FILE = "/the%20set/a%20b%2B%25%C3%A9.tar"
QUESTIONS = [
    FILE + "?op=GETFILESTATUS", FILE + "?op=OPEN&offset=5&length=10", FILE + "?op=OPEN&offset=5&length=10&user.name=root",
    FILE + "?op=OPEN", FILE + "?op=OPEN&offset=2999990&length=100", FILE + "?op=OPEN&offset=0&length=512",
    FILE + "?op=OPEN&offset=3000000&length=10", FILE + "?op=OPEN&offset=4000000&length=10",
    "/the%20set/empty.tar?op=GETFILESTATUS", "/the%20set/empty.tar?op=OPEN&offset=0&length=512",
    "/the%20set?op=GETFILESTATUS", "/the%20set/?op=GETFILESTATUS", "/the%20set?op=OPEN&offset=0&length=512",
    "/the%20set?op=LISTSTATUS_BATCH", "/the%20set/?op=LISTSTATUS_BATCH&startAfter=empty.tar",
    "/the%20set/?op=LISTSTATUS_BATCH&startAfter=a%20b%2B%25%C3%A9.tar", FILE + "?op=LISTSTATUS_BATCH",
    "/many?op=LISTSTATUS_BATCH", "/many?op=LISTSTATUS_BATCH&startAfter=000100.txt", "/many?op=LISTSTATUS_BATCH&startAfter=002950x",
    "/none?op=GETFILESTATUS", "/none?op=OPEN&offset=0&length=512", "/none?op=LISTSTATUS_BATCH", "/none?op=NONE",
    "/closed/a.tar?op=OPEN&user.name=alice", "/closed/a.tar?op=GETFILESTATUS&user.name=alice",
    "/closed?op=LISTSTATUS_BATCH&user.name=alice",
]
HEADERS = ["content-length", "transfer-encoding", "content-range", "etag", "last-modified", "content-type", "location"]


def ask(url):
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    connection.request("GET", parts.path + "?" + parts.query)
    answer = connection.getresponse()
    body = answer.read()
    closes = (answer.getheader("connection") or "").lower() == "close"
    connection.close()
    return answer, body, closes


def like(text):
    """without what is another each time"""
    text = re.sub(r"127\.0\.0\.1:\d+", "HOST", text)
    text = re.sub(r'"(accessTime|modificationTime|fileId|childrenNum)":\d+', r'"\1":N', text)
    text = re.sub(r',"snapshotEnabled":true', "", text)
    return re.sub(r"(\\n\\tat[^\"]*)|(\\nThe reported[^\"]*)", "", text)


def told(url, is_of_data=False):
    """The answer, and after a redirect the datanode's."""
    answer, body, closes = ask(url)
    lines = ["%d%s" % (answer.status, " closes" if closes and is_of_data else "")]
    for name in HEADERS:
        value = answer.getheader(name)
        # (The length of a message with a stack of Java's is of no interest.)
        if value and not (name == "content-length" and answer.status >= 400):
            lines.append(name + ": " + like(value).replace(" ", "").lower())
    text = body.decode("utf-8", "backslashreplace")
    lines.append(like(text) if body[:1] == b"{" else "%d bytes, hash %d" % (len(body), hash(body)))
    if body[:1] == b"{":
        lines[-1] = json.dumps(json.loads(lines[-1].replace(":N", ":0")), sort_keys=True)
    if answer.status == 307:
        location = answer.getheader("location")
        lines += ["then"] + told(location, True)
        # The same URL with another range, and the closed connection after it.
        lines += ["and"] + told(re.sub(r"offset=\d+", "offset=7", location), True)
    return lines


def rpc(port):
    answer, body, _ = ask("http://127.0.0.1:%s/webhdfs/v1/x?op=OPEN" % port)
    return [str(answer.status), answer.getheader("content-type"), body.decode().strip()]


def main():
    n_bad = 0
    for question in QUESTIONS + [None]:
        if question is None:
            a, b = rpc(sys.argv[3]), rpc(sys.argv[4])
        else:
            a, b = (told(url + "/webhdfs/v1" + question) for url in sys.argv[1:3])
        if a != b:
            n_bad += 1
            print("to %s\n  %s\n  %s\n" % (question, "\n  ".join(a), "\n  ".join(b)))
    if n_bad:
        sys.exit("%d of %d answers differ" % (n_bad, len(QUESTIONS) + 1))


main()
