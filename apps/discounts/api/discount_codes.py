"""Views for discount codes, and for the batches that create many codes."""

from django.conf import settings
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import PARAMETER_MISSING
from apps.core.rest.exceptions import BadRequest
from apps.core.rest.requests.authentication import SAFE_METHODS
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import ConstantField, IntegerField, ModelDerivedField, ReadOnlyColumn, TextField
from apps.core.rest.resources.filters import IntegerFilter, ResourceFilter
from apps.core.rest.resources.nested_objects import ObjectListField, validate_members
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs, Schema
from apps.discounts.domain import batches, codes
from apps.discounts.domain.terms import find_codes
from apps.discounts.models import CodeBatch, DiscountCode, PriceRule
from apps.discounts.models.codes import MAX_CODE


class _ScopedViewSet(ShopViewSet):  # type: ignore[type-arg]
    """A view that apps with the scope for price rules or with the scope for discounts may call."""

    def get_scopes(self, method: str) -> tuple[str, ...]:
        verb = "read" if method in SAFE_METHODS else "write"
        return f"{verb}_price_rules", f"{verb}_discounts"


class DiscountCodeFilter(ResourceFilter):
    times_used = IntegerFilter("usage_count")
    times_used_min = IntegerFilter("usage_count", "gte")
    times_used_max = IntegerFilter("usage_count", "lte")


class DiscountCodeSerializer(ResourceSerializer[DiscountCode]):
    price_rule_id = ReadOnlyColumn("rule_id")
    code = TextField(max_length=MAX_CODE)
    usage_count = IntegerField(read_only=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()


class DiscountCodeViewSet(_ScopedViewSet):
    serializer_class = DiscountCodeSerializer
    singular = "discount_code"
    locks_in_service = True
    parents = {"rule_id": PriceRule}

    def perform_create(self, attrs: Attrs) -> DiscountCode:
        rule = PriceRule.objects.get(pk=self.kwargs["rule_id"])
        return codes.create_code(rule, attrs["code"], actor=self.actor, at=self.at)

    def perform_update(self, instance: DiscountCode, attrs: Attrs) -> None:
        if "code" in attrs:
            codes.update_code(instance, attrs["code"], actor=self.actor, at=self.at)

    def perform_destroy(self, instance: DiscountCode) -> None:
        codes.delete_code(instance, actor=self.actor, at=self.at)


class AllDiscountCodesViewSet(_ScopedViewSet):
    """The codes of all price rules: their number, and the search for a code."""

    serializer_class = DiscountCodeSerializer
    filterset_class = DiscountCodeFilter
    singular = "discount_code"
    success_statuses = {"lookup": 303}
    responses = {"lookup": ONE}
    query_parameters = {"lookup": ("code",)}

    def lookup(self, request: Request, **_: int) -> HttpResponse:
        """Redirect to a code, which is compared without regard to case."""
        text = self.query.get("code", "").strip()
        if not text:
            raise BadRequest({"code": PARAMETER_MISSING})
        found = list(find_codes([text]).values())
        if not found:
            raise Http404
        prefix = self.request.path.partition("/discount_codes/")[0]
        path = f"{prefix}/price_rules/{found[0].rule_id}/discount_codes/{found[0].pk}.json"
        return self.render_object(found[0].pk, 303, Location=f"{settings.BASE_URL}{path}")


class CodeBatchSerializer(ResourceSerializer[CodeBatch]):
    price_rule_id = ReadOnlyColumn("rule_id")
    started_at = ModelDerivedField(read_only=True)
    completed_at = ModelDerivedField(read_only=True)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    status = ReadOnlyColumn()
    codes_count = ReadOnlyColumn()
    imported_count = ReadOnlyColumn()
    failed_count = ReadOnlyColumn()
    logs = ConstantField([])


_CODES = ObjectListField(
    {"code": TextField(allow_blank=True, default="", required=False)},
    most=batches.MAX_CODES,
    required=True,
    allow_null=False,
)
_MESSAGES: Schema = {"type": "array", "items": {"type": "string"}}
_RESULTS: Schema = {
    "type": "object",
    "required": ["discount_codes"],
    "properties": {
        "discount_codes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "code", "errors"],
                "properties": {
                    "id": {"type": ["integer", "null"]},
                    "code": {"type": "string"},
                    "errors": {
                        "type": "object",
                        "additionalProperties": {"type": "array", "items": {"type": "string"}},
                    },
                },
            },
        }
    },
}


class CodeBatchViewSet(_ScopedViewSet):
    serializer_class = CodeBatchSerializer
    singular = "discount_code_creation"
    parents = {"rule_id": PriceRule}
    request_bodies = {"create": {"discount_codes": _CODES}}
    responses = {"discount_codes": _RESULTS}

    def get_validated_attributes(self, instance: CodeBatch | None = None) -> Attrs:
        return validate_members({"discount_codes": _CODES}, self.body)

    def perform_create(self, attrs: Attrs) -> CodeBatch:
        rule = PriceRule.objects.get(pk=self.kwargs["rule_id"])
        texts = [entry["code"] for entry in attrs["discount_codes"]]
        return batches.create_batch(rule, texts, actor=self.actor, at=self.at)

    def discount_codes(self, request: Request, **_: int) -> HttpResponse:
        """Return the codes of a batch, each with its id or with the reason why it was refused."""
        rows: QuerySet[CodeBatch] = CodeBatch.objects.filter(rule_id=self.kwargs["rule_id"])
        batch = rows.filter(pk=self.kwargs["batch_id"]).first()
        if batch is None:
            raise Http404
        return self.json_response({"discount_codes": batch.results})
