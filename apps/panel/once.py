"""Forms that work once: going back, reloading or sending again has no second effect.

The page carries a key that its session knows; the first submission spends it.
"""

import secrets

from django.http import HttpRequest, QueryDict

_KEYS, _KEPT = "form_keys", 20


def form_key(request: HttpRequest) -> str:
    """A fresh key for a form that is about to be shown."""
    key = secrets.token_urlsafe(12)
    request.session[_KEYS] = [*request.session.get(_KEYS, []), key][-_KEPT:]
    return key


def spend(request: HttpRequest) -> bool:
    """Use up the key that came with a form; False where it was used already or is none of ours."""
    key, keys = request.POST.get("form_key", ""), request.session.get(_KEYS, [])
    if key not in keys:
        return False
    request.session[_KEYS] = [other for other in keys if other != key]
    # Stored now and not with the response: a second submission may arrive while this one works.
    request.session.save()
    return True


def posted(request: HttpRequest) -> QueryDict | None:
    """What a form is bound to: the posted values, also where nothing was ticked; None when the page is opened."""
    return request.POST if request.method == "POST" else None
