"""The tables that an archive contains, and the reasons why other tables are left out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import QuerySet

from apps.ground.base_models import ShopOwned
from apps.shops.models import Shop
from apps.webhooks.models import Health

# Maps exported models without a shop field to the lookup from a row to its shop.
ADDITIONAL_TABLES: Mapping[str, str] = {Shop._meta.label: "pk", Health._meta.label: "subscription__shop"}

# Columns that are not exported, because they describe the state of a shop in this installation.
EXCLUDED_COLUMNS: Mapping[str, frozenset[str]] = {Shop._meta.label: frozenset({"read_only_at"})}

# Maps the labels of models without exported rows to the reasons.
EXCLUDED_TABLES: Mapping[str, str] = {
    "staff.User": "Matched by email (``identities``); passwords stay.",
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
    "shops.App": "Matched by key (``identities``).",
    "shops.RetiringSecret": "Belongs to the app; a new one begins with its present secret.",
    "catalog.ProductRank": "Made by the database as the products come.",
    "customers.CustomerProfile": "Made by the database as the customers come.",
    "customers.CustomerRank": "Made by the database as the customers come.",
    "customers.CustomerWords": "Made by the database as the customers come.",
    "webhooks.Host": "Recent responses of endpoints; collected again.",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table that contains rows of a shop.

    Attributes:
        shop_lookup: The lookup from a row to its shop.
    """

    model: type[models.Model]
    shop_lookup: str

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    @property
    def fields(self) -> list[Any]:
        """Return the exported columns of the table, in order."""
        excluded = EXCLUDED_COLUMNS.get(self.model._meta.label, frozenset())
        return [field for field in self.model._meta.concrete_fields if field.name not in excluded]

    def rows(self, shop_id: int) -> QuerySet[Any, Any]:
        """Return the rows of a shop as tuples, by ascending primary key. Requires the scope of all shops."""
        names = [field.attname for field in self.fields]
        return self.model._base_manager.filter(**{self.shop_lookup: shop_id}).order_by("pk").values_list(*names)


def list_tables() -> list[Table]:
    """Return all exported tables. A table follows the tables that it refers to, unless references form a cycle."""
    ordered: dict[type[models.Model], Table] = {}
    lookups = dict(_iterate_models())
    visiting: set[type[models.Model]] = set()

    def visit(model: type[models.Model]) -> None:
        if model in ordered or model in visiting or model not in lookups:
            return
        visiting.add(model)
        for field in model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey):
                visit(field.related_model)
        ordered[model] = Table(model, lookups[model])

    for model in lookups:
        visit(model)
    return list(ordered.values())


def _iterate_models() -> Iterator[tuple[type[models.Model], str]]:
    for model in apps.get_models(include_auto_created=True):
        label = model._meta.label
        if model._meta.proxy or label in EXCLUDED_TABLES:
            continue
        if issubclass(model, ShopOwned):
            yield model, "shop"
        elif label in ADDITIONAL_TABLES:
            yield model, ADDITIONAL_TABLES[label]
