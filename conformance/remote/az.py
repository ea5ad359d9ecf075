"""Logs and outputs in a container of Azurite, Microsoft's own emulator of Azure Blob Storage."""

import base64
import hashlib
import hmac
import os
import sys
import xml.etree.ElementTree
from email.utils import formatdate
from pathlib import Path
from urllib.parse import quote

import datasets
import objects
import requests
from logs import logtool
from proxy import Proxy
from stores import BUCKET, Named, Store, free_port, running

#: The public credentials of the emulator.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
WHO = {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT, "AZURE_STORAGE_ACCOUNT_KEY": KEY}
#: Timeouts take long and do not depend on the store; they are tested with s3:// only.
FAULTS = ("reset", "503", "lost")


class Azurite(Store):
    """A container, accessed as the documentation of the service specifies."""

    def ask(self, method, key="", container=BUCKET, query=None, data=b"", headers=None):
        path = quote(f"/{ACCOUNT}/{container}" + f"/{key}" * bool(key))
        query = query or {}
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2023-11-03"} | (headers or {})
        names = sorted(name for name in headers if name.startswith("x-ms-"))
        lines = [method, "", "", str(len(data) or ""), *[""] * 8]
        lines += [f"{name}:{headers[name]}" for name in names] + [f"/{ACCOUNT}{path}"]
        lines += [f"{name}:{query[name]}" for name in sorted(query)]
        sign = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256)
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(sign.digest()).decode()}"
        url = f"http://127.0.0.1:{self.port}{path}"
        answer = requests.request(method, url, params=query, data=data, headers=headers, timeout=60)
        if answer.status_code != 404:
            answer.raise_for_status()
        return answer

    def make(self, container, **headers):
        """Makes a container."""
        self.ask("PUT", "", container, {"restype": "container"}, headers=headers)

    def get(self, key):
        answer = self.ask("GET", key)
        return answer.content if answer.status_code == 200 else None

    def put(self, key, data, container=BUCKET):
        self.ask("PUT", key, container, data=data, headers={"x-ms-blob-type": "BlockBlob"})

    def remove(self, key):
        self.ask("DELETE", key)

    def keys(self, prefix, **more):
        query = {"restype": "container", "comp": "list", "prefix": prefix} | more
        tree = xml.etree.ElementTree.fromstring(self.ask("GET", query=query).content)
        assert not tree.findtext("NextMarker"), "the list has several pages"
        return sorted(name.text for name in tree.iterfind("Blobs/Blob/Name"))

    def unfinished(self):
        """Returns blobs that have only uncommitted blocks."""
        return sorted(set(self.keys("", include="uncommittedblobs")) - set(self.keys("")))


def program():
    """Returns the path of Azurite, which `conformance/run` has installed next to this Python."""
    return Path(f"{sys.prefix}-npm/node_modules/.bin/azurite-blob")


def check(tally, files, folder):
    if not program().exists():
        tally.lines.append(f"MISSING  remote  az: nothing of it is shown: there is no {program().name}; npm installs it")
        return
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}/{ACCOUNT}"
    os.environ |= WHO | {"AZURE_STORAGE_ENDPOINT": endpoint}
    options = ("--inMemoryPersistence", "--disableTelemetry", "--silent", "--blobPort", str(port))
    with running([program(), *options], port):
        store = Azurite("az", "AZURE_STORAGE_ENDPOINT", endpoint, port)
        named = Named(tally, "az")
        store.make(BUCKET)
        store.make("public", **{"x-ms-blob-public-access": "container"})
        store.put("x.bag", files["bag"].read_bytes(), "public")
        objects.fill(store, files)
        objects.inputs(named, store, files, folder)
        objects.outputs(named, store, files, folder)
        objects.failing(named, store, Proxy(port), files, folder, FAULTS)
        objects.folders(named, store, files)
        datasets.check(named, store, Proxy(port), files, folder, faults=False)
        asking(named, store, files)
    for name in (*WHO, "AZURE_STORAGE_ENDPOINT"):
        del os.environ[name]


def asking(tally, store, files):
    """Credentials and endpoint from the variables of other programs for Azure."""
    bag = store.url(f"drives/day 1/{files['bag'].name}")
    for name in (*WHO, "AZURE_STORAGE_ENDPOINT"):
        del os.environ[name]
    at = {"AZURE_STORAGE_ENDPOINT": store.endpoint}
    name = at | {"AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT}
    key = "AZURE_STORAGE_ACCOUNT_KEY"
    emulator = {
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURITE_BLOB_STORAGE_URL": store.endpoint.removesuffix(f"/{ACCOUNT}"),
    }
    hint = "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY provide credentials"
    for what, url, environment, told in (
        ("who uses the emulator", bag, emulator, None),
        ("no signature, of what is public", "az://public/x.bag", name | {"AZURE_SKIP_SIGNATURE": "true"}, None),
        ("no signature", bag, name | {"AZURE_SKIP_SIGNATURE": "true"}, "the server denies access"),
        ("a key that is another's", bag, name | {key: base64.b64encode(b"other").decode()}, "the server denies access"),
        ("a key that is none", bag, name | {key: "x"}, "invalid settings in the environment"),
        ("no account", bag, at | {key: KEY}, "invalid settings in the environment"),
        # This machine is not in a cloud, so no metadata service answers.
        ("nobody", bag, name | {"AZURE_MSI_ENDPOINT": "http://127.0.0.1:1/"}, "no credentials in the environment"),
    ):
        done = logtool("info", url, env=environment)
        text = done.stderr.decode()
        fine = done.returncode == 0 if told is None else done.returncode == 1 and told in text and hint in text
        tally.check(f"asked by {what}", [] if fine else [text], text.strip().replace("\n", "; "))
    os.environ |= WHO | at
