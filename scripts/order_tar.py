# SPDX-License-Identifier: MIT
"""Shards and bytes: sections 6 and 7 of docs/ORDER.md, written from that page alone.

shard_of() finds the samples of a shard, or says where it is damaged; rename_all() decides which
samples of a stream are renamed; bytes_of() gives what a stream holds of a sample.
"""
import re
from itertools import chain, count, takewhile
from types import SimpleNamespace as Record


# Section 6: from a shard to its samples

class Damage(ValueError):
    """key: of the member that is cut off; b"": there is none; None: nobody knows."""
    def __init__(self, what, at, key=None):
        super().__init__("%s at byte %d" % (what, at))
        self.key = key


def refuse(what, begin, wrong):
    if wrong:
        raise Damage(what, begin)


def padded(n_bytes):
    return -(-n_bytes // 512) * 512


def text(field):
    return field.split(b"\0")[0]


def number(field):
    digits = re.match(rb" *([0-7]+)([ \0]|\Z)", field)
    if field[0] == 128 and int.from_bytes(field[1:], "big") < 2**63:
        return int.from_bytes(field[1:], "big")
    return int(digits[1], 8) if digits else None


def checksum(header):
    return sum(header[:148]) + sum(header[156:]) + 8 * ord(" ")


def header_at(tar, at, begin):
    header = tar[at:at + 512]
    refuse("a header that is cut off", begin, len(header) < 512)
    signed = checksum(header) - 256 * sum(byte > 127 for byte in header[:148] + header[156:])
    refuse("no header", begin, not re.fullmatch(rb"[ \x000-7]*", header[148:156]) or
           number(header[148:156]) not in (checksum(header), signed))
    return header


def records_of(data, begin):
    """The records of a pax header: each as keyword, value, and all its bytes."""
    records = []
    while text(data):
        start = re.match(rb"([0-9]+) ([^=]+)=", data)
        length = int(start[1]) if start else 0
        refuse("no record", begin, not start or not start.end() < length <= len(data) or data[length - 1] != 10)
        records.append((start[2], data[start.end():length - 1], data[:length]))
        data = data[length:]
    return records


NAMES = b"GNU.sparse.name", b"path"  # the first that is there counts


def is_sound(keyword, value):
    if keyword == b"size" or keyword.startswith(b"GNU.sparse.") and keyword not in NAMES:
        return re.fullmatch(rb"[0-9,]+" if keyword == b"GNU.sparse.map" else rb"[0-9]{1,18}", value)
    return b"\0" not in keyword and (keyword not in NAMES or value and b"\0" not in value)


def extensions_at(tar, begin):
    """The extensions that begin there, and where the header after them is."""
    at, extensions = begin, []
    while True:
        header, data = header_at(tar, at, begin), at + 512
        type, size, end = header[156:157].replace(b"X", b"x"), number(header[124:136]), min(len(tar), begin + 2**20)
        refuse("headers of more than 1 MiB", begin, data > end)
        if type not in b"xLKA":
            return extensions, at
        refuse("an extension of a wrong size", begin, size is None or data + padded(size) > end)
        refuse("two extensions of a type", begin, type in [e.type for e in extensions])
        records = records_of(tar[data:data + size], begin) if type == b"x" else []
        refuse("an unsound record", begin, not all(is_sound(keyword, value) for keyword, value, _ in records))
        has_name = type == b"L" or any(keyword in NAMES for keyword, _, _ in records)
        refuse("names in two extensions", begin, has_name and any(e.has_name for e in extensions))
        extensions.append(Record(type=type, at=at, data=tar[data:data + size], records=records, has_name=has_name))
        at = data + padded(size)


def prefix_of(header):
    return text(header[345:500]) if header[257:262] == b"ustar" and header[257:265] != b"ustar  \0" else b""


def name_of(header, extensions):
    values = {keyword: value for e in extensions for keyword, value, _ in e.records}
    names = [values[keyword] for keyword in NAMES if keyword in values]
    names += [text(e.data) for e in extensions if e.type == b"L"]
    return (names + [prefix_of(header) + b"/" * bool(prefix_of(header)) + text(header[:100])])[0]


def key_of(name):
    match = re.match(rb"^((?:.*/|)[^.]+)[.]([^/]*)$", name)
    is_meta = b"/" not in name and name.startswith(b"__") and name.endswith(b"__")
    return match[1] if match and not is_meta and not re.match(rb"__[^/]*__($|/)", name) else None


def integer(digits):
    return int(digits) if re.fullmatch(rb"[0-9]{1,18}", digits) else None


def old_map(tar, header, data, at):
    """Of type S: the numbers in the header and in the blocks from `data` to `at`."""
    fields = header[386:482] + b"".join(tar[i:i + 504] for i in range(data, at, 512))
    pairs = [(fields[i:i + 12], fields[i + 12:i + 24]) for i in range(0, len(fields), 24)]
    pairs = takewhile(lambda pair: pair[1][0], pairs)
    return [number(field) for pair in pairs for field in pair], number(header[483:495])


def record_map(records):
    """Of pax 0.0 and 0.1: are there records of a map?  The numbers in them; None: no map; [None]: a wrong one."""
    records = [(keyword[11:], value) for keyword, value, _ in records if keyword in (
        b"GNU.sparse.numblocks", b"GNU.sparse.map", b"GNU.sparse.offset", b"GNU.sparse.numbytes")]
    if not records:
        return False, None
    keywords, values = zip(*records)
    n = int(values[0]) if keywords[0] == b"numblocks" else None
    if keywords in ((b"map",), (b"numblocks", b"map")):
        numbers = [integer(v) for v in values[-1].split(b",")]
        return True, numbers if len(numbers) == 2 * (len(numbers) // 2 if n is None else n) else [None]
    if keywords[1:] != min(n or 0, len(records)) * (b"offset", b"numbytes") or n is None:
        return True, [None]
    return True, [int(v) for v in values[1:]] or None


def data_map(tar, begin, at, stored):
    """Of pax 1.0: the numbers in the lines that the data begin with, and how long these are; [None]: a wrong map."""
    numbers, end, wanted = [], at, 1
    while len(numbers) < wanted:
        line = re.compile(rb"[0-9]{1,18}\n").match(tar, end, min(at + stored, begin + 2**20))
        if not line:
            return [None], 0
        end = line.end()
        numbers.append(int(line[0]))
        wanted = 1 + 2 * numbers[0]
    n_bytes = padded(end - at)
    return numbers[1:] if n_bytes <= stored and at + n_bytes <= begin + 2**20 else [None], n_bytes


def is_map_right(tar, begin, header, records, data, at, stored):
    """Of a sparse file: are the runs that count as long as what is stored?"""
    values = {keyword: value for keyword, value, _ in records}
    sizes = [int(values[k]) for k in (b"GNU.sparse.size", b"GNU.sparse.realsize") if k in values]
    major, minor = (int(values.get(b"GNU.sparse." + k, 0)) for k in (b"major", b"minor"))
    has_records, numbers = record_map(records)
    if b"SUN.holesdata" in values or b"SCHILY.realsize" in values or len(sizes) > 1:
        return False
    if header[156:157] == b"S":
        numbers, size = old_map(tar, header, data, at)
        if header[257:265] != b"ustar  \0" or size is None or any(k.startswith(b"GNU.sparse.") for k in values):
            return False
    elif header[156:157] != b"0" or major > 1 or major == 1 and (minor or has_records):
        return False
    else:
        if major == 1:
            numbers, n_bytes = data_map(tar, begin, at, stored)
            stored -= n_bytes
        if numbers is None:  # an ordinary file
            return not sizes or stored <= sizes[0] <= padded(stored)
        if not sizes:
            return False
        size = sizes[0]
    if None in numbers or not numbers and size:
        return False
    runs, counting, end = list(zip(numbers[::2], numbers[1::2])), [], 0
    for offset, length in runs:
        if end <= offset <= offset + length <= size:
            counting, end = counting + [length], offset + length
        elif length and header[156:157] == b"S":
            return False
    return padded(sum(counting) if counting else size) == padded(stored) and sum(numbers[1::2]) >= stored


def member_at(tar, begin):
    """The member, or the global header, that begins there."""
    extensions, own = extensions_at(tar, begin)
    header, at = header_at(tar, own, begin), own + 512
    type, name, records = header[156:157], name_of(header, extensions), [r for e in extensions for r in e.records]
    size = number(header[124:136]) if type == b"g" or header[124:136].strip(b" \0") else 0
    is_file, has_name = type in b"07S\0", any(e.has_name for e in extensions)
    refuse("an extension without its member", begin, type in b"gV" and extensions)
    refuse("an unknown dialect with a prefix", begin, is_file and header[257:262] != b"ustar" and header[345])
    if type in b"123456" or type == b"\0" and text(header[:100]).endswith(b"/") and not has_name:
        return Record(begin=begin, own=own, end=at, type=type, key=None, extensions=extensions)  # no data
    refuse("a file in the header of an old folder", begin, type == b"\0" and text(header[:100]).endswith(b"/"))
    refuse("a file named like a folder", begin, type not in b"gDV" and name.endswith(b"/") and (
        header[124:136].strip(b"0 \0") or extensions))
    refuse("no type", begin, not re.match(rb"[\x000-9A-Za-z]", type))
    refuse("a map without a sparse file", begin, type not in b"gVS" and header[257:265] == b"ustar  \0" and (
        header[386] or header[483]))
    refuse("a size that is no number", begin, size is None or size >= 2**63 - 511)
    if type == b"g":
        refuse("a global header of a wrong size", begin, at + padded(size) > min(len(tar), begin + 2**20))
        refuse("a global header that changes members", begin, any(
            re.match(rb"(path|size|SCHILY[.]realsize)\Z|GNU[.]sparse[.]", keyword)
            for keyword, _, _ in records_of(tar[at:at + size], begin)))
    for keyword, value, _ in records:
        size = int(value) if keyword == b"size" else size
    more = type == b"S" and header[482]  # the map goes on in the next block
    while more:
        refuse("headers of more than 1 MiB", begin, at + 512 > begin + 2**20)
        more, at = at + 512 <= len(tar) and tar[at + 504], at + 512
    key = key_of(name) if is_file else None
    if at + padded(size) > len(tar):
        raise Damage("a member that is cut off", begin, key)
    refuse("a wrong map of a sparse file", begin, (type == b"S" or any(
        re.match(rb"GNU[.]sparse[.]|(SUN[.]holesdata|SCHILY[.]realsize)\Z", keyword) for keyword, _, _ in records)) and
        not is_map_right(tar, begin, header, records, own + 512, at, size))
    return Record(begin=begin, own=own, end=at + padded(size), type=type, key=key, extensions=extensions)


def ends_at(tar, at):
    data = re.compile(rb"[^\0]").search(tar, at)
    data = data.start() if data else len(tar)  # up to there are zeros
    if data == len(tar) < at + 512:
        raise Damage("no end", at, b"")
    if at + 512 <= data < len(tar):
        raise Damage("data after the end", data, b"" if data >= at + 1024 else None)
    return data == len(tar)


def shard_of(name, tar, skips_damage):
    samples, between, at = [], [], 0
    try:
        while not ends_at(tar, at):
            member = member_at(tar, at)
            at = member.end
            between.append(member)
            if member.key is None:
                continue
            if not samples or samples[-1].key != member.key:
                samples.append(Record(tar=tar, shard=name, key=member.key, begin=member.begin, members=[]))
                between = [member]
            samples[-1].members += between  # with those without a key that lie between
            samples[-1].end, between = member.end, []
    except Damage as damage:
        if not skips_damage:
            raise
        if samples and damage.key in (None, samples[-1].key):
            samples.pop()  # there may have been more of it
    return Record(name=name, size=len(tar), samples=samples)


# Section 7: bytes

def fnv1a(key):
    state = 0xcbf29ce484222325
    for byte in reversed(key):
        state = (state ^ byte) * 0x100000001b3 % 2**64
    return state


def rename_all(order, keys):
    """Set each sample's folder, which is empty if it is not renamed."""
    before = 0
    for sample in order:
        folder = b"./" * sample.shard.startswith(b"__") + re.sub(rb"(?<=[^/])[.]tar\Z", b"", sample.shard) + b"/"
        sample.folder = folder if keys == "unique" or keys == "auto" and fnv1a(sample.key) == before else b""
        before = fnv1a(sample.folder + sample.key)


def changed(header, at, field):
    header = header[:at] + field + header[at + len(field):]
    return header[:148] + b"%06o\0 " % checksum(header) + header[156:]


def record(keyword, value):
    rest = b" %s=%s\n" % (keyword, value)
    return next(b"%d%s" % (n, rest) for n in count(len(rest)) if len(b"%d%s" % (n, rest)) == n)


def renamed_extension(header, e, folder):
    new = folder + text(e.data) + b"\0" if e.type == b"L" else b"".join(
        record(keyword, folder + value) if keyword in NAMES else whole for keyword, value, whole in e.records)
    if padded(len(new)) != padded(len(e.data)):
        raise ValueError("no room for the longer name in the extension at byte %d" % e.at)
    return changed(header, 124, b"%011o\0" % len(new)) + new.ljust(padded(len(e.data)), b"\0")


def renamed_header(header, folder):
    is_known = header[257:265] in (b"ustar\x0000", b"ustar  \0") or re.fullmatch(
        rb"\0{72}[\x000-7]{16}\0{167}", header[257:])
    prefix = folder + prefix_of(header) if prefix_of(header) else folder[:-1]
    if not is_known or header[156:157] == b"S" or len(prefix) > 155:
        raise ValueError("no room for the longer name in the header of %s" % text(header[:100]))
    return changed(changed(header, 257, b"ustar\x0000"), 345, prefix.ljust(512 - 345, b"\0"))


def bytes_of(sample):
    extent = sample.tar[sample.begin:sample.end]
    for member in sample.members:
        named = next((e for e in member.extensions if e.has_name), None)
        at, new = named.at if named else member.own, b""
        header = sample.tar[at:at + 512]
        size = number(header[124:136])
        if member.type == b"g" and size >= 5:
            new = header + (b"%d %s=" % (size, b"comment" if size >= 16 else b"c")).ljust(size - 1) + b"\n"
        elif sample.folder and member.key is not None:
            new = renamed_extension(header, named, sample.folder) if named else renamed_header(header, sample.folder)
        extent = extent[:at - sample.begin] + new + extent[at - sample.begin + len(new):]
    return extent
