"""All checks of one bag."""

import columns
import counts
import information
import lines
import messages
import rewritten
import ros
from known import ENDLESS, KNOWN
from ours import Bag
from peer import Peer
from tally import Tally


def check_bag(path):
    known = [one for one in KNOWN if one.check not in ros.CHECKS or not ros.missing()]
    tally = Tally(path.name, known)
    compare(tally, Bag(path))
    tally.check_known()
    return tally


def compare(tally, ours):
    counts.check(tally, ours)
    if ours.refused or ours.is_damaged() or ours.is_locked():
        # The result for a damaged bag depends on the method of recovery. EXPECT.tsv and
        # crates/rosbag/tests define the expected result.
        return
    peer = Peer(ours.path)
    if peer.error:
        tally.check("rosbags", [peer.error])
    else:
        messages.check(tally, ours, peer)
        information.check(tally, ours, peer)
        if ours.path.name not in ENDLESS:
            decoded = peer.decode(ours)
            columns.check(tally, ours, decoded)
            lines.check(tally, ours, decoded)
    ros.check(tally, ours)
    rewritten.check(tally, ours)
