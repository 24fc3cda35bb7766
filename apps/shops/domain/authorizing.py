"""Apps get their tokens: an app asks, a staff member answers, the app exchanges the code (OAuth 2.0, RFC 6749).

Rule: decisions, Access. A yes changes nothing by itself: it makes a code, bound to the app, the shop, the redirect URL,
the scopes and the person. The exchange, for which the app proves itself by its secret, installs the app or changes what
it may do, and issues the token, in one transaction.
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.utils.translation import gettext as _

from apps.ground.errors import DomainError
from apps.ground.tenancy import every_shop, shop_scope
from apps.shops.domain import callbacks, installing
from apps.shops.domain.app_secrets import is_secret_of
from apps.shops.domain.members import Member, member_of
from apps.shops.domain.tokens import issue_token
from apps.shops.models import AccessToken, App, AuthorizationCode, Installation, Shop, actor_of, token_digest
from apps.shops.models.scopes import UnknownScope, expand, parse_scopes

CODE_LIVES = timedelta(minutes=10)
# Tokens of a person, and those that an app fetches by its secret alone.
SHORT_LIVED = timedelta(hours=24)
# Tokens that the app fetched before go on for so long beside a new one.
OVERLAP = timedelta(hours=24)
MAX_STATE = 2048
PER_USER = "per-user"


class AuthorizationRefused(DomainError):
    """What OAuth calls an error: a word for programs and a sentence for people."""

    def __init__(self, error: str, description: str, *, status: int = 400) -> None:
        """Refuse.

        Args:
            error: One of the words of RFC 6749, e.g. ``invalid_grant``.
            description: What is wrong, and what to do about it.
            status: The HTTP status of the token endpoint's answer.
        """
        super().__init__(description)
        self.code, self.description, self.status = error, description, status


@dataclass(frozen=True, slots=True)
class Asked:
    """What an app asks of a shop, checked.

    Attributes:
        state: What comes back unchanged, by which the app knows its own request.
        per_user: Whether it asks for a token that acts as the person who answers.
    """

    app: App
    shop: Shop
    redirect_uri: str
    scopes: tuple[str, ...]
    state: str
    per_user: bool


@dataclass(frozen=True, slots=True)
class Issued:
    """A token, shown this once.

    Attributes:
        member: As whom it acts; None where it is the app's own.
        member_scopes: What of the app's scopes it may use as that person.
    """

    token: str
    scopes: tuple[str, ...]
    lives: timedelta | None = None
    member: Member | None = None
    member_scopes: tuple[str, ...] = ()


# --- asking ---


def read_request(
    shop: Shop,
    *,
    client_id: str,
    redirect_uri: str,
    scope: str,
    state: str,
    grant_options: Iterable[str] = (),
    response_type: str = "",
) -> Asked:
    """Check what an app asks; nothing is changed, and nobody is led anywhere before this.

    Raises:
        AuthorizationRefused: It cannot be asked so.
    """
    app = App.objects.filter(api_key=client_id).first() if client_id.isascii() and "\0" not in client_id else None
    if app is None:
        raise AuthorizationRefused("invalid_client", _("No app has this client_id. Ask whoever made the app."))
    _check_shop(app, shop)
    if not redirect_uri and len(app.redirect_urls) == 1:
        redirect_uri = app.redirect_urls[0]
    if redirect_uri not in app.redirect_urls:
        raise AuthorizationRefused(
            "invalid_request",
            _("The redirect_uri is none of those that are registered for this app; it must be the same to the letter."),
        )
    if response_type not in {"", "code"}:
        raise AuthorizationRefused("unsupported_response_type", _("The response_type can only be code."))
    if len(state) > MAX_STATE or not state.isprintable():
        raise AuthorizationRefused(
            "invalid_request", _("The state is longer than {limit} characters, or no text.").format(limit=MAX_STATE)
        )
    options = set(grant_options) - {""}
    if options - {PER_USER, "value"}:
        raise AuthorizationRefused("invalid_request", _("The only grant option is {option}.").format(option=PER_USER))
    return Asked(app, shop, redirect_uri, _scopes(app, scope), state, PER_USER in options)


def _check_shop(app: App, shop: Shop) -> None:
    """An app of one shop's own is for no other."""
    if app.distribution != App.Distribution.PRIVATE or app.owner_id == shop.pk or installed(app, shop):
        return
    raise AuthorizationRefused("access_denied", _("This app was made for another shop and cannot be installed here."))


def _scopes(app: App, text: str) -> tuple[str, ...]:
    """The scopes that are asked for; where none are named, those that are registered."""
    try:
        asked = parse_scopes(text.replace(" ", ",")) or parse_scopes(app.registered)
    except UnknownScope as error:
        raise AuthorizationRefused("invalid_scope", f"{error}.") from error
    beyond = sorted(expand(asked) - expand(app.registered)) if app.registered else []
    if beyond:
        raise AuthorizationRefused(
            "invalid_scope", _("The app is not registered for {scopes}.").format(scopes=", ".join(beyond))
        )
    return tuple(asked)


def installed(app: App, shop: Shop) -> Installation | None:
    """The app at work in a shop, if it is."""
    with shop_scope(shop):
        return Installation.objects.select_related("app", "shop").filter(app=app, uninstalled_at=None).first()


# --- answering ---


@transaction.atomic
def approve(asked: Asked, *, user_id: int, at: datetime) -> str:
    """Make a code for the app; the one that the person made for it before is void. Returns where to lead them."""
    code = secrets.token_urlsafe(32)
    with shop_scope(asked.shop):
        AuthorizationCode.objects.filter(app=asked.app, user_id=user_id).delete()
        AuthorizationCode.objects.create(
            shop=asked.shop,
            app=asked.app,
            user_id=user_id,
            digest=token_digest(code),
            redirect_uri=asked.redirect_uri,
            scopes=list(asked.scopes),
            per_user=asked.per_user,
            expires_at=at + CODE_LIVES,
            created_at=at,
        )
    return _led_back(asked, {"code": code}, at)


def decline(asked: Asked, *, at: datetime) -> str:
    """Where to lead somebody who said no."""
    values = {"error": "access_denied", "error_description": "The app was not approved."}
    return _led_back(asked, values, at)


def _led_back(asked: Asked, values: dict[str, str], at: datetime) -> str:
    told = {**values, "state": asked.state} if asked.state else values
    return callbacks.callback_url(asked.app, asked.redirect_uri, told, shop=asked.shop, at=at)


# --- exchanging ---


def authenticate(client_id: str, client_secret: str, *, at: datetime) -> App:
    """The app that proves itself by its secret.

    Raises:
        AuthorizationRefused: There is none, or it is not its secret; both alike.
    """
    known = client_id.isascii() and "\0" not in client_id
    app = App.objects.filter(api_key=client_id).first() if known and client_id else None
    if app is None or not is_secret_of(app, client_secret, at):
        description = "The client_id or the client_secret is wrong. Both stand on the app's page in the panel."
        raise AuthorizationRefused("invalid_client", description, status=401)
    return app


@transaction.atomic
def redeem(app: App, code: str, *, redirect_uri: str = "", domain: str = "", at: datetime) -> Issued:
    """Exchange a code, once.

    Args:
        app: Who has proved to be the app.
        code: What the callback brought.
        redirect_uri: Where the callback came, if the app says so.
        domain: The shop that the request's host names, if it names one.
        at: When.

    Raises:
        AuthorizationRefused: It is not the code that this app was given for this, or no longer; nothing is granted.
    """
    with every_shop():
        row = AuthorizationCode.objects.select_related("shop").filter(digest=token_digest(code)).first()
    if row is None or row.app_id != app.pk or (domain and domain != row.shop.domain):
        raise _no_grant()
    if redirect_uri and redirect_uri != row.redirect_uri:
        raise AuthorizationRefused("invalid_grant", "The redirect_uri is not the one for which the code was made.")
    with shop_scope(row.shop):
        # Of two who have the code at once, one deletes it.
        gone, _ = AuthorizationCode.objects.filter(pk=row.pk, expires_at__gt=at).delete()
        if not gone:
            raise _no_grant()
        return _granted(app, row, at)


def _no_grant() -> AuthorizationRefused:
    return AuthorizationRefused(
        "invalid_grant",
        f"The code is unknown, was used before, or is older than {CODE_LIVES.seconds // 60} minutes. Ask anew.",
    )


def _granted(app: App, row: AuthorizationCode, at: datetime) -> Issued:
    """Install the app, or change what it may do, as its code says, and issue the token."""
    member = member_of(row.user_id, row.shop)
    if member is None or not member.may_install:
        raise AuthorizationRefused("invalid_grant", "Whoever approved the app may not install apps in this shop now.")
    _check_shop(app, row.shop)
    if row.redirect_uri not in app.redirect_urls:
        raise AuthorizationRefused("invalid_grant", "The redirect URL was taken from the app meanwhile.")
    before = installed(app, row.shop)
    # Asking for a person takes nothing from the app.
    kept = before.scopes if before is not None and row.per_user else []
    scopes = _scopes(app, ",".join({*row.scopes, *kept})) if row.scopes or kept else ()
    installation = installing.install(app, row.shop, scopes=scopes, actor=f"staff:{row.user_id}", at=at)
    if not row.per_user:
        return _own_token(installation, at)
    expires_at = at + SHORT_LIVED
    actor = actor_of(installation)
    token = issue_token(installation, actor=actor, at=at, user_id=row.user_id, expires_at=expires_at)
    narrowed = narrow(installation.granted, member)
    return Issued(token, tuple(installation.scopes), SHORT_LIVED, member, tuple(shortest(narrowed)))


def _own_token(installation: Installation, at: datetime) -> Issued:
    """A token of the app's own, without an end; those that it fetched before go on for a while."""
    actor = actor_of(installation)
    AccessToken.objects.filter(
        installation=installation, created_by=actor, user=None, expires_at=None, revoked_at=None
    ).update(expires_at=at + OVERLAP)
    return Issued(issue_token(installation, actor=actor, at=at), tuple(installation.scopes))


@transaction.atomic
def issue_by_credentials(app: App, *, domain: str, at: datetime) -> Issued:
    """A token for an app that is installed already, for its secret alone.

    Args:
        app: Who has proved to be the app.
        domain: Of the shop; where there is none, the app must be installed on one shop only.
        at: When.

    Raises:
        AuthorizationRefused: Apps of the marketplace ask staff; or it is not clear, or not installed, where.
    """
    if app.distribution == App.Distribution.PUBLIC:
        raise AuthorizationRefused("unauthorized_client", "Apps of the marketplace get tokens by asking staff.")
    with every_shop():
        found = Installation.objects.select_related("app", "shop").filter(app=app, uninstalled_at=None)
        rows = list((found.filter(shop__domain=domain) if domain else found).order_by("pk")[:2])
    if not rows:
        raise AuthorizationRefused("invalid_request", "The app is not installed on this shop.")
    if len(rows) > 1:
        raise AuthorizationRefused("invalid_request", "Name the shop: ask at its own domain, or send shop=<domain>.")
    with shop_scope(rows[0].shop):
        actor = actor_of(rows[0])
        token = issue_token(rows[0], actor=actor, at=at, expires_at=at + SHORT_LIVED)
    return Issued(token, tuple(rows[0].scopes), SHORT_LIVED)


def asked_beyond(installation: Installation) -> list[str]:
    """The scopes that an app's registration asks for by now, and that the shop has not granted it."""
    return sorted(expand(installation.app.registered) - installation.granted)


def narrow(granted: Iterable[str], member: Member) -> frozenset[str]:
    """What of an app's scopes somebody may use through it."""
    return frozenset(granted) & member.scopes


def shortest(scopes: Iterable[str]) -> list[str]:
    """Scopes without those that others of them bring along."""
    held = set(scopes)
    return sorted(scope for scope in held if not (scope.startswith("read_") and f"write_{scope[5:]}" in held))


def clear(at: datetime) -> int:
    """Let go of codes that nobody fetched, and of tokens that ended a month ago."""
    codes = AuthorizationCode.objects.filter(expires_at__lt=at).delete()[0]
    return codes + AccessToken.objects.filter(expires_at__lt=at - timedelta(days=30)).delete()[0]
