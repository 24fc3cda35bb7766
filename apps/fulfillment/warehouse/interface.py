"""The REST interface as an app calls it."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import orjson
from django.conf import settings

from apps.outgoing.client import MIB, Limits, request

LIMITS = Limits(max_bytes=4 * MIB, total_seconds=30)
_TRIES = 5


class Refused(Exception):
    """The interface did not do what was asked; the message has its status and what it said."""


class Interface:
    """One shop, by an access token.

    Args:
        base_url: Where the installation answers, such as ``http://127.0.0.1:8000``.
        token: The access token.
        version: Of the interface; the newest by default.
    """

    def __init__(self, base_url: str, token: str, version: str = "") -> None:
        """Note how it is reached."""
        self._root = f"{base_url.rstrip('/')}/admin/api/{version or settings.API_VERSIONS[-1]}/"
        self._headers = {
            f"X-{settings.BRAND.capitalize()}-Access-Token": token,
            "Accept": "application/json",
            "Content-Type": "application/json",
        }

    def get(self, path: str, **query: str) -> Any:
        """What a path answers.

        Raises:
            FetchFailed: No answer came.
            Refused: The answer is no success.
        """
        return self._call("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """What a path answers to a body; raises as ``get``."""
        return self._call("POST", path, orjson.dumps(body))

    def put(self, path: str, body: Mapping[str, object]) -> Any:
        """As ``post``."""
        return self._call("PUT", path, orjson.dumps(body))

    def _call(self, method: str, path: str, body: bytes | None = None) -> Any:
        url = f"{self._root}{path}"
        for _ in range(_TRIES):
            answer = request(method, url, body=body, headers=self._headers, limits=LIMITS, schemes=("http", "https"))
            if answer.status != 429:
                break
            time.sleep(float(answer.headers.get("Retry-After", "2")))
        if not answer.ok:
            raise Refused(f"{method} {path}: {answer.status} {answer.body[:500].decode(errors='replace')}")
        return orjson.loads(answer.body)
