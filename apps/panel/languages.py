"""In which language a page answers: as the person chose, else as the browser asks, else in English.

Only pages for people are asked: those of the panel, of accounts and of customers. All else speaks English.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from apps.ground import languages
from apps.staff.models import User

_OF_STAFF = re.compile(r"\A/(s/|accounts/|admin/(?!api/|oauth/access_|api_permissions/))")
_OF_CUSTOMERS = re.compile(r"\A/(account|orders)/")


class LanguageMiddleware:
    """Serves pages for people in their language."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Choose the language by the path, the person and the browser."""
        is_of_staff = bool(_OF_STAFF.match(request.path_info))
        if not is_of_staff and not _OF_CUSTOMERS.match(request.path_info):
            return self.get_response(request)
        chosen = request.user.language if is_of_staff and isinstance(request.user, User) else ""
        asked = languages.of_browser(_accepted(request))
        language = languages.nearest(chosen) if chosen else asked
        with translation.override(language):
            response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"])
        if isinstance(response, StreamingHttpResponse) and not isinstance(response, FileResponse):
            response.streaming_content = _speaking(language, response.streaming_content)
        return response


def _accepted(request: HttpRequest) -> str:
    return str(request.META.get("HTTP_ACCEPT_LANGUAGE", ""))


def _speaking(language: str, parts: Any) -> Iterator[bytes]:
    """The parts of a body, each made in the language; between two of them the thread is somebody else's."""
    parts = iter(parts)
    while True:
        with translation.override(language):
            try:
                part = next(parts)
            except StopIteration:
                return
        yield part
