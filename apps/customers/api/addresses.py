from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.rest.exceptions import BadRequest, Unprocessable
from apps.core.rest.render_context import RenderContext
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import ApiField, ComputedField, ModelDerivedField, ReadOnlyColumn
from apps.core.rest.resources.filters import MAX_IDS, parse_id
from apps.core.rest.resources.serializers import ResourceSerializer, check_body
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.customers.api.fields import BlankAsNullTextField
from apps.customers.domain import addresses
from apps.customers.models import Address, Customer


def _is_default(context: RenderContext, pk: int, default: int | None) -> bool:
    return pk == default


class NameField(BlankAsNullTextField):
    """The full name, rendered from first and last name. Requests can use it instead of first and last name."""

    inline = "f'{{{0} or str()}} {{{1} or str()}}'.strip()"

    def get_columns(self) -> tuple[str, ...]:
        return ("first_name", "last_name")


class AddressSerializer(ResourceSerializer[Address]):
    customer_id = ReadOnlyColumn()
    first_name = ModelDerivedField()
    last_name = ModelDerivedField()
    company = ModelDerivedField()
    address1 = ModelDerivedField()
    address2 = ModelDerivedField()
    city = ModelDerivedField()
    province = BlankAsNullTextField(max_length=255)
    country = BlankAsNullTextField(max_length=255)
    zip = ModelDerivedField()
    phone = ModelDerivedField()
    name = NameField(max_length=addresses.MAX_FULL_NAME)
    province_code = BlankAsNullTextField(max_length=255)
    country_code = BlankAsNullTextField(max_length=255)
    country_name = ComputedField(lambda _context, text: text or None, "country", schema={"type": ["string", "null"]})
    default: ApiField = ComputedField(_is_default, "pk", "customer__default_address_id", schema={"type": "boolean"})


class AddressViewSet(ShopViewSet[Address]):
    scope = "customers"
    serializer_class = AddressSerializer
    singular = "customer_address"
    locks_in_service = True
    plural = "addresses"
    parents = {"customer_id": Customer}
    body_name = "address"
    request_bodies = {
        "set": {"type": "object"},
        "default": {"type": "object"},
    }
    responses = {"default": ONE, "set": {"type": "object", "maxProperties": 0}}

    def get_queryset(self) -> QuerySet[Address]:
        return super().get_queryset().select_related("customer")

    def get_validated_attributes(self, instance: Address | None = None) -> Attrs:
        """Validate the values in the body, which are under ``address`` or ``customer_address``."""
        body = self.body
        name = self.singular if isinstance(body, Mapping) and self.singular in body else self.body_name
        attrs, errors = check_body(self.serializer_class, self.version, self.unwrap_body(name), instance=instance)
        if errors:
            raise Unprocessable(errors)
        return attrs

    def perform_create(self, attrs: Attrs) -> Address:
        customer = Customer.objects.get(pk=self.kwargs["customer_id"])
        return addresses.create_address(customer, attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: Address, attrs: Attrs) -> None:
        addresses.update_address(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Address) -> None:
        addresses.delete_addresses(instance.customer, [instance.pk], actor=self.actor, at=self.at)

    def default(self, request: Request, **_: int) -> HttpResponse:
        """Set an address as the customer's default address."""
        with transaction.atomic():
            address = self.get_object()
            addresses.set_default_address(address, actor=self.actor, at=self.at)
            return self.render_object(address.pk)

    def set(self, request: Request, **kwargs: int) -> HttpResponse:
        """Delete several addresses at once, with ``operation=destroy`` and ``address_ids[]``."""
        operation = self.query.get("operation")
        if operation != "destroy":
            raise BadRequest({"operation": "must be destroy"})
        ids = self._address_ids()
        with transaction.atomic():
            customer = Customer.objects.get(pk=kwargs["customer_id"])
            addresses.delete_addresses(customer, ids, actor=self.actor, at=self.at)
        return self.json_response({})

    def _address_ids(self) -> list[int]:
        values = self.request._request.GET.getlist("address_ids[]")
        texts = [part.strip() for text in values for part in text.split(",")]
        if not 0 < len(texts) <= MAX_IDS:
            raise BadRequest({"address_ids": f"must be 1 to {MAX_IDS} ids"})
        try:
            return [parse_id(text) for text in texts]
        except ValidationError as error:
            raise BadRequest({"address_ids": error.messages[0]}) from None
