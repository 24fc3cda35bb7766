from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import LIMIT_EXCEEDED
from apps.core.rest.exceptions import ApiError
from apps.core.rest.requests.authentication import SAFE_METHODS
from apps.core.tenancy.models import App
from apps.core.types import Attrs
from apps.orders.api.shop_currency import ShopCurrencyViewSet
from apps.orders.models import Order
from apps.refunds.api.calculations import CALCULATION_SCHEMA, render_calculation
from apps.refunds.api.parsing import get_refund_schema, parse_refund
from apps.refunds.api.refunds import RefundSerializer, ShopRefundSerializer
from apps.refunds.domain import create
from apps.refunds.models import Refund

BACKDATE_SCOPE = "write_past_refunds"


class RefundViewSet(ShopCurrencyViewSet[Refund]):
    scope = "orders"
    serializer_class = RefundSerializer
    shop_serializer_class = ShopRefundSerializer
    singular = "refund"
    parents = {"order_id": Order}
    request_bodies = {"create": get_refund_schema(), "calculate": get_refund_schema()}
    responses = {"calculate": CALCULATION_SCHEMA}

    def get_scopes(self, method: str) -> tuple[str, ...]:
        """Return the access scopes that allow the request, for orders or for marketplace orders."""
        verb = "read" if method in SAFE_METHODS else "write"
        return f"{verb}_orders", f"{verb}_marketplace_orders"

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
