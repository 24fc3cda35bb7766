"""Views for draft orders."""

from collections.abc import Mapping

from django.db import transaction
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import BLANK, NOT_BOOLEAN
from apps.core.rest.exceptions import BadRequest, Unprocessable
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.filters import ChoiceFilter, ResourceFilter
from apps.core.rest.resources.serializers import validate_body
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Schema
from apps.customers.api.customers import INVITE_SCHEMA, InviteSerializer
from apps.draft_orders.api.serializers import DraftOrderSerializer
from apps.draft_orders.domain import draft_orders
from apps.draft_orders.domain.completion import complete_draft_order
from apps.draft_orders.domain.invoices import send_invoice
from apps.draft_orders.models import DraftOrder
from apps.metafields.api.metafields import METAFIELDS_SCHEMA
from apps.metafields.domain.write import MetafieldInput, validate_metafields

_BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": False}


class DraftOrderFilter(ResourceFilter):
    status = ChoiceFilter("status", words=DraftOrder.Status.values)


class DraftOrderViewSet(ShopViewSet[DraftOrder]):
    scope = "draft_orders"
    serializer_class = DraftOrderSerializer
    filterset_class = DraftOrderFilter
    singular = "draft_order"
    locks_in_service = True
    # An order or a customer that is deleted leaves the draft order without a new version.
    version_columns = ("version", "customer__version", "order_id")
    request_bodies = {
        "complete": {"type": "object"},
        "send_invoice": {"type": "object", "properties": {"draft_order_invoice": INVITE_SCHEMA}},
    }
    responses = {
        "complete": ONE,
        "send_invoice": {
            "type": "object",
            "required": ["draft_order_invoice"],
            "properties": {"draft_order_invoice": INVITE_SCHEMA},
        },
    }
    success_statuses = {"send_invoice": 201}
    query_parameters = {"complete": ("payment_pending",)}

    def get_extra_body_properties(self, version: str) -> Mapping[str, Schema]:
        return {"metafields": METAFIELDS_SCHEMA}

    def perform_create(self, attrs: Attrs) -> DraftOrder:
        attrs, lines = self._split_lines(attrs)
        app = self.access.installation.app
        return draft_orders.create_draft_order(
            attrs, lines or (), actor=self.actor, at=self.at, app=app, metafield_inputs=self._get_metafields()
        )

    def perform_update(self, instance: DraftOrder, attrs: Attrs) -> None:
        attrs, lines = self._split_lines(attrs)
        draft_orders.update_draft_order(
            instance, attrs, lines, actor=self.actor, at=self.at, metafield_inputs=self._get_metafields()
        )

    def perform_destroy(self, instance: DraftOrder) -> None:
        draft_orders.delete_draft_order(instance, actor=self.actor, at=self.at)

    def _split_lines(self, attrs: Attrs) -> tuple[Attrs, list[Attrs] | None]:
        """Return the values for the domain functions, and the lines or None if the body has no lines."""
        values = dict(attrs)
        lines = values.pop("line_items", None)
        if "customer" in values:
            customer = values.pop("customer")
            if customer is not None and not customer.get("id"):
                raise Unprocessable({"customer.id": [BLANK]})
            values["customer_id"] = customer["id"] if customer else None
        return values, lines

    def _get_metafields(self) -> list[MetafieldInput]:
        return validate_metafields(self.unwrap_body(self.singular).get("metafields"))

    def complete(self, request: Request, **_: int) -> HttpResponse:
        """Create the order of a draft order."""
        payment_pending = _BOOLEANS.get(self.query.get("payment_pending", "").lower())
        if payment_pending is None:
            raise BadRequest({"payment_pending": NOT_BOOLEAN})
        app = self.access.installation.app
        with transaction.atomic():
            draft = complete_draft_order(
                self.get_object(), payment_pending=payment_pending, actor=self.actor, at=self.at, app=app
            )
            return self.render_object(draft.pk)

    def send_invoice(self, request: Request, **_: int) -> HttpResponse:
        """Email the invoice of a draft order."""
        body = {} if self.body in (None, {}) else self.unwrap_body("draft_order_invoice")
        attrs = validate_body(InviteSerializer, self.version, body)
        with transaction.atomic():
            invoice = send_invoice(self.get_object(), attrs, actor=self.actor, at=self.at)
        values = {
            "to": invoice.to_address,
            "from": invoice.from_address,
            "subject": invoice.subject,
            "custom_message": invoice.custom_message,
            "bcc": invoice.bcc,
        }
        return self.json_response({"draft_order_invoice": values}, 201)
