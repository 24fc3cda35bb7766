"""Customers over REST: listed, searched, made, changed, invited."""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

import orjson
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from apps.api.context import Context
from apps.api.errors import BadRequest, Unprocessable
from apps.api.requests.views import MANY
from apps.api.resources.fields import (
    BooleanField,
    Column,
    Computed,
    Constant,
    FromModel,
    GlobalId,
    TagsField,
    TextField,
)
from apps.api.resources.related import Row, TakenRows
from apps.api.resources.serializers import ResourceSerializer, read_body
from apps.api.rows import paging
from apps.api.rows.narrowed import Narrowed
from apps.api.shapes import Attrs, Errors
from apps.api.viewsets import ShopViewSet
from apps.customers.api.addresses import AddressSerializer
from apps.customers.api.fields import (
    AcceptsField,
    AcceptsLevelField,
    AcceptsMomentField,
    BlankableText,
    ConsentField,
    MetafieldsField,
    TextsField,
)
from apps.customers.api.invites import InviteSerializer
from apps.customers.domain import accounts, customers, tokens
from apps.customers.domain.addresses import MAX_SHOWN
from apps.customers.domain.search import ORDERS, SEARCH
from apps.customers.domain.validation import CustomerRefused, clean, taken
from apps.customers.models import Customer, OptInLevel
from apps.ground.money import text_of
from apps.ground.tenancy import current_shop
from apps.query import QuerySyntaxError
from apps.query.database import QueryValueError

MAX_ADDRESSES = 100
DEFAULT_ORDER = "last_order_date desc"
_ORDER = re.compile(r"\s*(\w{1,30})(?:\s+(asc|desc))?\s*", re.ASCII | re.IGNORECASE)


def _money(context: Context, amount: Decimal) -> str:
    return text_of(amount, context.shop.currency)


def _currency(context: Context, currency: str) -> str:
    return currency or context.shop.currency


class DefaultAddressSerializer(AddressSerializer):
    """The address that is the default."""

    default = Constant(True)


class CustomerSerializer(ResourceSerializer[Customer]):
    """A customer as the interface shows it, with the ten most recently updated addresses."""

    email = BlankableText(max_length=255)
    created_at = FromModel()
    updated_at = FromModel()
    first_name = BlankableText(max_length=255)
    last_name = BlankableText(max_length=255)
    orders_count = Column()
    state = Column()
    total_spent = Computed(_money, "total_spent", schema={"type": "string", "format": "decimal"})
    last_order_id = Column()
    note = BlankableText(max_length=5000)
    verified_email = FromModel()
    multipass_identifier = BlankableText(max_length=255)
    tax_exempt = FromModel()
    tags = TagsField()
    last_order_name = BlankableText(read_only=True, required=None)
    currency = Computed(_currency, "last_order_currency")
    phone = BlankableText(max_length=255)
    addresses = TakenRows(
        AddressSerializer, "addresses", order=("-updated_at", "-pk"), limit=MAX_SHOWN, most=MAX_ADDRESSES, named=True
    )
    tax_exemptions = TextsField()
    email_marketing_consent = ConsentField("email")
    sms_marketing_consent = ConsentField("sms")
    admin_graphql_api_id = GlobalId("Customer")
    default_address = Row(DefaultAddressSerializer, "default_address")
    accepts_marketing = AcceptsField(required=False, allow_null=True)
    accepts_marketing_updated_at = AcceptsMomentField(required=False, allow_null=True)
    marketing_opt_in_level = AcceptsLevelField(
        choices=OptInLevel.choices, required=False, allow_null=True, allow_blank=True
    )
    password = TextField(write_only=True, required=False, allow_null=True, allow_blank=True)
    password_confirmation = TextField(write_only=True, required=False, allow_null=True, allow_blank=True)
    send_email_welcome = BooleanField(write_only=True, required=False, allow_null=True)
    send_email_invite = BooleanField(write_only=True, required=False, allow_null=True)
    metafields = MetafieldsField()

    class Meta:
        model = Customer

    def check(self, attrs: Attrs, instance: Customer | None, errors: Errors) -> None:
        """Beside single fields that are refused, name what the rules refuse; else the service does."""
        if not errors:
            return
        cleaned, found = clean(attrs, customer=instance, shop=current_shop(), at=timezone.now())
        if {"first_name", "last_name", "email"} & errors.keys():
            found.pop("customer", None)
        found = taken(cleaned, besides=instance) | found
        for field, messages in found.items():
            errors.setdefault(field, messages)


_TEXT = {"type": ["string", "null"]}
INVITE = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("to", "from", "subject", "custom_message"), _TEXT),
        "bcc": {"type": "array", "items": {"type": "string"}},
    },
}


class CustomerViewSet(ShopViewSet[Customer]):
    """``/customers``."""

    scope = "customers"
    model = Customer
    serializer_class = CustomerSerializer
    singular = "customer"
    plural = "customers"
    order = ("-id",)
    versions = ("version",)
    shows_made = True
    bodies = {
        "account_activation_url": {"type": "object"},
        "send_invite": {"type": "object", "properties": {"customer_invite": INVITE}},
    }
    answers = {
        "search": MANY,
        "account_activation_url": {
            "type": "object",
            "properties": {"account_activation_url": {"type": "string", "format": "uri"}},
        },
        "send_invite": {"type": "object", "required": ["customer_invite"], "properties": {"customer_invite": INVITE}},
    }
    statuses = {"send_invite": 201}

    def create(self, request: Request, **kwargs: int) -> HttpResponse:
        """Make a customer."""
        return self._telling_all_taken(super().create, **kwargs)

    def update(self, request: Request, **kwargs: int) -> HttpResponse:
        """Change a customer."""
        return self._telling_all_taken(super().update, **kwargs)

    def _telling_all_taken(self, write: Callable[..., HttpResponse], **kwargs: int) -> HttpResponse:
        """Write; a refusal says of both e-mail and phone that they are taken, where the database names just one."""
        try:
            return write(self.request, **kwargs)
        except (CustomerRefused, IntegrityError):
            present = self.get_object() if "id" in kwargs else None
            cleaned, found = clean(self.attributes(present), customer=present, shop=self.shop, at=self.at)
            if found := taken(cleaned, besides=present) | found:
                raise Unprocessable(found) from None
            raise

    def perform_create(self, attrs: Attrs) -> Customer:
        """Make a customer, with addresses, consents, account and mails."""
        return customers.create_customer(attrs, actor=self.actor, at=self.at)

    def hold(self, instance: Customer) -> None:
        """The body is compared with nothing before the service holds the customer."""

    def perform_update(self, instance: Customer, attrs: Attrs) -> None:
        """Change what is given."""
        customers.update_customer(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: Customer) -> None:
        """Delete a customer without orders."""
        customers.delete_customer(instance, actor=self.actor, at=self.at)

    def search(self, request: Request, **_: int) -> HttpResponse:
        """A page of the customers that a query finds."""
        page = paging.read_page(self.query, shop_id=self.shop.pk, route=self.route)
        order = page.order or read_order(page.filters.get("order", DEFAULT_ORDER))
        found = [self.get_queryset().filter(each) for each in self._alternatives(page)]
        asked = bool(page.filters.get("query", "").strip())
        return self.page_response(Narrowed(found) if asked else found, page, order)

    def _alternatives(self, page: paging.PageRequest) -> Sequence[Q]:
        """What the query asks for, a blank one for everybody."""
        text = page.filters.get("query", "")
        if not text.strip():
            return (Q(),)
        try:
            return SEARCH.alternatives(SEARCH.parse(text), zone=self.shop.tzinfo)
        except (QuerySyntaxError, QueryValueError) as error:
            raise BadRequest({"query": str(error)}) from None

    def account_activation_url(self, request: Request, **_: int) -> HttpResponse:
        """Make the link with which the customer activates the account."""
        with transaction.atomic():
            url = accounts.make_activation_url(self.get_object(), actor=self.actor, at=self.at)
        return self.json({"account_activation_url": url})

    def kept(self, answer: bytes) -> bytes:
        """Of an activation link its digest: whoever reads what is stored cannot follow it."""
        if self.action != "account_activation_url":
            return answer
        token = orjson.loads(answer)[self.action].rpartition("/")[2]
        return orjson.dumps({self.action: tokens.digest_of(token)})

    def restored(self, stored: bytes) -> bytes:
        """An activation link as long as it is alive, else null: it was used, replaced, or went with the customer."""
        digest = orjson.loads(stored).get(self.action) if self.action == "account_activation_url" else None
        if digest is None:
            return stored
        customer = Customer.objects.filter(pk=self.kwargs["id"]).first()
        alive = customer is not None and tokens.digest_of(customer.activation_nonce) == digest
        url = accounts.activation_url(customer, customer.activation_nonce) if customer and alive else None
        return orjson.dumps({self.action: url})

    def send_invite(self, request: Request, **_: int) -> HttpResponse:
        """Invite the customer to activate the account."""
        with transaction.atomic():
            customer = self.get_object()
            given = {} if self.body in (None, {}) else self.unwrapped("customer_invite")
            attrs = read_body(InviteSerializer, self.version, given)
            invitation = accounts.send_invite(customer, attrs, actor=self.actor, at=self.at)
        shown = {
            "to": invitation.to_address,
            "from": invitation.from_address,
            "subject": invitation.subject,
            "custom_message": invitation.custom_message,
            "bcc": invitation.bcc,
        }
        return self.json({"customer_invite": shown}, 201)


def read_order(text: str) -> paging.Order:
    """The order that a search asks for: ``<field> asc|desc``, ascending if it does not say.

    Raises:
        BadRequest: It names no field of the search.
    """
    match = _ORDER.fullmatch(text)
    if match is None or match[1].lower() not in ORDERS:
        raise BadRequest({"order": f"must be one of {', '.join(ORDERS)}, with asc or desc"})
    sign = "-" if (match[2] or "asc").lower() == "desc" else ""
    return tuple(f"{sign}{column}" for column in (*ORDERS[match[1].lower()], "id"))
