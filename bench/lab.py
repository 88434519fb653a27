# SPDX-License-Identifier: MIT
"""The bench's instruments: a network of its own, nginx, mounts, clocks.

Nothing here knows what is measured.  All that is started or mounted is a context
manager, and ends with its block.
"""
import contextlib
import json
import mmap
import os
import random
import re
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time

INSIDE = "SHUFFLEFS_BENCH_INSIDE"
here = os.path.dirname(os.path.abspath(__file__))
TICKS = os.sysconf("SC_CLK_TCK")
READER_TIMEOUT = 900


class BenchError(Exception):
    """One line for the user: what could not be measured, and why."""


def read_text(path):
    with open(path) as f:
        return f.read()


# ---- a network of our own ----


def enter_namespaces():
    """Root goes on in a network and a mount namespace of its own; others stay."""
    inside = ["unshare", "--net", "--mount"]
    if os.geteuid() != 0 or INSIDE in os.environ:
        return
    if subprocess.run(inside + ["true"], stderr=subprocess.DEVNULL).returncode != 0:
        return
    os.environ[INSIDE] = "1"
    os.execvp(inside[0], inside + [sys.executable] + sys.argv)


def set_up_loopback():
    """lo up, and cubic on it.  By the route: a namespace's sysctl takes only what the
    whole machine allows (tcp_allowed_congestion_control), and cubic may not be in it."""
    if INSIDE not in os.environ:
        return
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for to in ["127.0.0.0/8", "127.0.0.1"]:
        route = "local %s dev lo table local proto kernel scope host src 127.0.0.1 congctl cubic" % to
        subprocess.run(["ip", "route", "replace"] + route.split())


def congestion_control():
    """What a server's connections on loopback really use: what one of them says."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        stack.enter_context(socket.create_connection(server.getsockname()))
        accepted = stack.enter_context(server.accept()[0])
        name = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    return name.split(b"\0")[0].decode()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def forget_settings_of_the_user(folder):
    """Proxies, and curl's settings (WebDataset runs it); mounts are told themselves."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            del os.environ[name]
    os.environ["CURL_HOME"] = folder
    with open(folder + "/.curlrc", "w"):
        pass


# ---- processes ----


def cpu_of(pids):
    """Seconds of user and system time so far."""
    total = 0
    for pid in pids:
        fields = read_text("/proc/%d/stat" % pid).rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


def memory_of(pid, name):
    """VmRSS or VmHWM, in bytes."""
    found = re.search(r"^%s:\s+(\d+) kB" % name, read_text("/proc/%d/status" % pid), re.M)
    if not found:
        raise BenchError("process %d has died" % pid)
    return int(found.group(1)) * 1024


def forget_peak(pid):
    """VmHWM begins anew from VmRSS."""
    with open("/proc/%d/clear_refs" % pid, "w") as f:
        f.write("5")


def children_of(pid):
    return [int(child) for child in read_text("/proc/%d/task/%d/children" % (pid, pid)).split()]


def is_gone(pid):
    """Ended; its parent may not have noticed yet."""
    try:
        return read_text("/proc/%d/stat" % pid).rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(what, is_so, seconds):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise BenchError("waited in vain for " + what)
        time.sleep(0.02)


def settle(pids, seconds=20):
    """Wait until these processes rest: what they do for the last reader must not be
    paid by the next."""
    end, before = time.monotonic() + seconds, None
    while time.monotonic() < end:
        now = cpu_of(pids)
        if now == before:
            return
        before = now
        time.sleep(0.25)


# ---- nginx ----

NGINX_CONF = """
%(user)s daemon off; pid %(folder)s/nginx.pid; worker_processes 1;
events { worker_connections 1024; }
http { access_log off; autoindex on; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path %(folder)s/tmp; proxy_temp_path %(folder)s/tmp;
  fastcgi_temp_path %(folder)s/tmp; uwsgi_temp_path %(folder)s/tmp; scgi_temp_path %(folder)s/tmp;
  server { listen %(address)s:%(port)d; root %(root)s; %(locations)s }
  %(secure)s }
"""
SECURE_SERVER = """server { listen %(address)s:443 ssl; root %(root)s; ssl_protocols TLSv1.3;
  ssl_certificate %(folder)s/cert.pem; ssl_certificate_key %(folder)s/key.pem; }"""


class Nginx:
    def __init__(self, process, folder, address, port):
        self.url = "http://%s:%d" % (address, port)
        self.secure_url = "https://" + address
        self.certificate = folder + "/cert.pem"
        self.pids = [process.pid] + children_of(process.pid)


@contextlib.contextmanager
def nginx(root, folder, address="127.0.0.1", inside=(), secure=False, locations=""):
    """nginx with one worker, which serves `root`; `folder` is for its own files.  `inside`
    is what a command begins with to run elsewhere; `secure`: on port 443 of there, too;
    `locations`: more of its configuration."""
    os.makedirs(folder + "/tmp")
    user = "user root;" if os.geteuid() == 0 else ""
    settings = {"user": user, "folder": folder, "address": address, "port": free_port(), "root": root,
                "locations": locations}
    if secure:
        make_certificate(folder, address)
    settings["secure"] = SECURE_SERVER % settings if secure else ""
    with open(folder + "/nginx.conf", "w") as f:
        f.write(NGINX_CONF % settings)
    with open(folder + "/log", "w") as log:
        command = [*inside, "nginx", "-p", folder, "-c", "nginx.conf", "-e", "stderr"]
        process = subprocess.Popen(command, stderr=log)
    try:
        wait_until("nginx", lambda: listens(process, folder + "/log"), 10)
        yield Nginx(process, folder, address, settings["port"])
    finally:
        process.terminate()
        process.wait()


def listens(process, log):
    """nginx opens its sockets before it has workers."""
    if process.poll() is not None:
        raise BenchError("nginx does not start: " + read_text(log).strip())
    return bool(children_of(process.pid))


def make_certificate(folder, address):
    """One that signs itself: folder/cert.pem is also the authority to trust."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    command += " -subj /CN=bench -addext subjectAltName=IP:%s" % address
    command += " -keyout %s/key.pem -out %s/cert.pem" % (folder, folder)
    done = subprocess.run(command.split(), stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise BenchError("openssl: " + done.stderr.strip())


# ---- a long wire ----


class Link:
    """What a command begins with to run at one of its ends, and where the far one is."""

    address = "10.98.0.2"

    def __init__(self, name):
        self.client, self.server = (
            ["nsenter", "--net=/run/netns/sfs-%s-%s" % (name, side)] for side in ("client", "server")
        )

    def forget(self):
        """What TCP remembers of earlier connections: the next ones begin cold."""
        for inside in (self.client, self.server):
            subprocess.run(inside + ["ip", "tcp_metrics", "flush", "all"], check=True)


@contextlib.contextmanager
def link(settings):
    """bench/link with these options, as in "--rtt 150ms --rate 2gbit"."""
    name = "bench-%d" % os.getpid()
    command = [here + "/link", "--name", name]
    done = subprocess.run(command + ["up"] + settings.split(), stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise BenchError(done.stderr.strip())
    try:
        yield Link(name)
    finally:
        subprocess.run(command + ["down"], stderr=subprocess.DEVNULL)


# ---- mounts ----


class Mount:
    """A mounted dataset; every epoch it names is new to the mount."""

    def __init__(self, folder):
        self.folder = folder
        self.stats = json.loads(read_text(folder + "/.shufflefs/stats.json"))
        self.pid = self.stats["pid"]
        self.budget = self.stats["budget_bytes"]
        self.n_epochs = 0

    def new_epoch(self):
        self.n_epochs += 1
        return "%s/epochs/%d.tar" % (self.folder, self.n_epochs - 1)


@contextlib.contextmanager
def mount(shufflefs, source, options, folder, inside=()):
    """`inside` is what a command begins with to run elsewhere, as at an end of a link."""
    os.makedirs(folder)
    settings = ",".join(filter(None, ["config=/dev/null", options]))
    command = [*inside, shufflefs, "mount", "-o", settings, source, folder]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise BenchError("cannot mount %s: %s" % (source, done.stderr.strip()))
    pid = 0
    try:
        mounted = Mount(folder)
        pid = mounted.pid
        yield mounted
    finally:
        if subprocess.run([shufflefs, "umount", folder]).returncode != 0:
            subprocess.run([shufflefs, "umount", "--lazy", folder])
        wait_until("the end of shufflefs", lambda: is_gone(pid), 30)
        os.rmdir(folder)


def fetched(folder):
    """Bytes that the mount on this folder has fetched from its source so far."""
    return json.loads(read_text(folder + "/.shufflefs/stats.json"))["fetched_bytes"]


def forget_pages(path):
    """Drop a file from the page cache."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def touch_memory():
    """Use the free memory once.  A virtual machine's host often gives a page only when it
    is first touched, which takes longer than all that is measured here."""
    n_bytes = int(first_of("/proc/meminfo", r"MemFree:\s*(\d+)")) * 1024 * 9 // 10
    with mmap.mmap(-1, n_bytes) as memory:
        for at in range(0, n_bytes, mmap.PAGESIZE):
            memory[at] = 1


@contextlib.contextmanager
def aged_memory():
    """Free memory as on a machine that has been up for long.  What is free is filled with small
    pages and freed in random order, but for one page in 32, at random, until the end: so what
    is free lies in short runs, and the kernel must move pages to make a huge one."""
    group, rng = 32 * mmap.PAGESIZE, random.Random(1)
    n_bytes = int(first_of("/proc/meminfo", r"MemFree:\s*(\d+)")) * 1024 * 9 // 10 // group * group
    with mmap.mmap(-1, n_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        memory.madvise(mmap.MADV_DONTFORK)
        for at in range(0, n_bytes, mmap.PAGESIZE):
            memory[at] = 1
        groups = list(range(0, n_bytes, group))
        rng.shuffle(groups)
        for at in groups:
            kept = rng.randrange(32) * mmap.PAGESIZE
            if kept > 0:
                memory.madvise(mmap.MADV_DONTNEED, at, kept)
            if kept + mmap.PAGESIZE < group:
                rest = kept + mmap.PAGESIZE
                memory.madvise(mmap.MADV_DONTNEED, at + rest, group - rest)
        yield


def state_of_memory(is_aged):
    touched = "touched once, and freed"
    return touched + " in random order, one page in 32 kept (--aged)" if is_aged else touched


# ---- running readers ----


class Snapshot:
    """What others have used, beside the reader, up to now."""

    def __init__(self, daemon_pids, server_pids):
        self.daemon_cpu = cpu_of(daemon_pids)
        self.server_cpu = cpu_of(server_pids)
        self.peak = max([memory_of(pid, "VmHWM") for pid in daemon_pids], default=0)


def run_reader(argv, snapshot):
    """Run a reader that prints a line of JSON a part.  Returns a dict a part: what the
    reader said, and what daemon and server used meanwhile."""
    parts, before = [], snapshot()
    with ended_in_time(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)) as process:
        for line in process.stdout:
            now = snapshot()
            parts.append(dict(json.loads(line), **used_between(before, now)))
            before = now
    check(argv, process.returncode)
    return parts


def run_command(argv, snapshot):
    """Run any command, its output thrown away: one part, from its start to its end."""
    before, started = snapshot(), time.monotonic()
    cpu = children_cpu()
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with ended_in_time(subprocess.Popen(argv, **silent)) as process:
        said = process.communicate()[1]  # curl -Z draws its meter whatever it is told
    part = {"seconds": time.monotonic() - started, "cpu": children_cpu() - cpu}
    check(argv, process.returncode, said)
    return dict(part, **used_between(before, snapshot()))


def run_together(argv, n_readers, snapshot):
    """Run a reader that prints one line so many times at once: one part, from the first
    one's start to the last one's end."""
    before, started = snapshot(), time.monotonic()
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(ended_in_time(subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)))
            for _ in range(n_readers)
        ]
        lines = [process.communicate()[0] for process in processes]
        seconds, now = time.monotonic() - started, snapshot()
    for process in processes:
        check(argv, process.returncode)
    said = [json.loads(line) for line in lines]
    part = {key: sum(one[key] for one in said) for key in ("bytes", "cpu")}
    return [dict(part, seconds=seconds, **used_between(before, now))]


def used_between(before, now):
    return {
        "daemon_cpu": now.daemon_cpu - before.daemon_cpu,
        "server_cpu": now.server_cpu - before.server_cpu,
        "peak": now.peak,
    }


def children_cpu():
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


@contextlib.contextmanager
def ended_in_time(process):
    """Waits for the process, and kills it if it takes too long or the bench is ended."""
    timer = threading.Timer(READER_TIMEOUT, process.kill)
    timer.start()
    with process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        finally:
            timer.cancel()


def check(argv, status, said=""):
    if status != 0:
        last_line = (said.strip().splitlines() or ["see above"])[-1]
        raise BenchError("%s ended with %d: %s" % (os.path.basename(argv[0]), status, last_line))


# ---- what a bench begins with ----


def say(line):
    print("bench: " + line, file=sys.stderr, flush=True)


def compile_reader(folder, name):
    program = "%s/%s" % (folder, name)
    source = "%s/%s.c" % (here, name)
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-pthread", "-o", program, source], check=True)
    return program


def compile_copy_reader(folder):
    return compile_reader(folder, "copy-reader")


def make_data(parent, scale):
    folder = "%s/shufflefs-bench/scale-%g" % (os.path.abspath(parent), scale)
    subprocess.run([sys.executable, here + "/make-data.py", folder, "--scale", str(scale)], check=True)
    return folder


def find_shufflefs(path):
    for candidate in [path] if path else [".", here + "/.."]:
        if os.path.isdir(candidate):
            candidate += "/shufflefs"
        if os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return os.path.abspath(candidate)
    raise BenchError("no shufflefs here: build it, or say --shufflefs PATH")


def find_python():
    """A Python that has WebDataset, or None."""
    python = os.environ.get("WEBDATASET_PYTHON", "python3")
    if output_of(python, "-c", "import webdataset; print(1)") != "1":
        say("%s has no webdataset (set WEBDATASET_PYTHON): its cases are left out" % python)
        return None
    return python


# ---- what the machine is ----


def output_of(*argv):
    """The first line a command prints, or None."""
    with contextlib.suppress(OSError):
        both = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if both.returncode == 0 and both.stdout:
            return both.stdout.splitlines()[0].strip()
    return None


def first_of(path, pattern):
    found = re.search(pattern, read_text(path), re.M)
    return found.group(1) if found else "unknown"


def version(program, *how):
    """The version number of a program, or "none"."""
    said = output_of(program, *how) if shutil.which(program) else None
    number = re.search(r"\d+(\.\d+)+", said or "")
    return number.group(0) if number else "none"


def machine(shufflefs, python, data, load):
    """Pairs of a name and what is so, for the head of the results."""
    memory = int(first_of("/proc/meminfo", r"^MemTotal:\s+(\d+)")) * 1024
    webdataset = "import webdataset; print(webdataset.__version__)"
    return [
        ("date", time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())),
        ("CPU", first_of("/proc/cpuinfo", r"^model name\s*:\s*(.*)$")),
        ("cores", str(len(os.sched_getaffinity(0)))),
        ("memory", "%.1f GiB" % (memory / 2**30)),
        ("kernel", os.uname().release),
        ("file system of the data", output_of("stat", "-f", "-c", "%T", data) or "unknown"),
        ("congestion control", congestion_control()),
        ("own network namespace", "yes" if INSIDE in os.environ else "no"),
        ("huge pages", first_of("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]")),
        ("load before", "%.2f" % load),
        ("shufflefs", version(shufflefs, "--version")),
        ("curl", version("curl", "--version")),
        ("nginx", version("nginx", "-v")),
        ("GNU tar", version("tar", "--version")),
        ("Python", version(python or "python3", "--version")),
        ("WebDataset", (python and output_of(python, "-c", webdataset)) or "none"),
    ]
