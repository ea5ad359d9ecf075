"""Reads and converts logs with Ray, Daft and Spark, and compares with one process.

    engines.py ray|daft|spark FOLDER

FOLDER has big.bag, and is for temporary files.
"""

import os
import sys
import threading
import time
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from cluster import Cluster, environment, kill

import logtool

TOPIC = "/imu/data"
SPLIT_BYTES = 48_000_000


def local(path):
    """The table that one process reads."""
    return pa.table(logtool.open(path)[TOPIC]).replace_schema_metadata(None)


def check(name, is_right, *details):
    print(f"{'ok' if is_right else 'WRONG'}: {name}", *details, flush=True)
    if not is_right:
        sys.exit(1)


def by_time(table):
    return table.sort_by("time").combine_chunks()


def with_ray(folder):
    os.environ |= environment(folder)
    import ray
    import ray.data

    import logtool.ray

    bag = folder / "big.bag"
    cluster = Cluster(folder, workers=2)
    try:
        ray.init(address=cluster.address, _node_ip_address=cluster.ip, log_to_driver=False, logging_level="error")
        ray.data.DataContext.get_current().enable_progress_bars = False
        wait_for_cpus(ray, 2)
        read_with_ray(ray, bag)
        read_while_a_node_dies(ray, cluster, bag)
        convert_while_a_node_dies(ray, cluster, folder)
    finally:
        ray.shutdown()
        cluster.close()


def wait_for_cpus(ray, count):
    for _ in range(300):
        if ray.cluster_resources().get("CPU", 0) >= count:
            return
        time.sleep(0.2)
    raise RuntimeError("the nodes do not join")


def with_node(table):
    """`table` with the node on which this task runs, which is also that of the read task."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    return table.append_column("node", pa.array([node] * table.num_rows))


def collect(ray, dataset):
    return pa.concat_tables(ray.get(dataset.to_arrow_refs()), promote_options="permissive")


def read_with_ray(ray, bag):
    from ray.data.expressions import col, lit

    expected = by_time(local(bag))
    dataset = logtool.ray.read(bag, TOPIC, target_bytes=SPLIT_BYTES)
    check("Ray counts the rows", dataset.count() == len(expected), len(expected))
    table = collect(ray, dataset.map_batches(with_node, batch_format="pyarrow"))
    nodes = table.column("node").value_counts().to_pylist()
    check("Ray reads on both nodes", len(nodes) == 2, [node["counts"] for node in nodes])
    table = by_time(table.drop_columns("node"))
    check("Ray reads the same", table.equals(expected), table.num_rows, "rows")
    start, count = len(expected) // 4, len(expected) // 2
    first, last = expected.column("time")[start], expected.column("time")[start + count]
    part = dataset.filter(expr=(col("time") >= lit(first)) & (col("time") < lit(last)))
    table = by_time(collect(ray, part.select_columns(["vector", "time"])))
    wanted = expected.slice(start, count).select(["vector", "time"])
    check("Ray selects times and columns", table.equals(wanted.combine_chunks()))


def read_while_a_node_dies(ray, cluster, bag):
    expected = by_time(local(bag))
    dataset = logtool.ray.read(bag, TOPIC, target_bytes=SPLIT_BYTES)
    tables = []
    for batch in dataset.iter_batches(batch_size=None, batch_format="pyarrow"):
        if not tables:
            kill(cluster.nodes[1])
        tables.append(batch)
    table = by_time(pa.concat_tables(tables, promote_options="permissive"))
    check("Ray reads the same while a node dies", table.equals(expected))
    cluster.start_worker()
    wait_for_nodes(ray, 2)


def wait_for_nodes(ray, count):
    for _ in range(600):
        alive = [n for n in ray.nodes() if n["Alive"] and n["Resources"].get("CPU")]
        if len(alive) == count:
            return
        time.sleep(0.2)
    raise RuntimeError("the nodes do not join")


def convert_while_a_node_dies(ray, cluster, folder):
    samples = Path(os.environ["LOGTOOL_SAMPLES"])
    inputs = [str(folder / "big.bag"), str(samples / "rosbag" / "*.bag"), str(samples / "ulog")]
    expected, out = folder / "expected", folder / "converted"
    logtool.batch(inputs, expected)
    killed = threading.Event()

    def kill_the_worker():
        # In the middle: some logs are finished, and others are not.
        while not any(out.rglob("part-0.parquet")):
            time.sleep(0.01)
        kill(cluster.nodes[2])
        killed.set()
        cluster.start_worker()

    killer = threading.Thread(target=kill_the_worker, daemon=True)
    killer.start()
    report = logtool.ray.convert(inputs, out, shards=6)
    was_killed = killed.is_set()
    killer.join(60)
    check("a node died during the conversion", was_killed)
    ours, theirs = files(out), files(expected)
    check("Ray writes the same files", ours.keys() == theirs.keys(), len(ours), "files")
    different = [name for name in ours if not same_file(ours[name], theirs[name])]
    check("Ray writes the same tables", not different, different[:3])
    check("Ray reports the logs that fail", len(report.failed) > 0, len(report.failed))
    again = logtool.ray.convert(inputs, out, shards=6)
    check("nothing is left to do", again.files == 0, again.unchanged_logs, "logs")
    ours, theirs = (logtool.Dataset(path) for path in (out, expected))
    check("the catalogs have the same logs", ours.logs == theirs.logs, len(ours.logs))


def files(folder):
    paths = folder.glob("*/**/*.parquet")
    return {str(path.relative_to(folder)): path for path in paths}


def same_file(left, right):
    from columns import differences

    return not list(differences(pq.read_table(left), pq.read_table(right)))


def with_daft(folder):
    import daft

    import logtool.daft

    bag = folder / "big.bag"
    expected = by_time(local(bag))
    frame = logtool.daft.read(str(bag), TOPIC, target_bytes=SPLIT_BYTES)
    check("Daft counts the rows", frame.count_rows() == len(expected), len(expected))
    table = by_time(frame.to_arrow().cast(expected.schema))
    check("Daft reads the same", table.equals(expected))
    x = daft.col("vector").get("x")
    part = frame.where((x >= 100) & (x < 200)).select(daft.col("vector").get("y"))
    total = sum(index * 0.5 for index in range(100, 200))
    check("Daft selects by a field", sum(part.to_pydict()["y"]) == total, total)
    first = expected.column("time")[1000].as_py()
    part = frame.where(daft.col("time") < first).select("time")
    check("Daft selects times", part.count_rows() == 1000)
    check("Daft takes the first rows", len(frame.limit(10).to_arrow()) == 10)


def with_spark(folder):
    import pyspark

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["SPARK_LOCAL_HOSTNAME"] = "127.0.0.1"
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    import logtool.spark

    bag = folder / "big.bag"
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(folder),
        # Each executor runs a task at a time, and starts before the first task.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
    }
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("logtool")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        session.sparkContext.setLogLevel("ERROR")
        logtool.spark.register(session)
        read_with_spark(session, f, bag)
    finally:
        session.stop()


def read_with_spark(session, f, bag):
    reader = session.read.format("logtool").option("target_bytes", str(SPLIT_BYTES))
    frame = reader.option("topic", TOPIC).load(str(bag))
    expected = local(bag)
    x = pc.struct_field(expected.column("vector"), "x")
    nanos = pc.sum(pc.subtract(expected.column("time").cast(pa.int64()), 1_700_000_000 * 10**9))
    row = frame.agg(
        f.count("*").alias("rows"),
        f.sum("vector.x").alias("x"),
        f.sum(f.col("time_ns") - 1_700_000_000 * 10**9).alias("nanos"),
    ).first()
    check("Spark counts the rows", row["rows"] == len(expected), row["rows"])
    check("Spark has the same sums", row["x"] == pc.sum(x).as_py(), row["x"])
    check("Spark has the same times", row["nanos"] == nanos.as_py(), row["nanos"])
    executors = frame.select(f.spark_partition_id().alias("part")).distinct().count()
    check("Spark reads splits", executors > 1, executors, "partitions")
    live = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    check("Spark has two executors", len(live) == 3, len(live) - 1)
    after = frame.where("vector.x < 10").count(), frame.count()
    check("a filter of one query is not in another", after == (10, len(expected)), after)
    catalog = session.read.format("logtool").load(str(bag)).select("topic").collect()
    topics = sorted(row["topic"] for row in catalog)
    check("Spark reads the catalog", topics == ["/camera", TOPIC], topics)


def main():
    warnings.simplefilter("ignore")
    engine, folder = sys.argv[1], Path(sys.argv[2])
    {"ray": with_ray, "daft": with_daft, "spark": with_spark}[engine](folder)


if __name__ == "__main__":
    main()
