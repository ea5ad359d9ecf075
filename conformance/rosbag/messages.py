"""Every message: its connection, topic, time and bytes."""

from peer import by_connection


def check(tally, ours, peer):
    mine, theirs = ours.messages, peer.messages
    size = sum(len(message.payload) for message in mine)
    tally.check("messages", differences(mine, theirs), f"{len(mine)}, {size} bytes")


def differences(mine, theirs):
    """Yields differences, independent of the order in the file."""
    mine, theirs = by_connection(mine), by_connection(theirs)
    for connection in sorted(set(mine) | set(theirs)):
        ours, other = mine.get(connection, []), theirs.get(connection, [])
        if len(ours) != len(other):
            yield f"connection {connection}: {len(ours)} messages, not {len(other)}"
            continue
        wrong = [index for index, pair in enumerate(zip(ours, other)) if pair[0] != pair[1]]
        if wrong:
            yield f"connection {connection}: {len(wrong)} messages, first number {wrong[0]}"
