#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An HTTP server that is ill in 77 ways.

  ill-origin.py FOLDER [PORT]

It is origin.py with one fault more:

  ill,seed=N,share=P[,illness=NAME][,while=F...]    P of 100 answers have an illness

Which answers, and which illness, follows from the seed, the file, the range and how often
that was asked for.  Where an answer says itself that it is not what was asked for, its bytes
are not the file's either: who takes them has a wrong byte.  (What nobody could notice, such
as other bytes behind the right headers, is no illness of these.)
"""
import gzip
import random
import sys
import urllib.parse

sys.dont_write_bytecode = True  # the source tree may be read-only
import origin
from origin import Answer

MOMENT_S = 0.3  # about as long as tests let servers be silent


def poison(answer):
    """Bytes that are certainly wrong."""
    answer.set_body(bytes(b ^ 0xff for b in answer.body))


def head_of(answer, status=None, end=b"\r\n", more=()):
    lines = [status or b"HTTP/1.1 %d x" % answer.status]
    lines += [("%s: %s" % pair).encode() for pair in answer.headers.items()]
    return end.join(lines + list(more)) + 2 * end


def raw(answer, *pieces):
    answer.raw = list(pieces)
    return answer


def whole(answer, **how):
    return raw(answer, head_of(answer, **how), answer.body)


def closing(answer):
    answer.closes = True
    return answer


def ends(answer, how, where, at=None):
    answer.ends, answer.ends_in, answer.end_at = how, where, at
    return answer


def status(code, body=b"no\n", **headers):
    return lambda r, q, obj, a: Answer(code, body, **headers)


def somewhere(r, a):
    return r.randrange(len(a.body) + 1)


# ---- connections ----

def end_before(how):
    return lambda r, q, obj, a: ends(a, how, "before")


def end_in_head(how):
    return lambda r, q, obj, a: ends(a, how, "head")


def end_in_body(how):
    return lambda r, q, obj, a: ends(a, how, "body", somewhere(r, a))


def cut_at_the_last_byte(r, q, obj, a):
    return ends(a, "fin", "body", len(a.body) - 1)


def late(r, q, obj, a):
    a.delay_s = MOMENT_S / 2
    return a


def late_reset(r, q, obj, a):
    a.delay_s = MOMENT_S / 2
    return ends(a, "rst", "before")


def drip(what):
    def fault(r, q, obj, a):
        a.drips, a.drip_s = what, MOMENT_S / 10
        if what == "body":
            a.piece, a.pause_s = 1, a.drip_s
        return a
    return fault


def in_small_pieces(r, q, obj, a):
    data = head_of(a) + a.body
    size = r.choice((1, 7, 1000))
    rest = 400 * size
    return raw(a, *[data[i:i + size] for i in range(0, rest, size)], data[rest:])


# ---- heads ----

def nonsense(text):
    return lambda r, q, obj, a: closing(raw(a, text))


def http09(r, q, obj, a):
    poison(a)
    return closing(raw(a, a.body))


def with_status(line):
    return lambda r, q, obj, a: whole(a, status=line)


def with_end(end):
    return lambda r, q, obj, a: whole(a, end=end)


def with_lines(*more):
    return lambda r, q, obj, a: whole(a, more=more)


def http10(r, q, obj, a):
    del a.headers["Content-Length"]
    return closing(whole(a, status=b"HTTP/1.0 206 x"))


def interim(n):
    def fault(r, q, obj, a):
        return raw(a, n * b"HTTP/1.1 102 Processing\r\nX: y\r\n\r\n", head_of(a), a.body)
    return fault


def two_lengths(r, q, obj, a):
    poison(a)
    return closing(whole(a, more=[b"Content-Length: %d" % (len(a.body) // 2)]))


def same_length_twice(r, q, obj, a):
    return whole(a, more=[b"Content-Length: %d" % len(a.body)])


def two_ranges(r, q, obj, a):
    poison(a)
    return whole(a, more=[b"Content-Range: bytes 0-%d/%d" % (len(a.body) - 1, a.total + 7)])


def lying_length(by):
    def fault(r, q, obj, a):
        n = max(0, len(a.body) + by)
        a.headers["Content-Length"] = str(n)
        return closing(whole(a))
    return fault


def length_and_chunks(r, q, obj, a):
    return chunked_as(a, b"0\r\n\r\n", keep_length=True)


def chunked_as(a, end, keep_length=False):
    if not keep_length:
        del a.headers["Content-Length"]
    a.headers["Transfer-Encoding"] = "chunked"
    return raw(a, head_of(a), b"%x\r\n%s\r\n" % (len(a.body), a.body) if a.body else b"", end)


def chunked(end):
    return lambda r, q, obj, a: closing(chunked_as(a, end))


def bad_chunk(r, q, obj, a):
    del a.headers["Content-Length"]
    a.headers["Transfer-Encoding"] = "chunked"
    return closing(raw(a, head_of(a), b"%x\r\n%s\r\nzz\r\n" % (len(a.body), a.body)))


def packed(r, q, obj, a):
    a.set_body(gzip.compress(a.body))
    a.headers["Content-Encoding"] = "gzip"
    return a


def oddly_coded(r, q, obj, a):
    poison(a)
    a.headers["Content-Encoding"] = "rot13"
    return a


# ---- ranges and sizes ----

def wrong_start(r, q, obj, a):
    poison(a)
    first = a.first + 512 * r.randrange(1, 9)
    a.set_range(first, max(first, a.first + len(a.body) - 1), first + a.total)
    return a


def log_wrong_total(q):
    """It may be believed for a while, and the order depends on sizes."""
    with origin.lock:
        origin.log_lines.append("wrong total: %s\n" % q.path)


def wrong_total(r, q, obj, a):
    """Another one each time: else two that agree would be a version of their own."""
    poison(a)
    log_wrong_total(q)
    a.set_range(a.first, a.first + len(a.body) - 1, a.total + 512 * r.randrange(1, 1 << 20))
    return a


def no_range(r, q, obj, a):
    poison(a)
    a.headers.pop("Content-Range", None)
    return a


def other_units(r, q, obj, a):
    poison(a)
    a.headers["Content-Range"] = "lines 0-4/9"
    return a


def multipart(r, q, obj, a):
    return origin.multipart(q, obj, a, {}) if "Content-Range" in a.headers else a


def less(r, q, obj, a):
    n = r.randrange(1, len(a.body) + 1) if a.body else 0
    return origin.less(q, obj, a, {"bytes": n}) if n and a.status == 206 else a


def everything(r, q, obj, a):
    if a.status == 200 or (a.first == 0 and len(a.body) == a.total):
        return Answer(200, obj.data, **origin.validators(obj))  # which is right
    return Answer(200, bytes(b ^ 0xff for b in obj.data), **origin.validators(obj))


def nothing(r, q, obj, a):
    log_wrong_total(q)
    return Answer(200, b"", **(origin.validators(obj) if r.random() < .1 else {}))


def few(r, q, obj, a):
    log_wrong_total(q)
    a.headers.pop("ETag", None)
    a.headers.pop("Last-Modified", None)
    return origin.few(q, obj, a, {"bytes": 10})


def too_long(r, q, obj, a):
    """What comes behind the answer is an answer that nobody asked for."""
    poisoned = Answer(206, bytes(1000))
    poisoned.set_range(5, 1004, 2000)
    return raw(a, head_of(a) + a.body + head_of(poisoned) + poisoned.body)


def unsatisfied_by_nothing(r, q, obj, a):
    log_wrong_total(q)
    return Answer(416, b"no\n", Content_Range="bytes */0")


def lies_about_keeping(r, q, obj, a):
    a.headers["Connection"] = "keep-alive"
    return closing(a)


# ---- versions ----

def other_tag(form):
    def fault(r, q, obj, a):
        poison(a)
        a.headers["ETag"] = form % r.randrange(1 << 40)
        return a
    return fault


def no_tag(r, q, obj, a):
    """Not in answer to the question for the size: it would be a version of its own."""
    if q.range(len(obj.data)) != (0, 511):
        poison(a)
        a.headers.pop("ETag", None)
    return a


def two_tags(r, q, obj, a):
    poison(a)
    return whole(a, more=[b'ETag: "%d"' % r.randrange(1 << 40)])


def other_date(r, q, obj, a):
    """No change, where there is a strong tag."""
    a.headers["Last-Modified"] = "Tue, 14 Nov 2023 22:13:20 GMT"
    return a


def mismatch(r, q, obj, a):
    return Answer(412, b"no", ETag=r.choice(('"x"', obj.etag or '"x"')))


def redirect(to):
    return lambda r, q, obj, a: origin.redirect(q, obj, a, {"to": to})


def redirect_to_another_version(r, q, obj, a):
    moved_to = Answer(302, b"there")
    moved_to.headers["Location"] = "/etag,ill/" + urllib.parse.quote(q.name)
    return moved_to


ILLNESSES = {
    # Connections that end, or rest.
    "closed before": end_before("fin"), "reset before": end_before("rst"),
    "silent": end_before("stall"), "closed in head": end_in_head("fin"),
    "reset in head": end_in_head("rst"), "silent in head": end_in_head("stall"),
    "closed in body": end_in_body("fin"), "reset in body": end_in_body("rst"),
    "silent in body": end_in_body("stall"), "lacks a byte": cut_at_the_last_byte,
    "late": late, "late reset": late_reset, "head drips": drip("head"),
    "lines drip": drip("lines"), "body drips": drip("body"), "small pieces": in_small_pieces,
    # Heads.
    "garbage": nonsense(b"\x7fELF\x02\x01\0\0 this is no HTTP\r\n\r\n"),
    "status line without a number": nonsense(b"HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n"),
    "no head": http09, "HTTP/1.0": http10, "HTTP/3.7": with_status(b"HTTP/3.7 206 x"),
    "status 99": with_status(b"HTTP/1.1 099 x"), "status 2060": with_status(b"HTTP/1.1 2060 x"),
    "a 1xx before": interim(1), "many 1xx before": interim(300),
    "1xx without end": drip("interim"),
    "header of 90 KB": with_lines(b"X: " + 90000 * b"x"),
    "header of 1 MB": with_lines(b"X: " + 1000000 * b"x"),
    "20,000 headers": with_lines(*[b"X-%d: y" % i for i in range(20000)]),
    "NUL in a header": with_lines(b"X: a\0b"), "no colon": with_lines(b"nonsense"),
    "folded": with_lines(b"X: a", b" Content-Length: 1"), "LF only": with_end(b"\n"),
    "same length twice": same_length_twice, "two lengths": two_lengths,
    "two ranges": two_ranges, "length too small": lying_length(-9),
    "length too large": lying_length(9), "length and chunks": length_and_chunks,
    "in chunks": chunked(b"0\r\n\r\n"),
    "trailer": chunked(b"0\r\nContent-Range: bytes 7-8/9\r\nETag: \"t\"\r\n\r\n"),
    "bad chunk": bad_chunk, "chunks without end": chunked(b""),
    "gzip": packed, "other coding": oddly_coded,
    # Statuses.
    "500": status(500), "503": status(503, Retry_After="0"), "429": status(429, b""),
    "404": status(404), "403": status(403), "304": status(304, b""), "412": mismatch,
    "416": status(416), "416 of nothing": unsatisfied_by_nothing,
    # Ranges, sizes, versions.
    "wrong start": wrong_start, "wrong total": wrong_total, "no range": no_range,
    "other units": other_units, "multipart": multipart, "less": less, "everything": everything,
    "nothing": nothing, "few": few, "too long": too_long,
    "lies about keeping": lies_about_keeping, "other tag": other_tag('"%d"'),
    "weak tag": other_tag('W/"%d"'), "no tag": no_tag, "two tags": two_tags,
    "other date": other_date, "redirect": redirect("same"), "redirect abroad": redirect("other"),
    "redirect in a circle": redirect("loop"), "redirect to nobody": redirect("dead"),
    "redirect to nowhere": redirect("none"), "redirect to ftp": redirect("ftp"),
    "redirect to another version": redirect_to_another_version,
}


def ill(request, obj, answer, args):
    with origin.lock:
        key = (request.path, request.headers.get("range"))
        n = origin.counts[key] = origin.counts.get(key, 0) + 1
    r = random.Random("%s %s %s %d" % (args["seed"], request.name, key[1], n))
    if r.random() * 100 >= float(args["share"]):
        return answer
    name = r.choice(sorted(ILLNESSES))
    if "illness" in args:
        name = urllib.parse.unquote(args["illness"])
    if answer.status not in (200, 206):
        return answer
    return ILLNESSES[name](r, request, obj, answer)


if __name__ == "__main__":
    assert len(ILLNESSES) == 77, len(ILLNESSES)
    origin.ANSWER_FAULTS["ill"] = ill
    origin.main()
