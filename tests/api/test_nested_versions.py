"""Nested objects are parsed, rendered and described in the requested version."""

import pytest
from django.conf import settings

from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.openapi.schemas import build_body_schema, build_resource_schema
from apps.core.rest.reading.query_plans import get_read_plan
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import ModelDerivedField, TextField
from apps.core.rest.resources.nested_rows import WritableNestedRows
from apps.core.rest.resources.serializers import ResourceSerializer, validate_body
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.models import Address, Customer
from tests.support.factories.customers import make_address, make_customer

OLD, NEW = settings.API_VERSIONS[0], settings.API_VERSIONS[-1]
VERSIONS = [OLD, NEW, "unstable"]


class AddressSerializer(ResourceSerializer[Address]):
    """An address that has ``company`` in the newest version and ``phone`` in older versions."""

    id = None
    address1 = ModelDerivedField()
    company = TextField(max_length=20, required=False, since=NEW)
    phone = TextField(max_length=20, required=False, until=NEW)

    class Meta:
        model = Address


class OwnerSerializer(ResourceSerializer[Customer]):
    id = None
    houses = WritableNestedRows(AddressSerializer, "addresses", source="addresses", most=3)

    class Meta:
        model = Customer


def get_expected(version: str) -> dict[str, str]:
    return {"address1": "Storgatan 1"} | ({"phone": "12345"} if version == OLD else {"company": "Ateljén"})


@pytest.mark.parametrize("version", VERSIONS)
def test_nested_rows_are_taken_in_the_version_of_the_request(version: str) -> None:
    body = {"houses": [{"address1": "Storgatan 1", "company": "Ateljén", "phone": "12345"}]}

    attrs = validate_body(OwnerSerializer, version, body)

    assert attrs == {"addresses": [get_expected(version)]}


def test_nested_rows_are_refused_for_the_fields_of_the_version_only() -> None:
    body = {"houses": [{"address1": "Storgatan 1", "company": "x" * 21}]}

    with pytest.raises(Unprocessable) as refused:
        validate_body(OwnerSerializer, NEW, body)

    assert refused.value.errors == {"houses.0.company": ["is too long (maximum is 20 characters)"]}
    assert validate_body(OwnerSerializer, OLD, body) == {"addresses": [{"address1": "Storgatan 1"}]}


@pytest.mark.parametrize("none", [None, []])
def test_an_empty_list_of_nested_rows_is_read_as_none(none: object) -> None:
    assert not validate_body(OwnerSerializer, OLD, {"houses": none})["addresses"]


@pytest.mark.parametrize("version", VERSIONS)
def test_nested_rows_are_shown_in_the_version_of_the_request(shop: Shop, version: str) -> None:
    with shop_scope(shop):
        customer = make_customer()
        make_address(customer, address1="Storgatan 1", company="Ateljén", phone="12345")

        shown = get_read_plan(OwnerSerializer, version).read_one(customer.pk, RenderContext(shop, version))

    assert shown == {"houses": [get_expected(version)]}


@pytest.mark.parametrize("version", VERSIONS)
def test_nested_rows_are_described_in_the_version_of_the_document(version: str) -> None:
    body = build_body_schema(OwnerSerializer, version, complete=True)
    resource = build_resource_schema(OwnerSerializer, version)

    for schema in (body, resource):
        assert schema["properties"]["houses"]["items"]["properties"].keys() == get_expected(version).keys()


def test_a_field_is_declared_once() -> None:
    with pytest.raises(TypeError, match="'address1' is declared twice"):

        class _Twice(ResourceSerializer[Address]):
            address1 = ModelDerivedField()
            address1 = TextField()  # type: ignore[assignment]  # noqa: PIE794

    with pytest.raises(TypeError, match="does not declare adress1"):

        class _Misspelt(AddressSerializer):
            class Meta(AddressSerializer.Meta):
                fields = ("adress1",)
