"""REST resource for customers: list, search, create, update, delete and invite."""

from collections.abc import Callable, Sequence
from decimal import Decimal

import orjson
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from apps.core.money import format_decimal
from apps.core.rest.exceptions import BadRequest, Unprocessable
from apps.core.rest.reading import keyset_pagination
from apps.core.rest.reading.pages import FilteredRows
from apps.core.rest.render_context import RenderContext
from apps.core.rest.requests.views import MANY, ApiView
from apps.core.rest.resources.fields import (
    BooleanField,
    ComputedField,
    ConstantField,
    ModelDerivedField,
    ReadOnlyColumn,
    TagsField,
    TextField,
    global_id_field,
)
from apps.core.rest.resources.nested_rows import NestedObject, WritableNestedRows
from apps.core.rest.resources.serializers import ResourceSerializer, validate_body
from apps.core.rest.resources.text_lists import TAG_PARAMETERS, get_text_list_schema, parse_tag_query
from apps.core.rest.viewsets import ShopViewSet
from apps.core.search_query import QuerySyntaxError
from apps.core.search_query.database import QueryValueError
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Errors
from apps.customers.api.addresses import AddressSerializer
from apps.customers.api.fields import (
    AcceptsMarketingField,
    AcceptsMarketingUpdatedAtField,
    BlankAsNullTextField,
    ConsentField,
    MarketingOptInLevelField,
    MetafieldsField,
    TextListField,
)
from apps.customers.domain import accounts, customers, lookup
from apps.customers.domain.addresses import MAX_LISTED_ADDRESSES
from apps.customers.domain.search_fields import ORDERS, SEARCH
from apps.customers.domain.validation import CustomerRefused, clean_customer, find_taken_contacts
from apps.customers.models import Customer, Invitation, OptInLevel

MAX_ADDRESSES = 100
DEFAULT_ORDER = "last_order_date desc"


def _money(context: RenderContext, amount: Decimal) -> str:
    return format_decimal(amount, context.shop.currency)


class DefaultAddressSerializer(AddressSerializer):
    default = ConstantField(True)


class CustomerSerializer(ResourceSerializer[Customer]):
    """A customer with the ten most recently updated addresses."""

    email = BlankAsNullTextField(max_length=255)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    first_name = BlankAsNullTextField(max_length=255)
    last_name = BlankAsNullTextField(max_length=255)
    orders_count = ReadOnlyColumn()
    state = ReadOnlyColumn()
    total_spent = ComputedField(_money, "total_spent", schema={"type": "string", "format": "decimal"})
    last_order_id = ReadOnlyColumn()
    note = BlankAsNullTextField(max_length=5000)
    verified_email = ModelDerivedField()
    multipass_identifier = BlankAsNullTextField(max_length=255)
    tax_exempt = ModelDerivedField()
    tags = TagsField()
    last_order_name = BlankAsNullTextField(read_only=True, required=None)
    currency = ComputedField(lambda context, currency: currency or context.shop.currency, "last_order_currency")
    phone = BlankAsNullTextField(max_length=255)
    addresses = WritableNestedRows(
        AddressSerializer,
        "addresses",
        order=("-updated_at", "-pk"),
        limit=MAX_LISTED_ADDRESSES,
        most=MAX_ADDRESSES,
        accepts_ids=True,
    )
    tax_exemptions = TextListField()
    email_marketing_consent = ConsentField("email")
    sms_marketing_consent = ConsentField("sms")
    admin_graphql_api_id = global_id_field("Customer")
    default_address = NestedObject(DefaultAddressSerializer, "default_address")
    accepts_marketing = AcceptsMarketingField(required=False, allow_null=True)
    accepts_marketing_updated_at = AcceptsMarketingUpdatedAtField(required=False, allow_null=True)
    marketing_opt_in_level = MarketingOptInLevelField(
        choices=OptInLevel.choices, required=False, allow_null=True, allow_blank=True
    )
    password = TextField(write_only=True, required=False, allow_null=True, allow_blank=True)
    password_confirmation = TextField(write_only=True, required=False, allow_null=True, allow_blank=True)
    send_email_welcome = BooleanField(write_only=True, required=False, allow_null=True)
    send_email_invite = BooleanField(write_only=True, required=False, allow_null=True)
    metafields = MetafieldsField()

    def validate_across_fields(self, attrs: Attrs, instance: Customer | None, errors: Errors) -> None:
        """Check the domain rules even if a field is invalid, so that the response contains all errors."""
        if not errors:
            return
        cleaned, domain_errors = clean_customer(attrs, customer=instance, shop=get_current_shop(), at=timezone.now())
        if {"first_name", "last_name", "email"} & errors.keys():
            domain_errors.pop("customer", None)
        domain_errors = find_taken_contacts(cleaned, customer=instance) | domain_errors
        for field, messages in domain_errors.items():
            errors.setdefault(field, messages)


class InviteSerializer(ResourceSerializer[Invitation]):
    """The body of ``send_invite``."""

    id = None
    to = BlankAsNullTextField(max_length=255)
    # ``from`` is a Python keyword, so the class body cannot assign it.
    locals()["from"] = BlankAsNullTextField(max_length=255)
    subject = BlankAsNullTextField(max_length=255)
    custom_message = BlankAsNullTextField(max_length=5000)
    bcc = TextListField()


_TEXT = {"type": ["string", "null"]}
INVITE_SCHEMA = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("to", "from", "subject", "custom_message"), _TEXT),
        "bcc": {"type": "array", "items": {"type": "string"}},
    },
}


class CustomerViewSet(ShopViewSet[Customer]):
    scope = "customers"
    serializer_class = CustomerSerializer
    singular = "customer"
    locks_in_service = True
    order = ("-id",)
    sort_columns = ORDERS
    version_columns = ("version",)
    renders_created_instance = True
    request_bodies = {
        "account_activation_url": {"type": "object"},
        "send_invite": {"type": "object", "properties": {"customer_invite": INVITE_SCHEMA}},
    }
    responses = {
        "search": MANY,
        "account_activation_url": {
            "type": "object",
            "properties": {"account_activation_url": {"type": "string", "format": "uri"}},
        },
        "send_invite": {
            "type": "object",
            "required": ["customer_invite"],
            "properties": {"customer_invite": INVITE_SCHEMA},
        },
    }
    success_statuses = {"send_invite": 201}
    query_parameters = {"search": ("query", "order", "limit", "page_info", "fields")}

    def create(self, request: Request, **kwargs: int) -> HttpResponse:
        return self._report_taken_contacts(super().create, **kwargs)

    def update(self, request: Request, **kwargs: int) -> HttpResponse:
        return self._report_taken_contacts(super().update, **kwargs)

    def _report_taken_contacts(self, write: Callable[..., HttpResponse], **kwargs: int) -> HttpResponse:
        """Call ``write``. If it fails, check both email and phone, because the database reports only one duplicate."""
        try:
            return write(self.request, **kwargs)
        except (CustomerRefused, IntegrityError):
            current = self.get_object() if "id" in kwargs else None
            cleaned, errors = clean_customer(
                self.get_validated_attributes(current), customer=current, shop=self.shop, at=self.at
            )
            if errors := find_taken_contacts(cleaned, customer=current) | errors:
                raise Unprocessable(errors) from None
            raise

    def perform_create(self, attrs: Attrs) -> Customer:
        return customers.create_customer(attrs, actor=self.actor, at=self.at)

    def perform_update(self, instance: Customer, attrs: Attrs) -> None:
        customers.update_customer(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Customer) -> None:
        customers.delete_customer(instance, actor=self.actor, at=self.at)

    def search(self, request: Request, **_: int) -> HttpResponse:
        """Return a page of customers that match a query."""
        page = keyset_pagination.parse_page_request(self.query, shop_id=self.shop.pk, route=self.list_name)
        order = page.order or keyset_pagination.parse_order(page.filters.get("order", DEFAULT_ORDER), ORDERS)
        querysets = [self.get_queryset().filter(condition) for condition in self._alternatives(page)]
        has_query = bool(page.filters.get("query", "").strip())
        return self.render_page(FilteredRows(querysets) if has_query else querysets, page, order)

    def _alternatives(self, page: keyset_pagination.PageRequest) -> Sequence[Q]:
        text = page.filters.get("query", "")
        if not text.strip():
            return (Q(),)
        try:
            return SEARCH.compile_alternatives(SEARCH.parse(text), zone=self.shop.tzinfo)
        except (QuerySyntaxError, QueryValueError) as error:
            raise BadRequest({"query": str(error)}) from None

    def account_activation_url(self, request: Request, **_: int) -> HttpResponse:
        """Create a link that activates the customer's account."""
        with transaction.atomic():
            url = accounts.create_activation_url(self.get_object(), actor=self.actor, at=self.at)
        return self.json_response({"account_activation_url": url})

    def redact_for_replay(self, content: bytes) -> bytes:
        """Replace the link in the response with a digest, because a stored link could be used to log in."""
        if self.action != "account_activation_url":
            return content
        token = orjson.loads(content)[self.action].rpartition("/")[2]
        return orjson.dumps({self.action: accounts.get_token_digest(token)})

    def restore_for_replay(self, stored: bytes) -> bytes:
        """Restore the activation link. It is null if it was used or replaced, or if the customer was deleted."""
        digest = orjson.loads(stored).get(self.action) if self.action == "account_activation_url" else None
        if digest is None:
            return stored
        customer = Customer.objects.filter(pk=self.kwargs["id"]).first()
        is_valid = customer is not None and accounts.get_token_digest(customer.activation_nonce) == digest
        url = accounts.build_activation_url(customer, customer.activation_nonce) if customer and is_valid else None
        return orjson.dumps({self.action: url})

    def send_invite(self, request: Request, **_: int) -> HttpResponse:
        """Invite the customer to activate the account."""
        with transaction.atomic():
            customer = self.get_object()
            body = {} if self.body in (None, {}) else self.unwrap_body("customer_invite")
            attrs = validate_body(InviteSerializer, self.version, body)
            invitation = accounts.send_invite(customer, attrs, actor=self.actor, at=self.at)
        invite = {
            "to": invitation.to_address,
            "from": invitation.from_address,
            "subject": invitation.subject,
            "custom_message": invitation.custom_message,
            "bcc": invitation.bcc,
        }
        return self.json_response({"customer_invite": invite}, 201)


class CustomerTagsView(ApiView):
    # The tag of this route in the OpenAPI document.
    plural = "customertags"
    scope = "customers"
    query_parameters = {"tags": TAG_PARAMETERS}
    responses = {"tags": get_text_list_schema("tags")}

    def tags(self, request: Request) -> HttpResponse:
        """List the tags of customers."""
        limit, popular = parse_tag_query(self.query)
        return self.json_response({"tags": lookup.list_tags(limit=limit, popular=popular)})
