"""Puts the packets of testdata/puck.pcap into tunnels and frames of other link types, and compares
their number, their times and their addresses with those that tshark decodes in the same files.

Prints the number of checks; exits non-zero where something differs. Needs the environment LOGTOOL,
the program. Skipped where tshark is not installed.
"""

import csv
import io
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from logtool import run
from tally import Tally

PUCK = Path(__file__).resolve().parent.parent.parent / "testdata" / "puck.pcap"
PACKETS = 12
BROADCAST = bytes([255] * 6)
MACS = bytes.fromhex("020000000002020000000001")


def be16(*numbers):
    return struct.pack(f">{len(numbers)}H", *numbers)


def checksum(header):
    total = sum(struct.unpack(f">{len(header) // 2}H", header))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def ip4(protocol, payload, fragment=0, identification=7):
    header = struct.pack(
        ">BBHHHBBH4s4s",
        *(0x45, 0, 20 + len(payload), identification, fragment, 64, protocol, 0),
        *(bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])),
    )
    return header[:10] + be16(checksum(header)) + header[12:] + payload


def ip6(protocol, payload):
    addresses = bytes.fromhex("20010db8000000000000000000000001 20010db8000000000000000000000002")
    return struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64) + addresses + payload


def udp(port, payload):
    return be16(50000, port, 8 + len(payload), 0) + payload


def ether(kind, payload):
    return MACS + be16(kind) + payload


def wifi(flags, payload, qos=False):
    addresses = BROADCAST + MACS
    fourth = MACS[6:] if flags & 3 == 3 else b""
    control = bytes([0x88 if qos else 8, flags, 0, 0])
    return control + addresses + b"\x10\0" + fourth + (b"\0\0" if qos else b"") + payload


def snap(ip):
    return b"\xaa\xaa\3\0\0\0\x08\0" + ip


def pktap(link, frame):
    header = struct.pack("<III24s", 156, 1, link, b"en0")
    return header.ljust(156, b"\0") + frame


def nflog(ip):
    prefix = struct.pack("<HH4s", 7, 10, b"ab\0")
    return bytes([2, 0, 0, 5]) + prefix + struct.pack("<HH", 4 + len(ip), 9) + ip


def fragments(packet, protocol):
    """Two frames with the fragments of an IPv4 packet."""
    split = 800
    number = next(numbers)
    return [
        ether(0x0800, ip4(protocol, packet[:split], 0x2000, number)),
        ether(0x0800, ip4(protocol, packet[split:], split // 8, number)),
    ]


numbers = iter(range(100, 1000))

GENEVE_OPTION = bytes.fromhex("0102800100000001")
#: Each kind with its link type, and the frames of one packet, made of the original frame `f` and its IP
#: packet `p`.
KINDS = {
    "Ethernet": (1, lambda f, p: [f]),
    "VLAN": (1, lambda f, p: [ether(0x8100, be16(5, 0x0800) + p)]),
    "QinQ": (1, lambda f, p: [ether(0x88A8, be16(5, 0x8100, 6, 0x0800) + p)]),
    "802.1ah": (1, lambda f, p: [ether(0x88E7, bytes(4) + f)]),
    "VN tag": (1, lambda f, p: [ether(0x8926, bytes(4) + be16(0x0800) + p)]),
    "802.1BR": (1, lambda f, p: [ether(0x893F, bytes(6) + be16(0x0800) + p)]),
    "Cisco metadata": (1, lambda f, p: [ether(0x8909, bytes([1, 1]) + be16(1, 2, 0x0800) + p)]),
    "MACsec": (1, lambda f, p: [ether(0x88E5, bytes([0, 0, 0, 0, 0, 1]) + be16(0x0800) + p + bytes(16))]),
    "MACsec, SCI": (1, lambda f, p: [ether(0x88E5, bytes([32, 0, 0, 0, 0, 1]) + MACS[:8] + be16(0x0800) + p + bytes(16))]),
    "PPPoE": (1, lambda f, p: [ether(0x8864, be16(0x1100, 5, 2 + len(p), 0x21) + p)]),
    "MPLS": (1, lambda f, p: [ether(0x8847, bytes.fromhex("00064140") + p)]),
    "MPLS, three labels": (1, lambda f, p: [ether(0x8847, bytes.fromhex("000640400006504000066140") + p)]),
    "MPLS pseudowire": (1, lambda f, p: [ether(0x8847, bytes.fromhex("0006414000000000") + f)]),
    "LLC/SNAP": (1, lambda f, p: [MACS + be16(8 + len(p)) + snap(p)]),
    "LLC, IP": (1, lambda f, p: [MACS + be16(3 + len(p)) + b"\6\6\3" + p]),
    "HSR": (1, lambda f, p: [ether(0x892F, be16(0x1000 | (6 + len(p)), 1, 0x0800) + p)]),
    "PRP": (1, lambda f, p: [f + be16(1, 0xA000 | (len(f) - 14 + 6), 0x88FB)]),
    "NSH": (1, lambda f, p: [ether(0x894F, bytes.fromhex("0fc2020100000aff") + p)]),
    "GRE": (1, lambda f, p: [ether(0x0800, ip4(47, be16(0, 0x0800) + p))]),
    "GRE, key and number": (1, lambda f, p: [ether(0x0800, ip4(47, be16(0x3000, 0x0800, 0, 9, 0, 1) + p))]),
    "GRE over IPv6": (1, lambda f, p: [ether(0x86DD, ip6(47, be16(0, 0x0800) + p))]),
    "GRE, Ethernet": (1, lambda f, p: [ether(0x0800, ip4(47, be16(0, 0x6558) + f))]),
    "GRE, MPLS": (1, lambda f, p: [ether(0x0800, ip4(47, be16(0, 0x8847) + bytes.fromhex("00064140") + p))]),
    "PPTP": (1, lambda f, p: [ether(0x0800, ip4(47, be16(0x3001, 0x880B, 4 + len(p), 5, 0, 1, 0xFF03, 0x21) + p))]),
    "ERSPAN I": (1, lambda f, p: [ether(0x0800, ip4(47, be16(0, 0x88BE) + f))]),
    "ERSPAN II": (1, lambda f, p: [ether(0x0800, ip4(47, be16(0x1000, 0x88BE, 0, 1, 0x1064, 1, 0, 0) + f))]),
    "ERSPAN III": (1, lambda f, p: [ether(0x0800, ip4(47, be16(0x1000, 0x22EB, 0, 1, 0x2064, 1, 0, 0, 0, 0) + f))]),
    "IP in IP": (1, lambda f, p: [ether(0x0800, ip4(4, p))]),
    "four IP packets": (1, lambda f, p: [ether(0x0800, ip4(4, ip4(4, ip4(4, p))))]),
    "4in6": (1, lambda f, p: [ether(0x86DD, ip6(4, p))]),
    "6in4": (1, lambda f, p: [ether(0x0800, ip4(41, ip6(17, p[20:])))]),
    "EtherIP": (1, lambda f, p: [ether(0x0800, ip4(97, b"\x30\0" + f))]),
    "MPLS in IP": (1, lambda f, p: [ether(0x0800, ip4(137, bytes.fromhex("00064140") + p))]),
    "AH": (1, lambda f, p: [ether(0x0800, ip4(51, bytes([17, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]) + bytes(12) + p[20:]))]),
    "VXLAN": (1, lambda f, p: [ether(0x0800, ip4(17, udp(4789, b"\x08" + bytes(5) + b"\x2a\0" + f)))]),
    "VXLAN, VLAN": (1, lambda f, p: [ether(0x0800, ip4(17, udp(4789, b"\x08" + bytes(5) + b"\x2a\0" + f[:12] + be16(0x8100, 5) + f[12:])))]),
    "VXLAN-GPE": (1, lambda f, p: [ether(0x0800, ip4(17, udp(4790, b"\x0c\0\0\3" + bytes(4) + f)))]),
    "GENEVE": (1, lambda f, p: [ether(0x0800, ip4(17, udp(6081, bytes([0, 0]) + be16(0x6558) + bytes(4) + f)))]),
    "GENEVE, option": (1, lambda f, p: [ether(0x0800, ip4(17, udp(6081, bytes([2, 0]) + be16(0x6558) + bytes(4) + GENEVE_OPTION + f)))]),
    "GTP-U": (1, lambda f, p: [ether(0x0800, ip4(17, udp(2152, b"\x30\xff" + be16(len(p), 0, 9) + p)))]),
    "GTP-U, extension": (1, lambda f, p: [ether(0x0800, ip4(17, udp(2152, b"\x34\xff" + be16(len(p) + 8, 0, 9, 0, 0x0085) + b"\1\0\0\0" + p)))]),
    "L2TP": (1, lambda f, p: [ether(0x0800, ip4(17, udp(1701, be16(0x4002, 12 + len(p), 1, 1, 0xFF03, 0x21) + p)))]),
    "GRE in fragments": (1, lambda f, p: fragments(be16(0, 0x0800) + p, 47)),
    "VXLAN in fragments": (1, lambda f, p: fragments(udp(4789, b"\x08" + bytes(5) + b"\x2a\0" + f), 17)),
    "fragments in IP in IP": (1, lambda f, p: [ether(0x0800, ip4(4, part[14:])) for part in fragments(p[20:], 17)]),
    "802.5": (6, lambda f, p: [b"\x10\x40" + MACS + snap(p)]),
    "FDDI": (10, lambda f, p: [b"\x50" + MACS + snap(p)]),
    "PPP": (9, lambda f, p: [be16(0x21) + p]),
    "PPP in HDLC": (9, lambda f, p: [be16(0xFF03, 0x21) + p]),
    "PPP, short protocol": (9, lambda f, p: [b"\x21" + p]),
    "PPP_HDLC": (50, lambda f, p: [be16(0xFF03, 0x21) + p]),
    "PPP_ETHER": (51, lambda f, p: [be16(0x1100, 5, 2 + len(p), 0x21) + p]),
    "PPP_WITH_DIR": (204, lambda f, p: [b"\1" + be16(0xFF03, 0x21) + p]),
    "C_HDLC": (104, lambda f, p: [be16(0x0F00, 0x0800) + p]),
    "Frame Relay": (107, lambda f, p: [b"\x18\x41\3\xcc" + p]),
    "raw IP": (101, lambda f, p: [p]),
    "raw IPv4": (228, lambda f, p: [p]),
    "raw IPv6": (229, lambda f, p: [ip6(17, p[20:])]),
    "NULL": (0, lambda f, p: [struct.pack("<I", 2) + p]),
    "LOOP": (108, lambda f, p: [struct.pack(">I", 2) + p]),
    "ENC": (109, lambda f, p: [struct.pack("<III", 2, 1, 0) + p]),
    "LINUX_SLL": (113, lambda f, p: [be16(0, 1, 6) + MACS[6:] + be16(0, 0x0800) + p]),
    "LINUX_SLL2": (276, lambda f, p: [be16(0x0800, 0, 0, 1, 1) + b"\0\6" + MACS[6:] + b"\0\0" + p]),
    "802.11": (105, lambda f, p: [wifi(2, snap(p))]),
    "802.11, QoS": (105, lambda f, p: [wifi(2, snap(p), qos=True)]),
    "802.11, four addresses": (105, lambda f, p: [wifi(3, snap(p))]),
    "radiotap": (127, lambda f, p: [b"\0\0\x08\0\0\0\0\0" + wifi(2, snap(p))]),
    "radiotap, checksum": (127, lambda f, p: [b"\0\0\x09\0\2\0\0\0\x10" + wifi(1, snap(p)) + bytes(4)]),
    "radiotap, padded": (127, lambda f, p: [b"\0\0\x09\0\2\0\0\0\x20" + wifi(2, b"\0\0" + snap(p), qos=True)]),
    "AVS": (163, lambda f, p: [struct.pack(">II", 0x80211001, 64) + bytes(56) + wifi(2, snap(p))]),
    "Prism": (119, lambda f, p: [struct.pack("<II", 0x44, 144) + bytes(136) + wifi(2, snap(p))]),
    "PPI": (192, lambda f, p: [struct.pack("<BBHI", 0, 0, 8, 105) + wifi(2, snap(p))]),
    "NFLOG": (239, lambda f, p: [nflog(p)]),
    "PKTAP": (258, lambda f, p: [pktap(1, f)]),
    "PKTAP, raw": (258, lambda f, p: [pktap(12, p)]),
    "IP over InfiniBand": (242, lambda f, p: [bytes(40) + be16(0x0800, 0) + p]),
    "IP over 1394": (138, lambda f, p: [bytes(16) + be16(0x0800) + p]),
    "IP over Fibre Channel": (122, lambda f, p: [b"\x10\0" + MACS[:6] + b"\x10\0" + MACS[6:] + snap(p)]),
}
#: What tshark 4.0 does not decode, or with times of its own (ERF): some link types, and an Ethernet type, a link type, a protocol and a
#: port for experiments, and a header between UDP and the packet. All packets must be found.
UNKNOWN = {
    "Ethernet type 0x88b5": (1, lambda f, p: [ether(0x88B5, b"\1\2\3" + p)]),
    "netANALYZER": (240, lambda f, p: [bytes(4) + f]),
    "mPacket": (274, lambda f, p: [bytes.fromhex("55555555555555d5") + f + bytes(4)]),
    "MPLS link": (219, lambda f, p: [bytes.fromhex("00064140") + p]),
    "DSA": (284, lambda f, p: [f[:12] + bytes.fromhex("c0080000") + f[12:]]),
    "ERF": (197, lambda f, p: [bytes(8) + b"\2\4" + be16(18 + len(f), 0, len(f), 0) + f]),
    "link type 147": (147, lambda f, p: [bytes(33) + f]),
    "IP protocol 253": (1, lambda f, p: [ether(0x0800, ip4(253, bytes(6) + p))]),
    "port 9999": (1, lambda f, p: [ether(0x0800, ip4(17, udp(9999, b"relay" + p)))]),
    "header after UDP": (1, lambda f, p: [ether(0x0800, ip4(17, udp(2368, b"\0\0\0\7" + p[28:])))]),
    "link type 60000": (60000, lambda f, p: [b"odd" + p[28:]]),
}


def originals():
    """The times in microseconds and the frames of puck.pcap."""
    data = PUCK.read_bytes()
    offset = 24
    while offset < len(data):
        seconds, micros, captured = struct.unpack_from("<III", data, offset)
        yield seconds, micros, data[offset + 16 : offset + 16 + captured]
        offset += 16 + captured


def write(path, link, make, packets):
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, link))
        for seconds, micros, frame in packets:
            for part in make(frame, frame[14:]):
                file.write(struct.pack("<IIII", seconds, micros, len(part), len(part)) + part)


def tshark_packets(path):
    """The times in nanoseconds of the packets that tshark finds."""
    fields = ["frame.time_epoch", "udp.dstport", "data.len"]
    command = ["tshark", "-r", path, "-T", "fields", "-o", "ip.defragment:TRUE"]
    command += [word for field in fields for word in ("-e", field)]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    for line in lines:
        time, ports, lengths = line.split("\t")
        if ports.split(",")[-1:] == ["2368"] and "1206" in lengths.split(","):
            seconds, fraction = time.split(".")
            yield int(seconds) * 10**9 + int(fraction)


def our_packets(path, out):
    run("convert", path, "-o", out, "--topic", "velodyne_packets", "--field", "azimuth", "--force")
    return [int(row["time"]) for row in csv.DictReader(io.StringIO(out.read_text()))]


def main():
    tshark = shutil.which("tshark")
    if tshark is None:
        print("skipped: tshark is not installed")
        return 0
    packets = [packet for packet in originals() if len(packet[2]) == 1248][:PACKETS]
    expected = [seconds * 10**9 + micros * 1000 for seconds, micros, _ in packets]
    tally = Tally("puck.pcap", [])
    with tempfile.TemporaryDirectory(prefix="conformance-") as folder:
        path, out = Path(folder) / "x.pcap", Path(folder) / "x.csv"
        for kind, (link, make) in {**KINDS, **UNKNOWN}.items():
            write(path, link, make, packets)
            theirs = list(tshark_packets(path)) if kind in KINDS else expected
            try:
                ours = our_packets(path, out)
            except (RuntimeError, OSError) as error:
                ours, note = [], str(error)
            different = [f"{len(ours)} packets, {len(theirs)} in tshark"] if ours != theirs else []
            if kind in KINDS and theirs != expected:
                different.append(f"tshark finds {len(theirs)} of {len(expected)}: a wrong capture")
            tally.check(kind, different, f"{len(ours)} packets")
    print("\n".join(line for line in tally.lines if not line.startswith("ok")))
    print(f"{tally.passed} kinds agree with tshark, {tally.failed} do not")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
