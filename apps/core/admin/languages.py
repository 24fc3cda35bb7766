"""Select the language of a response: the user's choice, else the browser's language, else English.

Only the panel, account pages and customer pages are translated. All other responses are in English.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from django.http import FileResponse, HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers

from apps.core.i18n import formats
from apps.core.tenancy.models import User

_STAFF_PATHS = re.compile(r"\A/(s/|accounts/|admin/(?!api/|oauth/access_|api_permissions/))")
_CUSTOMER_PATHS = re.compile(r"\A/(account|orders)/")


class LanguageMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        is_of_staff = bool(_STAFF_PATHS.match(request.path_info))
        if not is_of_staff and not _CUSTOMER_PATHS.match(request.path_info):
            return self.get_response(request)
        preferred = request.user.language if is_of_staff and isinstance(request.user, User) else ""
        browser_language = formats.match_browser_language(str(request.META.get("HTTP_ACCEPT_LANGUAGE", "")))
        language = formats.match_language(preferred) if preferred else browser_language
        with translation.override(language):
            response = self.get_response(request)
        patch_vary_headers(response, ["Accept-Language"])
        if isinstance(response, StreamingHttpResponse) and not isinstance(response, FileResponse):
            response.streaming_content = _stream_in_language(language, response.streaming_content)
        return response


def _stream_in_language(language: str, parts: Any) -> Iterator[bytes]:
    """Yield the parts of a streamed body. The language is only active while a part is produced.

    Between two parts, the thread may handle another request in another language.
    """
    parts = iter(parts)
    while True:
        with translation.override(language):
            try:
                part = next(parts)
            except StopIteration:
                return
        yield part
