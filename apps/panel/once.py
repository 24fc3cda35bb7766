"""Forms that work once: a double click, going back, reloading or sending again has no second effect.

A page carries a key of its own. The first submission spends it by an insert, in the transaction of its work; a second
one waits at the unique index until the first is done and is led to what it made. Nothing is kept of pages that are
only shown, so any number of them may be open.
"""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from typing import cast

from django.contrib import messages
from django.core.signing import BadSignature, Signer
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, QueryDict
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground.errors import DomainError
from apps.staff.models import SentForm, User

FIELD = "form_key"
SENT = gettext_lazy("That was sent already; nothing was done twice.")
SHOWN_ONCE = gettext_lazy(
    "That was sent already; nothing was done twice. What was shown then is shown once only; make another if it is lost."
)
_OF_THE_PAGE = (FIELD, "csrfmiddlewaretoken")
_LOCK_NOT_AVAILABLE = "55P03"
_SIGNER = Signer(salt="panel.form")


class SentBefore(DomainError):
    """The page was sent before, with other values."""

    code = "sent_before"

    def __init__(self, result: str) -> None:
        """``result`` is the address that the first submission led to."""
        super().__init__(
            _("This page was sent before, with other values; these are not stored. Send it again if they shall be.")
        )
        self.result = result


class NotOurs(DomainError):
    """The key was not given to this person, or there is none."""

    code = "not_ours"

    def __init__(self) -> None:
        super().__init__(_("This form is no longer valid. Nothing has been done. Open its page again."))


class StillWorking(DomainError):
    """The first submission has not come to an end."""

    code = "still_working"

    def __init__(self) -> None:
        super().__init__(_("This was sent a moment ago and is still being worked on. Look at the result first."))


def form_key(request: HttpRequest) -> str:
    """A fresh key for a form that is about to be shown to the person of the request."""
    return _SIGNER.sign(f"{request.user.pk}-{secrets.token_urlsafe(12)}")


def once(request: HttpRequest, work: Callable[[], HttpResponseBase], *, keyed: bool = False) -> HttpResponseBase:
    """Answer a submission, the first time by doing the work.

    Args:
        request: What is only shown goes through to the work.
        work: Runs in a transaction. It has done something when it answers with a redirect or with 201; any other answer
            shows the form again, which may then be sent once more.
        keyed: Whether a submission must have a key; otherwise one without goes through as well.

    Returns:
        What the work answers; for a submission that came before, a redirect to where the first one led.

    Raises:
        NotOurs: The key was not given to this person.
        SentBefore: The key was spent on other values.
        StillWorking: The first submission is still at work.
    """
    key = request.POST.get(FIELD, "")
    if request.method != "POST" or getattr(request, "works_once", False) or not (key or keyed):
        return work()
    if not _is_ours(request, key):
        raise NotOurs
    # A page's action may call another one's.
    request.works_once = True  # type: ignore[attr-defined]
    with transaction.atomic():
        sent = _claim(cast("User", request.user), key, _fingerprint(request))
        if sent is None:
            return _again(request, key)
        answer = work()
        if answer.status_code in {201, 302}:
            result = answer.get("Location") or answer.get("Content-Location") or request.path
            SentForm.objects.filter(key=sent.key).update(done=True, shown=answer.status_code == 201, result=result)
        else:
            SentForm.objects.filter(key=sent.key).delete()
    return answer


def once_or_back(
    request: HttpRequest, work: Callable[[], HttpResponseBase], *, keyed: bool = False
) -> HttpResponseBase:
    """As ``once``, for pages that cannot show again what was typed: they say what became of it."""
    try:
        return once(request, work, keyed=keyed)
    except SentBefore as refusal:
        messages.warning(request, refusal.sentence)
        return HttpResponseRedirect(refusal.result)
    except (NotOurs, StillWorking) as refusal:
        return HttpResponse(refusal.sentence, status=409, content_type="text/plain; charset=utf-8")


def _claim(user: User, key: str, fingerprint: str) -> SentForm | None:
    """Insert the key; None where it is there. Waits for another transaction that is inserting it."""
    row = SentForm(key=_digest(user, key), user=user, fingerprint=fingerprint, created_at=timezone.now())
    try:
        with transaction.atomic():
            SentForm.objects.bulk_create([row], ignore_conflicts=True)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            raise StillWorking from error
        raise
    # The insert does not say whether it found the key; what others can see of a row is always done.
    return SentForm.objects.filter(key=row.key, done=False).first()


def _again(request: HttpRequest, key: str) -> HttpResponse:
    sent = SentForm.objects.get(key=_digest(cast("User", request.user), key))
    if sent.fingerprint != _fingerprint(request):
        raise SentBefore(sent.result)
    messages.warning(request, SHOWN_ONCE if sent.shown else SENT)
    return HttpResponseRedirect(sent.result)


def _is_ours(request: HttpRequest, key: str) -> bool:
    try:
        return _SIGNER.unsign(key).startswith(f"{request.user.pk}-")
    except BadSignature:
        return False


def _digest(user: User, key: str) -> str:
    """The key as it is kept: of one length, and of no use to who reads it."""
    return hashlib.sha256(f"{user.pk}:{key}".encode()).hexdigest()


def _fingerprint(request: HttpRequest) -> str:
    """What was sent where, but for what each page has of its own."""
    typed = sorted((name, values) for name, values in request.POST.lists() if name not in _OF_THE_PAGE)
    files = sorted((name, _sizes(request, name)) for name in request.FILES)
    return hashlib.sha256(repr((request.path, typed, files)).encode()).hexdigest()


def _sizes(request: HttpRequest, name: str) -> Sequence[tuple[str | None, int | None]]:
    return [(file.name, file.size) for file in request.FILES.getlist(name)]


def posted(request: HttpRequest) -> QueryDict | None:
    """What a form is bound to: the posted values, also where nothing was ticked; None when the page is opened."""
    return request.POST if request.method == "POST" else None
