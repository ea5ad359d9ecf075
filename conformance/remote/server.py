"""A web server of a folder on loopback, which gives ranges, counts what it gives, and fails
on demand: the connection is reset, 503, slow, stalled and cut bodies, changed files."""

import http.server
import re
import socket
import struct
import threading
import time
from pathlib import Path


class Server:
    """Serves `folder`; `faults` are what happens to the next requests, one each."""

    def __init__(self, folder, ranges=True):
        self.folder = Path(folder)
        self.ranges = ranges
        self.faults = []
        self.always = None
        self.tag = "one"
        self.requests = []
        self.sent = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def reset(self):
        """Resets the counters and the faults."""
        self.faults, self.always = [], None
        self.requests, self.sent = [], 0

    def answer(self, handler):
        path = self.folder / handler.path.split("?")[0].lstrip("/")
        fault = self.faults.pop(0) if self.faults else self.always
        self.requests.append((handler.command, handler.path, handler.headers.get("Range")))
        if fault == "reset":
            # A connection that is closed with this set is reset.
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            handler.close_connection = True
            handler.connection.close()
            return
        if fault == "503":
            handler.send_response(503)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if not path.is_file():
            handler.send_error(404)
            return
        if fault == "silent":
            time.sleep(8)
        data = path.read_bytes()
        tag = f'"{self.tag}"'
        wanted = handler.headers.get("If-Match")
        if wanted and wanted != tag and fault != "ignore":
            handler.send_response(412)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers.get("Range") or "")
        if asked and self.ranges:
            start, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
            if start >= len(data):
                handler.send_response(416)
                handler.send_header("Content-Length", "0")
                handler.end_headers()
                return
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {start}-{last}/{len(data)}")
            data = data[start : last + 1]
        else:
            handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.send_header("ETag", tag)
        handler.end_headers()
        if handler.command == "HEAD":
            return
        try:
            self.body(handler, data, fault)
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True

    def body(self, handler, data, fault):
        if fault == "cut":
            handler.wfile.write(data[: len(data) // 2])
            handler.close_connection = True
        elif fault == "stalled":
            handler.wfile.write(data[: len(data) // 2])
            handler.wfile.flush()
            time.sleep(8)
            handler.close_connection = True
        elif fault == "slow":
            for at in range(0, len(data), 8192):
                handler.wfile.write(data[at : at + 8192])
                handler.wfile.flush()
                time.sleep(0.02)
        else:
            handler.wfile.write(data)
        self.sent += len(data)
