"""Compares what logtool reads of encrypted ULogs with what it reads of the same logs in plain text. The keys
are made, and the logs encrypted, by PyCryptodome and cryptography, with the layout of PX4's
log_writer_file.cpp; PyCryptodome decrypts them again as PX4's decrypt_ulog.py does.

Usage: encrypted.py [ULOG...]
"""

import filecmp
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from Crypto.Cipher import PKCS1_OAEP, ChaCha20
from Crypto.Hash import SHA256
from Crypto.PublicKey import RSA
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from tally import Tally

SAMPLES = Path(os.environ["LOGTOOL_SAMPLES"]) / "ulog"
TESTDATA = Path(__file__).resolve().parent.parent / "testdata"
RSA_OAEP = 4
HEADER = "<7sBQBBHH"


def keys(folder):
    """Private keys of several lengths in both formats of PEM, by the name of their file."""
    made = {}
    formats = serialization.PrivateFormat
    for bits in 2048, 3072, 4096:
        key = rsa.generate_private_key(public_exponent=65537, key_size=bits)
        for name, form in ("pkcs8", formats.PKCS8), ("pkcs1", formats.TraditionalOpenSSL):
            path = folder / f"{bits}_{name}.pem"
            none = serialization.NoEncryption()
            path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, none))
            made[path] = RSA.import_key(path.read_bytes())
    return made


def encrypt(log, key):
    """The header for a magic, with the wrapped key and the nonce, as a function; and the ciphertext."""
    session_key, nonce = os.urandom(32), os.urandom(24)
    wrapped = PKCS1_OAEP.new(key.public_key(), SHA256).encrypt(session_key)

    def header(magic):
        return struct.pack(HEADER, magic, 1, 12345, RSA_OAEP, 1, len(wrapped), len(nonce)) + wrapped + nonce

    return header, ChaCha20.new(key=session_key, nonce=nonce).encrypt(log)


def decrypt(encrypted, key):
    """The log, as PX4's decrypt_ulog.py decrypts it."""
    *_, key_bytes, nonce_bytes = struct.unpack_from(HEADER, encrypted)
    start = struct.calcsize(HEADER)
    wrapped = encrypted[start : start + key_bytes]
    nonce = encrypted[start + key_bytes : start + key_bytes + nonce_bytes]
    session_key = PKCS1_OAEP.new(key, SHA256).decrypt(wrapped)
    return ChaCha20.new(key=session_key, nonce=nonce).decrypt(encrypted[start + key_bytes + nonce_bytes :])


def run(*arguments):
    command = [os.environ["LOGTOOL"], *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def convert(log, out, *more):
    """Converts a log to CSV, and returns the exit status."""
    return run("convert", log, "-o", out, "--format", "csv", *more).returncode


def differences(ours, want):
    """The names of files that differ. The provenance has the name and the digest of the encrypted file."""
    names = {path.name for folder in (ours, want) if folder.exists() for path in folder.iterdir()}
    names.discard("provenance.json")
    _, unequal, missing = filecmp.cmpfiles(ours, want, sorted(names), shallow=False)
    return unequal + missing


def check_log(tally, log, key_path, key, folder):
    """Compares the tables, the copy and the printed records of a log."""
    plain = log.read_bytes()
    header, ciphertext = encrypt(plain, key)
    encrypted = folder / f"{log.stem}.ulge"
    encrypted.write_bytes(header(b"ULogEnc") + ciphertext)
    tally.check("the peer decrypts", [] if decrypt(encrypted.read_bytes(), key) == plain else ["not"])
    (folder / f"{log.stem}.ulgk").write_bytes(header(b"ULogKey"))
    separate = folder / f"{log.stem}.ulgc"
    separate.write_bytes(ciphertext)

    want = folder / "want"
    status = convert(log, want)
    with_key = "--key-file", key_path
    for what, path, more in (
        ("tables", encrypted, ()),
        ("tables on one thread", encrypted, ("--threads", "1")),
        ("tables of a separate key file", separate, ()),
    ):
        out = folder / what.replace(" ", "_")
        found = convert(path, out, *with_key, *more)
        differing = differences(out, want) + ([] if found == status else [f"status {found}, not {status}"])
        tally.check(what, differing, f"{len(list(want.iterdir()))} files, {key_path.stem}")

    copies = folder / "want.ulg", folder / "copy.ulg"
    for path, copy in zip((log, encrypted), copies, strict=True):
        run("filter", path, "-o", copy, *with_key)
    is_same = copies[0].exists() and filecmp.cmp(*copies, shallow=False)
    tally.check("copy", [] if is_same else ["the copies differ"])


def check_cut(tally, key_path, key, folder):
    """Cuts an encrypted log everywhere near its start, and in its data: the same is read as of the plain log."""
    plain = (TESTDATA / "pasta.ulg").read_bytes()
    header, ciphertext = encrypt(plain, key)
    encrypted = header(b"ULogEnc") + ciphertext
    start = len(encrypted) - len(ciphertext)
    ours, want = folder / "cut.ulge", folder / "cut.ulg"
    wrong = []
    for length in [0, 6, 7, 21, 22, 23, start - 25, start - 1]:
        ours.write_bytes(encrypted[:length])
        done = run("cat", ours, "--key-file", key_path)
        if done.returncode != 1 or "panicked" in done.stderr or done.stdout:
            wrong.append(f"{length} bytes: {done}")
    tally.check("cut header", wrong)
    wrong = []
    for length in range(1, len(plain), 97):
        want.write_bytes(plain[:length])
        ours.write_bytes(encrypted[: start + length])
        expected, done = run("cat", want), run("cat", ours, "--key-file", key_path)
        if (done.returncode, done.stdout) != (expected.returncode, expected.stdout):
            wrong.append(f"{length} bytes: {done.returncode}, not {expected.returncode}")
    tally.check("cut data", wrong)


def main():
    logs = [Path(log) for log in sys.argv[1:]] or [TESTDATA / "quad_flight.ulg", *sorted(SAMPLES.glob("*.ulg"))]
    failed = passed = 0
    with tempfile.TemporaryDirectory(prefix="conformance-") as root:
        made = list(keys(Path(root)).items())
        for number, log in enumerate([*logs, None]):
            folder = Path(root) / str(number)
            folder.mkdir()
            key_path, key = made[number % len(made)]
            if log is None:
                tally = Tally("cut", [])
                check_cut(tally, key_path, key, folder)
            else:
                tally = Tally(log.name, [])
                check_log(tally, log, key_path, key, folder)
            print("\n".join(tally.lines))
            passed, failed = passed + tally.passed, failed + tally.failed
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
