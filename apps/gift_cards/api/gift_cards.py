"""Views for gift cards and for the adjustments of their balances."""

from decimal import Decimal

import orjson
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.numbers.exact import write_digits
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.reading import keyset_pagination
from apps.core.rest.reading.pages import FilteredRows
from apps.core.rest.requests.views import MANY, ONE
from apps.core.rest.resources.fields import (
    ConstantField,
    DateTimeField,
    IntegerField,
    ModelDerivedField,
    ReadOnlyColumn,
    TextField,
    UrlField,
)
from apps.core.rest.resources.filters import ChoiceFilter, ResourceFilter
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.search_query import QuerySyntaxError
from apps.core.search_query.database import QueryValueError
from apps.core.types import Attrs
from apps.customers.api.fields import BlankAsNullTextField
from apps.gift_cards.domain import codes, delivery, gift_cards
from apps.gift_cards.domain.search import ORDERS, SEARCH
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from apps.gift_cards.models.gift_cards import MAX_MESSAGE
from apps.orders.api.fields import AmountField, Money, blank_as_null_text

_MAX_NOTE = 5000
# The values that only a new card can have. Updates ignore them.
_ONLY_NEW = frozenset({"code", "initial_value", "recipient_id", "message", "send_on"})


class StatusFilter(ChoiceFilter):
    def __init__(self) -> None:
        super().__init__("disabled_at", words=("enabled", "disabled"))

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs if value is None else qs.filter(disabled_at__isnull=value == "enabled")


class GiftCardFilter(ResourceFilter):
    status = StatusFilter()


class SignedAmountField(AmountField):
    """An amount that can be negative."""

    def to_internal_value(self, data: object) -> Decimal:
        text = write_digits(data)
        if text is not None and text.startswith("-") and text[1:2].isdigit():
            return -super().to_internal_value(text[1:])
        return super().to_internal_value(data)


class GiftCardSerializer(ResourceSerializer[GiftCard]):
    balance = Money("balance")
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    currency = ReadOnlyColumn()
    initial_value = AmountField()
    disabled_at = DateTimeField(read_only=True)
    line_item_id = ConstantField(None)
    api_client_id = ReadOnlyColumn("app_id")
    user_id = ReadOnlyColumn()
    customer_id = IntegerField(required=False, allow_null=True)
    note = BlankAsNullTextField(max_length=_MAX_NOTE)
    expires_on = ModelDerivedField()
    template_suffix = blank_as_null_text()
    notify = ConstantField(False)
    last_characters = ReadOnlyColumn()
    order_id = ConstantField(None)
    recipient_id = IntegerField(required=False, allow_null=True, write_only=True)
    message = TextField(max_length=MAX_MESSAGE, required=False, allow_null=True, allow_blank=True, write_only=True)
    send_on = DateTimeField(required=False, allow_null=True, write_only=True)
    code = TextField(
        max_length=2 * codes.MAX_LENGTH, required=False, allow_null=True, allow_blank=True, write_only=True
    )


class GiftCardViewSet(ShopViewSet[GiftCard]):
    scope = "gift_cards"
    serializer_class = GiftCardSerializer
    filterset_class = GiftCardFilter
    singular = "gift_card"
    locks_in_service = True
    version_columns = ("version",)
    success_statuses = {"disable": 201}
    responses = {"search": MANY, "disable": ONE}
    request_bodies = {"disable": {"type": "object"}}
    query_parameters = {"search": ("query", "order", "limit", "page_info", "fields")}
    # Only the response of ``create`` contains the code.
    detail_properties = {"code": {"type": ["string", "null"]}}

    def create(self, request: Request, **_: int) -> HttpResponse:
        attrs = self.get_validated_attributes()
        with transaction.atomic():
            app = self.access.installation.app
            values = {**attrs, "send_at": attrs.get("send_on")}
            card, code = delivery.issue_gift_card(values, app=app, actor=self.actor, at=self.at)
            response = self.render_created(card)
        body = orjson.loads(response.content)
        body[self.singular]["code"] = code
        response.content = orjson.dumps(body)
        return response

    def redact_for_replay(self, content: bytes) -> bytes:
        """Remove the code from the stored response, because a stored code could be spent."""
        return self._replace_code(content, None)

    def restore_for_replay(self, content: bytes) -> bytes:
        """Restore the code if it is in the request. A generated code is null, because it is not stored."""
        if self.action != "create":
            return content
        sent = self.unwrap_body(self.singular).get("code")
        return self._replace_code(content, codes.normalize_code(str(sent)) if sent else None)

    def _replace_code(self, content: bytes, code: str | None) -> bytes:
        body = orjson.loads(content)
        if self.action == "create" and self.singular in body:
            body[self.singular]["code"] = code
        return orjson.dumps(body)

    def perform_update(self, instance: GiftCard, attrs: Attrs) -> None:
        changed = {name: value for name, value in attrs.items() if name not in _ONLY_NEW}
        gift_cards.update_gift_card(instance, changed, actor=self.actor, at=self.at)

    def disable(self, request: Request, **_: int) -> HttpResponse:
        """Disable a gift card for good."""
        with transaction.atomic():
            card = self.get_object()
            gift_cards.disable_gift_card(card, actor=self.actor, at=self.at)
            return self.render_object(card.pk, 201)

    def search(self, request: Request, **_: int) -> HttpResponse:
        """Return a page of gift cards that match a query."""
        page = keyset_pagination.parse_page_request(self.query, shop_id=self.shop.pk, route=self.list_name)
        order = page.order or keyset_pagination.parse_order(page.filters.get("order", "id"), ORDERS)
        rows = self.get_queryset().filter(self._parse_condition(page.filters.get("query", "")))
        return self.render_page(FilteredRows([rows]), page, order)

    def _parse_condition(self, text: str) -> Q:
        if not text.strip():
            return Q()
        try:
            return SEARCH.compile(SEARCH.parse(text), zone=self.shop.tzinfo)
        except (QuerySyntaxError, QueryValueError) as error:
            raise BadRequest({"query": str(error)}) from None


class AdjustmentSerializer(ResourceSerializer[GiftCardAdjustment]):
    gift_card_id = ReadOnlyColumn("card_id")
    api_client_id = ReadOnlyColumn("app_id")
    user_id = ReadOnlyColumn()
    order_transaction_id = ReadOnlyColumn("transaction_id")
    number = ReadOnlyColumn()
    amount = SignedAmountField(order="card__")
    processed_at = DateTimeField(required=False, allow_null=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    note = BlankAsNullTextField(max_length=_MAX_NOTE)
    remote_transaction_ref = blank_as_null_text()
    remote_transaction_url = UrlField(max_length=2048, required=False, allow_null=True, allow_blank=True)


class AdjustmentViewSet(ShopViewSet[GiftCardAdjustment]):
    scope = "gift_cards"
    serializer_class = AdjustmentSerializer
    singular = "adjustment"
    parents = {"card_id": GiftCard}

    def get_queryset(self) -> QuerySet[GiftCardAdjustment]:
        """Return the adjustments after the initial value, which is the first row of the ledger."""
        return super().get_queryset().filter(number__gt=1)

    def perform_create(self, attrs: Attrs) -> GiftCardAdjustment:
        card = GiftCard.objects.get(pk=self.kwargs["card_id"])
        app = self.access.installation.app
        return gift_cards.adjust_balance(card, attrs, app=app, actor=self.actor, at=self.at)
