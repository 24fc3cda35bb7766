"""Views of pages that everybody can read without a login."""

from collections.abc import Callable
from typing import TypeVar

from django.http import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def accept_only_reads(view: View) -> View:
    """Answer all methods except GET and HEAD with 405. The CSRF check, which comes first, would answer with 403."""
    return csrf_exempt(require_safe(view))
