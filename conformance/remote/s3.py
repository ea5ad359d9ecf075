"""Logs and outputs in a bucket of moto, which speaks as S3 does."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import boto3
import datasets
import objects
import places
import pyarrow.parquet as pq
from logs import logtool
from proxy import Proxy
from stores import BUCKET, Boto, Named, free_port, running

#: The variables of Amazon's library and other tools for credentials.
KEYS = {"AWS_ACCESS_KEY_ID": "someone", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}
FAULTS = ("reset", "503", "silent", "lost")


def moto(port):
    """A server that is moto, at `port`."""
    program = Path(sys.executable).parent / "moto_server"
    return running([program, "-H", "127.0.0.1", "-p", str(port)], port)


def check(tally, files, folder):
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    os.environ |= KEYS | {"AWS_ENDPOINT_URL": endpoint}
    with moto(port):
        client = boto3.client("s3", endpoint_url=endpoint)
        client.create_bucket(Bucket=BUCKET)
        store = Boto(client, "s3", "AWS_ENDPOINT_URL", endpoint, port)
        named = Named(tally, "s3")
        objects.fill(store, files)
        objects.inputs(named, store, files, folder)
        objects.outputs(named, store, files, folder)
        objects.failing(named, store, Proxy(port), files, folder, FAULTS)
        objects.folders(named, store, files)
        of_bucket(named, files, folder)
        places.check(tally, client, files, folder)
        datasets.check(named, store, Proxy(port), files, folder)
        profiles(named, files, folder)


def of_bucket(tally, files, folder):
    """A dataset of a bucket is that of the same files here, and is made once."""
    here = folder / "set" / "logs"
    here.mkdir(parents=True)
    for path in files.values():
        os.link(path, here / path.name)
    logtool("batch", here, "-o", folder / "set" / "here", "-q")
    wanted = rows_of(folder / "set" / "here")
    for name, url in (("folder", "drives/"), ("pattern", "*/day*/*")):
        there = folder / "set" / name
        done = logtool("batch", f"s3://{BUCKET}/{url}", "-o", there, "--json")
        outcomes = [event.get("outcome") for event in events(done)]
        text = done.stderr.decode()
        # One of the logs is damaged.
        wrong = [text] * (done.returncode != 3 or rows_of(there) != wanted or not wanted)
        wrong += [str(outcomes)] * (outcomes.count("converted") != len(files))
        tally.check(f"a dataset of a {name}", wrong, f"{len(wanted)} tables")
        done = logtool("batch", f"s3://{BUCKET}/{url}", "-o", there, "--json")
        outcomes = [event.get("outcome") for event in events(done)]
        wrong = [str(outcomes)] * (outcomes.count("done_before") != len(files))
        tally.check(f"and of a {name} once more", wrong)
    catalog = folder / "set" / "all.jsonl"
    done = logtool("index", f"s3://{BUCKET}/drives/*/*.bag", "-o", catalog)
    rows = [json.loads(line) for line in catalog.read_text().splitlines()]
    bags = {f"s3://{BUCKET}/drives/day 1/{p.name}" for p in files.values() if p.suffix == ".bag"}
    wrong = [done.stderr.decode()] * ({row["source"] for row in rows} != bags)
    tally.check("a catalog of a pattern", wrong, f"{len(rows)} rows")


def events(done):
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def rows_of(dataset):
    """How many rows each file of a dataset has. Where two logs have one name, a number made
    of the place is part of theirs: without that."""
    parts = dataset.glob("*/log=*/**/*.parquet")
    rows = ((path, pq.read_metadata(path).num_rows) for path in parts)
    name = re.compile("-[0-9a-f]{12}/")
    return sorted((name.sub("/", str(path.relative_to(dataset))), count) for path, count in rows)


def profiles(tally, files, folder):
    """Credentials and endpoint may be in Amazon's files instead of the environment."""
    home = folder / "home"
    (home / ".aws").mkdir(parents=True)
    endpoint = os.environ["AWS_ENDPOINT_URL"]
    keys = "aws_access_key_id = someone\naws_secret_access_key = secret\n"
    (home / ".aws/credentials").write_text(f"[lab]\n{keys}")
    config = f"[profile lab]\nregion = us-east-1\nendpoint_url = {endpoint}\n[profile sso]\nregion = x\n"
    (home / ".aws/config").write_text(config)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    url = f"s3://{BUCKET}/drives/day 1/{files['bag'].name}"
    for profile, status, told in (
        ("lab", 0, ""),
        ("sso", 1, "the AWS profile `sso` has no keys"),
        ("other", 1, "there is no AWS profile `other`"),
    ):
        env = kept | {"HOME": str(home), "AWS_PROFILE": profile}
        command = [os.environ["LOGTOOL"], "info", url]
        done = subprocess.run(command, capture_output=True, check=False, env=env, timeout=60)
        text = done.stderr.decode()
        fine = done.returncode == status and told in text
        tally.check(f"the profile {profile}", [] if fine else [text], text.strip())
    # This machine is not in a cloud, so no metadata service answers.
    nobody = {"HOME": str(folder), "AWS_ENDPOINT_URL": endpoint, "AWS_METADATA_ENDPOINT": "http://127.0.0.1:1"}
    done = subprocess.run([os.environ["LOGTOOL"], "info", url], capture_output=True, check=False, env=kept | nobody)
    text = done.stderr.decode()
    fine = done.returncode == 1 and "no credentials in the environment" in text and "AWS_ACCESS_KEY_ID" in text
    tally.check("asked by nobody", [] if fine else [text], text.strip())
