import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import brotli

_UNPACK = {"gzip": gzip.decompress, "br": brotli.decompress}


@contextmanager
def run_telemetry_server(take: Callable[[bytes], object]) -> Iterator[int]:
    """Run the server within the block, pass each decompressed body to ``take``, and yield the port."""

    class Intake(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            take(_UNPACK.get(self.headers.get("Content-Encoding", ""), bytes)(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = HTTPServer(("127.0.0.1", 0), Intake)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
