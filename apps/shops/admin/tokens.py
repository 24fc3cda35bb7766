from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin
from apps.core.tenancy.actor_names import get_actor_names
from apps.core.tenancy.models import AccessToken, App, Installation

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise


class Overlap(NamedTuple):
    """The period after which replaced tokens and secrets expire."""

    duration: timedelta
    label: "_StrPromise"


# The choices of the form, keyed by value. The first is the default.
OVERLAPS = {
    "24": Overlap(timedelta(days=1), gettext_lazy("after one day")),
    "168": Overlap(timedelta(days=7), gettext_lazy("after one week")),
    "1": Overlap(timedelta(hours=1), gettext_lazy("after one hour")),
    "0": Overlap(timedelta(0), gettext_lazy("immediately")),
}


def get_overlap(request: HttpRequest) -> timedelta | None:
    """Return the chosen period, or None if the form has no valid choice."""
    overlap = OVERLAPS.get(request.POST.get("overlap", ""))
    return overlap and overlap.duration


@dataclass(frozen=True, slots=True)
class TokenLine:
    pk: int
    prefix: str
    created_at: datetime
    created_by: str
    last_used_at: datetime | None
    state: str
    usable: bool
    acts_as: str


def get_token_lines(installation: Installation) -> list[TokenLine]:
    tokens = list(AccessToken.rows().filter(installation=installation).order_by("-id")[:100])
    staff_actors = [f"staff:{token.user_id}" for token in tokens if token.user_id]
    names = get_actor_names([*(token.created_by for token in tokens if token.created_by), *staff_actors])
    return [
        _build_line(token, names.get(token.created_by, ""), names.get(f"staff:{token.user_id}", "")) for token in tokens
    ]


def _build_line(token: AccessToken, created_by: str, acts_as: str) -> TokenLine:
    usable, state = True, _("Active")
    if token.revoked_at is not None:
        usable, state = False, _("Revoked {day}").format(day=_format_moment(token.revoked_at))
    elif token.expires_at is not None and token.expires_at <= timezone.now():
        usable, state = False, _("Expired {day}").format(day=_format_moment(token.expires_at))
    elif token.expires_at is not None:
        state = _("Expires {day}").format(day=_format_moment(token.expires_at))
    return TokenLine(token.pk, token.prefix, token.created_at, created_by, token.last_used_at, state, usable, acts_as)


def _format_moment(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%d %b %Y, %H:%M}"


def render_secret_once(
    model_admin: ExtraViewsAdmin[Any],
    request: HttpRequest,
    title: str,
    *,
    continue_url: str,
    app: App,
    template: str = "panel/apps/token.html",
    **values: str | bool,
) -> HttpResponse:
    """Render the only response that contains a new token or secret.

    The response is never stored and is not a redirect, so a later request cannot show the token or secret again. Status
    201 and ``Content-Location`` mark the submission as successful. ``values`` contains ``token`` and ``secret``, if
    created, and ``no_token`` if no token was created.
    """
    response = model_admin.page(request, template, title, onward=continue_url, app=app, **values)
    response.status_code = 201
    response["Content-Location"] = continue_url
    add_never_cache_headers(response)
    return response
