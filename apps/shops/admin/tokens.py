"""What the pages of an app show of its tokens."""

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from apps.shops.models import AccessToken, Installation
from apps.staff.domain.actors import names_of


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


def lines(installation: Installation) -> list[TokenLine]:
    """An app's tokens, newest first."""
    tokens = list(AccessToken.rows().filter(installation=installation).order_by("-id")[:100])
    names = names_of([token.created_by for token in tokens if token.created_by])
    return [_line(token, names.get(token.created_by, "")) for token in tokens]


def _line(token: AccessToken, created_by: str) -> TokenLine:
    usable, state = True, "In use"
    if token.revoked_at is not None:
        usable, state = False, f"Revoked {_day(token.revoked_at)}"
    elif token.expires_at is not None and token.expires_at <= timezone.now():
        usable, state = False, f"Ended {_day(token.expires_at)}"
    elif token.expires_at is not None:
        state = f"Ends {_day(token.expires_at)}"
    return TokenLine(token.pk, token.prefix, token.created_at, created_by, token.last_used_at, state, usable)


def _day(moment: datetime) -> str:
    return f"{timezone.localtime(moment):%d %b %Y, %H:%M}"
