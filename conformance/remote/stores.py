"""Buckets with logs and outputs, accessed by URLs and directly."""

import contextlib
import os
import socket
import subprocess
import time

BUCKET = "logs"


class Named:
    """A tally that adds the store to the name of each check."""

    def __init__(self, tally, scheme):
        self.tally, self.scheme = tally, scheme

    def check(self, what, differences, note=""):
        self.tally.check(f"{self.scheme}: {what}", differences, note)


class Store:
    """A bucket, of which `variable` of the environment says where its server is: `endpoint`, at `port`.

    Each kind has its own `get`, `put`, `remove` and `keys`, and `unfinished`, the uploads in parts
    that were begun and not ended."""

    def __init__(self, scheme, variable, endpoint, port):
        self.scheme, self.variable, self.endpoint, self.port = scheme, variable, endpoint, port

    def url(self, key=""):
        return f"{self.scheme}://{BUCKET}/{key}"

    @contextlib.contextmanager
    def by(self, port):
        """Lets all requests of logtool go by another port."""
        os.environ[self.variable] = self.endpoint.replace(f":{self.port}", f":{port}")
        try:
            yield
        finally:
            os.environ[self.variable] = self.endpoint


class Boto(Store):
    """A bucket of moto, which `client` of Amazon's library gets to."""

    def __init__(self, client, *more):
        super().__init__(*more)
        self.client = client

    def get(self, key):
        try:
            return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        except self.client.exceptions.NoSuchKey:
            return None

    def put(self, key, data):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=data)

    def remove(self, key):
        self.client.delete_object(Bucket=BUCKET, Key=key)

    def keys(self, prefix):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return sorted(entry["Key"] for page in pages for entry in page.get("Contents", []))

    def unfinished(self):
        uploads = self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
        return [str(upload) for upload in uploads]


@contextlib.contextmanager
def running(command, port):
    """A server, from when it answers at `port` on."""
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(port, server)
        yield
    finally:
        server.terminate()
        server.wait()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, server):
    for _ in range(300):
        if server.poll() is not None:
            raise RuntimeError(f"{server.args[0]} does not start")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError(f"{server.args[0]} does not answer")
