import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from django.test import Client

from apps.core.tenancy.models import Installation

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse


# The response class of Django's test client. Only the type stubs define it.
Response: TypeAlias = "_MonkeyPatchedWSGIResponse"

VERSION = "2026-10"


class ApiClient:
    """A client for the REST API with one access token. Paths start after the version, and bodies are JSON."""

    def __init__(self, token: str, installation: Installation, version: str = VERSION) -> None:
        self.token = token
        self.installation = installation
        self.version = version
        self.http = Client(headers={"X-Platform-Access-Token": token})

    def at(self, version: str) -> "ApiClient":
        return ApiClient(self.token, self.installation, version)

    def path(self, path: str) -> str:
        return path if path.startswith("/admin") else f"/admin/api/{self.version}/{path.lstrip('/')}"

    def get(self, path: str, **query: Any) -> Response:
        return self.http.get(self.path(path), query)

    def post(self, path: str, body: object = None, **headers: str) -> Response:
        return self._send("post", path, body, headers)

    def put(self, path: str, body: object = None, **headers: str) -> Response:
        return self._send("put", path, body, headers)

    def delete(self, path: str) -> Response:
        return self.http.delete(self.path(path))

    def _send(self, method: str, path: str, body: object, headers: dict[str, str]) -> Response:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        dashed_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        send = getattr(self.http, method)
        return send(
            self.path(path),
            data,
            content_type=dashed_headers.pop("content-type", "application/json"),
            headers=dashed_headers,
        )


ClientWith = Callable[..., ApiClient]


def get_errors(response: Response) -> dict[str, list[str]]:
    assert response.status_code == 422, response.content
    return response.json()["errors"]


LINK = re.compile(r'<http://[^/]+([^>]+)>; rel="(next|previous)"')


def parse_links(response: Response) -> dict[str, str]:
    return {rel: path for path, rel in LINK.findall(response.get("Link", ""))}
