"""Read-only views for the payment gateways that are installed. No shop has credentials of a gateway."""

from zlib import crc32

from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import INVALID
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.requests.views import ApiView
from apps.core.rest.resources.fields import BooleanField
from apps.core.types import Rendered, Schema
from apps.refunds.domain.gateways import BOGUS, get_installed_gateways, only_records_refunds

_GATEWAY: Schema = {
    "type": "object",
    "properties": {
        "id": {"type": "integer"},
        "name": {"type": "string"},
        "service_name": {"type": "string"},
        "provider_id": {"type": "integer"},
        "type": {"type": "string"},
        "processing_method": {"type": "string", "enum": ["manual", "direct"]},
        "disabled": {"type": "boolean"},
        "sandbox": {"type": "boolean"},
        "supports_network_tokenization": {"type": "null"},
        "enabled_card_brands": {"type": "array", "items": {"type": "string"}},
        "metadata": {"type": "object"},
        "attachment": {"type": "null"},
        "credential4": {"type": "null"},
        "created_at": {"type": "string", "format": "date-time"},
        "updated_at": {"type": "string", "format": "date-time"},
    },
}


def get_gateway_id(shop_id: int, name: str) -> int:
    """Return the id of a gateway in a shop. There is no table of gateways, so the id follows from the name."""
    return crc32(f"{shop_id}:{name}".encode()) + 1


class PaymentGatewayView(ApiView):
    scope = "payment_gateways"
    plural = "payment_gateways"
    query_parameters = {"list": ("disabled",)}
    responses = {
        "list": {
            "type": "object",
            "required": ["payment_gateways"],
            "properties": {"payment_gateways": {"type": "array", "items": _GATEWAY}},
        },
        # Existing clients know the gateway by this name.
        "retrieve": {"type": "object", "required": ["payment"], "properties": {"payment": _GATEWAY}},
    }

    def list(self, request: Request) -> HttpResponse:
        """List the installed payment gateways. No gateway can be disabled."""
        disabled = self.query.get("disabled", "false")
        if disabled not in BooleanField.WORDS:
            raise BadRequest({"disabled": INVALID})
        names = () if BooleanField.WORDS[disabled] else get_installed_gateways()
        return self.json_response({"payment_gateways": [self._render(name) for name in names]})

    def retrieve(self, request: Request, id: int) -> HttpResponse:
        """Read an installed payment gateway."""
        name = next((name for name in get_installed_gateways() if get_gateway_id(self.shop.pk, name) == id), None)
        if name is None:
            raise Http404
        return self.json_response({"payment": self._render(name)})

    def _render(self, name: str) -> Rendered:
        pk = get_gateway_id(self.shop.pk, name)
        since = self.shop.created_at.astimezone(self.shop.tzinfo).isoformat(timespec="seconds")
        return {
            "id": pk,
            "name": name,
            "service_name": name,
            "provider_id": pk,
            "type": name,
            "processing_method": "manual" if only_records_refunds(name) else "direct",
            "disabled": False,
            "sandbox": name == BOGUS,
            "supports_network_tokenization": None,
            "enabled_card_brands": [],
            "metadata": {},
            "attachment": None,
            "credential4": None,
            "created_at": since,
            "updated_at": since,
        }
