from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy

from apps.content.models.files import FileContent
from apps.core.i18n.error_messages import NOT_IN_LIST, TAKEN
from apps.core.i18n.messages import MessageField
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned


class Theme(ShopOwned):
    """A storefront theme, made up of files. Customers see the published theme.

    While ``processing`` is set, a job installs the files. If a theme is neither processing nor previewable, the
    installation failed, the theme has no files, and ``failure`` contains the reason. ``notes`` tells which files of the
    archive were left out or converted.
    """

    class Role(models.TextChoices):
        MAIN = "main", gettext_lazy("Published")
        UNPUBLISHED = "unpublished", gettext_lazy("Draft")
        DEMO = "demo", gettext_lazy("Demo")
        DEVELOPMENT = "development", gettext_lazy("Development")

    name = models.CharField(gettext_lazy("name"), max_length=255)
    role = models.CharField(gettext_lazy("role"), max_length=20, choices=Role, default=Role.UNPUBLISHED)
    src = models.CharField(gettext_lazy("source"), max_length=4096, blank=True, editable=False)
    upload = models.ForeignKey(
        FileContent,
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        editable=False,
        verbose_name=gettext_lazy("upload"),
    )
    previewable = models.BooleanField(default=False, editable=False)
    processing = models.BooleanField(gettext_lazy("processing"), default=True, editable=False)
    publish_when_ready = models.BooleanField(default=False, editable=False)
    failure = MessageField(editable=False)
    notes = MessageField(editable=False, db_default="")
    version = VersionField()

    non_personal_fields = ("name", "src", "failure", "notes")

    class Meta:
        verbose_name = gettext_lazy("theme")
        verbose_name_plural = gettext_lazy("themes")
        constraints = (
            models.UniqueConstraint(
                fields=("shop",),
                condition=Q(role="main"),
                name="content_theme_one_main_per_shop",
                violation_error_message=TAKEN,
                violation_error_code="role",
            ),
            models.CheckConstraint(
                condition=~Q(role="main") | Q(previewable=True),
                name="content_theme_main_is_complete",
                violation_error_message=NOT_IN_LIST,
            ),
        )
        indexes = (models.Index(fields=("shop", "name", "id"), name="content_theme_by_name"),)

    def __str__(self) -> str:
        return self.name

    @property
    def failed(self) -> bool:
        return not self.processing and not self.previewable


class Asset(ShopOwned):
    """A file of a theme. ``key`` is its path, and ``actor`` is the actor who saved the current content."""

    theme = models.ForeignKey(
        Theme, on_delete=models.CASCADE, related_name="assets", editable=False, verbose_name=gettext_lazy("theme")
    )
    key = models.CharField(gettext_lazy("key"), max_length=255)
    content = models.ForeignKey(
        FileContent, on_delete=models.PROTECT, related_name="+", verbose_name=gettext_lazy("content")
    )
    actor = models.CharField(max_length=100, default="system", editable=False)

    non_personal_fields = ("key", "actor")

    class Meta:
        verbose_name = gettext_lazy("asset")
        verbose_name_plural = gettext_lazy("assets")
        constraints = (
            models.UniqueConstraint(
                fields=("theme", "key"),
                name="content_asset_key_once_per_theme",
                violation_error_message=TAKEN,
                violation_error_code="asset",
            ),
        )

    def __str__(self) -> str:
        return self.key


class AssetVersion(ShopOwned):
    """An earlier version of an overwritten or deleted theme file, with the actor and the time of the save."""

    theme = models.ForeignKey(
        Theme, on_delete=models.CASCADE, related_name="asset_versions", verbose_name=gettext_lazy("theme")
    )
    key = models.CharField(gettext_lazy("key"), max_length=255)
    content = models.ForeignKey(
        FileContent, on_delete=models.PROTECT, related_name="+", verbose_name=gettext_lazy("content")
    )
    actor = models.CharField(max_length=100)
    saved_at = models.DateTimeField()

    non_personal_fields = ("key", "actor")

    class Meta:
        verbose_name = gettext_lazy("asset version")
        verbose_name_plural = gettext_lazy("asset versions")
        indexes = (models.Index(fields=("theme", "key", "-id"), name="content_assetversion_by_asset"),)

    def __str__(self) -> str:
        return f"{self.key} of {self.saved_at:%Y-%m-%d %H:%M}"
