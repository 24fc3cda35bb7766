"""Call a WSGI application for a request of an ASGI server."""

import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import unquote_to_bytes

Environ = dict[str, Any]
Headers = list[tuple[str, str]]
Application = Callable[..., Iterable[bytes]]
Scope = dict[str, Any]

# Longer bodies of requests and responses are written to a temporary file.
MEMORY_BYTES = 1024 * 1024

_BODILESS = frozenset({204, 304})
# Headers of the application that the server writes itself.
_CONNECTION = frozenset({"connection"})
_CONNECTION_AND_LENGTH = frozenset({"connection", "content-length"})
# The scheme and host of a request target that is an absolute URL.
_ORIGIN = re.compile(rb"https?://([^/]*)", re.IGNORECASE)
# A cache of the environ keys of headers. The size is limited, because clients can send any number of different names.
_MAX_KEYS = 1000
_environ_keys: dict[bytes, str] = {}


@dataclass(slots=True)
class Response:
    """A response. If ``file`` is set, the file contains the body."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes = b""
    file: IO[bytes] | None = None


def call_application(application: Application, environ: Environ) -> Response:
    """Call the WSGI application and collect the whole response, so that no thread waits for a client."""
    started: list[tuple[str, Headers]] = []
    parts: list[bytes] = []
    file: IO[bytes] | None = None
    length = 0

    def start_response(status: str, headers: Headers, exc_info: object = None) -> Callable[[bytes], None]:
        started[:] = [(status, headers)]
        return parts.append

    chunks = application(environ, start_response)
    try:
        for chunk in chunks:
            length += len(chunk)
            if file is None and parts and length > MEMORY_BYTES:
                file = tempfile.TemporaryFile()  # noqa: SIM115 - closed when the response has been sent
                file.writelines(parts)
            if file is None:
                parts.append(chunk)
            else:
                file.write(chunk)
    finally:
        if (close := getattr(chunks, "close", None)) is not None:
            close()
    status, headers = int(started[0][0][:3]), started[0][1]
    if environ["REQUEST_METHOD"] == "HEAD" or status in _BODILESS:
        return Response(status, _encode(headers, _CONNECTION))
    if file is None:
        return build_response(status, headers, b"".join(parts))
    response = build_response(status, headers, b"", length=file.tell())
    file.seek(0)
    response.file = file
    return response


def build_response(status: int, headers: Headers, body: bytes, *, length: int | None = None) -> Response:
    """Return a response with the length of its body. Header names stay as they are written."""
    encoded = _encode(headers, _CONNECTION_AND_LENGTH)
    encoded.append((b"Content-Length", b"%d" % (len(body) if length is None else length)))
    return Response(status, encoded, body)


def _encode(headers: Headers, omitted: frozenset[str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers if name.lower() not in omitted]


def build_environ(scope: Scope) -> Environ:
    """Return the WSGI environ of a request, without its body. See also ``names_host``."""
    (host, port), client, target = scope["server"], scope["client"], scope["raw_path"]
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": _get_path(target),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0] if client else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }
    for name, value in scope["headers"]:
        key = _environ_keys.get(name) or _get_environ_key(name)
        text = value.decode("latin-1")
        if key in environ:
            text = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"
        environ[key] = text
    if not target.startswith(b"/"):
        _use_host_of_target(environ, target)
    return environ


def names_host(environ: Environ) -> bool:
    """Return True if a request names its host. In HTTP/1.0, the host may be missing (RFC 9112, section 3.2)."""
    host = environ.get("HTTP_HOST")
    return bool(host) or (host is None and environ["SERVER_PROTOCOL"] == "HTTP/1.0")


def _use_host_of_target(environ: Environ, target: bytes) -> None:
    """Replace the host with the host of the target. The host is empty if the target is no URL of HTTP.

    A client of HTTP/1.1 must send a ``Host`` header, too. ``*`` means the whole server.
    """
    if target == b"*" or not names_host(environ):
        return
    origin = _ORIGIN.match(target)
    environ["HTTP_HOST"] = "" if origin is None else origin[1].decode("latin-1")


def _get_environ_key(name: bytes) -> str:
    """Return the environ key of a header, e.g. ``HTTP_X_NAME`` for ``x-name``."""
    key = name.decode("latin-1").upper().replace("-", "_")
    if key not in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
        key = f"HTTP_{key}"
    if len(_environ_keys) < _MAX_KEYS:
        _environ_keys[name] = key
    return key


def _get_path(target: bytes) -> str:
    """Return the unquoted path of a request target, which may be an absolute URL.

    Escaped slashes stay escaped, because they do not separate segments.
    """
    if not target.startswith(b"/"):
        target = b"/" + _ORIGIN.sub(b"", target).removeprefix(b"/")
    if b"%" in target:
        target = unquote_to_bytes(target.replace(b"%2f", b"%252F").replace(b"%2F", b"%252F"))
    return target.decode("latin-1")
