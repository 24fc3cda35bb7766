"""A proxy for the REST API that answers some requests with an error, or cuts, reorders or holds the responses."""

import http.client
import json
import re
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.types import JsonObject

OK, LIMITED, BROKEN, CUT, REORDERED, HELD = "ok", "429", "503", "cut", "reordered", "held"
_UPDATED_AT = re.compile(rb'("updated_at": ?")([^"]{19,40})"')
_FORWARDED = ("Content-Type", "Link", "X-Shopify-Shop-Api-Call-Limit")


class FaultyProxy:
    """Forwards GET requests to a local port. ``choose_fault`` returns the fault of each request by its number.

    ``edit`` changes the JSON of successful responses, given the path. The clock of the store differs from that of this
    machine by ``skew``: in the header ``Date``, in times of change, and in filters by them.
    """

    def __init__(self, target_port: int) -> None:
        self.choose_fault: Callable[[int], str] = lambda number: OK
        self.edit: Callable[[str, JsonObject], None] | None = None
        self.skew = timedelta()
        self.paths: list[str] = []
        self.is_holding = threading.Event()
        self._released = threading.Event()
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                proxy.paths.append(self.path)
                fault = proxy.choose_fault(len(proxy.paths))
                if fault == HELD:
                    proxy.is_holding.set()
                    proxy._released.wait(60)
                    return
                if fault in {LIMITED, BROKEN}:
                    self.send_response(int(fault))
                    self.send_header("Retry-After", "0.01")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                upstream = http.client.HTTPConnection("127.0.0.1", target_port, timeout=60)
                headers = {name: value for name, value in self.headers.items() if name.startswith(("X-", "Accept"))}
                upstream.request("GET", _shift_filter(self.path, -proxy.skew), headers=headers)
                response = upstream.getresponse()
                body = response.read()
                upstream.close()
                if fault == REORDERED:
                    body = _reverse_lists(body)
                if proxy.edit and response.status == 200:
                    data = json.loads(body)
                    proxy.edit(self.path, data)
                    body = json.dumps(data).encode()
                body = _UPDATED_AT.sub(lambda match: _shift_time(match, proxy.skew), body)
                self.send_response(response.status)
                for name in _FORWARDED:
                    if value := response.getheader(name):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if fault == CUT else body)

            def date_time_string(self, timestamp: float | None = None) -> str:
                return super().date_time_string(time.time() + proxy.skew.total_seconds())

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)


def _shift_time(match: "re.Match[bytes]", skew: timedelta) -> bytes:
    return match[1] + (datetime.fromisoformat(match[2].decode()) + skew).isoformat().encode() + b'"'


def _shift_filter(path: str, skew: timedelta) -> str:
    """Shift the time in the filter ``updated_at_min`` of a request."""
    parts = urlsplit(path)
    query = dict(parse_qsl(parts.query))
    if "updated_at_min" in query:
        query["updated_at_min"] = (datetime.fromisoformat(query["updated_at_min"]) + skew).isoformat()
    return parts._replace(query=urlencode(query)).geturl()


def _reverse_lists(body: bytes) -> bytes:
    data = json.loads(body)
    return json.dumps({name: rows[::-1] if isinstance(rows, list) else rows for name, rows in data.items()}).encode()
