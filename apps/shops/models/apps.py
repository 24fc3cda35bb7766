"""The apps that work for shops, and the tokens that let an app in.

An ``App`` belongs to the whole installation of Backoffice; an ``Installation`` joins it to a shop with the scopes that
the shop granted. An ``AccessToken`` belongs to one installation and is stored as a SHA-256 digest only.
"""

import hashlib
import secrets
from collections.abc import Sequence

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.ground.phrases import TAKEN
from apps.ground.rows import ShopOwned, Timestamped, TimestampedQuerySet, VersionField
from apps.shops.models.redirects import check_redirect_urls
from apps.shops.models.scopes import expand
from apps.shops.models.secrets import SecretField

TOKEN_PREFIX = "bko_"  # noqa: S105 - the public beginning of every token


class App(Timestamped):
    """A program that works for shops; its secret signs what we send to it, and proves who asks for a token.

    Attributes:
        redirect_urls: Where people may be led after they approved, each as it stands here to the letter.
        scopes: What it asks shops for, see ``registered``.
        owner: The shop that registered it and keeps it; None where the operator does.
        retired_at: Since when its registration is no more: its key opens nothing, no shop can have it, and no page
            shows it. The row stays, as audit logs name who did what.
    """

    class Distribution(models.TextChoices):
        CUSTOM = "custom", gettext_lazy("Custom: made for chosen shops")
        PRIVATE = "private", gettext_lazy("Private: made by the shop itself")
        PUBLIC = "public", gettext_lazy("Public: from the app marketplace")

    name = models.CharField(gettext_lazy("name"), max_length=255)
    api_key = models.CharField(max_length=32, unique=True, editable=False)
    api_secret = SecretField(editable=False)
    distribution = models.CharField(
        gettext_lazy("distribution"), max_length=20, choices=Distribution, default=Distribution.CUSTOM
    )
    application_url = models.URLField(gettext_lazy("application url"), max_length=2048, blank=True)
    redirect_urls = models.JSONField(
        gettext_lazy("redirect urls"), default=list, blank=True, validators=[check_redirect_urls]
    )
    scopes = models.JSONField(gettext_lazy("scopes"), default=list, null=True, blank=True)
    owner = models.ForeignKey(
        "shops.Shop",
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        db_index=False,
        related_name="+",
        editable=False,
    )
    retired_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = models.Manager.from_queryset(TimestampedQuerySet)()

    class Meta:
        verbose_name = gettext_lazy("app")
        verbose_name_plural = gettext_lazy("apps")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

    @property
    def registered(self) -> list[str]:
        """The scopes that it asks shops for; where there are none, each request for approval names its own."""
        return self.scopes or []


class Installation(ShopOwned):
    """An app at work in a shop, with the scopes that the shop granted it."""

    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="installations", verbose_name=gettext_lazy("app")
    )
    scopes = models.JSONField(gettext_lazy("scopes"), default=list)
    uninstalled_at = models.DateTimeField(null=True, blank=True, editable=False)
    version = VersionField()

    # What it had before the change that is being told of.
    previous_scopes: Sequence[str] = ()

    class Meta:
        ordering = ("app__name", "id")
        verbose_name = gettext_lazy("app")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "app"),
                condition=Q(uninstalled_at=None),
                name="shops_installation_one_active_per_shop_and_app",
                violation_error_message=TAKEN,
            ),
        )

    def __str__(self) -> str:
        return f"{self.app}"

    @property
    def granted(self) -> frozenset[str]:
        """Every scope it may use; a ``write_`` scope brings its ``read_`` scope."""
        return expand(self.scopes)


class AccessToken(ShopOwned):
    """A key to one shop for one app; only its digest is kept."""

    installation = models.ForeignKey(
        Installation, on_delete=models.CASCADE, related_name="tokens", verbose_name=gettext_lazy("installation")
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=12, editable=False)
    created_by = models.CharField(max_length=100, blank=True, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="+", editable=False
    )
    last_used_at = models.DateTimeField(gettext_lazy("last used at"), null=True, editable=False)
    expires_at = models.DateTimeField(null=True, blank=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    class Meta:
        verbose_name = gettext_lazy("access token")
        verbose_name_plural = gettext_lazy("access tokens")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.prefix}…"


def new_token() -> str:
    """A fresh access token: 32 random bytes behind the public prefix."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def token_digest(token: str) -> str:
    """What is stored of a token, and looked up: its SHA-256 in hexadecimal digits."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def actor_of(installation: Installation) -> str:
    """How an app is named in the audit trail, e.g. ``app:4``."""
    return f"app:{installation.app_id}"
