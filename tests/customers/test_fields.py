"""Tests that each customer column in ``CUSTOMER_FIELDS`` works in the API, searches, files, merges and the panel."""

from datetime import UTC

import pytest
from django.contrib.admin.utils import flatten_fieldsets
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.customers.admin import CustomerAdmin
from apps.customers.domain import merge, merge_rules
from apps.customers.domain.fields import CUSTOMER_FIELDS, EDITABLE_FIELDS
from apps.customers.domain.search_fields import SEARCH
from apps.customers.models import Customer
from apps.imports_exports.domain.rows import NotedBody
from apps.imports_exports.resources.customers import CUSTOMERS
from tests.support.api_client import ApiClient
from tests.support.factories.customers import make_customer, post_customer

FIELDS = {field.name: field for field in CUSTOMER_FIELDS}
# A word that is unique to the column, for each column that contains text.
WORDS = {name: name.replace("_", "") for name in EDITABLE_FIELDS if name in Customer.personal_fields}
VALUES: Attrs = {**WORDS, "email": "email@example.com", "phone": "+14155550123"}
OTHER_VALUES: Attrs = {
    **{name: f"other {word}" for name, word in WORDS.items()},
    "email": "other@example.com",
    "phone": "+14155550124",
}
WRITTEN_BY_APPS_ONLY = {"tax_exemptions", "multipass_identifier"}


def find(query: str) -> list[int]:
    condition = SEARCH.compile(SEARCH.parse(query), zone=UTC)
    return list(Customer.objects.filter(condition).values_list("pk", flat=True))


def test_api_writes_and_returns_each_column(api: ApiClient) -> None:
    customer = post_customer(api, **VALUES)
    path = f"customers/{customer['id']}.json"
    changed = api.put(path, {"customer": OTHER_VALUES}).json()["customer"]

    assert {name: customer[name] for name in VALUES} == VALUES
    assert {name: changed[name] for name in VALUES} == OTHER_VALUES
    assert api.get(path).json()["customer"] == changed


@pytest.mark.parametrize("name", [name for name in WORDS if FIELDS[name].mark])
def test_query_finds_customers_by_column(in_shop: Shop, name: str) -> None:
    make_customer(**{other: OTHER_VALUES[other] for other in VALUES if other != name})
    customer = make_customer(**{name: VALUES[name]})
    key = "tag" if name == "tags" else name

    assert find(f"{key}:{WORDS[name]}") == [customer.pk]


@pytest.mark.parametrize("name", [name for name in WORDS if FIELDS[name].identifies])
def test_bare_word_finds_customers_by_identifying_column(in_shop: Shop, name: str) -> None:
    make_customer(email="x@example.org")
    customer = make_customer(**{name: VALUES[name]})

    assert find(VALUES[name].partition("@")[0]) == [customer.pk]


def test_csv_files_contain_each_column(in_shop: Shop) -> None:
    assert CUSTOMERS.exporter
    assert CUSTOMERS.importer
    customer = make_customer(**VALUES)

    (document,) = CUSTOMERS.exporter.read_objects([customer.pk])
    (cells,) = CUSTOMERS.exporter.get_cells(document)
    noted = CUSTOMERS.importer.body([{name: str(value or "") for name, value in cells.items()}])
    assert isinstance(noted, NotedBody)

    expected = {name: value for name, value in VALUES.items() if FIELDS[name].in_csv}
    assert {name: cells[name] for name in expected} == expected
    assert {name: noted.body[name] for name in expected} == expected
    assert set(CUSTOMERS.exporter.columns) >= {name for name, field in FIELDS.items() if field.in_csv}


def test_merge_fills_each_blank_column_from_the_other_customer(in_shop: Shop) -> None:
    keep, other = make_customer(email="", first_name="x"), make_customer(**VALUES)
    Customer.objects.filter(pk=keep.pk).update(first_name="")

    merge.merge_customers(keep, other, {}, actor="staff:1", at=timezone.now())

    assert Customer.objects.values(*VALUES).get() == VALUES


@pytest.mark.parametrize("side", ["keep", "other"])
def test_merge_takes_each_column_from_the_chosen_side(in_shop: Shop, side: str) -> None:
    keep, other = make_customer(**VALUES), make_customer(**OTHER_VALUES)
    choices = {field.name: side for field in merge_rules.FIELDS}

    merge.merge_customers(keep, other, choices, actor="staff:1", at=timezone.now())

    expected = VALUES if side == "keep" else OTHER_VALUES
    merged_tags = f"{VALUES['tags']}, {OTHER_VALUES['tags']}"
    values = Customer.objects.values(*VALUES).get()
    assert sorted(values.pop("tags").split(", ")) == sorted(merged_tags.split(", "))
    assert values == {name: value for name, value in expected.items() if name != "tags"}


def test_merge_rules_cover_each_column() -> None:
    assert {"tags", *(name for field in merge_rules.FIELDS for name in field.columns)} >= set(EDITABLE_FIELDS)


def test_panel_form_has_each_column_that_staff_can_set() -> None:
    assert CustomerAdmin.fieldsets
    names = {str(name) for name in flatten_fieldsets(CustomerAdmin.fieldsets)}

    assert set(EDITABLE_FIELDS) - names == WRITTEN_BY_APPS_ONLY
