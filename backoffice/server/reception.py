"""An incoming request. The head becomes a WSGI environ. The body is stored in memory or in a temporary file."""

import io
import sys
import tempfile
from http import HTTPStatus
from typing import IO
from urllib.parse import unquote_to_bytes

from backoffice.server.door import Environ

# Limits for the head of a request: the size in bytes and the number of headers.
TARGET_BYTES = 8 * 1024
HEAD_BYTES = 64 * 1024
HEADER_LINES = 100
# Bodies larger than this are written to a temporary file. Smaller bodies are kept in memory.
MEMORY_BYTES = 1024 * 1024

_MAX_NAMES = 1000
_names: dict[bytes, str] = {}


class Refused(Exception):
    """Raised when the server rejects a request before it reaches the application."""

    def __init__(self, status: HTTPStatus) -> None:
        super().__init__(status.phrase)
        self.status = status


class Reception:
    """A request that is being received."""

    __slots__ = ("_memory", "_spool", "environ", "head_bytes", "keep_alive", "length", "lines", "reserved", "target")

    def __init__(self, environ: Environ) -> None:
        self.environ = environ
        self.target = b""
        self.lines = 0
        self.head_bytes = 0
        self.length = 0
        # The number of bytes of this body that count toward the process's limit for large bodies.
        self.reserved = 0
        self.keep_alive = False
        self._memory: list[bytes] = []
        self._spool: IO[bytes] | None = None

    def add_target(self, part: bytes) -> None:
        """Append a part of the request target.

        Raises:
            Refused: The target is too long.
        """
        self.target += part
        if len(self.target) > TARGET_BYTES:
            raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG)

    def add_header(self, name: bytes, value: bytes) -> None:
        """Add a header. Headers with an underscore are dropped, because the environ replaces dashes with underscores.

        Raises:
            Refused: There are too many headers, the headers are too long, or there are two Host headers.
        """
        self.lines += 1
        self.head_bytes += len(name) + len(value)
        if self.lines > HEADER_LINES or self.head_bytes > HEAD_BYTES:
            raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        key = _names.get(name) or _environ_name(name)
        if not key:
            return
        text = value.decode("latin-1")
        environ = self.environ
        if key in environ:
            if key == "HTTP_HOST":
                raise Refused(HTTPStatus.BAD_REQUEST)
            text = f"{environ[key]}{'; ' if key == 'HTTP_COOKIE' else ','}{text}"
        environ[key] = text

    def end_of_head(self, method: bytes, version: str) -> None:
        """Complete the environ after the last header has been received.

        Raises:
            Refused: The request uses a feature that the server does not support.
        """
        if version not in {"1.1", "1.0"}:
            raise Refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
        environ = self.environ
        environ["REQUEST_METHOD"] = method.decode("ascii")
        environ["SERVER_PROTOCOL"] = f"HTTP/{version}"
        path, _, query = _get_origin_form(self.target).partition(b"?")
        environ["PATH_INFO"] = _unquote_path(path)
        environ["QUERY_STRING"] = query.decode("latin-1")
        if "HTTP_TRANSFER_ENCODING" in environ:
            raise Refused(HTTPStatus.LENGTH_REQUIRED)
        if environ.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() != "identity":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        length = environ.get("CONTENT_LENGTH")
        if length is not None:
            # int() is safe here, because the parser only accepts digits that fit into 64 bits.
            self.length = int(length)

    def add_body(self, chunk: bytes) -> None:
        """Append a part of the body.

        Raises:
            OSError: The disk for temporary files is full.
        """
        if self.length <= MEMORY_BYTES:
            self._memory.append(chunk)
            return
        if self._spool is None:
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the request
        self._spool.write(chunk)

    def end_of_body(self) -> None:
        """Rewind the complete body, so that the application reads it from the start."""
        if self._spool is not None:
            self._spool.seek(0)
            self.environ["wsgi.input"] = self._spool
        else:
            self.environ["wsgi.input"] = io.BytesIO(b"".join(self._memory) if self._memory else b"")
            self._memory = []

    def close(self) -> None:
        """Release the memory or close the file of the body."""
        self._memory = []
        if self._spool is not None:
            self._spool.close()


def base_environ(host: str, port: int, *, threads: int, processes: int) -> Environ:
    """Return the part of the environ that is the same for all requests."""
    return {
        "SCRIPT_NAME": "",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": threads > 1,
        "wsgi.multiprocess": processes > 1,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
    }


def _environ_name(name: bytes) -> str:
    """Return the environ key of a header, e.g. ``HTTP_X_NAME`` for ``X-Name``, or "" if the header must be dropped."""
    key = "" if b"_" in name else name.decode("latin-1").upper().replace("-", "_")
    if key and key not in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
        key = f"HTTP_{key}"
    if len(_names) < _MAX_NAMES:
        _names[name] = key
    return key


def _get_origin_form(target: bytes) -> bytes:
    """Return the path and query from a request target, which may be an absolute URL.

    Raises:
        Refused: The target is neither a path nor a URL.
    """
    target = target.partition(b"#")[0]
    if target.startswith(b"/"):
        return target
    scheme, separator, rest = target.partition(b"://")
    if separator and scheme.lower() in {b"http", b"https"}:
        _, slash, path = rest.partition(b"/")
        return slash + path if slash else b"/"
    if target == b"*":
        return b"/*"
    raise Refused(HTTPStatus.BAD_REQUEST)


def _unquote_path(path: bytes) -> str:
    """Unquote a path for WSGI. Escaped slashes stay escaped, because they do not separate segments."""
    if b"%" not in path:
        return path.decode("latin-1")
    escaped = path.replace(b"%2f", b"%252F").replace(b"%2F", b"%252F")
    return unquote_to_bytes(escaped).decode("latin-1")
