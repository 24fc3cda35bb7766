"""Where a person is logged in: their sessions, with the device and when it was seen last.

The rows are allauth's ``UserSession``; a login makes one. We move "last seen" at most every five minutes, since a page
that is only read should not write.
"""

import hashlib
import re
from datetime import datetime
from typing import cast

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.contrib.sessions.models import Session
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.utils import timezone

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
        return f"{browser} on {system}"
    return browser or system or "Unknown device"


def note_visit(request: HttpRequest) -> None:
    """Note that the session of this request is in use, and from where."""
    key = request.session.session_key
    address = request.META.get("REMOTE_ADDR")
    if not key or not address or not _is_due(key):
        return
    agent = request.META.get("HTTP_USER_AGENT", "")[: UserSession._meta.get_field("user_agent").max_length]
    seen = {"last_seen_at": timezone.now(), "ip": address, "user_agent": agent}
    if not UserSession.objects.filter(session_key=key).update(**seen):
        # A session from before sessions were listed.
        UserSession.objects.create_from_request(request)


def sessions_of(request: HttpRequest) -> list[UserSession]:
    """The sessions of the person who asks, the present one first, then by when they were seen."""
    found = UserSession.objects.purge_and_list(request.user)
    found.sort(key=lambda session: (session.session_key == request.session.session_key, session.last_seen_at))
    for session in found:
        session.device = device_of(session.user_agent)
        session.is_this = session.session_key == request.session.session_key
    return found[::-1]


def end(request: HttpRequest, pk: int) -> HttpResponse:
    """Log one of the person's other sessions out."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    session = _others(request).filter(pk=pk).first()
    if session is None:
        raise Http404("You have no such other session.")
    session.end()
    messages.success(request, f"{device_of(session.user_agent)} is signed out.")
    return redirect("profile")


def end_others(request: HttpRequest) -> HttpResponse:
    """Log the person out everywhere but here."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    ended = list(_others(request))
    for session in ended:
        session.end()
    messages.success(request, f"You are signed out everywhere else ({len(ended)}).")
    return redirect("profile")


def clear_expired(at: datetime) -> int:
    """Delete sessions that ran out, and what was noted of sessions that are gone."""
    cleared = int(Session.objects.filter(expire_date__lt=at).delete()[0])
    UserSession.objects.exclude(session_key__in=Session.objects.values("session_key")).delete()
    return cleared


def _others(request: HttpRequest) -> QuerySet[UserSession]:
    mine = UserSession.objects.filter(user=cast("User", request.user))
    return mine.exclude(session_key=request.session.session_key)


def _is_due(key: str) -> bool:
    # The cache is no place for the key itself: whoever holds it is in.
    digest = hashlib.sha256(key.encode()).hexdigest()
    return is_first(f"session-seen:{digest}", NOTED_EVERY_SECONDS)
