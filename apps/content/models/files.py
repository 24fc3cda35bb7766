"""Blobs, and the images that staff upload for descriptions and articles.

Themes, articles and cached scripts also store their files as blobs.
"""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.core.tenancy.shop_owned import ShopOwned


class FileContent(ShopOwned):
    """A blob: the content of a file, which a shop stores only once even if several rows use it.

    The row is inserted before the file is written, and deleted after the file is deleted. So every file has a row.

    Attributes:
        stored: True once the file is complete. Until then, no row may refer to the blob.
        used_at: The time of the last request to store the blob. Recently used blobs are never deleted.
        is_new: True if the blob was first stored through this instance.
    """

    is_new = False

    sha256 = models.CharField(max_length=64, editable=False)
    md5 = models.CharField(gettext_lazy("checksum"), max_length=32, editable=False)
    size = models.PositiveBigIntegerField(gettext_lazy("size"), editable=False)
    stored = models.BooleanField(default=False, editable=False)
    used_at = models.DateTimeField(default=timezone.now, editable=False)

    non_personal_fields = ("sha256", "md5")

    class Meta:
        verbose_name = gettext_lazy("file content")
        verbose_name_plural = gettext_lazy("file contents")
        constraints = (models.UniqueConstraint(fields=("shop", "sha256"), name="content_filecontent_once_per_shop"),)
        indexes = (models.Index(fields=("used_at", "id"), name="content_filecontent_by_use"),)

    def __str__(self) -> str:
        return self.sha256[:12]

    @property
    def name(self) -> str:
        return f"shops/{self.shop_id}/content/{self.sha256[0]}/{self.sha256}"

    @property
    def renditions(self) -> str:
        return f"shops/{self.shop_id}/renditions/{self.sha256}"


class StoreFile(ShopOwned):
    """An image for descriptions and articles. It never changes, so browsers may cache it forever."""

    name = models.CharField(gettext_lazy("name"), max_length=255, editable=False)
    content = models.ForeignKey(
        FileContent, on_delete=models.PROTECT, related_name="+", editable=False, verbose_name=gettext_lazy("content")
    )
    width = models.PositiveIntegerField(editable=False)
    height = models.PositiveIntegerField(editable=False)

    non_personal_fields = ("name",)

    class Meta:
        verbose_name = gettext_lazy("file")
        verbose_name_plural = gettext_lazy("files")
        constraints = (models.UniqueConstraint(fields=("shop", "name"), name="content_storefile_name_once_per_shop"),)

    def __str__(self) -> str:
        return self.name
