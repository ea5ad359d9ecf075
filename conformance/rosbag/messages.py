"""Every message: its connection, topic, time and bytes."""

from peer import by_connection


def check(tally, ours, peer):
    mine, theirs = ours.messages, peer.messages
    size = sum(len(message.payload) for message in mine)
    tally.check("messages", differences(mine, theirs), f"{len(mine)}, {size} bytes")


def differences(mine, theirs):
    """What differs, whatever the order of the file is."""
    mine, theirs = by_connection(mine), by_connection(theirs)
    for connection in sorted(set(mine) | set(theirs)):
        ours, other = mine.get(connection, []), theirs.get(connection, [])
        if len(ours) != len(other):
            yield f"connection {connection}: {len(ours)} messages, not {len(other)}"
            continue
        wrong = [index for index, pair in enumerate(zip(ours, other)) if pair[0] != pair[1]]
        if wrong:
            yield f"connection {connection}: {len(wrong)} messages, first number {wrong[0]}"
