"""Owner types: the models that can have metafields. Apps register them in ``extensions.py``.

Metafields are deleted together with their owner. To make this work, each model has a private field, which Django's
deletion collector treats like a ``GenericRelation``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from django.db import connection, models
from django.db.models import Model, QuerySet
from django.db.models.fields.mixins import FieldCacheMixin

from apps.core.db.prepared_sql import execute_prepared
from apps.core.exceptions import RowDeleted
from apps.core.registry import Registry
from apps.core.tenancy.models import Shop
from apps.metafields.models import Metafield


@dataclass(frozen=True, slots=True)
class OwnerType:
    """A type of rows that can have metafields.

    Attributes:
        path: The name in URL paths, e.g. ``product_images``.
        resource: The value of ``owner_resource``, e.g. ``product_image``. The metafield type for references to rows of
            this model is ``<resource>_reference``.
        scope: The resource in the names of access scopes, e.g. ``products``, or None if no scope is required.
        gid_type: The type name in global IDs. The default is the name of the model.
        extra_paths: Additional names in URL paths for some of the rows, e.g. ``smart_collections``, with their models.
        nested_path: An additional URL path under a parent, e.g. ``products/<product_id>/variants``, for the route that
            counts an owner's metafields. The path argument is named after a column of the owner's table.
        is_personal: True if values may contain personal data. The audit log does not store such values.
    """

    path: str
    resource: str
    model: type[Model]
    scope: str | None
    gid_type: str = ""
    extra_paths: Mapping[str, type[Model]] = field(default_factory=dict)
    nested_path: str = ""
    is_personal: bool = False

    @property
    def gid(self) -> str:
        return self.gid_type or self.model.__name__

    def get_scope(self, verb: str) -> str | None:
        """Return the scope for a verb, e.g. ``read_products`` for ``read``, or None if no scope is required."""
        return f"{verb}_{self.scope}" if self.scope else None

    @property
    def topic_prefix(self) -> str:
        """Return the prefix of the topics for metafields of this owner type, e.g. ``product_metafields``."""
        return f"{self.resource}_metafields"


owner_types = Registry[str, OwnerType]("metafield owners", get_key=attrgetter("resource"))


class _MetafieldRelation(FieldCacheMixin, models.Field[None, None]):
    """A hidden relation from a model to its metafields, so that both are deleted together. It has no column."""

    one_to_many = True
    many_to_one = many_to_many = one_to_one = False

    def __init__(self, resource: str) -> None:
        super().__init__(editable=False, serialize=False)
        # Like a generic foreign key, this relation has no target model. Django therefore does not include the relation
        # in the model's fields or in the relation graph.
        self.is_relation = True
        self.related_model = None
        self.resource = resource

    @property
    def cache_name(self) -> str:
        """Return the relation's cache key, which Django requires but never uses here."""
        return self.name

    def get_attname_column(self) -> tuple[str, None]:
        return self.get_attname(), None

    def bulk_related_objects(self, objects: Iterable[Model], using: str) -> QuerySet[Metafield]:
        """Return the metafields of rows that are about to be deleted, regardless of the shop: IDs are globally unique.

        The owner rows are locked first, so that no metafield is added before the deletion. The deletion confirmation
        page runs without a transaction and locks nothing.
        """
        ids = sorted(row.pk for row in objects)
        if ids and connection.vendor == "postgresql" and connection.in_atomic_block:
            locked_owners = self.model._base_manager.using(using).select_for_update(of=("self",)).filter(pk__in=ids)
            list(locked_owners.order_by("pk").values_list("pk", flat=True))
        manager = Metafield._base_manager.using(using)
        return manager.filter(owner_resource=self.resource, owner_id__in=ids)


def lock_owners(owner: OwnerType, pks: Iterable[int]) -> None:
    """Lock owners of one type, so that they can be updated but not deleted. Raise ``RowDeleted`` if one is deleted."""
    ids = sorted(set(pks))
    if connection.vendor != "postgresql":
        count = owner.model._default_manager.filter(pk__in=ids).count()
    else:
        table = connection.ops.quote_name(owner.model._meta.db_table)
        # Use raw SQL, because the ORM does not support ``FOR KEY SHARE``.
        count = len(execute_prepared(f"SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [ids]))  # noqa: S608
    if count < len(ids):
        raise RowDeleted


def add_metafield_relations() -> None:
    """Add the private field to all models that can have metafields. A shop is never deleted together with them."""
    for owner in owner_types.values():
        if owner.model is not Shop:
            _MetafieldRelation(owner.resource).contribute_to_class(owner.model, "metafields_", private_only=True)


def find_owner_type(name: str) -> OwnerType | None:
    """Return the owner type with this ``owner_resource`` or URL path, such as ``variant`` or ``variants``, or None."""
    return owner_types.get(name) or next(
        (owner for owner in owner_types.values() if name and name in {owner.path, *owner.extra_paths}), None
    )


def get_owner_type_of_row(instance: Model) -> OwnerType:
    """Return the owner type of a row. Raise ``LookupError`` if the model is not registered."""
    for owner in owner_types.values():
        if isinstance(instance, owner.model):
            return owner
    raise LookupError(f"{instance._meta.label} is not a metafield owner")
