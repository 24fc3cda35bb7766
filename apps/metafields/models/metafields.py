"""The model for metafields, which are custom fields that apps and staff add to a shop's resources."""

from collections.abc import Iterator

from django.db import models
from django.db.models.functions import Left, Upper
from django.utils.translation import gettext_lazy

from apps.core.db.row_changes import RowKey, get_key, get_owner_keys
from apps.core.i18n.error_messages import TAKEN
from apps.core.models import VersionField
from apps.core.tenancy.shop_owned import ShopOwned

INDEXED_LENGTH = 100


class Metafield(ShopOwned):
    """A named, typed value that belongs to an owner, such as a product, an order or the shop itself.

    The value is stored as text in a format that depends on the type, such as ``true``, ``12``, ``2026-03-02`` or a JSON
    document. ``domain.owners`` contains the registry of owner types. Metafields are deleted together with their owner.
    """

    owner_resource = models.CharField(gettext_lazy("owner type"), max_length=50, editable=False)
    owner_id = models.BigIntegerField(gettext_lazy("owner"), editable=False)
    namespace = models.CharField(gettext_lazy("namespace"), max_length=20)
    key = models.CharField(gettext_lazy("key"), max_length=30)
    type = models.CharField(gettext_lazy("type"), max_length=50)
    value = models.TextField(gettext_lazy("value"))
    description = models.CharField(gettext_lazy("description"), max_length=255, null=True, blank=True)
    version = VersionField()

    # The owner, if it was loaded, and True if the owner's metafields can contain personal data.
    history_owner: models.Model | None = None
    is_personal = True
    unrecorded_fields = ("owner_resource", "owner_id", "namespace", "key")

    personal_fields = ("value", "description")
    non_personal_fields = ("owner_resource", "namespace", "key", "type")

    class Meta:
        verbose_name = gettext_lazy("metafield")
        verbose_name_plural = gettext_lazy("metafields")
        constraints = (
            models.UniqueConstraint(
                fields=("shop", "owner_resource", "owner_id", "namespace", "key"),
                name="metafields_metafield_one_per_owner_namespace_and_key",
                violation_error_message=TAKEN,
                violation_error_code="key",
            ),
            models.UniqueConstraint(
                fields=("shop", "owner_resource", "namespace", "key", "value"),
                condition=models.Q(type="id"),
                name="metafields_metafield_ids_are_unique",
                violation_error_message=TAKEN,
                violation_error_code="value",
            ),
        )
        indexes = (
            models.Index(fields=("shop", "owner_resource", "owner_id", "id"), name="metafields_metafield_by_owner"),
            models.Index(fields=("owner_resource", "owner_id"), name="metafields_metafield_cascade"),
            # The index contains only the start of the value, because an index entry has a maximum size but a value can
            # be longer.
            models.Index(
                "shop", "owner_resource", Upper(Left("value", INDEXED_LENGTH)), name="metafields_metafield_by_value"
            ),
        )

    def __str__(self) -> str:
        return f"{self.namespace}.{self.key}"

    @property
    def history_label(self) -> str:
        return str(self)

    @property
    def hidden_history_fields(self) -> tuple[str, ...]:
        return self.personal_fields if self.is_personal else ()

    def get_other_owner_keys(self) -> Iterator[RowKey]:
        """Return the owner and, for example for a variant, the owner's product."""
        if self.history_owner is not None:
            yield get_key(self.history_owner)
            yield from get_owner_keys(self.history_owner)
