"""The scripts that apps put on a shop's pages."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.content.models.files import FileContent
from apps.ground.phrases import NOT_SECURE
from apps.ground.rows import ShopOwned, VersionField
from apps.shops.models import App


class ScriptTag(ShopOwned):
    """A remote script that the storefront loads on every page in its display scope.

    It belongs to the app that made it and goes when the app is uninstalled.
    """

    class Event(models.TextChoices):
        ONLOAD = "onload", "When the page has loaded"

    class DisplayScope(models.TextChoices):
        ALL = "all", "Storefront and order status page"
        ONLINE_STORE = "online_store", "Storefront only"
        ORDER_STATUS = "order_status", "Order status page only"

    app = models.ForeignKey(App, on_delete=models.CASCADE, related_name="+", editable=False)
    src = models.URLField("source", max_length=2048)
    event = models.CharField(max_length=20, choices=Event, default=Event.ONLOAD)
    display_scope = models.CharField(max_length=20, choices=DisplayScope, default=DisplayScope.ONLINE_STORE)
    cache = models.BooleanField(default=False, help_text="Serve our own copy, fresh for 15 minutes.")
    version = VersionField()

    class Meta:
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
    """Our own copy of a script whose tag asks for one.

    ``src`` is where the copy came from, so that a tag that moves on never serves the old script.
    """

    tag = models.OneToOneField(ScriptTag, on_delete=models.CASCADE, related_name="copy")
    src = models.URLField(max_length=2048)
    content = models.ForeignKey(FileContent, on_delete=models.PROTECT, null=True, related_name="+")
    tried_at = models.DateTimeField(default=timezone.now)
    fetched_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=255, blank=True)

    def __str__(self) -> str:
        return self.src
