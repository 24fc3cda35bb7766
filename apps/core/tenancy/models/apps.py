"""Models for apps, their installations and access tokens.

An ``App`` exists once for all shops. An ``Installation`` connects an app to a shop, with the scopes that the shop
granted. An ``AccessToken`` belongs to an ``Installation``. Only the SHA-256 digest of the token is stored.
"""

import hashlib
import secrets
from collections.abc import Sequence

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.core.db.encrypted_fields import SecretField
from apps.core.i18n.error_messages import TAKEN
from apps.core.models import Timestamped, TimestampedQuerySet, VersionField
from apps.core.tenancy.access_scopes import expand_scopes
from apps.core.tenancy.models.redirect_urls import check_redirect_urls
from apps.core.tenancy.shop_owned import ShopOwned

TOKEN_PREFIX = "bko_"  # noqa: S105 - the public beginning of every token
# The beginning of the API key of a shop's own app (``apps.shops.domain.app_installation``). Other keys are hexadecimal.
SHOP_APP_PREFIX = "shop-"


class App(Timestamped):
    """A program that uses the API. The app's secret signs outgoing requests and authenticates the app.

    Attributes:
        contact_email: The developer's address for emails about the app, such as disabled webhook subscriptions.
        redirect_urls: Allowed redirect URLs, compared character by character.
        owner: The shop that registered the app, or None for the operator's apps.
        retired_at: The time when the registration was deleted. After that, the API key is invalid, the app cannot be
            installed, and no page shows the app. The row is not deleted, because audit logs refer to the app.
    """

    class Distribution(models.TextChoices):
        CUSTOM = "custom", gettext_lazy("Custom: for selected shops")
        PRIVATE = "private", gettext_lazy("Private: developed by the shop itself")
        PUBLIC = "public", gettext_lazy("Public: from the app marketplace")

    name = models.CharField(gettext_lazy("name"), max_length=255)
    api_key = models.CharField(max_length=32, unique=True, editable=False)
    api_secret = SecretField(editable=False)
    distribution = models.CharField(
        gettext_lazy("distribution"), max_length=20, choices=Distribution, default=Distribution.CUSTOM
    )
    application_url = models.URLField(gettext_lazy("app URL"), max_length=2048, blank=True)
    contact_email = models.EmailField(gettext_lazy("contact email"), blank=True, default="", db_default="")
    redirect_urls = models.JSONField(
        gettext_lazy("redirect URLs"), default=list, blank=True, validators=[check_redirect_urls]
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

    non_personal_fields = (
        "name",
        "api_key",
        "api_secret",
        "application_url",
        "contact_email",
        "redirect_urls",
        "scopes",
    )

    objects = models.Manager.from_queryset(TimestampedQuerySet)()

    class Meta:
        app_label = "shops"
        verbose_name = gettext_lazy("app")
        verbose_name_plural = gettext_lazy("apps")
        ordering = ("name", "id")

    def __str__(self) -> str:
        return self.name

    @property
    def requested_scopes(self) -> list[str]:
        """Return the requested scopes. If there are none, each authorization request names the scopes."""
        return self.scopes or []

    @property
    def is_shop_app(self) -> bool:
        """Return True for the internal app that owns the webhooks that staff of a shop add."""
        return self.api_key.startswith(SHOP_APP_PREFIX)


class Installation(ShopOwned):
    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="installations", verbose_name=gettext_lazy("app")
    )
    scopes = models.JSONField(gettext_lazy("scopes"), default=list)
    uninstalled_at = models.DateTimeField(null=True, blank=True, editable=False)
    version = VersionField()

    non_personal_fields = ("scopes",)

    # The scopes before the current change, for the event payload.
    previous_scopes: Sequence[str] = ()

    class Meta:
        app_label = "shops"
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
    def all_scopes(self) -> frozenset[str]:
        return expand_scopes(self.scopes)


class AccessToken(ShopOwned):
    """An access token of an installation, stored as a digest."""

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

    non_personal_fields = ("digest", "prefix", "created_by")

    class Meta:
        app_label = "shops"
        verbose_name = gettext_lazy("access token")
        verbose_name_plural = gettext_lazy("access tokens")
        ordering = ("-id",)

    def __str__(self) -> str:
        return f"{self.prefix}…"


def generate_token() -> str:
    """Return a new access token: the public prefix followed by 32 random bytes."""
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the hexadecimal SHA-256 digest that is stored for a token."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def get_app_actor(installation: Installation) -> str:
    """Return the actor name of an app for the audit log, e.g. ``app:4``."""
    return f"app:{installation.app_id}"
