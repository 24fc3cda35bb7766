from django.db import models
from django.utils.translation import gettext_lazy

from apps.core.i18n.error_messages import TAKEN
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned

MAX_LENGTH = 1024


class Redirect(ShopOwned):
    """A redirect from a path of the online store to another path or to a URL.

    ``path_key`` and ``target_key`` are digests of the paths, which ignore case, a final ``/`` and percent encoding. An
    index could not contain the paths themselves, because they are too long. ``target_key`` is blank if the target is a
    URL of another site.
    """

    path = models.CharField(gettext_lazy("redirect from"), max_length=MAX_LENGTH)
    path_key = models.CharField(max_length=64, editable=False)
    target = models.CharField(gettext_lazy("redirect to"), max_length=MAX_LENGTH)
    target_key = models.CharField(max_length=64, blank=True, editable=False)
    version = VersionField()

    non_personal_fields = ("path", "path_key", "target", "target_key")

    class Meta:
        verbose_name = gettext_lazy("redirect")
        verbose_name_plural = gettext_lazy("redirects")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "path_key"),
                name="content_redirect_path_once_per_shop",
                violation_error_message=TAKEN,
                violation_error_code="path",
            ),
        )
        indexes = (models.Index(fields=("shop", "target_key"), name="content_redirect_by_target"),)

    def __str__(self) -> str:
        return self.path
