"""Addresses over REST, each below its customer."""

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.api.context import Context
from apps.api.errors import BadRequest, Unprocessable
from apps.api.requests.views import ONE
from apps.api.resources.fields import ApiField, Column, Computed, FromModel
from apps.api.resources.filters import MAX_IDS, read_id
from apps.api.resources.serializers import ResourceSerializer, check_body
from apps.api.shapes import Attrs
from apps.api.viewsets import ShopViewSet
from apps.customers.api.fields import BlankableText
from apps.customers.domain import addresses
from apps.customers.models import Address, Customer


def _is_default(context: Context, pk: int, default: int | None) -> bool:
    return pk == default


def _or_none(context: Context, text: str) -> str | None:
    return text or None


class NameField(BlankableText):
    """The whole name: shown as made of its parts; taken where no part is given."""

    inline = "f'{{{0} or str()}} {{{1} or str()}}'.strip()"

    def columns(self) -> tuple[str, ...]:
        """The parts."""
        return ("first_name", "last_name")


class AddressSerializer(ResourceSerializer[Address]):
    """An address as the interface shows it."""

    customer_id = Column()
    first_name = FromModel()
    last_name = FromModel()
    company = FromModel()
    address1 = FromModel()
    address2 = FromModel()
    city = FromModel()
    province = BlankableText(max_length=255)
    country = BlankableText(max_length=255)
    zip = FromModel()
    phone = FromModel()
    name = NameField(max_length=addresses.LONGEST_NAME)
    province_code = BlankableText(max_length=255)
    country_code = BlankableText(max_length=255)
    country_name = Computed(_or_none, "country", schema={"type": ["string", "null"]})
    default: ApiField = Computed(_is_default, "pk", "customer__default_address_id", schema={"type": "boolean"})

    class Meta:
        model = Address


class AddressViewSet(ShopViewSet[Address]):
    """``/customers/{customer_id}/addresses``."""

    scope = "customers"
    model = Address
    serializer_class = AddressSerializer
    singular = "customer_address"
    plural = "addresses"
    parents = {"customer_id": Customer}
    body_name = "address"
    bodies = {
        "set": {"type": "object"},
        "default": {"type": "object"},
    }
    answers = {"default": ONE, "set": {"type": "object", "maxProperties": 0}}

    def get_queryset(self) -> QuerySet[Address]:
        """The customer's addresses."""
        return super().get_queryset().select_related("customer")

    def attributes(self, instance: Address | None = None) -> Attrs:
        """The body, under ``address`` or the name that answers have."""
        body = self.body
        name = self.singular if isinstance(body, Mapping) and self.singular in body else self.body_name
        attrs, errors = check_body(self.serializer_class, self.version, self.unwrapped(name), instance=instance)
        if errors:
            raise Unprocessable(errors)
        return attrs

    def perform_create(self, attrs: Attrs) -> Address:
        """One more address."""
        customer = Customer.objects.get(pk=self.kwargs["customer_id"])
        return addresses.create_address(customer, attrs, actor=self.actor, at=self.at)

    def hold(self, instance: Address) -> None:
        """The body is compared with nothing; the service holds the customer, and then the address."""

    def perform_update(self, instance: Address, attrs: Attrs) -> None:
        """Change what is given."""
        addresses.update_address(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Address) -> None:
        """Take an address away."""
        addresses.delete_addresses(instance.customer, [instance.pk], actor=self.actor, at=self.at)

    def default(self, request: Request, **_: int) -> HttpResponse:
        """Make an address the default."""
        with transaction.atomic():
            address = self.get_object()
            addresses.set_default(address, actor=self.actor, at=self.at)
            return self.object_response(address.pk)

    def set(self, request: Request, **kwargs: int) -> HttpResponse:
        """Do one thing with several addresses: ``operation=destroy`` with ``address_ids[]``."""
        operation = self.query.get("operation")
        if operation != "destroy":
            raise BadRequest({"operation": "must be destroy"})
        ids = self._address_ids()
        with transaction.atomic():
            customer = Customer.objects.get(pk=kwargs["customer_id"])
            addresses.delete_addresses(customer, ids, actor=self.actor, at=self.at)
        return self.json({})

    def _address_ids(self) -> list[int]:
        given = self.request._request.GET.getlist("address_ids[]")
        texts = [part.strip() for text in given for part in text.split(",")]
        if not 0 < len(texts) <= MAX_IDS:
            raise BadRequest({"address_ids": f"must be 1 to {MAX_IDS} ids"})
        try:
            return [read_id(text) for text in texts]
        except ValidationError as error:
            raise BadRequest({"address_ids": error.messages[0]}) from None
