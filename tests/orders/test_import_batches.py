"""Tests for batched imports: the same results as importing row by row, and no loss when a worker dies."""

import io
import json
from collections import Counter
from contextlib import closing
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.customers.models import Address, ConsentChange, Customer
from apps.imports_exports.domain import dry_run, imports, runner
from apps.imports_exports.domain.runner import ImportLeaseLost
from apps.imports_exports.models import Import, ImportedRow
from tests.support import factories
from tests.support.files.import_export import get_row_results

pytestmark = pytest.mark.usefixtures("media_root")

Fate = ImportedRow.Fate
State = Import.State
AT_ONCE = 3


def build_people(count: int) -> list[Attrs]:
    """Return import rows: ``count`` valid customers, then rows with a known customer or invalid values."""
    rows: list[Attrs] = [
        {
            "first_name": f"Ada{number}",
            "email": f"ada{number}@example.com",
            "tags": "vip, new",
            "email_marketing_consent": {"state": "subscribed"},
            "addresses": [{"address1": f"{number} Main Street", "country": "Sweden"}],
        }
        for number in range(count)
    ]
    rows[1]["addresses"].append({"city": "Stockholm", "country": "Sweden", "default": True})
    rows[2] |= {"email": None, "phone": "+46 8 123 456 78", "email_marketing_consent": None}
    return [
        *rows,
        {"first_name": "Augusta", "email": "ADA0@example.com"},
        {"email": "no e-mail"},
        {},
        {"first_name": "Eve", "email": "eve@example.com", "phone": "+46812345678"},
        {"first_name": "Eve", "email": "eve@example.com"},
    ]


def save_file(rows: list[Attrs]) -> Import:
    text = "".join(json.dumps({"customer": row}) + "\n" for row in rows) + "no JSON\n"
    return imports.save_upload(io.BytesIO(text.encode()), "in.jsonl", actor="system", at=timezone.now())


def get_imported(shop: Shop) -> list[Any]:
    """Return the rows that an import created in a shop, without values that differ between shops."""
    with shop_scope(shop):
        first = Customer.objects.order_by("pk").values_list("pk", flat=True)[0]
        consents = ConsentChange.objects.order_by("customer_id", "channel", "pk")
        return [
            [
                (row.pk - first, row.first_name, row.email, row.phone, row.tags, row.search_text, row.search_places)
                for row in Customer.objects.order_by("pk")
            ],
            [
                (row.customer_id - first, row.address1, row.city, row.pk == row.customer.default_address_id)
                for row in Address.objects.select_related("customer").order_by("pk")
            ],
            [(row.customer_id - first, row.channel, row.state, row.actor) for row in consents],
            Counter(Event.objects.filter(topic__startswith="customers").values_list("topic", flat=True)),
            [(line, fate, reason) for line, fate, reason in get_row_results(shop)],
        ]


def test_rows_together_become_what_they_become_one_by_one(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    other = factories.make_shop(domain="other.example")
    for item, at_once in ((shop, 1), (other, AT_ONCE)):
        monkeypatch.setattr(runner, "BATCH_SIZE", at_once)
        with shop_scope(item):
            import_job = save_file(build_people(8))
            imports.skip_validation(import_job)
            with closing(runner.run_import(import_job)) as session:
                assert len(list(session)) == 14

    assert get_imported(other) == get_imported(shop)
    with shop_scope(other):
        counts = Counter(ImportedRow.objects.filter(dry=False).values_list("fate", flat=True))
    assert counts == {Fate.NEW: 8, Fate.CHANGED: 2, Fate.SKIPPED: 1, Fate.FAILED: 3}


def test_a_check_writes_no_customer(in_shop: Shop) -> None:
    import_job = save_file(build_people(8))

    with CaptureQueriesContext(connection) as statements, closing(dry_run.validate_file(import_job)) as session:
        counts = Counter(outcome.result for _, outcome in session)

    assert counts == {Fate.NEW: 8, Fate.CHANGED: 3, Fate.FAILED: 3}
    sqls = [statement["sql"] for statement in statements if statement["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert sqls
    assert not [text for text in sqls if "imports_exports_import" not in text]


def run_until_killed(messages: Any, rows: int) -> int:
    """Process ``rows`` rows, then stop as if the worker were killed; return the number of processed rows."""
    count = sum(1 for _ in islice(messages, rows))
    # A killed worker cannot release its lease, so the lease must expire.
    Import.objects.update(claimed_until=timezone.now() - timedelta(seconds=1))
    return count


def test_a_check_goes_on_where_it_was_cut_off(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BATCH_SIZE", AT_ONCE)
    import_job, broken = save_file(build_people(8)), save_file(build_people(8))
    with closing(dry_run.validate_file(import_job)) as session:
        list(session)
    abandoned = dry_run.validate_file(broken)
    run_until_killed(abandoned, 2 * AT_ONCE)

    with closing(dry_run.validate_file(Import.objects.get(pk=broken.pk))) as session:
        rest = [row.line for row, _ in session]

    assert rest == list(range(2 * AT_ONCE + 1, 15))
    import_job.refresh_from_db()
    broken.refresh_from_db()
    assert (broken.state, broken.total, broken.counts) == (State.CHECKED, 14, import_job.counts)
    noted = ImportedRow.objects.order_by("line").values_list("line", "fate", "reason", "changes")
    assert list(noted.filter(file=broken)) == list(noted.filter(file=import_job))
    with pytest.raises(ImportLeaseLost):
        list(abandoned)


def test_an_import_goes_on_where_it_was_cut_off(in_shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "BATCH_SIZE", AT_ONCE)
    import_job = save_file(build_people(8))
    imports.skip_validation(import_job)
    abandoned = runner.run_import(import_job)
    run_until_killed(abandoned, AT_ONCE)

    with closing(runner.run_import(Import.objects.get(pk=import_job.pk))) as session:
        rest = [row.line for row, _ in session]

    assert rest == list(range(AT_ONCE + 1, 15))
    assert Customer.objects.count() == 8
    assert Event.objects.filter(topic="customers/create").count() == 8
    assert ImportedRow.objects.filter(file=import_job, dry=False).count() == 14
    with pytest.raises(ImportLeaseLost):
        list(abandoned)
    assert Customer.objects.count() == 8
