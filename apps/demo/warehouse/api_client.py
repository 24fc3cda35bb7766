"""A client for the REST API, as an app would write it."""

import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import orjson
from django.conf import settings

from apps.core.http.sync_client import MIB, Limits, send_request

LIMITS = Limits(max_bytes=4 * MIB, total_seconds=30)
_TRIES = 5


class ApiRequestFailed(Exception):
    """Raised when the API returns an error. The message contains the status and the body."""


class ApiClient:
    """A client for one shop, which uses the newest API version."""

    def __init__(self, base_url: str, token: str) -> None:
        self._root = f"{base_url.rstrip('/')}/admin/api/{settings.API_VERSIONS[-1]}/"
        self._headers = {
            f"X-{settings.BRAND.capitalize()}-Access-Token": token,
            "Accept": "application/json",
            "Content-Type": "application/json",
        }

    def get(self, path: str, **query: str) -> Any:
        """Return the JSON of a path. Raise ``HttpRequestFailed`` or ``ApiRequestFailed`` if there is none."""
        return self._call("GET", f"{path}?{urlencode(query)}" if query else path)

    def post(self, path: str, body: Mapping[str, object]) -> Any:
        """Post a body and return the JSON of the response. Raises the same errors as ``get``."""
        return self._call("POST", path, orjson.dumps(body))

    def put(self, path: str, body: Mapping[str, object]) -> Any:
        """Put a body and return the JSON of the response. Raises the same errors as ``get``."""
        return self._call("PUT", path, orjson.dumps(body))

    def _call(self, method: str, path: str, body: bytes | None = None) -> Any:
        url = f"{self._root}{path}"
        for _ in range(_TRIES):
            response = send_request(
                method, url, body=body, headers=self._headers, limits=LIMITS, schemes=("http", "https")
            )
            if response.status != 429:
                break
            time.sleep(float(response.headers.get("Retry-After", "2")))
        if not response.ok:
            raise ApiRequestFailed(f"{method} {path}: {response.status} {response.body[:500].decode(errors='replace')}")
        return orjson.loads(response.body)
