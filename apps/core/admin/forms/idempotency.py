"""Idempotent forms: a form that is submitted twice, such as by a double click or a reload, changes data only once.

Each page contains a form key. The first submission inserts the key in the same transaction as its changes. A second
submission waits at the unique index until the first submission commits, and is then redirected to the first result.
Displaying a page stores nothing, so users can open any number of pages.
"""

import hashlib
import secrets
from collections.abc import Callable
from typing import cast

from django.contrib import messages
from django.core.signing import BadSignature, Signer
from django.db import OperationalError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, QueryDict
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import SentForm, User

FORM_KEY_FIELD = "form_key"
ALREADY_SUBMITTED = gettext_lazy("You already submitted this form. It was not processed again.")
SECRET_ALREADY_SHOWN = gettext_lazy(
    "You already submitted this form. It was not processed again. The token, secret or link was shown only once. "
    "If you lost it, create a new one."
)
_PAGE_FIELDS = (FORM_KEY_FIELD, "csrfmiddlewaretoken")
_LOCK_NOT_AVAILABLE = "55P03"
_SIGNER = Signer(salt="panel.form")
_FINGERPRINT_SALT = "panel.form.fingerprint"


class AlreadySubmitted(DomainError):
    def __init__(self, result: str) -> None:
        """Create the error with the URL that the first submission was redirected to."""
        super().__init__(
            _(
                "You already submitted this form with different values. The new values were not saved. Submit the form "
                "again to save the new values."
            )
        )
        self.result = result


class InvalidFormKey(DomainError):
    """Raised when the form key is missing or belongs to another user."""


class SubmissionInProgress(DomainError):
    pass


def create_form_key(request: HttpRequest) -> str:
    return _SIGNER.sign(f"{request.user.pk}-{secrets.token_urlsafe(12)}")


def submit_once(request: HttpRequest, work: Callable[[], HttpResponseBase], *, keyed: bool = False) -> HttpResponseBase:
    """Run ``work`` for the first submission of a form, and redirect repeated submissions to the first result.

    Args:
        request: The current request. GET requests always run ``work``.
        work: The function that processes the form in a transaction. A redirect or status 201 means success. Any other
            response shows the form again, and the user can submit the same key again.
        keyed: Whether to refuse submissions without a key. Otherwise, they always run ``work``.

    Raises:
        InvalidFormKey: The key is missing, invalid or belongs to another user.
        AlreadySubmitted: The key was already used with other values.
        SubmissionInProgress: The first submission is still running.
    """
    key = request.POST.get(FORM_KEY_FIELD, "")
    if request.method != "POST" or getattr(request, "works_once", False) or not (key or keyed):
        return work()
    if not _belongs_to_user(request, key):
        raise InvalidFormKey(_("This form is no longer valid. Nothing has been changed. Reload the page."))
    # ``work`` may call another view that is protected by ``submit_once``. The nested call must not claim the key again.
    request.works_once = True  # type: ignore[attr-defined]
    with transaction.atomic():
        claimed_form = _claim_key(cast("User", request.user), key, _fingerprint(request))
        if claimed_form is None:
            return _respond_to_repeated(request, key)
        response = work()
        if response.status_code in {201, 302}:
            result = response.get("Location") or response.get("Content-Location") or request.path
            SentForm.objects.filter(key=claimed_form.key).update(
                done=True, shown=response.status_code == 201, result=result
            )
        else:
            SentForm.objects.filter(key=claimed_form.key).delete()
    return response


def submit_once_or_redirect(
    request: HttpRequest, work: Callable[[], HttpResponseBase], *, keyed: bool = False
) -> HttpResponseBase:
    """Call ``submit_once`` for pages that can't show the input again. Errors become a redirect or plain text."""
    try:
        return submit_once(request, work, keyed=keyed)
    except AlreadySubmitted as error:
        messages.warning(request, error.sentence)
        return HttpResponseRedirect(error.result)
    except (InvalidFormKey, SubmissionInProgress) as error:
        return HttpResponse(error.sentence, status=409, content_type="text/plain; charset=utf-8")


def _claim_key(user: User, key: str, fingerprint: str) -> SentForm | None:
    """Insert the key and return its row, or return None if the key has already been used.

    The insert waits while another transaction inserts the same key.
    """
    row = SentForm(key=_hash_key(user, key), user=user, fingerprint=fingerprint, created_at=timezone.now())
    try:
        with transaction.atomic():
            SentForm.objects.bulk_create([row], ignore_conflicts=True)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
            text = _(
                "This form was submitted a moment ago and is still being processed. Check the result before you submit "
                "the form again."
            )
            raise SubmissionInProgress(text) from error
        raise
    # ``ignore_conflicts`` does not report conflicts, so query the row. A row that another transaction has committed
    # always has ``done=True``.
    return SentForm.objects.filter(key=row.key, done=False).first()


def _respond_to_repeated(request: HttpRequest, key: str) -> HttpResponse:
    submitted_form = SentForm.objects.get(key=_hash_key(cast("User", request.user), key))
    if submitted_form.fingerprint != _fingerprint(request):
        raise AlreadySubmitted(submitted_form.result)
    messages.warning(request, SECRET_ALREADY_SHOWN if submitted_form.shown else ALREADY_SUBMITTED)
    return HttpResponseRedirect(submitted_form.result)


def _belongs_to_user(request: HttpRequest, key: str) -> bool:
    try:
        return _SIGNER.unsign(key).startswith(f"{request.user.pk}-")
    except BadSignature:
        return False


def _hash_key(user: User, key: str) -> str:
    """Return the hash to store for a key. Hashes have a fixed length, and a stored hash is not a valid key."""
    return hashlib.sha256(f"{user.pk}:{key}".encode()).hexdigest()


def _fingerprint(request: HttpRequest) -> str:
    """Return a keyed hash of the path, the submitted values, and the names and sizes of files.

    Without the key, short values such as an email address could be guessed from the hash. Fields that differ each time
    the page is rendered, such as the form key, are excluded.
    """
    typed = sorted((name, values) for name, values in request.POST.lists() if name not in _PAGE_FIELDS)
    files = sorted((name, [(file.name, file.size) for file in uploads]) for name, uploads in request.FILES.lists())
    return salted_hmac(_FINGERPRINT_SALT, repr((request.path, typed, files)), algorithm="sha256").hexdigest()


def get_post_data(request: HttpRequest) -> QueryDict | None:
    """Return the POST data, even if empty, or None for other methods."""
    return request.POST if request.method == "POST" else None
