"""Logs and outputs in a bucket of Google Cloud Storage, as far as that can be had here.

No program that speaks its XML API for reading and for writing is to be had as a package: `Cloud`
is a translation of ours, in front of moto. That API is S3's with other names, of which this
translates: who asks (a token that the key of a service account has signed is looked at; without
one only the bucket `public` may be read), generations (each version that moto keeps has a
number, `x-goog-generation`; a request for another than the present one finds nothing, as in a
bucket without versions), and conditions on them (`x-goog-if-generation-match`). So it shows
that our side keeps to that API as it is understood here, and not what Google's servers do.
"""

import base64
import http.client
import itertools
import json
import os
import threading
import time
import urllib.parse

import boto3
import datasets
import objects
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from logs import logtool
from proxy import Proxy, give, listening
from s3 import KEYS, moto
from stores import BUCKET, Boto, Named, free_port

WHO = "robot@project.iam.gserviceaccount.com"
#: Timeouts take long and do not depend on the store; they are tested with s3:// only.
FAULTS = ("reset", "503", "lost")
#: moto requires credentials, but does not check them.
SOMEBODY = "AWS4-HMAC-SHA256 Credential=someone/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"


class Cloud:
    """Answers as Google does, with what moto at `port` has; knows who has the other half of `key`."""

    def __init__(self, port, key):
        self.port, self.key = port, key
        self.numbers = {}
        self.next = itertools.count(1_700_000_000_000_001)
        # Called before each answer to a reader, with the path.
        self.before_reading = lambda path: None
        # Checking a condition and writing the object is atomic.
        self.writing = threading.Lock()
        self.counting = threading.Lock()
        self.http = listening(self.answer)

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        path, _, query = handler.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        reads = handler.command in ("GET", "HEAD")
        if not self.is_known(handler.headers.get("Authorization")):
            if not (reads and path.startswith("/public/")):
                return give(handler, 401, [], b"")
        if reads:
            self.before_reading(urllib.parse.unquote(path))
            return self.read(handler, path, query)
        with self.writing:
            self.write(handler, path, query, body)

    def read(self, handler, path, query):
        wanted = query.pop("generation", None)
        names = ("range", "if-match", "if-none-match")
        headers = {name: handler.headers[name] for name in names if name in handler.headers}
        status, found, data = self.ask(handler.command, path, query, headers)
        if wanted and status in (200, 206, 412) and self.present(path) != wanted:
            return give(handler, 404, [], b"")
        give(handler, status, self.named(found), data)

    def write(self, handler, path, query, body):
        wanted = handler.headers.get("x-goog-if-generation-match")
        if wanted is not None and self.present(path) != wanted:
            return give(handler, 412, [], b"")
        headers = {"Content-Type": handler.headers.get("Content-Type") or "application/octet-stream"}
        if handler.command == "DELETE" and "uploadId" not in query and self.present(path) == "0":
            return give(handler, 404, [], b"")
        status, found, data = self.ask(handler.command, path, query, headers, body)
        give(handler, status, self.named(found), data)

    def ask(self, method, path, query, headers, body=b""):
        there = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        query = urllib.parse.urlencode(query, quote_via=urllib.parse.quote)
        url = f"{path}?{query}" if query else path
        there.request(method, url, body, headers | {"Authorization": SOMEBODY})
        with there.getresponse() as answer:
            return answer.status, answer.getheaders(), answer.read()

    def named(self, headers):
        """Without what is S3's, and with the generation instead of the version."""
        version = dict((name.lower(), value) for name, value in headers).get("x-amz-version-id")
        kept = [(name, value) for name, value in headers if not name.lower().startswith("x-amz-")]
        return kept + [("x-goog-generation", self.number(version))] * bool(version)

    def number(self, version):
        with self.counting:
            if version not in self.numbers:
                self.numbers[version] = next(self.next)
            return str(self.numbers[version])

    def present(self, path):
        """Returns the generation of the existing object; 0 if there is none."""
        status, headers, _ = self.ask("HEAD", path, {}, {})
        return dict(self.named(headers)).get("x-goog-generation", "0") if status == 200 else "0"

    def is_known(self, authorization):
        """Whether it is a token of the service account, and holds still."""
        try:
            head, claims, signature = authorization.removeprefix("Bearer ").split(".")
            self.key.verify(decoded(signature), f"{head}.{claims}".encode(), padding.PKCS1v15(), hashes.SHA256())
            claims = json.loads(decoded(claims))
            return claims["iss"] == WHO and claims["exp"] > time.time()
        except (AttributeError, ValueError, KeyError, InvalidSignature):
            return False


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def account(path, key, **more):
    """Writes what Google gives to a service account."""
    how = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    text = key.private_bytes(*how).decode()
    about = {"type": "service_account", "private_key_id": "one", "private_key": text, "client_email": WHO}
    path.write_text(json.dumps(about | more))
    return str(path)


def check(tally, files, folder):
    key, other = (rsa.generate_private_key(65537, 2048) for _ in range(2))
    port = free_port()
    with moto(port):
        cloud = Cloud(port, key.public_key())
        at = cloud.http.server_address[1]
        endpoint = f"http://127.0.0.1:{at}"
        who = account(folder / "account.json", key)
        os.environ |= {"GOOGLE_APPLICATION_CREDENTIALS": who, "GOOGLE_BASE_URL": endpoint}
        client = boto3.client(
            "s3",
            endpoint_url=f"http://127.0.0.1:{port}",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region_name=KEYS["AWS_DEFAULT_REGION"],
        )
        for bucket in (BUCKET, "public"):
            client.create_bucket(Bucket=bucket)
            client.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        store = Boto(client, "gs", "GOOGLE_BASE_URL", endpoint, at)
        named = Named(tally, "gs")
        objects.fill(store, files)
        client.put_object(Bucket="public", Key="x.bag", Body=files["bag"].read_bytes())
        objects.inputs(named, store, files, folder)
        objects.outputs(named, store, files, folder)
        objects.failing(named, store, Proxy(at), files, folder, FAULTS)
        objects.folders(named, store, files)
        changed(named, store, cloud, files)
        datasets.check(named, store, Proxy(at), files, folder, faults=False)
        asking(named, store, folder, files, other, endpoint)
    for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BASE_URL"):
        del os.environ[name]


def changed(tally, store, cloud, files):
    """The replacing object has another generation, and the old generation does not exist."""
    data, reads = files["big bag"].read_bytes(), []
    store.put("changing/big.bag", data)

    def before(path):
        reads.append(path)
        if len(reads) == 3:
            store.put("changing/big.bag", data)

    cloud.before_reading = before
    done = logtool("cat", store.url("changing/big.bag"))
    cloud.before_reading = lambda path: None
    text = done.stderr.decode()
    fine = done.returncode == 1 and "the object was changed while" in text
    tally.check("changed while it is read", [] if fine else [text], text.strip())


def asking(tally, store, folder, files, other, endpoint):
    """Credentials and endpoint from the variables of Google's programs and emulators."""
    bag = store.url(f"drives/day 1/{files['bag'].name}")
    base = {name: os.environ.pop(name) for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_BASE_URL")}
    at = {"GOOGLE_BASE_URL": endpoint}
    file = "GOOGLE_APPLICATION_CREDENTIALS"
    # This machine is not in a cloud, so no metadata service answers.
    nowhere = at | {"GCE_METADATA_HOST": "127.0.0.1:1", "GCE_METADATA_IP": "127.0.0.1:1", "HOME": str(folder)}
    written = json.loads((folder / "account.json").read_text())
    (folder / "broken.json").write_text(json.dumps(written | {"private_key": "none"}))
    inside = account(folder / "inside.json", other, gcs_base_url=endpoint, disable_oauth=True)
    key = json.dumps(written | {"gcs_base_url": endpoint})
    hint = "GOOGLE_APPLICATION_CREDENTIALS names a file"
    for what, url, environment, told in (
        ("a key in the environment, with where the server is", bag, {"GOOGLE_SERVICE_ACCOUNT_KEY": key}, None),
        ("a file of an emulator", "gs://public/x.bag", {"GOOGLE_SERVICE_ACCOUNT": inside}, None),
        ("no signature, of what is public", "gs://public/x.bag", at | {"GOOGLE_SKIP_SIGNATURE": "true"}, None),
        ("no signature", bag, at | {"GOOGLE_SKIP_SIGNATURE": "true"}, "requires valid credentials (401)"),
        ("a key that is another's", bag, at | {file: account(folder / "other.json", other)}, "requires valid credentials (401)"),
        ("a key that is none", bag, at | {file: str(folder / "broken.json")}, "invalid settings in the environment"),
        ("a file that is not there", bag, at | {file: str(folder / "none.json")}, "invalid settings in the environment"),
        ("nobody", bag, nowhere, "no credentials in the environment"),
    ):
        done = logtool("info", url, env=environment)
        text = done.stderr.decode()
        fine = done.returncode == 0 if told is None else done.returncode == 1 and told in text and hint in text
        tally.check(f"asked by {what}", [] if fine else [text], text.strip().replace("\n", "; "))
    os.environ |= base
