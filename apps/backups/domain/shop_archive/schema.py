"""The tables that an archive contains, and the reasons why other tables are excluded."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import models
from django.db.models import QuerySet

from apps.core.tenancy.models import Shop
from apps.core.tenancy.shop_owned import ShopOwned
from apps.webhooks.models import Health

# Exported models without a shop field. The values are the lookups from a row to its shop.
ADDITIONAL_TABLES: Mapping[str, str] = {Shop._meta.label: "pk", Health._meta.label: "subscription__shop"}

# Columns that are not exported, because they describe the state of a shop in this installation.
EXCLUDED_COLUMNS: Mapping[str, frozenset[str]] = {Shop._meta.label: frozenset({"read_only_at"})}

# Models that are not exported. The values are the reasons.
EXCLUDED_TABLES: Mapping[str, str] = {
    "staff.User": "Matched by email (``identities``). Passwords are not exported.",
    "staff.User_groups": "Not used: memberships grant permissions.",
    "staff.User_user_permissions": "Not used: memberships grant permissions.",
    "staff.SentForm": "Form keys of pages in this installation's panel.",
    "admin.LogEntry": "Not used: events are the audit log.",
    "auth.Permission": "Created by migrate.",
    "auth.Group": "Not used.",
    "auth.Group_permissions": "Not used.",
    "contenttypes.ContentType": "Created by migrate.",
    "sessions.Session": "Logins to this installation's panel.",
    "account.EmailAddress": "Belongs to a login, which is not exported.",
    "account.EmailConfirmation": "Belongs to a login, which is not exported.",
    "mfa.Authenticator": "Belongs to a login, which is not exported.",
    "usersessions.UserSession": "Logins to this installation's panel.",
    "shops.App": "Matched by key (``identities``).",
    "shops.RetiringSecret": "Belongs to the app. A new app only has the current secret.",
    "catalog.ProductRank": "Filled by database triggers when products are inserted.",
    "customers.CustomerProfile": "Filled by database triggers when customers are inserted.",
    "customers.CustomerRank": "Filled by database triggers when customers are inserted.",
    "customers.CustomerWords": "Filled by database triggers when customers are inserted.",
    "jobs.PeriodicRun": "Runs of this installation's periodic tasks.",
    "jobs.WorkerProcess": "Processes of this installation.",
    "webhooks.DeliveryRun": "Runs of this installation's workers.",
    "webhooks.Host": "Recent responses of endpoints, which the other installation records itself.",
}


@dataclass(frozen=True, slots=True)
class Table:
    """A table that contains rows of a shop, and the lookup from a row to its shop."""

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

    @property
    def key_index(self) -> int:
        return next(index for index, column in enumerate(self.fields) if column.primary_key)

    def rows(self, shop_id: int) -> QuerySet[Any, Any]:
        """Return the rows of a shop as tuples, by ascending primary key. Call this within ``all_shops_scope()``."""
        names = [field.attname for field in self.fields]
        return self.model._base_manager.filter(**{self.shop_lookup: shop_id}).order_by("pk").values_list(*names)


def list_tables() -> list[Table]:
    """Return all exported tables. Each table comes after the tables it refers to, except if references form a cycle."""
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
