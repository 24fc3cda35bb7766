"""Login sessions of staff, with the device and the time of last use.

allauth creates a ``UserSession`` row at login. The time of last use is updated at most every five minutes, so that not
every request writes to the database.
"""

import hashlib
import re
from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from apps.core.cache import is_first_call
from apps.core.tenancy.models import User

RECORD_INTERVAL_SECONDS = 300
# The order matters, because the user agents of many browsers also contain the names of other browsers.
_BROWSERS = (
    ("Edg", "Edge"), ("OPR", "Opera"), ("SamsungBrowser", "Samsung Internet"), ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"), ("CriOS", "Chrome"), ("Chrome", "Chrome"), ("Safari", "Safari"),
)  # fmt: skip
_SYSTEMS = (
    ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows"), ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"), ("Linux", "Linux"),
)  # fmt: skip


def describe_device(user_agent: str) -> str:
    """Return the browser and operating system, e.g. "Firefox on Linux", or "Unknown device"."""
    browser = next((name for mark, name in _BROWSERS if re.search(f"{mark}/", user_agent)), "")
    system = next((name for mark, name in _SYSTEMS if mark in user_agent), "")
    if browser and system:
        return _("{browser} on {system}").format(browser=browser, system=system)
    return browser or system or _("Unknown device")


def is_recording_due(key: str) -> bool:
    # The session key is a credential and must not be stored in the cache.
    digest = hashlib.sha256(key.encode()).hexdigest()
    return is_first_call(f"session-seen:{digest}", RECORD_INTERVAL_SECONDS)


def record_use(key: str, *, address: str, agent: str, at: datetime) -> bool:
    """Record the use of a session. Return False if the session has no ``UserSession`` row yet."""
    agent = agent[: UserSession._meta.get_field("user_agent").max_length]
    return bool(UserSession.objects.filter(session_key=key).update(last_seen_at=at, ip=address, user_agent=agent))


def get_sessions(user: User, *, present: str | None) -> list[UserSession]:
    """Return a user's sessions: the current session (``present``), then all others, most recently used first."""
    user_sessions = UserSession.objects.purge_and_list(user)
    user_sessions.sort(key=lambda session: (session.session_key == present, session.last_seen_at))
    for session in user_sessions:
        session.device = describe_device(session.user_agent)
        session.is_this = session.session_key == present
    return user_sessions[::-1]


def get_other_sessions(user: User, *, present: str | None) -> QuerySet[UserSession]:
    return UserSession.objects.filter(user=user).exclude(session_key=present)


def delete_expired_sessions(at: datetime) -> int:
    """Delete expired sessions, and ``UserSession`` rows without a session."""
    cleared = int(Session.objects.filter(expire_date__lt=at).delete()[0])
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
    return cleared
