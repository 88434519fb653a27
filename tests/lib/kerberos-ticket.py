#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A Kerberos ticket for a service, without a server of Kerberos.

  kerberos-ticket.py FOLDER SERVICE HOST

Writes FOLDER/krb5.conf and FOLDER/cache, for KRB5_CONFIG and KRB5CCNAME.  The cache has a ticket of
user@TEST for SERVICE/HOST@TEST, as if a KDC had given it out: a client sends it, and no service can
open it.  The formats are those of RFC 4120 and of MIT's file caches (version 4).  Standard library only.
"""
import os
import struct
import sys
import time

REALM = b"TEST"


def der(tag, *parts):
    body = b"".join(parts)
    n = len(body)
    length = bytes([n]) if n < 128 else bytes([0x82]) + struct.pack(">H", n)
    return bytes([tag]) + length + body


def integer(i):
    return der(2, bytes([i]))


def string(s):
    return der(0x1b, s)


def ticket(service, host):
    name = der(0x30, der(0xa0, integer(2)), der(0xa1, der(0x30, string(service), string(host))))
    sealed = der(0x30, der(0xa0, integer(18)), der(0xa2, der(4, os.urandom(200))))
    return der(0x61, der(0x30, der(0xa0, integer(5)), der(0xa1, string(REALM)), der(0xa2, name), der(0xa3, sealed)))


def counted(data):
    return struct.pack(">I", len(data)) + data


def principal(kind, *components):
    return struct.pack(">II", kind, len(components)) + counted(REALM) + b"".join(map(counted, components))


def main():
    folder, service, host = sys.argv[1], sys.argv[2].encode(), sys.argv[3].encode()
    user, now = principal(1, b"user"), int(time.time())
    key = struct.pack(">H", 18) + counted(os.urandom(32))
    times = struct.pack(">IIII", now - 60, now - 60, now + 86400, 0)
    with open(os.path.join(folder, "cache"), "wb") as file:
        file.write(b"\5\4\0\0" + user)
        file.write(user + principal(3, service, host) + key + times + b"\0" + struct.pack(">III", 0, 0, 0) +
                   counted(ticket(service, host)) + counted(b""))
    os.chmod(os.path.join(folder, "cache"), 0o600)
    with open(os.path.join(folder, "krb5.conf"), "w") as file:
        file.write("[libdefaults]\n default_realm = TEST\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"
                   " dns_canonicalize_hostname = false\n rdns = false\n[realms]\n TEST = {\n }\n"
                   "[domain_realm]\n %s = TEST\n" % sys.argv[3])


main()
