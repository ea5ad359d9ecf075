"""Selection of objects: patterns, folders, datasets among logs, and messages about missing
objects."""

import json
import os

import pyarrow.parquet as pq
from logs import logtool

BUCKET = "logs"
#: A port without a server.
NOWHERE = "http://127.0.0.1:1"


def check(tally, client, files, folder):
    bag = files["bag"]
    for key in ("which/day1/log.bag", "which/day2/log.bag", "which/day3/log.bag"):
        client.upload_file(str(bag), BUCKET, key)
    patterns(tally)
    unsaid(tally, bag, folder)
    sets(tally, folder)
    outage(tally, folder)
    configured(tally, folder)


def sources(done):
    events = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return sorted(event["source"] for event in events if event["event"] == "log")


def days(*numbers):
    return [f"s3://{BUCKET}/which/day{number}/log.bag" for number in numbers]


def index(url, out, **more):
    """Writes the catalog `out` of the logs that `url` selects."""
    return logtool("index", url, "-o", out, "--json", env=more)


def patterns(tally):
    for pattern, wanted in (
        ("day[12]/*.bag", days(1, 2)),
        ("day?/log.bag", days(1, 2, 3)),
        ("{day1,day3}/log.bag", days(1, 3)),
        ("day[12]/log.bag", days(1, 2)),
    ):
        done = logtool("info", "--json", f"s3://{BUCKET}/which/{pattern}")
        found = [json.loads(line).get("file") for line in done.stdout.decode().splitlines()]
        wrong = [f"{found} {done.stderr.decode()}"] * (found != wanted)
        tally.check(f"s3: the pattern {pattern}", wrong)


def unsaid(tally, bag, folder):
    for what, arguments, told in (
        ("a folder without its slash", ("info", f"s3://{BUCKET}/which"), "ends with `/`"),
        ("an output in no bucket", ("convert", bag, "-o", "s3://none/x"), "no such bucket"),
        ("a list of no bucket", ("batch", "s3://none/x/", "-o", folder / "none"), "no such bucket"),
    ):
        done = logtool(*arguments)
        text = done.stderr.decode()
        wrong = [text] * (done.returncode != 1 or told not in text)
        tally.check(f"s3: {what}", wrong, text.strip())


def sets(tally, folder):
    """A dataset among logs is left out, unless it is named."""
    url = f"s3://{BUCKET}/which/"
    logtool("batch", f"{url}day1/log.bag", "-o", f"{url}set", "--format", "mcap", "-q")
    done = logtool("batch", url, "-o", folder / "which", "--json")
    end = json.loads(done.stdout.splitlines()[-1])
    wrong = [str(end)] * (sources(done) != days(1, 2, 3) or end["data_sets"] != [f"{url}set/"])
    tally.check("s3: a dataset among logs is left out", wrong)
    done = logtool("batch", f"{url}set/", "-o", folder / "named", "--json")
    wrong = [done.stderr.decode()] * (len(sources(done)) != 1)
    tally.check("s3: and is logs if it is named", wrong)


def outage(tally, folder):
    """A catalog keeps its entries of a store that does not answer."""
    (url,) = days(1)
    out = folder / "outage.parquet"
    index(url, out)
    known = ["topic", "topic_records", "records", "start_ns"]
    before = pq.read_table(out, columns=known)
    for name in ("outage.parquet", "outage.jsonl"):
        index(url, folder / name)
        text = (folder / name).read_bytes()
        done = index(url, folder / name, AWS_ENDPOINT_URL=NOWHERE)
        same = before.equals(pq.read_table(out, columns=known)) and before.num_rows > 1
        same &= name.endswith("parquet") or text == (folder / name).read_bytes()
        wrong = [done.stderr.decode()] * (done.returncode != 1 or not same)
        tally.check(f"s3: a store that does not answer takes nothing from {name}", wrong)


def configured(tally, folder):
    """With credentials in the environment, the profile only provides the endpoint."""
    endpoint = os.environ.pop("AWS_ENDPOINT_URL")
    config = folder / "config"
    for what, text in (
        ("profile", f"[default]\nendpoint_url = {endpoint}\nregion = us-east-1\n"),
        ("services", f"[default]\nservices = lab\n[services lab]\ns3 =\n  endpoint_url = {endpoint}\n"),
    ):
        config.write_text(text)
        done = logtool("info", days(1)[0], env={"AWS_CONFIG_FILE": str(config)})
        wrong = [done.stderr.decode()] * (done.returncode != 0)
        tally.check(f"s3: where it is, by the {what} of a configuration", wrong)
    os.environ["AWS_ENDPOINT_URL"] = endpoint
