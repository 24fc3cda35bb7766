"""WSGI validation: requests that Django cannot parse, or would parse differently from other servers."""

import io
import json
from functools import partial
from typing import Any

import pytest

from backoffice.wsgi import application as served
from backoffice.wsgi_validation import validate_environ
from tests.support.api_client import ApiClient

# Commit for real, because the application closes its database connections after each response.
pytestmark = pytest.mark.django_db(transaction=True)

TAG = b'{"script_tag": {"src": "https://a.example/a.js", "event": "onload"}}'


class WsgiResponse:
    def __init__(self, **environ: Any) -> None:
        body = environ.pop("body", TAG)
        application = environ.pop("application", served)
        self.started: list[Any] = []
        chunks = application(
            {
                "REQUEST_METHOD": "POST",
                "PATH_INFO": "/admin/api/2026-10/script_tags.json",
                "QUERY_STRING": "",
                "SERVER_NAME": "127.0.0.1",
                "SERVER_PORT": "8000",
                "HTTP_HOST": "127.0.0.1",
                "CONTENT_TYPE": "application/json",
                "CONTENT_LENGTH": str(len(body)),
                "wsgi.input": io.BytesIO(body),
                "wsgi.url_scheme": "http",
                **environ,
            },
            lambda status, headers, _=None: self.started.extend((status, dict(headers))),
        )
        self.body = json.loads(b"".join(chunks))
        getattr(chunks, "close", lambda: None)()
        self.status = int(self.started[0].split()[0])
        self.headers = self.started[1]


@pytest.fixture
def send(api: ApiClient) -> partial[WsgiResponse]:
    """Return a function that sends a request with a valid token."""
    return partial(WsgiResponse, HTTP_X_PLATFORM_ACCESS_TOKEN=api.token)


def test_a_good_request_passes(send: partial[WsgiResponse]) -> None:
    assert send().status == 201


def test_a_chunked_body_is_refused_and_not_taken_for_an_empty_one(send: partial[WsgiResponse]) -> None:
    response = send(HTTP_TRANSFER_ENCODING="chunked", CONTENT_LENGTH="", body=b"")

    assert (response.status, response.body) == (411, {"errors": "Length Required"})
    assert response.headers["X-Request-Id"]
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Vary"] == "X-Platform-Access-Token, Authorization"


@pytest.mark.parametrize("charset", ["zlib", "rot13", "undefined", "bogus", "idna", "unicode_escape", "utf-16"])
@pytest.mark.parametrize("query", ["", "a=1"])
def test_a_charset_that_is_none_is_415(send: partial[WsgiResponse], charset: str, query: str) -> None:
    response = send(CONTENT_TYPE=f"application/json; charset={charset}", QUERY_STRING=query)

    assert (response.status, response.body) == (415, {"errors": "Unsupported Media Type"})


@pytest.mark.parametrize(
    "content_type",
    [
        # Django uses the last charset, while other parsers use the first.
        "application/json; charset=utf-8; charset=zlib",
        "application/json; charset*=utf-8''zlib",
        "application/json; charset=",
        "application/json; name*=bogus''x",
        "application/json; charset=ascii",
        "text/plain; charset=latin-1",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_charset_is_read_as_django_reads_it(send: partial[WsgiResponse], content_type: str, method: str) -> None:
    response = send(REQUEST_METHOD=method, CONTENT_TYPE=content_type, QUERY_STRING="src=https://é.example/")

    assert (response.status, response.body) == (415, {"errors": "Unsupported Media Type"})


def test_errors_of_django_before_the_request_exists_return_500_in_json(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(environ: Any, start_response: Any) -> Any:
        raise RuntimeError("secret detail")

    response = WsgiResponse(application=validate_environ(fail))

    assert (response.status, response.body) == (500, {"errors": "Internal Server Error"})
    assert response.headers["X-Request-Id"]


def test_encoded_bodies_and_wrong_lengths_are_refused(send: partial[WsgiResponse]) -> None:
    expected = {
        ("HTTP_CONTENT_ENCODING", "Identity"): 201,
        **{("HTTP_CONTENT_ENCODING", coding): 415 for coding in ("gzip", "br", "identity, gzip")},
        **{("CONTENT_LENGTH", length): 400 for length in ("-1", "abc", "１２", "1e3")},
        ("CONTENT_LENGTH", "9" * 5_001): 413,
    }

    assert {(name, value): send(**{name: value}).status for name, value in expected} == expected


@pytest.mark.parametrize(
    "path", ["//admin/api/2026-10/shop.json", "/admin//api/x.json", "///admin/api", "/admin/api//"]
)
def test_doubled_slashes_make_no_page_of_the_interface(path: str) -> None:
    response = WsgiResponse(REQUEST_METHOD="GET", PATH_INFO=path, CONTENT_LENGTH="", body=b"")

    assert response.status in {401, 404}
    assert set(response.body) == {"errors"}


def test_a_body_beyond_all_limits_is_413_before_it_is_read(send: partial[WsgiResponse]) -> None:
    class Untouchable(io.BytesIO):
        def read(self, *_: object) -> bytes:
            raise AssertionError("the body was read")

    assert send(CONTENT_LENGTH=str(10**12), **{"wsgi.input": Untouchable()}).status == 413
