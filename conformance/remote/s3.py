"""Logs and outputs in buckets of moto, which speaks as S3 does."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import boto3
import datasets
import places
import pyarrow.parquet as pq
from logs import logtool, tables
from proxy import Proxy
from web import same_info, same_tables

BUCKET = "logs"


def check(tally, files, folder):
    port = free_port()
    moto = Path(sys.executable).parent / "moto_server"
    command = [moto, "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    endpoint = f"http://127.0.0.1:{port}"
    # As users of cloud tools say where, and who.
    os.environ |= {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    try:
        wait_for(port, server)
        client = boto3.client("s3", endpoint_url=endpoint)
        client.create_bucket(Bucket=BUCKET)
        for path in files.values():
            client.upload_file(str(path), BUCKET, f"drives/day 1/{path.name}")
        inputs(tally, files, folder)
        outputs(tally, client, files, folder)
        failing(tally, client, Proxy(port), files, folder)
        folders(tally, client, files)
        of_bucket(tally, client, files, folder)
        places.check(tally, client, files, folder)
        datasets.check(tally, client, Proxy(port), files, folder)
        profiles(tally, files, folder)
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
            raise RuntimeError("moto does not start")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("moto does not answer")


def inputs(tally, files, folder):
    for kind in ("bag", "ulog", "gzip", "big mcap"):
        url = f"s3://{BUCKET}/drives/day 1/{files[kind].name}"
        tally.check(f"s3, {kind}: info", same_info(files[kind], url))
        tally.check(f"s3, {kind}: tables", same_tables(files[kind], url, folder / "s3" / kind))


def folders(tally, client, files):
    """A folder stands for the logs in it, in the order of their names."""
    client.put_object(Bucket=BUCKET, Key="drives/notes.txt", Body=b"no log")
    done = logtool("info", "--json", f"s3://{BUCKET}/drives/")
    reports = [json.loads(line) for line in done.stdout.decode().splitlines()]
    bytes_ = [report["bytes"] for report in reports if report["format"] != "ulog"]
    logs = sorted(path.name for path in files.values())
    sizes = [(files_by_name(files)[name].stat().st_size, name) for name in logs]
    wanted = [size for size, name in sizes if ".ulg" not in name]
    wrong = [done.stderr.decode()] * (len(reports) != len(logs) or bytes_ != wanted)
    tally.check("s3: the logs in a folder", wrong, f"{len(reports)} logs")
    for prefix, told in (("none/", "there are no objects in it"), ("out/a/", "none is called")):
        done = logtool("info", f"s3://{BUCKET}/{prefix}")
        text = done.stderr.decode()
        fine = done.returncode == 1 and told in text
        tally.check(f"s3: a folder without logs, {prefix}", [] if fine else [text], text.strip())


def of_bucket(tally, client, files, folder):
    """A data set of a bucket is that of the same files here, and is made once."""
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
        tally.check(f"s3: a data set of a {name}", wrong, f"{len(wanted)} tables")
        done = logtool("batch", f"s3://{BUCKET}/{url}", "-o", there, "--json")
        outcomes = [event.get("outcome") for event in events(done)]
        wrong = [str(outcomes)] * (outcomes.count("done_before") != len(files))
        tally.check(f"s3: and of a {name} once more", wrong)
    catalog = folder / "set" / "all.jsonl"
    done = logtool("index", f"s3://{BUCKET}/drives/*/*.bag", "-o", catalog)
    rows = [json.loads(line) for line in catalog.read_text().splitlines()]
    bags = {f"s3://{BUCKET}/drives/day 1/{p.name}" for p in files.values() if p.suffix == ".bag"}
    wrong = [done.stderr.decode()] * ({row["source"] for row in rows} != bags)
    tally.check("s3: a catalog of a pattern", wrong, f"{len(rows)} rows")


def events(done):
    return [json.loads(line) for line in done.stdout.decode().splitlines()]


def rows_of(dataset):
    """How many rows each file of a data set has. Where two logs have one name, a number made
    of the place is part of theirs: without that."""
    parts = dataset.glob("*/log=*/*.parquet")
    rows = ((path, pq.read_metadata(path).num_rows) for path in parts)
    name = re.compile("-[0-9a-f]{12}/")
    return sorted((name.sub("/", str(path.relative_to(dataset))), count) for path, count in rows)


def failing(tally, client, proxy, files, folder):
    """Outputs on a way that fails: short ones are sent at once, long ones in parts."""
    with proxy.between():
        for size, log in (("short", "bag"), ("long", "big mcap")):
            here = folder / "out" / f"{size}.log"
            logtool("filter", files[log], "-o", here, "--force")
            for fault in ("reset", "503", "silent", "lost"):
                url = f"s3://{BUCKET}/failing/{size}-{fault}"
                proxy.fail(fault, None, fault)
                options = ("--remote-timeout", "3")
                done = logtool("filter", files[log], "-o", url, *options)
                text = done.stderr.decode()
                wrong = [text] * (done.returncode != 0) + [str(proxy.writes)] * bool(proxy.faults and size == "long")
                wrong += ["it differs"] * (not wrong and object_at(client, url) != here.read_bytes())
                tally.check(f"s3: a {size} output, {fault}, and then no more", wrong)
            url = f"s3://{BUCKET}/failing/{size}-always"
            for fault in ("reset", "503"):
                proxy.fail(always=fault)
                done = logtool("filter", files[log], "-o", url)
                text = done.stderr.decode()
                wrong = [text] * (done.returncode != 1) + ["it is there"] * (object_at(client, url) is not None)
                tally.check(f"s3: a {size} output, {fault}, always", wrong, text.strip())


def object_at(client, url):
    key = url.removeprefix(f"s3://{BUCKET}/")
    listed = client.list_objects_v2(Bucket=BUCKET, Prefix=key)
    if not any(entry["Key"] == key for entry in listed.get("Contents", [])):
        return None
    return client.get_object(Bucket=BUCKET, Key=key)["Body"].read()


def profiles(tally, files, folder):
    """Who asks, and where, may be in Amazon's files instead of the environment."""
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
        tally.check(f"s3: the profile {profile}", [] if fine else [text], text.strip())


def files_by_name(files):
    return {path.name: path for path in files.values()}


def outputs(tally, client, files, folder):
    def keys(prefix):
        listed = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return sorted(entry["Key"] for entry in listed.get("Contents", []))

    def content(key):
        return client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    here = folder / "out" / "here"
    logtool("convert", files["ulog"], "--to", "parquet", "-o", here)
    done = logtool("convert", files["ulog"], "--to", "parquet", "-o", f"s3://{BUCKET}/out/a")
    there = {key.removeprefix("out/a/"): content(key) for key in keys("out/a/")}
    wrong = [done.stderr.decode()] * (done.returncode != 0)
    wrong += ["the objects are not the files"] * (there != tables(here) or not there)
    tally.check("s3: tables as objects", wrong, f"{len(there)} objects")

    # More than one part.
    here = folder / "out" / "big.mcap"
    url = f"s3://{BUCKET}/out/big.mcap"
    for command in ("filter", "repair"):
        logtool(command, files["big mcap"], "-o", here, "--force")
        done = logtool(command, files["big mcap"], "-o", url, "--force")
        wrong = [done.stderr.decode()] * (done.returncode != 0)
        wrong += ["the object is not the file"] * (content("out/big.mcap") != here.read_bytes())
        tally.check(f"s3: {command} in parts", wrong, f"{here.stat().st_size} bytes")
    before = content("out/big.mcap")
    for source in ("big mcap", "bag"):
        to = ("convert", "--to", "mcap") if source == "bag" else ("filter",)
        done = logtool(to[0], files[source], *to[1:], "-o", url)
        text = done.stderr.decode()
        wrong = [text] * (done.returncode != 1 or "exists already" not in text)
        wrong += ["it is replaced"] * (content("out/big.mcap") != before)
        tally.check(f"s3: {source} over what is there", wrong, text.strip())

    url = f"s3://{BUCKET}/drives/day 1"
    two = [f"{url}/{files[kind].name}" for kind in ("bag", "big mcap")]
    done = logtool("merge", *two, "-o", f"s3://{BUCKET}/out/merged.mcap")
    here = folder / "out" / "merged.mcap"
    logtool("merge", files["bag"], files["big mcap"], "-o", here)
    wrong = [done.stderr.decode()] * (done.returncode != 0)
    # The files differ in what they tell of where they are from.
    texts = [logtool("cat", log).stdout for log in (here, f"s3://{BUCKET}/out/merged.mcap")]
    wrong += ["it differs"] * (texts[0] != texts[1] or not texts[0])
    tally.check("s3: logs merged into one there", wrong)

    # A failure leaves nothing.
    done = logtool("convert", files["cut bag"], "--strict", "-o", f"s3://{BUCKET}/none")
    wrong = [f"status {done.returncode}"] * (done.returncode != 1) + keys("none")
    tally.check("s3: of what fails, nothing is there", wrong)
    left = client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
    tally.check("s3: no part of an upload is left", [str(part) for part in left])
