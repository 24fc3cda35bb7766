from collections.abc import Mapping

from django.db.models import Model, QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import LIMIT_EXCEEDED, NOT_BOOLEAN
from apps.core.rest.exceptions import ApiError, BadRequest
from apps.core.rest.reading.query_plans import ReadPlan, get_read_plan
from apps.core.rest.requests.authentication import SAFE_METHODS
from apps.core.rest.resources.filters import ApiFilter, ResourceFilter
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.models import App
from apps.core.types import Attrs
from apps.orders.models import Order
from apps.refunds.api.calculations import CALCULATION_SCHEMA, render_calculation
from apps.refunds.api.parsing import get_refund_schema, parse_refund
from apps.refunds.api.refunds import RefundSerializer, ShopRefundSerializer
from apps.refunds.domain import create
from apps.refunds.models import Refund

SHOP_CURRENCY = "in_shop_currency"
BACKDATE_SCOPE = "write_past_refunds"
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": False}


class ShopCurrencyFilter(ApiFilter):
    """Accept ``in_shop_currency`` in lists without filtering by it."""

    def filter(self, qs: QuerySet[Model], value: str | None) -> QuerySet[Model]:
        return qs


class RefundFilter(ResourceFilter):
    in_shop_currency = ShopCurrencyFilter()


class RefundViewSet(ShopViewSet[Refund]):
    scope = "orders"
    serializer_class = RefundSerializer
    filterset_class = RefundFilter
    singular = "refund"
    parents = {"order_id": Order}
    request_bodies = {"create": get_refund_schema(), "calculate": get_refund_schema()}
    responses = {"calculate": CALCULATION_SCHEMA}
    query_parameters = {"retrieve": ("fields", SHOP_CURRENCY)}

    in_shop_currency = False

    def get_scopes(self, method: str) -> tuple[str, ...]:
        """Return the access scopes that allow the request, for orders or for marketplace orders."""
        verb = "read" if method in SAFE_METHODS else "write"
        return f"{verb}_orders", f"{verb}_marketplace_orders"

    def get_read_plan(self) -> ReadPlan:
        serializer = ShopRefundSerializer if self.in_shop_currency else RefundSerializer
        return get_read_plan(serializer, self.version, self.requested_fields)

    def filter_rows(self, filters: Mapping[str, str]) -> QuerySet[Refund] | type[Refund]:
        row_filters = dict(filters)
        self._choose_currency(row_filters.pop(SHOP_CURRENCY, None))
        return super().filter_rows(row_filters)

    def _choose_currency(self, word: str | None) -> None:
        in_shop_currency = _BOOLEANS.get((word or "").lower())
        if in_shop_currency is None:
            raise BadRequest({SHOP_CURRENCY: NOT_BOOLEAN})
        self.in_shop_currency = in_shop_currency

    def retrieve(self, request: Request, **kwargs: int) -> HttpResponse:
        self._choose_currency(self.query.get(SHOP_CURRENCY))
        return super().retrieve(request, **kwargs)

    def get_validated_attributes(self, instance: Refund | None = None) -> Attrs:
        return {"wanted": parse_refund(self.unwrap_body("refund"))}

    def perform_create(self, attrs: Attrs) -> Refund:
        app = self.access.installation.app
        try:
            return create.create_refund(
                Order.objects.get(pk=self.kwargs["order_id"]),
                attrs["wanted"],
                actor=self.actor,
                at=self.at,
                user_id=self.access.user_id,
                source_name=app.name,
                may_backdate=app.distribution == App.Distribution.PUBLIC
                and BACKDATE_SCOPE in self.access.granted_scopes,
            )
        except create.TooManyRefunds as error:
            raise ApiError(LIMIT_EXCEEDED, status=429, headers=error.headers) from None

    def calculate(self, request: Request, **_: int) -> HttpResponse:
        """Return a calculated refund, without creating the refund."""
        refund_request = parse_refund(self.unwrap_body("refund"))
        order = Order.objects.get(pk=self.kwargs["order_id"])
        refund_lines, result, snapshot = create.calculate_refund(order, refund_request)
        return self.json_response(
            {"refund": render_calculation(snapshot, refund_request, refund_lines, result, self.context)}
        )
