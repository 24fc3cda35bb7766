"""A shop archive contains and restores rows of every exported model."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, models
from django.test import override_settings
from pytest_django import Settings

from apps.backups.domain.shop_archive import schema
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import all_shops_scope
from apps.core.types import Attrs
from backoffice.configuration.storages import get_storage_settings
from tests.backups.test_shop_moves import create_rows, empty_installation, get_rows, run_command
from tests.support import factories
from tests.support.panel.one_of_each import make_one_of_each

# Values that constraints require, by model.
_ONE = Decimal("1.00")
VALUES: dict[str, Attrs] = {
    "refunds.BogusMovement": {"amount": _ONE},
    "draft_orders.DraftOrder": {"status": "completed"},
    "discounts.PriceRule": {
        "value": -_ONE,
        **dict.fromkeys(("ends_at", "allocation_limit", "prerequisite_amount")),
        **dict.fromkeys(("prerequisite_quantity_ratio", "entitled_quantity_ratio")),
    },
    "discounts.PriceRuleItem": {
        "role": "entitled",
        **dict.fromkeys(("variant", "collection", "country", "customer")),
    },
    "gift_cards.GiftCard": {"initial_value": _ONE, "balance": _ONE},
    "gift_cards.GiftCardAdjustment": {"amount": _ONE, "number": 2, "kind": "refund"},
}
_BY_TYPE: dict[type[models.Field[Any, Any]], object] = {
    models.URLField: "https://a.example/",
    models.GenericIPAddressField: "203.0.113.9",
    models.CharField: "x",
    models.TextField: "x",
    models.BooleanField: True,
    models.DecimalField: Decimal("1.00"),
    models.IntegerField: 1,
    models.FloatField: 1.0,
    models.DateTimeField: datetime(2026, 3, 1, tzinfo=UTC),
    models.DateField: date(2026, 3, 1),
    models.JSONField: {"a": [1, None]},
    models.UUIDField: UUID(int=7),
    models.BinaryField: b"x",
}


def build_row(model: type[models.Model], shop: Shop) -> models.Model:
    """Return a row of a model with a value in each column, and references to existing rows."""
    values: Attrs = {}
    for field in model._meta.concrete_fields:
        # Defaults of numbers fit together, e.g. the refunded amount and the price.
        has_number = field.has_default() and isinstance(field, models.DecimalField | models.IntegerField)
        if field.name in VALUES.get(model._meta.label, {}) or isinstance(field, models.AutoField) or has_number:
            continue
        if isinstance(field, models.ForeignKey):
            related: type[models.Model] = field.related_model
            values[field.name] = shop if related is Shop else related._base_manager.order_by("pk").last()
        elif field.choices:
            values[field.name] = field.choices[0][0]
        else:
            kind = next(kind for kind in _BY_TYPE if isinstance(field, kind))
            values[field.name] = _BY_TYPE[kind]
    return model(**values, **VALUES.get(model._meta.label, {}))


def fill_all_tables(shop: Shop) -> None:
    create_rows(shop, "mine")
    make_one_of_each(shop)
    with all_shops_scope():
        for table in schema.list_tables():
            if not table.rows(shop.pk).exists() and connection.vendor in getattr(
                table.model, "used_on", {connection.vendor}
            ):
                table.model._base_manager.bulk_create([build_row(table.model, shop)])


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_shop_with_rows_of_every_model_moves(media_root: Path, tmp_path: Path, settings: Settings) -> None:
    # Another shop creates rows first, so that no row has the lowest ID.
    create_rows(factories.make_shop(), "theirs")
    shop = factories.make_shop()
    fill_all_tables(shop)
    before, archive = get_rows(shop.pk), tmp_path / "archive"
    assert [name for name, rows in before.items() if not rows] == []
    run_command("export_shop", shop.domain, archive)
    empty_installation()

    with override_settings(STORAGES={**settings.STORAGES, **get_storage_settings("", tmp_path / "elsewhere")}):
        assert "match the archive" in run_command("import_shop", archive)

        assert get_rows(shop.pk) == before
