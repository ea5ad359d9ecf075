#!/usr/bin/env python3
"""Checks that time and memory grow no faster than the input.

    conformance/growth [words...]       all, or only what has one of the words in its name
    conformance/growth --list           the generators, with the commands that each is given to

Each generator writes a log that has `n` of one thing, and one that has `2n`. Each command
runs on both, on one thread, and may take 2.3 times as long for the second, and 2.6 times the
memory. What a command takes for a log of almost nothing is taken off. The time is that of the
processor. A job that is too short to be measured passes: `n` is so large that one which
grows with the square is long. A job that fails is measured again, and the least counts. If a
short job still takes too long, its instructions are counted, because the time of short jobs
depends on what else the machine does.

    LOGTOOL         the program to measure
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import jobs

GROWTH = 2.3
# Seconds and bytes: smaller results cannot be distinguished from noise.
SHORT = 0.12
SMALL = 24 << 20
# How much memory a command may take for each topic.
MEMORY_OF_TOPIC = 12 << 10
# The limit of CPU time in seconds: only quadratic jobs reach it.
LONGEST = 12
TRIES = 3
# Up to this CPU time in seconds, valgrind can count the instructions of a job.
COUNTABLE = 2
# Jobs that are known to grow faster on some machines, and by how much at most: a row of a merged
# table is as wide as all topics together, and no longer fits into the caches of the processor.
KNOWN = {"asof": 4.5}
# Memory grows in steps, because buffers double: it is linear although those for n may be full and those
# for 2n may be half empty.
MEMORY_GROWTH = 2.6
# Done, and done with some of the input lost.
DONE = (0, 3)


class Cost:
    """The cost of a run: seconds, bytes of memory, and the exit status."""

    def __init__(self, seconds, memory, status):
        self.seconds, self.memory, self.status = seconds, memory, status

    def least(self, other):
        return Cost(min(self.seconds, other.seconds), min(self.memory, other.memory), self.status)


# Starts the command from a process that is small itself: Linux counts the memory of the
# process that starts a program as the program's, until it begins.
LAUNCHER = """
import json, os, resource, sys
into, limit = map(int, sys.argv[1:3])
child = os.fork()
if child == 0:
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    os.execv(sys.argv[3], sys.argv[3:])
_, status, used = os.wait4(child, 0)
cost = [used.ru_utime + used.ru_stime, used.ru_maxrss, os.waitstatus_to_exitcode(status)]
os.write(into, json.dumps(cost).encode())
"""


def prepare(program, arguments, folder):
    """Empties `folder`, where the outputs go, and returns the command."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return [program, "--quiet", "--threads", "1", *map(str, arguments)]


def run(program, arguments, folder):
    """Runs a command whose outputs go into `folder`, which is emptied."""
    command = prepare(program, arguments, folder)
    # The result has a pipe of its own: commands print a lot.
    results, into = os.pipe()
    launcher = [sys.executable, "-I", "-S", "-c", LAUNCHER, str(into), str(LONGEST)]
    with open(folder / "stderr", "wb") as errors:
        subprocess.run(
            [*launcher, *command],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=[into],
            check=False,
        )
    os.close(into)
    with os.fdopen(results) as answer:
        seconds, memory, status = json.loads(answer.read())
    return Cost(seconds, memory * 1024, status)


def count(program, arguments, folder):
    """Returns how many instructions the command takes, or None if they cannot be counted."""
    if shutil.which("valgrind") is None:
        return None
    command = prepare(program, arguments, folder)
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run([*valgrind, *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    counted = re.search(rb"Collected : (\d+)", done.stderr)
    return int(counted[1]) if counted else None


class Job:
    """A command on the logs of a generator."""

    def __init__(self, program, folder, generator, command):
        self.program, self.folder = program, folder / f"out-{generator.name}-{command}"
        self.generator, self.command = generator, command
        self.name = f"{generator.name} {command}"

    def arguments(self, log):
        n = {"0": self.generator.least, "1": self.generator.n, "2": 2 * self.generator.n}[log.stem[-1]]
        return jobs.arguments(self.command, log, self.folder / "out", self.generator, n)

    def cost(self, log):
        return run(self.program, self.arguments(log), self.folder)

    def faults(self, logs):
        """Yields the limits that the growth of the command exceeds."""
        base = self.cost(logs[0])
        costs = [None, None]
        for attempt in range(TRIES):
            for index in (1, 0):
                cost = self.cost(logs[1 + index])
                costs[index] = cost.least(costs[index]) if costs[index] else cost
                if index == 1 and self.is_small(costs[1], base):
                    break
            found = list(self.compare(base, *costs, logs[2].stat().st_size))
            if not found or any(cost and cost.status not in self.statuses() for cost in costs):
                break
        if costs[1].seconds <= COUNTABLE and any(is_time(fault) for fault in found) and self.counts_are_linear(logs):
            found = [fault for fault in found if not is_time(fault)]
        shutil.rmtree(self.folder, ignore_errors=True)
        return found, costs[1]

    def counts_are_linear(self, logs):
        """Reports whether the instructions of the command grow no faster than its input."""
        base, once, twice = (count(self.program, self.arguments(log), self.folder) for log in logs)
        if None in (base, once, twice):
            return False
        return twice - base <= KNOWN.get(self.command, GROWTH) * (once - base)

    def is_small(self, cost, base):
        return cost.seconds - base.seconds < SHORT and cost.memory - base.memory < SMALL

    def statuses(self):
        return (*DONE, 1) if self.command in ("check", "messages") or self.generator.may_fail else DONE

    def compare(self, base, once, twice, length):
        for cost in filter(None, (once, twice)):
            if cost.status < 0:
                yield f"did not end within {LONGEST} s"
                return
            if cost.status not in self.statuses():
                errors = (self.folder / "stderr").read_text(errors="replace")
                yield f"ended with {cost.status}: {errors.strip().splitlines()[:1]}"
                return
        topics = 2 * self.generator.n if self.generator.has_topics else 0
        if twice.memory - base.memory > max(self.generator.memory_of_byte * length, MEMORY_OF_TOPIC * topics) + SMALL:
            yield f"memory: {twice.memory >> 20} MiB for {length >> 10} KiB"
        if once is None:
            return
        for what, before, after, smallest, unit in (
            ("time", once.seconds - base.seconds, twice.seconds - base.seconds, SHORT, "s"),
            ("memory", (once.memory - base.memory) / 2**20, (twice.memory - base.memory) / 2**20, SMALL / 2**20, "MiB"),
        ):
            growth = KNOWN.get(self.command, GROWTH)
            if unit == "MiB":
                growth = max(growth, MEMORY_GROWTH)
            if after >= smallest and after > growth * max(before, smallest / 4):
                yield f"{what}: {before:.2f} {unit}, then {after:.2f} {unit}"


def is_time(fault):
    return fault.startswith("time: ")


def measure(program, folder, generator, words):
    """Yields a line about each job of `generator`, and whether it is within the limits."""
    wanted = [one for one in generator.commands() if any(word in f"{generator.name} {one}" for word in words)]
    if not wanted:
        return
    logs = [folder / f"{generator.name}-{size}{generator.suffix}" for size in ("0", "1", "2")]
    for log, n in zip(logs, (generator.least, generator.n, 2 * generator.n)):
        log.write_bytes(generator.make(n))
        if generator.beside:
            generator.beside(log.with_suffix(""), n)
    for command in wanted:
        started = time.monotonic()
        job = Job(program, folder, generator, command)
        found, cost = job.faults(logs)
        line = f"{job.name:<44} {cost.seconds:6.2f} s {cost.memory >> 20:5} MiB  {time.monotonic() - started:5.1f}"
        yield "; ".join([line, *found]), not found
    for log in logs:
        log.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", default=[""])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="report each job")
    options = parser.parse_args()
    if options.list:
        for generator in jobs.GENERATORS:
            print(generator.name, generator.n, *generator.commands())
        return
    program, started = os.environ["LOGTOOL"], time.monotonic()
    faults, total = 0, 0
    with tempfile.TemporaryDirectory(prefix="growth-") as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folder = pathlib.Path(folder)

        def all_of(generator):
            results = []
            for line, is_sound in measure(program, folder, generator, options.words):
                results.append(is_sound)
                if options.verbose or not is_sound:
                    print(line, flush=True)
            return results

        for results in pool.map(all_of, jobs.GENERATORS):
            total += len(results)
            faults += results.count(False)
    print(f"growth: {total} jobs of {len(jobs.GENERATORS)} generators in {time.monotonic() - started:.0f} s, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
