"""Where a person is logged in: their sessions, with the device and when it was seen last.

The rows are allauth's ``UserSession``; a login makes one. We move "last seen" at most every five minutes, since a page
that is only read should not write.
"""

import hashlib
import re
from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.ground.caching import is_first
from apps.staff.models import User

NOTED_EVERY_SECONDS = 300
# In this order: many browsers also carry the names of others.
_BROWSERS = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("SamsungBrowser", "Samsung Internet"), ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"), ("CriOS", "Chrome"), ("Chrome", "Chrome"), ("Safari", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


def device_of(user_agent: str) -> str:
    """A browser in words, e.g. "Firefox on Linux"; "Unknown device" where it does not say."""
    browser = next((name for mark, name in _BROWSERS if re.search(f"{mark}/", user_agent)), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return _("{browser} on {system}").format(browser=browser, system=system)
    return browser or system or _("Unknown device")


def is_due(key: str) -> bool:
    """Whether a session was not noted for a while; asking notes it."""
    # The cache is no place for the key itself: whoever holds it is in.
    digest = hashlib.sha256(key.encode()).hexdigest()
    return is_first(f"session-seen:{digest}", NOTED_EVERY_SECONDS)


def note_seen(key: str, *, address: str, agent: str, at: datetime) -> bool:
    """Write down when and from where a session was used; False where it is not listed yet."""
    agent = agent[: UserSession._meta.get_field("user_agent").max_length]
    return bool(UserSession.objects.filter(session_key=key).update(last_seen_at=at, ip=address, user_agent=agent))


def sessions_of(user: User, *, present: str | None) -> list[UserSession]:
    """A person's sessions: the one with the key ``present`` first, then by when they were seen."""
    found = UserSession.objects.purge_and_list(user)
    found.sort(key=lambda session: (session.session_key == present, session.last_seen_at))
    for session in found:
        session.device = device_of(session.user_agent)
        session.is_this = session.session_key == present
    return found[::-1]


def others_of(user: User, *, present: str | None) -> QuerySet[UserSession]:
    """A person's sessions without the one with the key ``present``."""
    return UserSession.objects.filter(user=user).exclude(session_key=present)


def clear_expired(at: datetime) -> int:
    """Delete sessions that ran out, and what was noted of sessions that are gone."""
    cleared = int(Session.objects.filter(expire_date__lt=at).delete()[0])
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
    return cleared
