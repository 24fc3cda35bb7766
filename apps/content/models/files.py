"""The bytes behind theme files, pictures and cached scripts; and the pictures that staff keep for texts."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.ground.rows import ShopOwned


class FileContent(ShopOwned):
    """Bytes that a shop keeps once, however many rows use them.

    The row is written before the file and goes after it, so that no file can be left that no row knows.

    Attributes:
        sha256: What the content is known by.
        md5: The checksum that the interface shows.
        stored: Whether the file is complete; until then nobody may refer to it.
        used_at: When somebody last asked for it to be kept; young content is not cleared though nothing refers to it.
        is_new: Whether this very object stands for the first request to keep it.
    """

    is_new = False

    sha256 = models.CharField(max_length=64, editable=False)
    md5 = models.CharField(gettext_lazy("checksum"), max_length=32, editable=False)
    size = models.PositiveBigIntegerField(gettext_lazy("size"), editable=False)
    stored = models.BooleanField(default=False, editable=False)
    used_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = gettext_lazy("file content")
        verbose_name_plural = gettext_lazy("file contents")
        constraints = (models.UniqueConstraint(fields=("shop", "sha256"), name="content_filecontent_once_per_shop"),)
        indexes = (models.Index(fields=("used_at", "id"), name="content_filecontent_by_use"),)

    def __str__(self) -> str:
        return self.sha256[:12]

    @property
    def name(self) -> str:
        """Its path in the file storage; it names the shop."""
        return f"shops/{self.shop_id}/content/{self.sha256[0]}/{self.sha256}"

    @property
    def renditions(self) -> str:
        """The folder of its smaller versions, where it is a picture."""
        return f"shops/{self.shop_id}/renditions/{self.sha256}"


class StoreFile(ShopOwned):
    """A picture that staff put into descriptions and articles, under a name of its own.

    It never changes: another picture is another file, so that its address may be cached for good.
    """

    name = models.CharField(gettext_lazy("name"), max_length=255, editable=False)
    content = models.ForeignKey(
        FileContent, on_delete=models.PROTECT, related_name="+", editable=False, verbose_name=gettext_lazy("content")
    )
    width = models.PositiveIntegerField(editable=False)
    height = models.PositiveIntegerField(editable=False)

    class Meta:
        verbose_name = gettext_lazy("file")
        verbose_name_plural = gettext_lazy("files")
        constraints = (models.UniqueConstraint(fields=("shop", "name"), name="content_storefile_name_once_per_shop"),)

    def __str__(self) -> str:
        return self.name
