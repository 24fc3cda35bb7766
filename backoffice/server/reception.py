"""One request on its way in: its head as a WSGI environ, its body in memory or in a temporary file."""

import io
import sys
import tempfile
from http import HTTPStatus
from typing import IO
from urllib.parse import unquote_to_bytes

from backoffice.server.door import Environ

# Limits of the head, in bytes and in lines.
TARGET_BYTES = 8 * 1024
HEAD_BYTES = 64 * 1024
HEADER_LINES = 100
# A body that is larger goes to a temporary file; smaller ones are held in memory.
MEMORY_BYTES = 1024 * 1024

_MAX_NAMES = 1000
_names: dict[bytes, str] = {}


class Refused(Exception):
    """The request is refused before the application sees it."""

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
        # Bytes of the process's allowance for bodies that it holds.
        self.reserved = 0
        self.keep_alive = False
        self._memory: list[bytes] = []
        self._spool: IO[bytes] | None = None

    def add_target(self, part: bytes) -> None:
        """A part of the request's target.

        Raises:
            Refused: It is too long.
        """
        self.target += part
        if len(self.target) > TARGET_BYTES:
            raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG)

    def add_header(self, name: bytes, value: bytes) -> None:
        """A header. One with an underscore is dropped: in the environ it could not be told from the one with a dash.

        Raises:
            Refused: There are too many, they are too long, or a second host.
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
        """All headers are there.

        Raises:
            Refused: What they announce cannot be served.
        """
        if version not in {"1.1", "1.0"}:
            raise Refused(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
        environ = self.environ
        environ["REQUEST_METHOD"] = method.decode("ascii")
        environ["SERVER_PROTOCOL"] = f"HTTP/{version}"
        path, _, query = _origin_form(self.target).partition(b"?")
        environ["PATH_INFO"] = _unquoted(path)
        environ["QUERY_STRING"] = query.decode("latin-1")
        if "HTTP_TRANSFER_ENCODING" in environ:
            raise Refused(HTTPStatus.LENGTH_REQUIRED)
        if environ.get("HTTP_CONTENT_ENCODING", "identity").strip().lower() != "identity":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        length = environ.get("CONTENT_LENGTH")
        if length is not None:
            # The parser lets only digits pass that fit into 64 bits.
            self.length = int(length)

    def add_body(self, chunk: bytes) -> None:
        """Some bytes of the body.

        Raises:
            OSError: The disk that large bodies go to is full.
        """
        if self.length <= MEMORY_BYTES:
            self._memory.append(chunk)
            return
        if self._spool is None:
            self._spool = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the request
        self._spool.write(chunk)

    def end_of_body(self) -> None:
        """The body is complete: the application can read it."""
        if self._spool is not None:
            self._spool.seek(0)
            self.environ["wsgi.input"] = self._spool
        else:
            self.environ["wsgi.input"] = io.BytesIO(b"".join(self._memory) if self._memory else b"")
            self._memory = []

    def close(self) -> None:
        """Give the body's memory or file back."""
        self._memory = []
        if self._spool is not None:
            self._spool.close()


def base_environ(host: str, port: int, *, threads: int, processes: int) -> Environ:
    """What the environ of all requests has in common."""
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
    """``HTTP_X_NAME`` of ``X-Name``; empty for a header that is dropped."""
    key = "" if b"_" in name else name.decode("latin-1").upper().replace("-", "_")
    if key and key not in {"CONTENT_TYPE", "CONTENT_LENGTH"}:
        key = f"HTTP_{key}"
    if len(_names) < _MAX_NAMES:
        _names[name] = key
    return key


def _origin_form(target: bytes) -> bytes:
    """Path and query of a target, which may be an absolute URL.

    Raises:
        Refused: It is neither.
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


def _unquoted(path: bytes) -> str:
    """The path as WSGI has it, but an escaped slash stays escaped: it separates nothing."""
    if b"%" not in path:
        return path.decode("latin-1")
    kept = path.replace(b"%2f", b"%252F").replace(b"%2F", b"%252F")
    return unquote_to_bytes(kept).decode("latin-1")
