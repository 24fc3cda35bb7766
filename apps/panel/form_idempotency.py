"""Idempotent forms: a double click, the back button, a reload or a resubmission has no second effect.

Each page carries a key. The first submission inserts the key in the transaction of its work. A second submission waits
at the unique index until the first one commits and is redirected to the first result. Pages that are only displayed
store nothing, so any number of pages may be open.
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

from apps.ground.exceptions import DomainError
from apps.staff.models import SentForm, User

FORM_KEY_FIELD = "form_key"
ALREADY_SUBMITTED = gettext_lazy("You already submitted this form. It was not processed again.")
SECRET_ALREADY_SHOWN = gettext_lazy(
    "You already submitted this form. It was not processed again. The result was shown only once; "
    "create a new one if you lost it."
)
_PAGE_FIELDS = (FORM_KEY_FIELD, "csrfmiddlewaretoken")
_LOCK_NOT_AVAILABLE = "55P03"
_SIGNER = Signer(salt="panel.form")


class AlreadySubmitted(DomainError):
    """Raised when the page was already submitted with other values."""

    code = "sent_before"

    def __init__(self, result: str) -> None:
        """Store ``result``, the URL that the first submission was redirected to."""
        super().__init__(
            _(
                "You already submitted this page with other values. The new values were not saved. Submit it again to "
                "save them."
            )
        )
        self.result = result


class InvalidFormKey(DomainError):
    """Raised when the form key is missing or belongs to another user."""

    code = "not_ours"

    def __init__(self) -> None:
        super().__init__(_("This form is no longer valid. Nothing has been changed. Reload the page."))


class SubmissionInProgress(DomainError):
    """Raised while the first submission is still running."""

    code = "still_working"

    def __init__(self) -> None:
        super().__init__(
            _("This form was submitted a moment ago and is still being processed. Check the result first.")
        )


def create_form_key(request: HttpRequest) -> str:
    """Return a new key for a form that is shown to the current user."""
    return _SIGNER.sign(f"{request.user.pk}-{secrets.token_urlsafe(12)}")


def submit_once(request: HttpRequest, work: Callable[[], HttpResponseBase], *, keyed: bool = False) -> HttpResponseBase:
    """Run the work for the first submission of a form; redirect repeated submissions.

    Args:
        request: GET requests always run the work.
        work: Runs in a transaction. A redirect or status 201 means that the work is done. Any other response shows the
            form again, and the same key may be submitted again.
        keyed: Require a key; otherwise submissions without a key also run the work.

    Returns:
        The response of the work, or for a repeated submission a redirect to the first result.

    Raises:
        InvalidFormKey: The key belongs to another user.
        AlreadySubmitted: The key was already used with other values.
        SubmissionInProgress: The first submission is still running.
    """
    key = request.POST.get(FORM_KEY_FIELD, "")
    if request.method != "POST" or getattr(request, "works_once", False) or not (key or keyed):
        return work()
    if not _belongs_to_user(request, key):
        raise InvalidFormKey
    # The action of one page may call the action of another page.
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
    """Call ``submit_once``; turn its errors into a redirect or a text, for pages that can't show the input again."""
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
            raise SubmissionInProgress from error
        raise
    # ``ignore_conflicts`` does not report conflicts. A committed row of another transaction always has ``done=True``.
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
    """Return the hash under which a key is stored. The hash has a fixed length and cannot be submitted as a key."""
    return hashlib.sha256(f"{user.pk}:{key}".encode()).hexdigest()


def _fingerprint(request: HttpRequest) -> str:
    """Return a hash of the path, the submitted values, and the names and sizes of files.

    Fields that differ per page, such as the form key, are left out.
    """
    typed = sorted((name, values) for name, values in request.POST.lists() if name not in _PAGE_FIELDS)
    files = sorted((name, _get_file_sizes(request, name)) for name in request.FILES)
    return hashlib.sha256(repr((request.path, typed, files)).encode()).hexdigest()


def _get_file_sizes(request: HttpRequest, name: str) -> Sequence[tuple[str | None, int | None]]:
    return [(file.name, file.size) for file in request.FILES.getlist(name)]


def get_post_data(request: HttpRequest) -> QueryDict | None:
    """Return the data to bind a form to: the POST data, even if empty, or None for GET."""
    return request.POST if request.method == "POST" else None
