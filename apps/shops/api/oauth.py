"""``POST /admin/oauth/access_token``: an app exchanges a code, or its secret, for a token (RFC 6749).

It is no route of the interface proper: nobody has a token yet, and its refusals look as OAuth says.
"""

import logging
from collections.abc import Mapping
from email.message import Message
from http import HTTPStatus

import orjson
from django.core.exceptions import SuspiciousOperation
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils import timezone

from apps.api.errors import CONTENT_TYPE, ApiError
from apps.api.requests import guessing
from apps.api.requests.bodies import check_length, read_json
from apps.shops.domain import authorizing
from apps.shops.domain.authorizing import AuthorizationRefused, Issued

logger = logging.getLogger(__name__)

_NAMES = ("grant_type", "client_id", "client_secret", "code", "redirect_uri", "shop")
_MAX_LENGTH = 4096
_FORM = "application/x-www-form-urlencoded"
# What whoever guesses a secret or a code is told.
_WRONG = frozenset({"invalid_client", "invalid_grant"})


class _TooManyAttempts(AuthorizationRefused):
    """Secrets or codes of an app were wrong too often."""

    def __init__(self, seconds: int) -> None:
        """Say when to go on."""
        description = f"Too many wrong secrets or codes came from your address. Wait for {seconds} seconds."
        super().__init__("temporarily_unavailable", description, status=429)
        self.headers = {"Retry-After": str(seconds)}


def access_token(request: HttpRequest) -> HttpResponse:
    """Answer with a token, or with ``{"error", "error_description"}``."""
    if request.method != "POST":
        refusal = AuthorizationRefused("invalid_request", "Ask for a token by POST.", status=405)
        return _refused(refusal, Allow="POST")
    try:
        issued = _issued_once(request, _values(request))
    except AuthorizationRefused as refusal:
        return _refused(refusal, **refusal.headers)
    except ApiError as error:
        detail = error.detail or str(error.errors)
        status = HTTPStatus.BAD_REQUEST if error.status == HTTPStatus.UNPROCESSABLE_ENTITY else error.status
        return _refused(AuthorizationRefused("invalid_request", detail, status=status))
    return _answer(_shown(issued), 200)


def _issued_once(request: HttpRequest, values: Mapping[str, str]) -> Issued:
    """Issue the token, unless too many wrong secrets or codes came before."""
    buckets = guessing.buckets_of("token", values["client_id"], request.META.get("REMOTE_ADDR", ""))
    if seconds := guessing.wait_before(buckets):
        raise _TooManyAttempts(seconds)
    is_wrong = False
    try:
        return _issued(request, values)
    except IntegrityError:
        # Two exchanges met where the app was not installed yet; the second finds it installed.
        logger.info("An exchange of a code is done again")
        return _issued(request, values)
    except AuthorizationRefused as refusal:
        is_wrong = refusal.code in _WRONG
        raise
    finally:
        if not is_wrong:
            guessing.was_right(buckets)


def _issued(request: HttpRequest, values: Mapping[str, str]) -> Issued:
    at = timezone.now()
    app = authorizing.authenticate(values["client_id"], values["client_secret"], at=at)
    domain = getattr(request, "host_shop_domain", "")
    match values["grant_type"] or "authorization_code":
        case "authorization_code":
            return authorizing.redeem(app, values["code"], redirect_uri=values["redirect_uri"], domain=domain, at=at)
        case "client_credentials":
            return authorizing.issue_by_credentials(app, domain=domain or values["shop"].lower(), at=at)
    description = "The grant_type is authorization_code or client_credentials."
    raise AuthorizationRefused("unsupported_grant_type", description)


def _values(request: HttpRequest) -> dict[str, str]:
    """What the body says, by name; nothing of what the query says, which servers on the way write into logs."""
    header = Message()
    header["Content-Type"] = request.META.get("CONTENT_TYPE", "")
    given = _form(request) if header.get_content_type() == _FORM else read_json(request)
    if not isinstance(given, dict):
        raise AuthorizationRefused("invalid_request", "The body must be a JSON object or a form.")
    values = {name: given.get(name) or "" for name in _NAMES}
    for name, value in values.items():
        if not isinstance(value, str) or len(value) > _MAX_LENGTH or "\0" in value:
            raise AuthorizationRefused("invalid_request", f"{name} must be a text of at most {_MAX_LENGTH} characters.")
    return values


def _form(request: HttpRequest) -> dict[str, object]:
    check_length(request)
    try:
        form: QueryDict = request.POST
    except (SuspiciousOperation, UnicodeError) as error:
        raise AuthorizationRefused("invalid_request", "The form cannot be read.") from error
    for name in _NAMES:
        if len(form.getlist(name)) > 1:
            raise AuthorizationRefused("invalid_request", f"{name} must be given once.")
    return dict(form.items())


def _shown(issued: Issued) -> dict[str, object]:
    shown: dict[str, object] = {"access_token": issued.token, "scope": ",".join(issued.scopes)}
    if issued.lives is not None:
        shown["expires_in"] = int(issued.lives.total_seconds()) - 1
    if (member := issued.member) is not None:
        shown["associated_user_scope"] = ",".join(issued.member_scopes)
        shown["associated_user"] = {
            "id": member.user_id,
            "first_name": member.first_name,
            "last_name": member.last_name,
            "email": member.email,
            "email_verified": True,
            "account_owner": member.account_owner,
            "locale": member.locale,
            "collaborator": False,
        }
    return shown


def _refused(refusal: AuthorizationRefused, **headers: str) -> HttpResponse:
    shown = {"error": refusal.code, "error_description": refusal.description}
    return _answer(shown, refusal.status, **headers)


def _answer(value: object, status: int, **headers: str) -> HttpResponse:
    """A token is kept by no cache on the way."""
    fresh = {"Cache-Control": "no-store", "Pragma": "no-cache"}
    return HttpResponse(orjson.dumps(value), status=status, content_type=CONTENT_TYPE, headers={**fresh, **headers})
