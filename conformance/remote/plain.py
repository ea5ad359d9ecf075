"""Web servers that state little about a file: chunked answers without a length, answers that end
with the connection, no answers to HEAD, compression that was not asked for, redirects; and servers
that never end an answer."""

import gzip
import http.server
import threading
import time


class Plain:
    """Serves `folder`. `how` has words that state what is left out or added:
    chunked: no length; close: HTTP/1.0 until the connection ends; ranges: with ranges;
    nohead: HEAD is refused; gzip: the content is compressed; redirect: to another address;
    drip: one byte a second without end; flood: bytes without end; stall: nothing after a half."""

    def __init__(self, folder, how):
        self.folder, self.how, self.requests, self.sent = folder, how.split(), [], 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0" if "close" in outer.how else "HTTP/1.1"

            def do_GET(self):
                try:
                    outer.answer(self)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}"

    def answer(self, handler):
        self.requests.append((handler.command, handler.path))
        path = handler.path.split("?")[0]
        if handler.command == "HEAD" and "nohead" in self.how:
            handler.send_response(405)
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        if "redirect" in self.how and not path.startswith("/there"):
            handler.send_response(302)
            handler.send_header("Location", f"/there{path}")
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        path = self.folder / path.removeprefix("/there").lstrip("/")
        if not path.is_file():
            handler.send_error(404)
            return
        data = path.read_bytes()
        wanted = handler.headers.get("Range")
        if wanted and "ranges" in self.how:
            first, last = (int(text) for text in wanted.removeprefix("bytes=").split("-"))
            last = min(last, len(data) - 1)
            handler.send_response(206)
            handler.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            data = data[first : last + 1]
        else:
            handler.send_response(200)
        if "gzip" in self.how:
            data = gzip.compress(data)
            handler.send_header("Content-Encoding", "gzip")
        if "close" not in self.how:
            handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        if handler.command == "GET":
            self.body(handler, data)

    def body(self, handler, data):
        if "drip" in self.how:
            while True:
                self.piece(handler, b"x")
                time.sleep(1)
        if "flood" in self.how:
            while True:
                self.piece(handler, bytes(1 << 20))
        if "stall" in self.how:
            self.piece(handler, data[: len(data) // 2])
            time.sleep(20)
            return
        for at in range(0, len(data), 60_000):
            self.piece(handler, data[at : at + 60_000])
        if "close" not in self.how:
            handler.wfile.write(b"0\r\n\r\n")

    def piece(self, handler, data):
        head, tail = (b"", b"") if "close" in self.how else (b"%x\r\n" % len(data), b"\r\n")
        handler.wfile.write(head + data + tail)
        handler.wfile.flush()
        self.sent += len(data)
