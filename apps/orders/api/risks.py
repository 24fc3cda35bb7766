from decimal import Decimal

from rest_framework.exceptions import PermissionDenied

from apps.core.i18n.messages import translate
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ChoiceField,
    ConstantField,
    DecimalField,
    ModelDerivedField,
    ReadOnlyColumn,
    Render,
    TextField,
)
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.orders.domain import risks
from apps.orders.models import Order, OrderRisk


def _render_score(_context: RenderContext, score: Decimal) -> str:
    """Return the score with at least one and at most three decimals, such as ``0.5``."""
    text = format(score.normalize(), "f")
    return text if "." in text else f"{text}.0"


class ScoreField(DecimalField):
    """A number from 0 to 1. Further decimals are rounded."""

    rounds = True

    def get_renderer(self) -> Render:
        return _render_score


class OrderRiskSerializer(ResourceSerializer[OrderRisk]):
    order_id = ReadOnlyColumn()
    checkout_id = ConstantField(None)
    source = TextField(max_length=255, required=False, default="External")  # type: ignore[assignment]
    score = ScoreField(max_digits=4, decimal_places=3, max_value=1)
    recommendation = ChoiceField(choices=OrderRisk.Recommendation.choices)
    display = ModelDerivedField()
    cause_cancel = ModelDerivedField()
    message = TextField(max_length=1000)
    merchant_message = ReadOnlyColumn("message")


class OrderRiskViewSet(ShopViewSet[OrderRisk]):
    scope = "orders"
    serializer_class = OrderRiskSerializer
    singular = "risk"
    locks_in_service = True
    parents = {"order_id": Order}

    def perform_create(self, attrs: Attrs) -> OrderRisk:
        order = Order.objects.get(pk=self.kwargs["order_id"])
        return risks.create_risk(order, attrs, app=self.access.installation.app, actor=self.actor, at=self.at)

    def perform_update(self, instance: OrderRisk, attrs: Attrs) -> None:
        self._require_own(instance)
        risks.update_risk(instance, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: OrderRisk) -> None:
        self._require_own(instance)
        risks.delete_risk(instance, actor=self.actor, at=self.at)

    def _require_own(self, risk: OrderRisk) -> None:
        """Refuse to change the assessment of another app, which staff see with the name of that app."""
        if risk.app_id not in {None, self.access.installation.app_id}:
            raise PermissionDenied(translate(risks.OTHER_APP))
