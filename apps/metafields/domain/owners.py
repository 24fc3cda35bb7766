"""Who can own metafields: each domain registers its resources, and takes nothing else upon itself.

A registered model takes the metafields of its rows along when they are deleted, by whatever way: the deletion
collector asks the private field that is planted here, as it asks a ``GenericRelation``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from django.db import connection, models
from django.db.models import Model, QuerySet
from django.db.models.fields.mixins import FieldCacheMixin

from apps.ground.errors import Gone
from apps.ground.sql import execute
from apps.metafields.models import Metafield
from apps.shops.models import Shop


@dataclass(frozen=True, slots=True)
class Owner:
    """A kind of owner.

    Attributes:
        path: Its name in paths, e.g. ``product_images``.
        resource: Its ``owner_resource``, e.g. ``product_image``.
        model: Its rows.
        scope: The word of its access scope; None where any token will do.
        gid: Its type in global ids, e.g. ``ProductImage``.
        kinds: Further names in paths for some of its rows, e.g. ``smart_collections``, with the model of those rows.
        below: Its name in paths below its parent, e.g. ``products/<product_id>/variants``, where clients that found
            the row there count its metafields; the argument is a column of the row.
        personal: Whether the values may say something of a person; the audit trail then keeps none.
    """

    path: str
    resource: str
    model: type[Model]
    scope: str | None
    gid: str
    kinds: Mapping[str, type[Model]] = field(default_factory=dict)
    below: str = ""
    personal: bool = False

    def scope_to(self, verb: str) -> str | None:
        """The scope that reads or writes it, e.g. ``read_products``."""
        return f"{verb}_{self.scope}" if self.scope else None

    @property
    def topics(self) -> str:
        """How the topics of its metafields begin, e.g. ``product_metafields``."""
        return f"{self.resource}_metafields"


_owners: dict[str, Owner] = {}
_followers: list[Callable[[Owner], None]] = []


class _MetafieldsOfRow(FieldCacheMixin, models.Field[None, None]):
    """Lets a model's rows take their metafields along; it has no column and shows nothing."""

    one_to_many = True
    many_to_one = many_to_many = one_to_one = False

    def __init__(self, resource: str) -> None:
        super().__init__(editable=False, serialize=False)
        # A relation to nothing, like a generic foreign key: left out of the model's fields and of the relation graph.
        self.is_relation = True
        self.related_model = None
        self.resource = resource

    @property
    def cache_name(self) -> str:
        """Where a row would keep what it loaded of them, which it never does."""
        return self.name

    def get_attname_column(self) -> tuple[str, None]:
        """A name in Python, and no column."""
        return self.get_attname(), None

    def bulk_related_objects(self, objects: Iterable[Model], using: str) -> QuerySet[Metafield]:
        """What goes with rows that are being deleted; in any scope, as ids are unique over all shops.

        The rows are held first, so that none is given to one of them between this and its deletion; who only asks
        what would go, as the page before a deletion does, has no transaction and holds nothing.
        """
        ids = sorted(row.pk for row in objects)
        if ids and connection.vendor == "postgresql" and connection.in_atomic_block:
            held = self.model._base_manager.using(using).select_for_update(of=("self",)).filter(pk__in=ids)
            list(held.order_by("pk").values_list("pk", flat=True))
        manager = Metafield._base_manager.using(using)
        return manager.filter(owner_resource=self.resource, owner_id__in=ids)


def hold_owners(owner: Owner, pks: Iterable[int]) -> None:
    """Keep owners of one kind from going until the transaction ends; they may still be changed.

    Raises:
        Gone: One was deleted.
    """
    ids = sorted(set(pks))
    if connection.vendor != "postgresql":
        found = owner.model._default_manager.filter(pk__in=ids).count()
    else:
        table = connection.ops.quote_name(owner.model._meta.db_table)
        # The ORM knows no such lock; the name is that of a model.
        found = len(execute(f"SELECT id FROM {table} WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE", [ids]))  # noqa: S608
    if found < len(ids):
        raise Gone


def on_registration(follow: Callable[[Owner], None]) -> None:
    """Have a function called with every kind of owner that is registered from now on."""
    _followers.append(follow)


def register_owner(
    path: str,
    resource: str,
    model: type[Model],
    *,
    scope: str | None,
    gid: str = "",
    kinds: Mapping[str, type[Model]] | None = None,
    below: str = "",
    personal: bool = False,
) -> None:
    """Let the rows of a model own metafields; called from ``AppConfig.ready()``.

    Args:
        path: Its name in paths, e.g. ``product_images``; its routes are made of it.
        resource: Its name in metafields and in the type ``<resource>_reference``, e.g. ``product_image``.
        model: Its rows, owned by a shop.
        scope: The word of its access scope, e.g. ``products``.
        gid: Its type in global ids; the model's name by default.
        kinds: Further names in paths for some of its rows, with the model of those rows.
        below: Its name in paths below its parent.
        personal: Whether the values may say something of a person.
    """
    if resource in _owners:
        raise ValueError(f"{resource!r} owns metafields already")
    _owners[resource] = owner = Owner(path, resource, model, scope, gid or model.__name__, kinds or {}, below, personal)
    if model is not Shop:
        _MetafieldsOfRow(resource).contribute_to_class(model, "metafields_", private_only=True)
    for follow in _followers:
        follow(owner)


def all_owners() -> tuple[Owner, ...]:
    """Every kind of owner, in the order of registration."""
    return tuple(_owners.values())


def owner_named(resource: str) -> Owner | None:
    """The kind of owner with that ``owner_resource``; None where there is none."""
    return _owners.get(resource)


def owner_called(name: str) -> Owner | None:
    """The kind of owner that a client names, by ``owner_resource`` or by a name in paths: ``variant``, ``variants``.

    Nothing is found where there is none.
    """
    return _owners.get(name) or next(
        (each for each in _owners.values() if name and name in {each.path, *each.kinds}), None
    )


def owner_of(instance: Model) -> Owner:
    """The kind of owner that a row is.

    Raises:
        LookupError: Its model is not registered.
    """
    for owner in _owners.values():
        if isinstance(instance, owner.model):
            return owner
    raise LookupError(f"{instance._meta.label} owns no metafields")
