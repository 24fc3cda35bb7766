"""The routes of refunds."""

from collections.abc import Mapping

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.api.errors import ApiError, BadRequest
from apps.api.requests.access import SAFE
from apps.api.resources.filters import ApiFilter, ResourceFilter
from apps.api.rows.plans import Plan, plan_for
from apps.api.shapes import Attrs
from apps.api.viewsets import ShopViewSet
from apps.ground.phrases import LIMIT_EXCEEDED, NOT_BOOLEAN
from apps.orders.models import Order
from apps.refunds.api.bodies import body_schema, read_refund
from apps.refunds.api.calculations import SCHEMA, shown_calculation
from apps.refunds.api.refunds import RefundSerializer, ShopRefundSerializer
from apps.refunds.domain import creating
from apps.refunds.models import Refund
from apps.shops.models import App

SHOP_CURRENCY = "in_shop_currency"
BACKDATES = "write_past_refunds"
_WORDS = {"true": True, "1": True, "false": False, "0": False, "": False}


class ShopCurrencyFilter(ApiFilter):
    """Whether transactions are shown in the shop's currency; it hides no row."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        """All of them."""
        return qs


class RefundFilter(ResourceFilter):
    """How a list of refunds is narrowed, and shown."""

    in_shop_currency = ShopCurrencyFilter()


class RefundViewSet(ShopViewSet[Refund]):
    """``/orders/{order_id}/refunds``."""

    scope = "orders"
    model = Refund
    serializer_class = RefundSerializer
    filterset_class = RefundFilter
    singular = "refund"
    plural = "refunds"
    parents = {"order_id": Order}
    bodies = {"create": body_schema(), "calculate": body_schema()}
    answers = {"calculate": SCHEMA}
    queries = {"retrieve": ("fields", SHOP_CURRENCY)}

    in_shop_currency = False

    def scopes_for(self, method: str) -> tuple[str, ...]:
        """Those of orders, or of marketplace orders."""
        verb = "read" if method in SAFE else "write"
        return f"{verb}_orders", f"{verb}_marketplace_orders"

    def plan(self) -> Plan:
        """With transactions in the currency that was asked for."""
        serializer = ShopRefundSerializer if self.in_shop_currency else RefundSerializer
        return plan_for(serializer, self.version, self.fields)

    def filtered(self, filters: Mapping[str, str]) -> QuerySet[Refund] | type[Refund]:
        """The rows that fit; the currency only says what is shown of them."""
        rest = dict(filters)
        self._choose_currency(rest.pop(SHOP_CURRENCY, None))
        return super().filtered(rest)

    def _choose_currency(self, word: str | None) -> None:
        found = _WORDS.get((word or "").lower())
        if found is None:
            raise BadRequest({SHOP_CURRENCY: NOT_BOOLEAN})
        self.in_shop_currency = found

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        """One refund."""
        self._choose_currency(self.query.get(SHOP_CURRENCY))
        return super().retrieve(request, **kwargs)

    def attributes(self, instance: Refund | None = None) -> Attrs:
        """The body, checked."""
        return {"wanted": read_refund(self.unwrapped("refund"))}

    def perform_create(self, attrs: Attrs) -> Refund:
        """Refund the order."""
        app = self.access.installation.app
        try:
            return creating.create_refund(
                Order.objects.get(pk=self.kwargs["order_id"]),
                attrs["wanted"],
                actor=self.actor,
                at=self.at,
                user_id=self.access.user_id,
                source_name=app.name,
                may_backdate=app.distribution == App.Distribution.PUBLIC and BACKDATES in self.access.granted,
            )
        except creating.TooManyRefunds as refusal:
            raise ApiError(LIMIT_EXCEEDED, status=429, headers=refusal.headers) from None

    def calculate(self, request: Request, **_: int) -> HttpResponse:
        """What a refund would come to; nothing is written."""
        wanted = read_refund(self.unwrapped("refund"))
        order = Order.objects.get(pk=self.kwargs["order_id"])
        named, found, books = creating.calculate(order, wanted)
        return self.json({"refund": shown_calculation(books, wanted, named, found, self.context)})
