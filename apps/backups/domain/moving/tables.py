"""Which tables a shop is made of, and why the others are left out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import QuerySet

from apps.ground.rows import ShopOwned
from apps.shops.models import Shop
from apps.webhooks.models import Health

# Tables without a shop of their own, and the lookup that leads from a row to its shop.
ALSO: Mapping[str, str] = {Shop._meta.label: "pk", Health._meta.label: "subscription__shop"}

# Columns that say how a shop stands in this installation; it begins anew in another.
STAY: Mapping[str, frozenset[str]] = {Shop._meta.label: frozenset({"read_only_at"})}

# Tables of which no row moves, by the label of their model.
LEFT_OUT: Mapping[str, str] = {
    "staff.User": "Known again by e-mail address, see callers; passwords stay.",
    "staff.User_groups": "Groups are not used: memberships grant.",
    "staff.User_user_permissions": "Permissions of persons are not used: memberships grant.",
    "staff.SentForm": "Keys of pages that were open in this installation's panel.",
    "admin.LogEntry": "Not written: events are the audit trail.",
    "auth.Permission": "Made by migrate.",
    "auth.Group": "Not used.",
    "auth.Group_permissions": "Not used.",
    "contenttypes.ContentType": "Made by migrate.",
    "sessions.Session": "Logins of this installation's panel.",
    "account.EmailAddress": "Belongs to the login, which stays.",
    "account.EmailConfirmation": "Belongs to the login, which stays.",
    "mfa.Authenticator": "Second factors stay with the login.",
    "usersessions.UserSession": "Logins of this installation's panel.",
    "shops.App": "Known again by its key, see callers.",
    "shops.RetiringSecret": "Belongs to the app; a new one begins with its present secret.",
    "catalog.ProductRank": "Made by the database as the products come.",
    "customers.CustomerProfile": "Made by the database as the customers come.",
    "customers.CustomerRank": "Made by the database as the customers come.",
    "customers.CustomerWords": "Made by the database as the customers come.",
    "webhooks.Host": "How servers answered lately, found out anew.",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table of which a shop has rows.

    Attributes:
        of: The lookup that leads from a row to its shop.
    """

    model: type[models.Model]
    of: str

    @property
    def name(self) -> str:
        """The table's own."""
        return self.model._meta.db_table

    @property
    def fields(self) -> list[Any]:
        """Its columns, in order, but for those that stay."""
        staying = STAY.get(self.model._meta.label, frozenset())
        return [field for field in self.model._meta.concrete_fields if field.name not in staying]

    def rows(self, shop_id: int) -> QuerySet[Any, Any]:
        """The rows of a shop as tuples, by ascending primary key; call it with every shop in sight."""
        names = [field.attname for field in self.fields]
        return self.model._base_manager.filter(**{self.of: shop_id}).order_by("pk").values_list(*names)


def tables() -> list[Table]:
    """All of them, each behind those that it refers to, as far as there is such an order."""
    ordered: dict[type[models.Model], Table] = {}
    found = dict(_found())
    under_way: set[type[models.Model]] = set()

    def place(model: type[models.Model]) -> None:
        if model in ordered or model in under_way or model not in found:
            return
        under_way.add(model)
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey):
                place(field.related_model)
        ordered[model] = Table(model, found[model])

    for model in found:
        place(model)
    return list(ordered.values())


def _found() -> Iterator[tuple[type[models.Model], str]]:
    for model in apps.get_models(include_auto_created=True):
        label = model._meta.label
        if model._meta.proxy or label in LEFT_OUT:
            continue
        if issubclass(model, ShopOwned):
            yield model, "shop"
        elif label in ALSO:
            yield model, ALSO[label]
