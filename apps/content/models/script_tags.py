from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.content.models.files import FileContent
from apps.core.i18n.error_messages import NOT_SECURE
from apps.core.models import VersionField
from apps.core.tenancy.models import App
from apps.core.tenancy.shop_owned import ShopOwned


class ScriptTag(ShopOwned):
    """A remote script that the storefront loads on every page in its display scope. Uninstalling the app deletes it."""

    class Event(models.TextChoices):
        ONLOAD = "onload", gettext_lazy("When the page has loaded")

    class DisplayScope(models.TextChoices):
        ALL = "all", gettext_lazy("Online store and order status page")
        ONLINE_STORE = "online_store", gettext_lazy("Online store only")
        ORDER_STATUS = "order_status", gettext_lazy("Order status page only")

    app = models.ForeignKey(
        App, on_delete=models.CASCADE, related_name="+", editable=False, verbose_name=gettext_lazy("app")
    )
    src = models.URLField(gettext_lazy("source"), max_length=2048)
    event = models.CharField(gettext_lazy("event"), max_length=20, choices=Event, default=Event.ONLOAD)
    display_scope = models.CharField(
        gettext_lazy("shown on"), max_length=20, choices=DisplayScope, default=DisplayScope.ONLINE_STORE
    )
    cache = models.BooleanField(
        gettext_lazy("cache"),
        default=False,
        help_text=gettext_lazy("Serve a cached copy that is refreshed every 15 minutes."),
    )
    version = VersionField()

    non_personal_fields = ("src",)

    class Meta:
        verbose_name = gettext_lazy("script tag")
        verbose_name_plural = gettext_lazy("script tags")
        constraints = (
            models.CheckConstraint(
                condition=Q(src__startswith="https://"),
                name="content_scripttag_src_is_https",
                violation_error_message=NOT_SECURE,
            ),
        )
        indexes = (models.Index(fields=("shop", "app", "id"), name="content_scripttag_by_app"),)

    def __str__(self) -> str:
        return self.src


class ScriptCopy(ShopOwned):
    """A cached copy of a script. If ``src`` is no longer the script tag's URL, the copy is never served."""

    tag = models.OneToOneField(
        ScriptTag, on_delete=models.CASCADE, related_name="copy", verbose_name=gettext_lazy("tag")
    )
    src = models.URLField(gettext_lazy("src"), max_length=2048)
    content = models.ForeignKey(
        FileContent, on_delete=models.PROTECT, null=True, related_name="+", verbose_name=gettext_lazy("content")
    )
    tried_at = models.DateTimeField(default=timezone.now)
    fetched_at = models.DateTimeField(null=True)
    error = models.CharField(gettext_lazy("error"), max_length=255, blank=True)

    non_personal_fields = ("src", "error")

    def __str__(self) -> str:
        return self.src
