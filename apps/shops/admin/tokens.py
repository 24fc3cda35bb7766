"""What the pages of an app show of its tokens and its secret."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _

from apps.panel.screens.pages import ScreenPages
from apps.shops.models import AccessToken, App, Installation
from apps.staff.domain.actors import names_of

# How long what is replaced may go on.
OVERLAPS = {"0": timedelta(0), "1": timedelta(hours=1), "24": timedelta(days=1), "168": timedelta(days=7)}


@dataclass(frozen=True, slots=True)
class TokenLine:
    """One token in the list: never more than its beginning."""

    pk: int
    prefix: str
    created_at: datetime
    created_by: str
    last_used_at: datetime | None
    state: str
    usable: bool
    acts_as: str


def lines(installation: Installation) -> list[TokenLine]:
    """An app's tokens, newest first."""
    tokens = list(AccessToken.rows().filter(installation=installation).order_by("-id")[:100])
    people = [f"staff:{token.user_id}" for token in tokens if token.user_id]
    names = names_of([*(token.created_by for token in tokens if token.created_by), *people])
    return [_line(token, names.get(token.created_by, ""), names.get(f"staff:{token.user_id}", "")) for token in tokens]


def _line(token: AccessToken, created_by: str, acts_as: str) -> TokenLine:
    usable, state = True, _("In use")
    if token.revoked_at is not None:
        usable, state = False, _("Revoked {day}").format(day=_day(token.revoked_at))
    elif token.expires_at is not None and token.expires_at <= timezone.now():
        usable, state = False, _("Ended {day}").format(day=_day(token.expires_at))
    elif token.expires_at is not None:
        state = _("Ends {day}").format(day=_day(token.expires_at))
    return TokenLine(token.pk, token.prefix, token.created_at, created_by, token.last_used_at, state, usable, acts_as)


def _day(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%d %b %Y, %H:%M}"


def shown_once(
    screen: ScreenPages[Any], request: HttpRequest, title: str, *, onward: str, app: App, **shown: str | bool
) -> HttpResponse:
    """The answer that holds a token or a secret.

    It is neither stored nor redirected to, so no later request can show it. It says by its status that something was
    made, and by its address what.

    Args:
        screen: Whose page it is.
        request: What made it.
        title: The page's title.
        onward: Where to go when it is copied.
        app: Whose it is.
        shown: ``token`` and ``secret``, as far as they were made; ``no_token`` where there is none to be shown.
    """
    response = screen.page(request, "panel/apps/token.html", title, onward=onward, app=app, **shown)
    response.status_code = 201
    response["Content-Location"] = onward
    add_never_cache_headers(response)
    return response
