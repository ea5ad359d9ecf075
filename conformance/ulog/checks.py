"""All checks of one log."""

import csv_files
import header
import json_lines
import messages
import readers
import values
from known import KNOWN, LEFT_OUT
from logtool import Ours
from peer import Peer
from tally import Tally


def check_log(path):
    tally = Tally(path.name, KNOWN)
    compare(tally, path)
    tally.check_known()
    return tally


def check_start(path):
    """Only when a log starts and how long it is, of a reported case."""
    tally = Tally(path.name, KNOWN)
    ours, peer = Ours(path), Peer(path)
    if not ours.refused and not peer.error and not ours.info["damage"]:
        tally.check("start and duration", *header.start_and_duration(ours, peer.log))
    tally.check_known()
    return tally


def compare(tally, path):
    ours = Ours(path)
    if ours.refused:
        refused = Peer(path).error
        different = [] if refused else ["pyulog reads it, logtool does not"]
        tally.check("refused", different, ours.refused.splitlines()[0])
        return
    readers.check(tally, ours)
    json_lines.check(tally, ours)
    if ours.info["damage"]:
        # The result for a damaged log depends on the method of recovery: see crates/ulog/tests.
        return
    left_out = LEFT_OUT.get(path.name, {})
    peer = Peer(path, left_out)
    if left_out:
        tally.check("left out", peer.not_needed(ours), ", ".join(left_out))
    if peer.error:
        tally.check("read", [f"pyulog: {peer.error}"])
        return
    values.check(tally, ours, peer)
    header.check(tally, ours, peer)
    messages.check(tally, ours, peer)
    csv_files.check(tally, ours, peer)
