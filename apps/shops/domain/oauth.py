"""Authorization requests of apps, and the codes and tokens that apps get after approval (RFC 6749).

Callback URLs are signed with the hexadecimal HMAC-SHA256 of the sorted query parameters. While the app's secret is
being rotated, callback URLs, like webhooks, are signed with the old secret.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.db import transaction
from django.utils.translation import gettext as _

from apps.core.exceptions import DomainError
from apps.core.tenancy.access_scopes import UnknownScope, drop_implied_scopes, expand_scopes, parse_scopes
from apps.core.tenancy.models import AccessToken, App, Installation, Shop, get_app_actor, hash_token
from apps.core.tenancy.scope import all_shops_scope, shop_scope
from apps.core.tenancy.staff_access import Member, find_member, lock_member
from apps.shops.domain import app_installation
from apps.shops.domain.app_secrets import get_valid_secrets, is_valid_secret
from apps.shops.domain.tokens import issue_token
from apps.shops.models import AuthorizationCode


def build_callback_url(app: App, redirect_uri: str, values: Mapping[str, str], *, shop: Shop, at: datetime) -> str:
    """Return a registered redirect URL with the values, shop, time and signature added to its query.

    The parameters are in the order in which they are signed, because some client libraries do not sort them.
    """
    parameters = {
        **values,
        "host": base64.b64encode(f"{shop.domain}/admin".encode()).decode().rstrip("="),
        "shop": shop.domain,
        "timestamp": str(int(at.timestamp())),
    }
    split_uri = urlsplit(redirect_uri)
    ours = {*parameters, "hmac"}
    existing = [pair for pair in parse_qsl(split_uri.query, keep_blank_values=True) if pair[0] not in ours]
    parameters["hmac"] = sign_parameters(get_valid_secrets(app, at)[0], {**dict(existing), **parameters})
    pairs: list[tuple[str, str]] = [*existing, *parameters.items()]
    pairs.sort(key=lambda pair: _format_pair(pair[0], pair[1]))
    return split_uri._replace(query=urlencode(pairs)).geturl()


def sign_parameters(secret: str, parameters: Mapping[str, str]) -> str:
    """Return the ``hmac`` parameter: the signature of all other parameters, sorted and with escaped delimiters."""
    pairs = sorted(_format_pair(name, value) for name, value in parameters.items() if name != "hmac")
    return hmac.new(secret.encode(), "&".join(pairs).encode(), hashlib.sha256).hexdigest()


def _format_pair(name: str, value: str) -> str:
    return f"{_escape(name).replace('=', '%3D')}={_escape(value)}"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("&", "%26")


CODE_LIFETIME = timedelta(minutes=10)
# Lifetime of tokens that act as a staff member, and of tokens from client credentials.
SHORT_TOKEN_LIFETIME = timedelta(hours=24)
# The period after which an app's earlier tokens expire when a new token is issued.
TOKEN_OVERLAP = timedelta(hours=24)
MAX_STATE = 2048
PER_USER = "per-user"


class OAuthError(DomainError):
    """Raised when an OAuth request fails. ``code`` is for programs, and ``description`` is for people."""

    def __init__(self, error: str, description: str, *, status: int = 400) -> None:
        """Create the error with an error code of RFC 6749 and the HTTP status for the token endpoint."""
        super().__init__(description)
        self.code, self.description, self.status = error, description, status


@dataclass(frozen=True, slots=True)
class AuthorizationRequest:
    """A checked authorization request of an app.

    The callback returns ``state`` unchanged. With ``per_user``, the token acts as the approving staff member.
    """

    app: App
    shop: Shop
    redirect_uri: str
    scopes: tuple[str, ...]
    state: str
    per_user: bool


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new access token, which is shown only once. A token that acts as a staff member has a ``member``."""

    token: str
    scopes: tuple[str, ...]
    lifetime: timedelta | None = None
    member: Member | None = None
    member_scopes: tuple[str, ...] = ()


def check_authorization_request(
    shop: Shop,
    *,
    client_id: str,
    redirect_uri: str,
    scope: str,
    state: str,
    grant_options: Iterable[str] = (),
    response_type: str = "",
) -> AuthorizationRequest:
    """Check an authorization request without changing anything.

    Callers must not redirect to the URL in the request before this check.

    Raises:
        OAuthError: The request is invalid.
    """
    app = App.objects.filter(api_key=client_id).first() if client_id.isascii() and "\0" not in client_id else None
    if app is None or app.is_shop_app:
        raise OAuthError("invalid_client", _("No app has this client_id. Contact the app's developer."))
    _check_shop(app, shop)
    if not redirect_uri and len(app.redirect_urls) == 1:
        redirect_uri = app.redirect_urls[0]
    if redirect_uri not in app.redirect_urls:
        raise OAuthError(
            "invalid_request",
            _("The redirect_uri is not registered for this app. It must exactly match a registered URL."),
        )
    if response_type not in {"", "code"}:
        raise OAuthError("unsupported_response_type", _("The response_type must be “code”."))
    if len(state) > MAX_STATE or not state.isprintable():
        raise OAuthError(
            "invalid_request",
            _("The state must be printable text of at most {limit} characters.").format(limit=MAX_STATE),
        )
    options = set(grant_options) - {""}
    if options - {PER_USER, "value"}:
        raise OAuthError("invalid_request", _("The only supported grant option is {option}.").format(option=PER_USER))
    return AuthorizationRequest(
        app, shop, redirect_uri, _parse_requested_scopes(app, scope), state, PER_USER in options
    )


def _check_shop(app: App, shop: Shop) -> None:
    """Raise an error if the app is private to another shop and not yet installed in this shop."""
    if app.distribution != App.Distribution.PRIVATE or app.owner_id == shop.pk or find_installation(app, shop):
        return
    raise OAuthError("access_denied", _("This app belongs to another shop and can't be installed here."))


def _parse_requested_scopes(app: App, text: str) -> tuple[str, ...]:
    try:
        scopes = parse_scopes(text.replace(" ", ",")) or parse_scopes(app.requested_scopes)
    except UnknownScope as error:
        raise OAuthError("invalid_scope", f"{error}.") from error
    unregistered = sorted(expand_scopes(scopes) - expand_scopes(app.requested_scopes)) if app.requested_scopes else []
    if unregistered:
        raise OAuthError(
            "invalid_scope", _("The app is not registered for {scopes}.").format(scopes=", ".join(unregistered))
        )
    return tuple(scopes)


def find_installation(app: App, shop: Shop) -> Installation | None:
    with shop_scope(shop):
        return Installation.objects.select_related("app", "shop").filter(app=app, uninstalled_at=None).first()


@transaction.atomic
def approve_request(authorization_request: AuthorizationRequest, *, user_id: int, at: datetime) -> str:
    """Create a code, which replaces the staff member's earlier code for the app, and return the redirect URL."""
    code = secrets.token_urlsafe(32)
    with shop_scope(authorization_request.shop):
        AuthorizationCode.objects.filter(app=authorization_request.app, user_id=user_id).delete()
        AuthorizationCode.objects.create(
            shop=authorization_request.shop,
            app=authorization_request.app,
            user_id=user_id,
            digest=hash_token(code),
            redirect_uri=authorization_request.redirect_uri,
            scopes=list(authorization_request.scopes),
            per_user=authorization_request.per_user,
            expires_at=at + CODE_LIFETIME,
            created_at=at,
        )
    return _build_callback(authorization_request, {"code": code}, at)


def decline_request(authorization_request: AuthorizationRequest, *, at: datetime) -> str:
    values = {"error": "access_denied", "error_description": "The app was not approved."}
    return _build_callback(authorization_request, values, at)


def _build_callback(authorization_request: AuthorizationRequest, values: dict[str, str], at: datetime) -> str:
    parameters = {**values, "state": authorization_request.state} if authorization_request.state else values
    return build_callback_url(
        authorization_request.app,
        authorization_request.redirect_uri,
        parameters,
        shop=authorization_request.shop,
        at=at,
    )


def authenticate_app(client_id: str, client_secret: str, *, at: datetime) -> App:
    """Return the app, or raise the same ``OAuthError`` for an unknown app and for a wrong secret."""
    is_wellformed = client_id.isascii() and "\0" not in client_id
    app = App.objects.filter(api_key=client_id).first() if is_wellformed and client_id else None
    if app is None or app.is_shop_app or not is_valid_secret(app, client_secret, at):
        description = "The client_id or the client_secret is wrong. Check the app's page in the panel."
        raise OAuthError("invalid_client", description, status=401)
    return app


@transaction.atomic
def exchange_code(app: App, code: str, *, redirect_uri: str = "", domain: str = "", at: datetime) -> IssuedToken:
    """Exchange a code for an access token. Each code can be exchanged only once.

    ``domain`` is the shop domain that the request was sent to, or an empty string for another host.

    Raises:
        OAuthError: The code is invalid or expired, or was issued for another app, shop or redirect URL.
    """
    with all_shops_scope():
        row = AuthorizationCode.objects.select_related("shop").filter(digest=hash_token(code)).first()
    if row is None or row.app_id != app.pk or (domain and domain != row.shop.domain):
        raise _invalid_code_error()
    if redirect_uri and redirect_uri != row.redirect_uri:
        raise OAuthError(
            "invalid_grant", "The redirect_uri differs from the redirect_uri in the authorization request."
        )
    with shop_scope(row.shop):
        # Of two concurrent exchanges, only one deletes the code.
        deleted, _ = AuthorizationCode.objects.filter(pk=row.pk, expires_at__gt=at).delete()
        if not deleted:
            raise _invalid_code_error()
        return _grant(app, row, at)


def _invalid_code_error() -> OAuthError:
    return OAuthError(
        "invalid_grant",
        f"The code is unknown, was already used, or is older than {CODE_LIFETIME.seconds // 60} minutes."
        " Request a new code.",
    )


def _grant(app: App, row: AuthorizationCode, at: datetime) -> IssuedToken:
    """Install the app or update its scopes, as the staff member approved, and issue the token."""
    lock_member(row.user_id, row.shop)
    member = find_member(row.user_id, row.shop)
    if member is None or not member.may_install:
        raise OAuthError(
            "invalid_grant", "The staff member who approved the app may no longer install apps in this shop."
        )
    _check_shop(app, row.shop)
    if row.redirect_uri not in app.redirect_urls:
        raise OAuthError("invalid_grant", "The redirect URL is no longer registered for this app.")
    current_installation = find_installation(app, row.shop)
    # A per-user request never removes scopes from the app.
    current_scopes = current_installation.scopes if current_installation is not None and row.per_user else []
    scopes = (
        _parse_requested_scopes(app, ",".join({*row.scopes, *current_scopes})) if row.scopes or current_scopes else ()
    )
    installation = app_installation.install_app(app, row.shop, scopes=scopes, actor=f"staff:{row.user_id}", at=at)
    if not row.per_user:
        return _issue_app_token(installation, at)
    expires_at = at + SHORT_TOKEN_LIFETIME
    actor = get_app_actor(installation)
    token = issue_token(installation, actor=actor, at=at, user_id=row.user_id, expires_at=expires_at)
    member_scopes = member.limit_scopes(installation.all_scopes)
    return IssuedToken(
        token, tuple(installation.scopes), SHORT_TOKEN_LIFETIME, member, tuple(drop_implied_scopes(member_scopes))
    )


def _issue_app_token(installation: Installation, at: datetime) -> IssuedToken:
    """Issue a token without expiry for the app. The app's earlier tokens expire after ``TOKEN_OVERLAP``."""
    actor = get_app_actor(installation)
    AccessToken.objects.filter(
        installation=installation, created_by=actor, user=None, expires_at=None, revoked_at=None
    ).update(expires_at=at + TOKEN_OVERLAP)
    return IssuedToken(issue_token(installation, actor=actor, at=at), tuple(installation.scopes))


@transaction.atomic
def issue_token_by_credentials(app: App, *, domain: str, at: datetime) -> IssuedToken:
    """Issue a token to an installed app that authenticates with its secret only.

    Without a shop domain, the app must be installed in exactly one shop.

    Raises:
        OAuthError: The app is public or not installed, or the shop is ambiguous.
    """
    if app.distribution == App.Distribution.PUBLIC:
        raise OAuthError("unauthorized_client", "Marketplace apps must use the authorization code grant.")
    with all_shops_scope():
        installations = Installation.objects.select_related("app", "shop").filter(app=app, uninstalled_at=None)
        rows = list((installations.filter(shop__domain=domain) if domain else installations).order_by("pk")[:2])
    if not rows:
        raise OAuthError("invalid_request", "The app is not installed in this shop.")
    if len(rows) > 1:
        raise OAuthError(
            "invalid_request",
            "The app is installed in several shops. Send the request to the shop's domain or add shop=<domain>.",
        )
    with shop_scope(rows[0].shop):
        actor = get_app_actor(rows[0])
        token = issue_token(rows[0], actor=actor, at=at, expires_at=at + SHORT_TOKEN_LIFETIME)
    return IssuedToken(token, tuple(rows[0].scopes), SHORT_TOKEN_LIFETIME)


def get_ungranted_scopes(installation: Installation) -> list[str]:
    return sorted(expand_scopes(installation.app.requested_scopes) - installation.all_scopes)


def delete_expired_codes_and_tokens(at: datetime) -> int:
    deleted_codes = AuthorizationCode.objects.filter(expires_at__lt=at).delete()[0]
    return deleted_codes + AccessToken.objects.filter(expires_at__lt=at - timedelta(days=30)).delete()[0]
