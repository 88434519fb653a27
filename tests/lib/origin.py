#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An HTTP/1.1 server that misbehaves on demand.

  origin.py FOLDER [PORT [ADDRESS]]

Prints its port and serves FOLDER until it is killed: GET and HEAD, keep-alive, one
range, If-Match, ETag, Last-Modified.  What goes wrong stands in the URL, before the
name of the file; several faults may follow each other:

  http://127.0.0.1:PORT/FAULT[,key[=value]]...[/FAULT...]/train-000000.tar

When (all must hold; each fault counts for itself, and for each URL; words that mean
nothing make it another URL):
  only=PATTERN  for files with such names          over=N   for ranges longer than N
  under=N       for ranges shorter than N                   (over=1000: no asks for a size,
                which are for 512 bytes, or for a few more behind others on one connection)
  at=N          for ranges with byte N in them     while=F  while FOLDER has a file F
  after=N       not for the first N of those requests       times=N  for N of them

What (B: the byte `at=N` of the file, or byte `bytes=N` of the body; without either,
before the answer begins; with `head`, in the middle of its headers):
  cut, rst, stall            end of connection, reset, silence: at B
  trickle,bytes=N,ms=N       a body in small pieces
  drip,ms=N[,head|lines|interim]  a body, or a head, byte by byte; or header lines, or
                             answers 1xx, without end
  pause,bytes=N,while=F      a body of which the first N bytes come, and the rest without F
  late,ms=N                  an answer that begins so much later
  held,while=F               an answer that begins when F is gone
  short,by=N                 fewer bytes than Content-Range says, and a Content-Length to match
  less,bytes=N               an honest 206 for the first N bytes of the range
  long,by=N[,open]           more bytes than Content-Length says (open: than the range has)
  wrongstart,by=N  wrongend,by=N  wrongtotal,by=N            another range than asked for
  ignorerange  norange  multipart                            200; 206 without Content-Range
  etag[,is=TAG][,pad=N][,blind]  modified  size,by=N         the object has changed
                             pad=N: with N more bytes before the tag's last two
  weak  noetag  bare  blind                                  validators; blind: ignores If-Match
  NNN[,retry-after=N|date][,ratelimit=N][,body=N][,total=N|none]  this status; total: of a 416
  few,bytes=N                                                206, and the object has N bytes
  auth,user=U,password=P                                     401 without these
  bearer,file=F[,status=N]                                   401 without the token in FOLDER/F
  redirect[,to=same|other|localhost|loop|deeper|dead|ftp|none][,host=HOST:PORT][,status=N][,uses=N][,port=N][,pad=N]
                             uses=N: to a URL that is forbidden after N requests
                             pad=N: to a URL with a query of N bytes
  forgets                    what was sent behind the request, before its answer
  swaps                      its answer with that to the request behind it
  chunked[,trailer]  nolength  gzip  close  hangup  garbage  hugeheader,bytes=N  nohead,status=N

With ORIGIN_TLS="CERTIFICATE KEY" in the environment, files, it speaks TLS.

Asked as a proxy, it serves its own files, whatever the host.  `other` is a second port.  Each request is a JSON line on stderr, and in /__log
(`peer` is the port it came from: one of each connection).
Standard library only.
"""
import base64
import contextlib
import email.utils
import fnmatch
import gzip
import json
import os
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse

REASONS = {200: "OK", 206: "Partial Content", 302: "Found", 304: "Not Modified",
           401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           405: "Method Not Allowed", 412: "Precondition Failed",
           416: "Range Not Satisfiable", 429: "Too Many Requests",
           500: "Internal Server Error", 503: "Service Unavailable"}

folder = ""
tls = None
ports = {}
lock = threading.Lock()  # guards the next three, and stderr
counts = {}              # (path, number of the fault) -> requests that it fits
token_uses = {}          # token -> requests
log_lines = []


class Object:
    """A file, as the server sees it for one request."""

    def __init__(self, name):
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            self.data = file.read()
        mtime = os.stat(path).st_mtime
        self.etag = '"%x-%x"' % (int(mtime), len(self.data))
        self.modified = email.utils.formatdate(mtime, usegmt=True)
        self.knows_range = self.knows_if_match = True


class Answer:
    def __init__(self, status, body=b"", **headers):
        self.status = status
        self.body = body
        self.headers = {"Content-Length": str(len(body))}
        for name, value in headers.items():
            self.headers[name.replace("_", "-")] = value
        self.first = 0        # where the body begins in the file
        self.total = 0        # the file's size
        self.waits_for = None  # a file: between pieces, until it is gone
        self.held_by = None    # a file: the answer begins when it is gone
        self.ends = None      # "fin", "rst" or "stall", ...
        self.end_at = None    # ... when so much of the body was sent,
        self.ends_in = "body"  # or in "head", or "before" it
        self.piece = 1 << 20
        self.pause_s = self.delay_s = 0
        self.raw = None       # pieces of bytes that are sent instead of all else
        self.drips = None     # "head", "lines", "interim" or "body",
        self.drip_s = 0       # with such pauses
        self.trailer = ""     # of a chunked body
        self.is_chunked = self.closes = self.is_garbage = False
        self.forgets = self.swaps = False  # what was sent behind the request

    def set_body(self, body):
        self.body = body
        self.headers["Content-Length"] = str(len(body))

    def set_range(self, first, last, total):
        self.headers["Content-Range"] = "bytes %d-%d/%d" % (first, last, total)


class Request:
    def __init__(self, port, head):
        lines = head.decode("latin-1").split("\r\n")
        self.port = port
        self.method, self.path, _ = lines[0].split(" ", 2)
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        path, _, self.query = self.path.partition("?")
        if path.startswith("http://"):  # as if to a proxy
            path = "/" + path.split("/", 3)[3]
        self.parts = [urllib.parse.unquote(p) for p in path.lstrip("/").split("/")]
        self.faults = []
        while len(self.parts) > 1 and is_fault(self.parts[0].split(",")[0]):
            name, *pairs = self.parts.pop(0).split(",")
            args = dict((p.split("=", 1) + [""])[:2] for p in pairs)
            self.faults.append((name, args))
        self.name = "/".join(self.parts)

    def range(self, size):
        """(first, last), or None; beyond the end: first >= size."""
        value = self.headers.get("range", "")
        if not value.startswith("bytes=") or "," in value:
            return None
        first, _, last = value[6:].partition("-")
        if not first:
            return max(0, size - int(last)), size - 1
        return int(first), min(int(last) if last else size - 1, size - 1)


def is_fault(name):
    return name in OBJECT_FAULTS or name in ANSWER_FAULTS or (name.isdigit() and len(name) == 3)


def is_due(request, number, args, size):
    """Does this fault befall this request?  Counts it."""
    span = request.range(size)
    first, last = span or (0, size - 1)
    if not fnmatch.fnmatch(os.path.basename(request.name), args.get("only", "*")):
        return False
    if last - first + 1 <= int(args.get("over", -1)):
        return False
    if "under" in args and not (span and last - first + 1 < int(args["under"])):
        return False
    if "at" in args and not first <= int(args["at"]) <= last:
        return False
    if "while" in args and not os.path.exists(os.path.join(folder, args["while"])):
        return False
    with lock:
        key = (request.path.partition("?")[0], number)
        n = counts[key] = counts.get(key, 0) + 1
    n -= int(args.get("after", 0))
    return n > 0 and n <= int(args.get("times", n))


# ---- what is wrong with the object ----

def etag(obj, args):
    tag = args.get("is", '"changed"')
    obj.etag = tag[:-2] + "x" * int(args.get("pad", 0)) + tag[-2:]
    obj.knows_if_match = "blind" not in args


def weak(obj, args):
    obj.etag = "W/" + obj.etag


def noetag(obj, args):
    obj.etag = None


def bare(obj, args):
    obj.etag = obj.modified = None


def blind(obj, args):
    obj.knows_if_match = False


def modified(obj, args):
    obj.modified = email.utils.formatdate(1234567890, usegmt=True)


def size(obj, args):
    by = int(args["by"])
    obj.data = obj.data + bytes(by) if by > 0 else obj.data[:by]


def ignorerange(obj, args):
    obj.knows_range = False


OBJECT_FAULTS = {f.__name__: f for f in (etag, weak, noetag, bare, blind, modified, size,
                                         ignorerange)}


# ---- what is wrong with the answer ----

def end_it(how):
    def fault(request, obj, answer, args):
        answer.ends = how
        if "at" in args:
            answer.end_at = int(args["at"]) - answer.first
        elif "bytes" in args:
            answer.end_at = int(args["bytes"])
        else:
            answer.ends_in = "head" if "head" in args else "before"
        return answer
    return fault


def trickle(request, obj, answer, args):
    answer.piece = int(args.get("bytes", 1000))
    answer.pause_s = int(args.get("ms", 10)) / 1000
    return answer


def drip(request, obj, answer, args):
    answer.drip_s = int(args["ms"]) / 1000
    answer.drips = ({"head", "lines", "interim"} & set(args) or {"body"}).pop()
    if answer.drips == "body":
        answer.piece = 1
        answer.pause_s = answer.drip_s
    return answer


def pause(request, obj, answer, args):
    answer.piece = int(args["bytes"])
    answer.waits_for = os.path.join(folder, args["while"])
    return answer


def late(request, obj, answer, args):
    answer.delay_s = int(args["ms"]) / 1000
    return answer


def forgets(request, obj, answer, args):
    answer.forgets = True
    return answer


def swaps(request, obj, answer, args):
    answer.swaps = True
    return answer


def held(request, obj, answer, args):
    answer.held_by = os.path.join(folder, args["while"])
    return answer


def short(request, obj, answer, args):
    answer.set_body(answer.body[:-int(args["by"])])
    return answer


def less(request, obj, answer, args):
    body = answer.body[:int(args["bytes"])]
    answer.set_body(body)
    answer.set_range(answer.first, answer.first + len(body) - 1, answer.total)
    return answer


def long(request, obj, answer, args):
    answer.body += b"x" * int(args["by"])
    if "open" in args:
        del answer.headers["Content-Length"]
        answer.closes = True
    return answer


def wrongstart(request, obj, answer, args):
    first = max(0, answer.first + int(args["by"]))
    body = obj.data[first:first + len(answer.body)]
    answer.set_body(body)
    answer.set_range(first, first + len(body) - 1, answer.total)
    return answer


def wrongend(request, obj, answer, args):
    body = obj.data[answer.first:answer.first + len(answer.body) + int(args["by"])]
    answer.set_body(body)
    answer.set_range(answer.first, answer.first + len(body) - 1, answer.total)
    return answer


def wrongtotal(request, obj, answer, args):
    answer.set_range(answer.first, answer.first + len(answer.body) - 1,
                     answer.total + int(args["by"]))
    return answer


def few(request, obj, answer, args):
    answer.set_body(answer.body[:int(args["bytes"])])
    answer.status = 206
    answer.set_range(0, len(answer.body) - 1, len(answer.body))
    return answer


def norange(request, obj, answer, args):
    answer.headers.pop("Content-Range", None)
    return answer


def multipart(request, obj, answer, args):
    head = "--limit\r\nContent-Type: x/y\r\nContent-Range: %s\r\n\r\n" % (
        answer.headers.pop("Content-Range"))
    answer.headers["Content-Type"] = "multipart/byteranges; boundary=limit"
    answer.set_body(head.encode() + answer.body + b"\r\n--limit--\r\n")
    return answer


def auth(request, obj, answer, args):
    pair = "%s:%s" % (args["user"], args["password"])
    right = "Basic " + base64.b64encode(pair.encode()).decode()
    if request.headers.get("authorization") == right:
        return answer
    return Answer(401, b"who are you?", WWW_Authenticate='Basic realm="x"')


def bearer(request, obj, answer, args):
    with open(os.path.join(folder, args["file"])) as file:
        right = "Bearer " + file.read().strip()
    if request.headers.get("authorization") == right:
        return answer
    return Answer(int(args.get("status", 401)), b"which token?")


def redirect(request, obj, answer, args):
    to = args.get("to", "same")
    path = "/" + urllib.parse.quote(request.name)
    if "uses" in args:
        with lock:
            token = "t%d" % len(token_uses)
            token_uses[token] = 0
        path = "/token,uses=%s%s?signature=%s" % (args["uses"], path, token)
    if "pad" in args:
        path += "?token=" + "A" * int(args["pad"])
    host = {"other": "127.0.0.1:%d" % ports["other"], "dead": "127.0.0.1:" + args.get("port", ""),
            "localhost": "localhost:%d" % ports["main"]}.get(to, args.get("host"))
    location = {"loop": request.path, "deeper": "/redirect,to=deeper" + request.path,
                "ftp": "ftp://127.0.0.1" + path}.get(to, path)
    moved = Answer(int(args.get("status", 302)), b"it moved")
    if to != "none":
        moved.headers["Location"] = "http://" + host + location if host else location
    return moved


def token(request, obj, answer, args):
    key = request.query.partition("=")[2]
    with lock:
        token_uses[key] = token_uses.get(key, 1 << 30) + 1
        is_over = token_uses[key] > int(args["uses"])
    return Answer(403, b"Request has expired") if is_over else answer


def chunked(request, obj, answer, args):
    del answer.headers["Content-Length"]
    answer.headers["Transfer-Encoding"] = "chunked"
    answer.is_chunked = True
    if "trailer" in args:
        answer.trailer = ("Content-Range: bytes 7-8/9\r\nETag: \"of-the-trailer\"\r\n"
                          "Last-Modified: Tue, 14 Nov 2023 22:13:20 GMT\r\n")
    return answer


def nolength(request, obj, answer, args):
    del answer.headers["Content-Length"]
    answer.headers["Connection"] = "close"
    answer.closes = True
    return answer


def gzipped(request, obj, answer, args):
    answer.set_body(gzip.compress(answer.body))
    answer.headers["Content-Encoding"] = "gzip"
    return answer


def close(request, obj, answer, args):
    answer.headers["Connection"] = "close"
    answer.closes = True
    return answer


def hangup(request, obj, answer, args):
    answer.closes = True
    return answer


def garbage(request, obj, answer, args):
    answer.is_garbage = answer.closes = True
    return answer


def hugeheader(request, obj, answer, args):
    answer.headers["X-Huge"] = "x" * int(args["bytes"])
    return answer


def nohead(request, obj, answer, args):
    return Answer(int(args.get("status", 405))) if request.method == "HEAD" else answer


ANSWER_FAULTS = {f.__name__: f for f in (
    trickle, drip, pause, late, held, short, less, long, few, wrongstart, wrongend, wrongtotal, norange,
    multipart, auth, bearer,
    redirect, token, chunked, nolength, close, hangup, forgets, swaps, garbage, hugeheader, nohead)}
ANSWER_FAULTS.update(cut=end_it("fin"), rst=end_it("rst"), stall=end_it("stall"), gzip=gzipped)


def status_fault(status, obj, args):
    body = b"z" * int(args["body"]) if "body" in args else b"no\n"
    answer = Answer(status, b"" if status == 304 else body)
    if "retry-after" in args:
        value = args["retry-after"]
        if value == "date":
            value = email.utils.formatdate(time.time() + 2, usegmt=True)
        answer.headers["Retry-After"] = value
    if "ratelimit" in args:
        answer.headers["RateLimit"] = '"api";r=0;t=' + args["ratelimit"]
    if status == 416 and args.get("total") != "none":
        answer.headers["Content-Range"] = "bytes */%d" % int(args.get("total", len(obj.data)))
    return answer


# ---- what is right ----

def validators(obj):
    headers = {}
    if obj.etag:
        headers["ETag"] = obj.etag
    if obj.modified:
        headers["Last-Modified"] = obj.modified
    return headers


def good_answer(request, obj):
    wanted = request.headers.get("if-match")
    if wanted and obj.knows_if_match and wanted not in ("*", obj.etag):
        return Answer(412, b"it changed", **validators(obj))
    span = request.range(len(obj.data)) if obj.knows_range else None
    if not span:
        answer = Answer(200, obj.data, **validators(obj))
    elif span[0] >= len(obj.data):
        answer = Answer(416, Content_Range="bytes */%d" % len(obj.data))
    else:
        answer = Answer(206, obj.data[span[0]:span[1] + 1], **validators(obj))
        answer.first = span[0]
        answer.set_range(span[0], span[1], len(obj.data))
    answer.total = len(obj.data)
    return answer


def answer_to(request):
    if request.path == "/__log":
        return Answer(200, "".join(log_lines).encode())
    try:
        obj = Object(request.name)
    except OSError:
        return Answer(404, b"<html>no such file</html>")
    due = [(name, args) for number, (name, args) in enumerate(request.faults)
           if is_due(request, number, args, len(obj.data))]
    for name, args in due:
        if name in OBJECT_FAULTS:
            OBJECT_FAULTS[name](obj, args)
    answer = good_answer(request, obj)
    for name, args in due:
        if name in ANSWER_FAULTS:
            answer = ANSWER_FAULTS[name](request, obj, answer, args)
        elif name.isdigit():
            answer = status_fault(int(name), obj, args)
    return answer


# ---- the wire ----

def note(request, peer):
    line = json.dumps({"time": round(time.time(), 3), "origin": request.port, "peer": peer,
                       "method": request.method, "path": request.path,
                       "file": request.name, "headers": request.headers}) + "\n"
    with lock:
        log_lines.append(line)
        sys.stderr.write(line)
        sys.stderr.flush()


def end_connection(conn, how):
    if how == "rst":
        conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif how == "stall":
        while conn.recv(4096):
            pass


def send_body(conn, answer):
    body = answer.body if answer.end_at is None else answer.body[:max(0, answer.end_at)]
    for at in range(0, len(body), answer.piece):
        piece = body[at:at + answer.piece]
        if answer.is_chunked:
            piece = b"%x\r\n%s\r\n" % (len(piece), piece)
        conn.sendall(piece)
        time.sleep(answer.pause_s)
        while answer.waits_for and os.path.exists(answer.waits_for):
            time.sleep(0.01)
    if answer.is_chunked and not answer.ends:
        conn.sendall(b"0\r\n" + answer.trailer.encode() + b"\r\n")


def send(conn, request, answer):
    """Returns whether the connection goes on."""
    time.sleep(answer.delay_s)
    while answer.held_by and os.path.exists(answer.held_by):
        time.sleep(0.01)
    if answer.raw is not None:
        for piece in answer.raw:
            conn.sendall(piece)
            time.sleep(answer.pause_s)
        if answer.ends:
            end_connection(conn, answer.ends)
        return not answer.closes and not answer.ends
    if answer.is_garbage:
        conn.sendall(b"\x7fELF\x02\x01 this is no HTTP\r\n\r\n")
        return False
    while answer.drips == "interim":
        conn.sendall(b"HTTP/1.1 102 Processing\r\n\r\n")
        time.sleep(answer.drip_s)
    lines = ["HTTP/1.1 %d %s" % (answer.status, REASONS.get(answer.status, "Whatever"))]
    lines += ["%s: %s" % pair for pair in answer.headers.items()]
    head = "\r\n".join(lines + ["", ""]).encode()
    if answer.drips == "lines":
        conn.sendall(head[:-2])
        while True:
            time.sleep(answer.drip_s)
            conn.sendall(b"X-Drip: x\r\n")
    elif answer.drips == "head":
        for i in range(len(head)):
            conn.sendall(head[i:i + 1])
            time.sleep(answer.drip_s)
    elif answer.ends_in == "head":
        conn.sendall(head[:len(head) // 2])
    elif answer.ends_in != "before":
        conn.sendall(head)
    if answer.ends_in == "body" and request.method != "HEAD":
        send_body(conn, answer)
    if answer.ends:
        end_connection(conn, answer.ends)
    return not answer.closes and not answer.ends


def take(port, peer, head):
    request = Request(port, head)
    if request.path != "/__log":
        note(request, peer)
    return request, answer_to(request)


def serve_connection(port, conn):
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    conn.settimeout(300)
    peer = conn.getpeername()[1]
    buffered = b""
    try:
        if tls:
            conn = tls.wrap_socket(conn, server_side=True)
        while True:
            while b"\r\n\r\n" not in buffered:
                got = conn.recv(65536)
                if not got:
                    return
                buffered += got
            head, _, buffered = buffered.partition(b"\r\n\r\n")
            request, answer = take(port, peer, head)
            if answer.swaps and b"\r\n\r\n" in buffered:
                head, _, buffered = buffered.partition(b"\r\n\r\n")
                if not send(conn, *take(port, peer, head)):
                    return
            if not send(conn, request, answer):
                return
            if answer.forgets:
                buffered = b""
                conn.settimeout(0)
                with contextlib.suppress(BlockingIOError, ssl.SSLWantReadError):
                    conn.recv(65536)
                conn.settimeout(300)
    except OSError:
        pass  # the client has gone
    finally:
        conn.close()


def listen(port, number=0):
    address = sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, number), family=family, backlog=256)
    ports[port] = listener.getsockname()[1]

    def accept():
        while True:
            conn, _ = listener.accept()
            threading.Thread(target=serve_connection, args=(port, conn), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def set_up(to_serve):
    global folder, tls
    folder = to_serve
    if os.environ.get("ORIGIN_TLS"):
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*os.environ["ORIGIN_TLS"].split())


def main():
    set_up(sys.argv[1])
    listen("main", int((sys.argv + ["0"])[2]))
    listen("other")
    print(ports["main"], flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
