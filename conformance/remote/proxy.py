"""A proxy of a server on loopback that fails on demand for writes: connections are reset before
the request is forwarded, or before the answer; 503; no answer at all."""

import contextlib
import http.client
import http.server
import socket
import struct
import threading
import time

WRITES = ("PUT", "POST", "DELETE")


class Proxy:
    """`faults` are what happens to the next requests that write, one each; then `always`; but
    nothing to those for what is called `spared`."""

    def __init__(self, port):
        self.faults, self.always, self.spared, self.writes = [], None, None, []
        self.http = listening(lambda handler: self.answer(handler, port))

    @contextlib.contextmanager
    def between(self, store):
        """Sends all requests to a store through this proxy."""
        try:
            with store.by(self.http.server_address[1]):
                yield
        finally:
            self.fail()

    def fail(self, *faults, always=None, spared=None):
        self.faults, self.always, self.spared, self.writes = list(faults), always, spared, []

    def answer(self, handler, port):
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        fault = None
        if handler.command in WRITES and handler.path.split("/")[-1] != self.spared:
            fault = self.faults.pop(0) if self.faults else self.always
            self.writes.append((handler.command, handler.path, fault))
        if fault == "reset":
            return reset(handler)
        if fault == "503":
            return give(handler, 503, [], b"")
        if fault == "silent":
            time.sleep(8)
            return reset(handler)
        there = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        there.request(handler.command, handler.path, body, dict(handler.headers))
        answer = there.getresponse()
        data = answer.read()
        if fault == "lost":
            return reset(handler)
        give(handler, answer.status, answer.getheaders(), data)


def listening(answer):
    """A server on loopback that has `answer` answer each request."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self):
            answer(self)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = pass_on

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    # A killed client closes the connection.
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def give(handler, status, headers, data):
    handler.send_response_only(status)
    for name, value in headers:
        if name.lower() not in ("connection", "transfer-encoding", "content-length"):
            handler.send_header(name, value)
    lengths = [value for name, value in headers if name.lower() == "content-length"]
    length = lengths[0] if handler.command == "HEAD" and lengths else str(len(data))
    handler.send_header("Content-Length", length)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(data)


def reset(handler):
    # A connection that is closed with this set is reset.
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.close_connection = True
    handler.connection.close()
