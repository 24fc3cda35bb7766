"""The counts of unseen notifications as JSON, which ``static/panel/notifications.js`` polls."""

import hashlib
import json
from datetime import timedelta

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import add_never_cache_headers, get_conditional_response
from django.views.decorators.http import require_GET, require_POST

from apps.core.admin.staff_request import Context, as_staff_request
from apps.core.tenancy.backends import get_current_membership
from apps.notifications.domain.notification_kinds import get_allowed_kinds
from apps.notifications.domain.preferences import get_preferences
from apps.notifications.domain.unseen import Unseen, count_unseen, mark_seen
from apps.notifications.models import Preference

# A page is at most this old when its script reports it.
MAX_AGE = timedelta(days=1)


@require_GET
def get_counts(request: HttpRequest) -> HttpResponse:
    """Return the unseen notifications that the user wants to see, or 304 if they have not changed.

    A user without a membership, such as an operator, gets no notifications.
    """
    user = as_staff_request(request).user
    member, entries = get_current_membership(user), list[Context]()
    if member is not None:
        allowed = get_allowed_kinds(user)
        preferences = get_preferences(member, allowed)
        shown = [kind for kind in allowed if _is_shown(preferences[kind.name])]
        entries = [_build_entry(unseen, preferences[unseen.kind.name]) for unseen in count_unseen(member, user, shown)]
    response: HttpResponse = JsonResponse({"kinds": entries})
    add_never_cache_headers(response)
    etag = f'"{hashlib.sha256(json.dumps(entries).encode()).hexdigest()[:32]}"'
    response["ETag"] = etag
    return get_conditional_response(request, etag=etag, response=response) or response


def _is_shown(preference: Preference) -> bool:
    return preference.panel or preference.sound or preference.browser


def _build_entry(unseen: Unseen, preference: Preference) -> Context:
    path = reverse(unseen.kind.list_page)
    query = unseen.kind.list_query
    return {
        "name": unseen.kind.name,
        "count": unseen.count,
        "number": unseen.number,
        "latest": unseen.latest,
        "text": unseen.text,
        "path": path,
        "link": f"{path}?{query}" if query else path,
        "panel": preference.panel,
        "sound": preference.sound,
        "browser": preference.browser,
    }


@require_POST
def mark_as_seen(request: HttpRequest) -> HttpResponse:
    """Mark a kind as seen up to the time when the user opened the page, which was ``age`` milliseconds ago."""
    user = as_staff_request(request).user
    kind = next((kind for kind in get_allowed_kinds(user) if kind.name == request.POST.get("kind")), None)
    if kind is None:
        raise Http404("Unknown kind of notification")
    age = request.POST.get("age", "")
    if not (age.isascii() and age.isdigit() and len(age) < 12):
        return HttpResponseBadRequest("The age is not a number of milliseconds.", content_type="text/plain")
    member = get_current_membership(user)
    if member is not None:
        mark_seen(member, kind, through=timezone.now() - min(timedelta(milliseconds=int(age)), MAX_AGE))
    return HttpResponse(status=204)
