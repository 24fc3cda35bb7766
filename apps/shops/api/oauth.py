"""``POST /admin/oauth/access_token``: exchange a code or an app's secret for an access token (RFC 6749).

The route is not part of the REST API, because the caller has no token yet and errors have the OAuth format.
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

from apps.core.rest.exceptions import CONTENT_TYPE, ApiError
from apps.core.rest.requests import brute_force
from apps.core.rest.requests.parsers import check_content_length, parse_json_body
from apps.shops.domain import oauth
from apps.shops.domain.oauth import IssuedToken, OAuthError

logger = logging.getLogger(__name__)

_NAMES = ("grant_type", "client_id", "client_secret", "code", "redirect_uri", "shop")
_MAX_LENGTH = 4096
_FORM = "application/x-www-form-urlencoded"
# A request that fails with one of these error codes counts as a wrong guess of a secret or code.
_GUESS_ERRORS = frozenset({"invalid_client", "invalid_grant"})


class _TooManyAttempts(OAuthError):
    def __init__(self, seconds: int) -> None:
        description = f"Too many requests with a wrong secret or code. Try again in {seconds} seconds."
        super().__init__("temporarily_unavailable", description, status=429)
        self.headers = {"Retry-After": str(seconds)}


def issue_access_token(request: HttpRequest) -> HttpResponse:
    """Return an access token, or an OAuth error as ``{"error", "error_description"}``."""
    if request.method != "POST":
        oauth_error = OAuthError("invalid_request", "Use POST to request a token.", status=405)
        return _respond_error(oauth_error, Allow="POST")
    try:
        token = _issue_token_limited(request, _read_values(request))
    except OAuthError as oauth_error:
        return _respond_error(oauth_error, **oauth_error.headers)
    except ApiError as api_error:
        detail = api_error.detail or str(api_error.errors)
        status = HTTPStatus.BAD_REQUEST if api_error.status == HTTPStatus.UNPROCESSABLE_ENTITY else api_error.status
        return _respond_error(OAuthError("invalid_request", detail, status=status))
    return _respond(_serialize_token(token), 200)


def _issue_token_limited(request: HttpRequest, values: Mapping[str, str]) -> IssuedToken:
    buckets = brute_force.get_attempt_buckets("token", values["client_id"], request.META.get("REMOTE_ADDR", ""))
    if seconds := brute_force.count_attempt(buckets):
        raise _TooManyAttempts(seconds)
    is_wrong = False
    try:
        return _issue_token(request, values)
    except IntegrityError:
        # Two concurrent exchanges tried to install the app. The retry finds the new installation.
        logger.info("Retrying the code exchange")
        return _issue_token(request, values)
    except OAuthError as error:
        is_wrong = error.code in _GUESS_ERRORS
        raise
    finally:
        if not is_wrong:
            brute_force.uncount_attempt(buckets)


def _issue_token(request: HttpRequest, values: Mapping[str, str]) -> IssuedToken:
    at = timezone.now()
    app = oauth.authenticate_app(values["client_id"], values["client_secret"], at=at)
    domain = getattr(request, "host_shop_domain", "")
    match values["grant_type"] or "authorization_code":
        case "authorization_code":
            return oauth.exchange_code(app, values["code"], redirect_uri=values["redirect_uri"], domain=domain, at=at)
        case "client_credentials":
            return oauth.issue_token_by_credentials(app, domain=domain or values["shop"].lower(), at=at)
    description = "The grant_type must be authorization_code or client_credentials."
    raise OAuthError("unsupported_grant_type", description)


def _read_values(request: HttpRequest) -> dict[str, str]:
    """Return the OAuth values in the request body. Query parameters are ignored, because proxies log them."""
    header = Message()
    header["Content-Type"] = request.META.get("CONTENT_TYPE", "")
    submitted = _read_form(request) if header.get_content_type() == _FORM else parse_json_body(request)
    if not isinstance(submitted, dict):
        raise OAuthError("invalid_request", "The body must be a JSON object or a form.")
    values = {name: submitted.get(name) or "" for name in _NAMES}
    for name, value in values.items():
        if not isinstance(value, str) or len(value) > _MAX_LENGTH or "\0" in value:
            raise OAuthError("invalid_request", f"{name} must be a string of at most {_MAX_LENGTH} characters.")
    return values


def _read_form(request: HttpRequest) -> dict[str, object]:
    check_content_length(request)
    try:
        form: QueryDict = request.POST
    except (SuspiciousOperation, UnicodeError) as error:
        raise OAuthError("invalid_request", "The form data is malformed.") from error
    for name in _NAMES:
        if len(form.getlist(name)) > 1:
            raise OAuthError("invalid_request", f"{name} must not occur more than once.")
    return dict(form.items())


def _serialize_token(token: IssuedToken) -> dict[str, object]:
    body: dict[str, object] = {"access_token": token.token, "scope": ",".join(token.scopes)}
    if token.lifetime is not None:
        body["expires_in"] = int(token.lifetime.total_seconds()) - 1
    if (member := token.member) is not None:
        body["associated_user_scope"] = ",".join(token.member_scopes)
        body["associated_user"] = {
            "id": member.user_id,
            "first_name": member.first_name,
            "last_name": member.last_name,
            "email": member.email,
            "email_verified": True,
            "account_owner": member.account_owner,
            "locale": member.locale,
            "collaborator": False,
        }
    return body


def _respond_error(error: OAuthError, **headers: str) -> HttpResponse:
    body = {"error": error.code, "error_description": error.description}
    return _respond(body, error.status, **headers)


def _respond(value: object, status: int, **headers: str) -> HttpResponse:
    no_cache_headers = {"Cache-Control": "no-store", "Pragma": "no-cache"}
    return HttpResponse(
        orjson.dumps(value), status=status, content_type=CONTENT_TYPE, headers={**no_cache_headers, **headers}
    )
