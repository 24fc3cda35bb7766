"""Tests of addresses, tokens and stores that ``manage.py import_store`` refuses, and of unexpected responses."""

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from apps.store_imports.domain import source_client
from tests.store_imports.conftest import StoreImporter
from tests.store_imports.faulty_proxy import FaultyProxy
from tests.store_imports.old_store import describe_store, fill_store
from tests.support.databases.snapshots import assert_database_unchanged
from tests.support.types import JsonObject


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--token": "bko_wrong"}, "does not accept the token"),
        ({"--brand": "other"}, "does not accept the token"),
        ({"--shop": "nowhere.example"}, "No shop has the domain nowhere.example"),
        ({"--api-version": "x"}, "There is no REST API at"),
        ({"--token": "bko_geheimn\u00fcs"}, "special characters"),
        ({"--token": " \n"}, "Pass the access token"),
        ({"--brand": "a\r\nb"}, "--brand must only contain"),
    ],
)
def test_a_wrong_option_is_refused_with_what_to_do(
    importer: StoreImporter, change: dict[str, str], message: str
) -> None:
    arguments = importer.get_arguments()
    for name, value in change.items():
        if name in arguments:
            arguments[arguments.index(name) + 1] = value
        else:
            arguments += [name, value]

    with assert_database_unchanged(), pytest.raises(CommandError, match=message):
        call_command("import_store", *arguments)


def test_a_store_with_another_currency_is_refused(importer: StoreImporter) -> None:
    type(importer.shop).objects.filter(pk=importer.shop.pk).update(currency="EUR")

    with pytest.raises(CommandError, match="currency is USD, but this shop's is EUR"):
        importer.run()


def test_private_addresses_are_refused(importer: StoreImporter, settings: Settings, proxy: FaultyProxy) -> None:
    settings.OUTGOING_ALLOW = []

    with pytest.raises(CommandError, match="is not a public internet address"):
        importer.run()

    assert proxy.paths == []


@pytest.mark.parametrize(
    "url", ["", "ftp://shop.example", "https://user:secret@shop.example", "https://shop.example:x"]
)
def test_an_invalid_address_is_refused(importer: StoreImporter, url: str) -> None:
    with pytest.raises(CommandError, match="Enter the address of the store"):
        call_command("import_store", url, *importer.get_arguments()[1:])


@pytest.mark.parametrize(
    ("text", "url"),
    [
        (" shop.example:443/admin ", "https://shop.example"),
        ("http://Shop.example:80", "http://shop.example"),
        ("https://shop.example:80", "https://shop.example:80"),
    ],
)
def test_equal_addresses_are_one_import(text: str, url: str) -> None:
    assert source_client.normalize_source_url(text) == url


def test_a_response_without_its_list_is_read_again_and_ends_the_import(
    importer: StoreImporter, proxy: FaultyProxy
) -> None:
    fill_store(importer.source)
    left = [1]

    def remove_list(path: str, data: JsonObject) -> None:
        if "/locations.json" in path or ("/customers.json" in path and left[0]):
            left[0] -= 1
            data.clear()

    proxy.edit = remove_list

    with pytest.raises(CommandError, match="the response has no list locations"):
        importer.run()

    proxy.edit = lambda path, data: remove_list(path, data) if "/customers.json" in path else None
    left[0] = 1
    importer.run()
    assert (left[0], describe_store(importer.target)) == (0, describe_store(importer.source))


def test_an_object_that_can_not_be_read_is_named(importer: StoreImporter, proxy: FaultyProxy) -> None:
    fill_store(importer.source)
    product = importer.source.get("products.json").json()["products"][0]
    customer = importer.source.get("customers.json").json()["customers"][0]
    values: dict[str, object] = {"variants": None}

    def spoil(path: str, data: JsonObject) -> None:
        for row in data.get("products", ()):
            if row["id"] == product["id"]:
                row.update(values)
        for row in data.get("customers", ()):
            if row["id"] == customer["id"]:
                row["addresses"] = [5]

    proxy.edit = spoil
    reason = "can't be read: a member has an unexpected value"

    with pytest.raises(CommandError, match=f"object {product['id']} of products {reason}"):
        importer.run()
    del values["variants"]
    with pytest.raises(CommandError, match="1 object was not imported"):
        importer.run()

    assert f"object {customer['id']} of customers {reason}" in importer.output.getvalue()
    proxy.edit = None
    importer.run()
    assert describe_store(importer.target) == describe_store(importer.source)


def test_a_missing_scope_is_named(importer: StoreImporter) -> None:
    fill_store(importer.source)
    importer.source.installation.scopes = ["read_locations"]
    importer.source.installation.save()

    with pytest.raises(CommandError, match="may not read"):
        importer.run()
