#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts data into Azurite, and reads from the stand-ins of the tests, with the clients of their makers:
azure-storage-blob, and boto3 for Google Cloud Storage.

  cloud-client.py URL ready                           does the server answer?
  cloud-client.py URL create CONTAINER [container]    with `container`, it is open to all
  cloud-client.py URL put FOLDER CONTAINER PREFIX     all files of a folder
  cloud-client.py URL sas CONTAINER SECONDS           print a SAS that may read and list
  cloud-client.py URL read CONTAINER [SAS]            list, and read the beginning of each blob; print
  cloud-client.py URL read-gcs BUCKET ID SECRET       "NAME SIZE" of each

URL is that of the account acct, whose key is that of azure.py.
"""
import base64
import concurrent.futures
import datetime
import os
import sys
import urllib.error
import urllib.request

KEY = base64.b64encode(bytes(range(64))).decode()


def container_of(url, name, credential=None):
    from azure.storage.blob import ContainerClient
    return ContainerClient(url, name, credential=credential or {"account_name": "acct", "account_key": KEY},
                           retry_total=0)


def put(url, folder, container, prefix):
    client = container_of(url, container)

    def put_one(name):
        with open(os.path.join(folder, name), "rb") as file:
            client.upload_blob(prefix + name, file.read(), overwrite=True)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(put_one, sorted(os.listdir(folder))))


def make_sas(url, container, seconds):
    from azure.storage.blob import ContainerSasPermissions, generate_container_sas
    end = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=int(seconds))
    print(generate_container_sas("acct", container, KEY, expiry=end,
                                 permission=ContainerSasPermissions(read=True, list=True)))


def read(url, container, sas=None):
    client = container_of(url, container, sas)
    for blob in client.list_blobs():
        n = len(client.download_blob(blob.name, offset=0, length=512).readall())
        assert n == min(512, blob.size), n
        print(blob.name, blob.size)


def read_gcs(url, bucket, key_id, secret):
    import boto3
    from botocore.config import Config
    config = Config(s3={"addressing_style": "path"}, request_checksum_calculation="when_required",
                    response_checksum_validation="when_required", retries={"total_max_attempts": 1})
    client = boto3.client("s3", endpoint_url=url, aws_access_key_id=key_id, aws_secret_access_key=secret,
                          region_name="auto", config=config)
    for entry in client.list_objects_v2(Bucket=bucket).get("Contents", []):
        got = client.get_object(Bucket=bucket, Key=entry["Key"], Range="bytes=0-511")
        assert len(got["Body"].read()) == min(512, entry["Size"])
        print(entry["Key"], entry["Size"])


def main():
    url, command, *rest = sys.argv[1:]
    if command == "ready":
        try:
            urllib.request.urlopen(url, timeout=5)
        except urllib.error.HTTPError:
            pass
    elif command == "create":
        container_of(url, rest[0]).create_container(public_access=(rest + [None])[1])
    else:
        {"put": put, "sas": make_sas, "read": read, "read-gcs": read_gcs}[command](url, *rest)


main()
