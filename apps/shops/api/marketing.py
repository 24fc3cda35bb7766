"""Views for marketing events. Each app can access only its own events."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework.request import Request

from apps.core.i18n.error_messages import BLANK, INVALID, TAKEN
from apps.core.money import format_decimal, has_valid_precision, is_currency
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.openapi.schemas import build_object_schema
from apps.core.rest.render_context import RenderContext
from apps.core.rest.resources.fields import (
    ApiField,
    BooleanField,
    ChoiceField,
    ComputedField,
    DateField,
    DateTimeField,
    DecimalField,
    IntegerField,
    InvalidValue,
    TextField,
    UrlField,
    global_id_field,
)
from apps.core.rest.resources.nested_objects import ObjectListField, validate_members
from apps.core.rest.resources.serializers import ResourceSerializer
from apps.core.rest.viewsets import ShopViewSet
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, Errors
from apps.shops.domain.app_records import marketing
from apps.shops.models import MarketingEngagement, MarketingEvent

MAX_RESOURCES = 100
MAX_DAYS = 100
MAX_ID = 2**63 - 1
_RESOURCE_TYPES = ("product", "collection", "price_rule", "page", "article", "homepage")
_UTC_OFFSET = re.compile(r"[+-](?:0[0-9]|1[0-4]):[0-5][0-9]", re.ASCII)
_AMOUNT = {"type": ["string", "null"], "format": "decimal"}


class CurrencyField(TextField):
    """The code of a currency, which is stored in capital letters."""

    def to_internal_value(self, data: object) -> str:
        code = super().to_internal_value(data).upper()
        if not is_currency(code):
            raise InvalidValue(INVALID)
        return code


class UtcOffsetField(TextField):
    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if not _UTC_OFFSET.fullmatch(text):
            raise InvalidValue(INVALID)
        return text


class BudgetField(DecimalField):
    """An amount in the currency of the event."""

    schema = _AMOUNT

    def get_columns(self) -> tuple[str, ...]:
        return (str(self.source), "currency")

    def get_renderer(self) -> Any:
        return _render_amount


def _render_amount(context: RenderContext, amount: Any, currency: str | None) -> str | None:
    return None if amount is None else format_decimal(amount, currency or context.shop.currency)


def _text(max_length: int = 255) -> TextField:
    return TextField(max_length=max_length, required=False, allow_null=True)


def _count() -> IntegerField:
    return IntegerField(min_value=0, max_value=MAX_ID, required=False, allow_null=True)


class MarketingEventSerializer(ResourceSerializer[MarketingEvent]):
    event_type = ChoiceField(choices=MarketingEvent.EventType.choices)
    remote_id = _text()
    started_at = DateTimeField(required=True)
    ended_at = DateTimeField(required=False, allow_null=True)
    scheduled_to_end_at = DateTimeField(required=False, allow_null=True)
    budget = BudgetField(max_digits=15, decimal_places=3, required=False, allow_null=True)
    currency = CurrencyField(max_length=3, required=False, allow_null=True)
    manage_url = UrlField(max_length=2048, required=False, allow_null=True)
    preview_url = UrlField(max_length=2048, required=False, allow_null=True)
    utm_campaign = _text()
    utm_source = _text()
    utm_medium = _text()
    budget_type = ChoiceField(choices=MarketingEvent.BudgetType.choices, required=False, allow_null=True)
    description = _text(1000)
    marketing_channel = ChoiceField(choices=MarketingEvent.Channel.choices)
    paid = BooleanField(required=True)
    referring_domain = _text()
    breadcrumb_id = _text()
    # There are no marketing activities apart from the events, but existing clients expect a number.
    marketing_activity_id = ComputedField(lambda _, pk: pk, "pk", schema={"type": "integer"})
    admin_graphql_api_id = global_id_field("MarketingEvent")
    marketed_resources = ObjectListField(
        {
            "type": ChoiceField(choices=_RESOURCE_TYPES),
            "id": IntegerField(min_value=1, max_value=MAX_ID, required=False, allow_null=True),
        },
        most=MAX_RESOURCES,
        allow_null=False,
        default=list,
    )

    def validate_across_fields(self, attrs: Attrs, instance: MarketingEvent | None, errors: Errors) -> None:
        """Check the decimals of the budget. A budget without a currency is in the shop currency."""
        if errors:
            return
        budget = attrs.get("budget", instance.budget if instance else None)
        currency = attrs.get("currency", instance.currency if instance else None)
        if budget is None:
            return
        if currency is None:
            currency = attrs["currency"] = get_current_shop().currency
        if not has_valid_precision(budget, currency):
            errors["budget"] = [INVALID]


ENGAGEMENT_FIELDS: Mapping[str, ApiField] = {
    "occurred_on": DateField(required=True),
    "fetched_at": DateTimeField(required=False, allow_null=True),
    "views_count": _count(),
    "impressions_count": _count(),
    "clicks_count": _count(),
    "favorites_count": _count(),
    "comments_count": _count(),
    "shares_count": _count(),
    "ad_spend": DecimalField(max_digits=15, decimal_places=3, required=False, allow_null=True),
    "currency_code": CurrencyField(max_length=3, required=False, allow_null=True),
    "is_cumulative": BooleanField(required=True),
    "unsubscribes_count": _count(),
    "complaints_count": _count(),
    "fails_count": _count(),
    "sends_count": _count(),
    "unique_views_count": _count(),
    "unique_clicks_count": _count(),
    "utc_offset": UtcOffsetField(required=False, allow_null=True),
}
_BODY: dict[str, ApiField] = {
    "engagements": ObjectListField(ENGAGEMENT_FIELDS, most=MAX_DAYS, required=True, allow_null=False)
}


class MarketingEventViewSet(ShopViewSet[MarketingEvent]):
    scope = "marketing_events"
    serializer_class = MarketingEventSerializer
    singular = "marketing_event"
    request_bodies: ClassVar = {"add_engagements": _BODY}
    responses: ClassVar = {"add_engagements": build_object_schema(_BODY, "")}
    success_statuses = {"add_engagements": 201}

    def get_queryset(self) -> QuerySet[MarketingEvent]:
        return MarketingEvent.objects.filter(app_id=self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> MarketingEvent:
        return marketing.create_marketing_event(self.access.installation, attrs, actor=self.actor, at=self.at)

    def add_engagements(self, request: Request, **_: int) -> HttpResponse:
        """Store what customers did, one object per day. A day replaces what was stored for the same day."""
        event = self.get_object()
        days = validate_members(_BODY, self.body)["engagements"]
        _check_days(days)
        rows = marketing.save_engagements(event, days)
        return self.json_response({"engagements": [self._render_engagement(row) for row in rows]}, 201)

    def _render_engagement(self, row: MarketingEngagement) -> Attrs:
        rendered: Attrs = {}
        for name, field in ENGAGEMENT_FIELDS.items():
            render, value = field.get_renderer(), getattr(row, name)
            rendered[name] = value if render is None else render(self.context, value)
        rendered["ad_spend"] = _render_amount(self.context, row.ad_spend, row.currency_code)
        return rendered


def _check_days(days: list[Attrs]) -> None:
    """Refuse a repeated date and an amount with too many decimals for its currency."""
    errors: Errors = {} if days else {"engagements": [BLANK]}
    dates = set()
    for index, day in enumerate(days):
        if day["occurred_on"] in dates:
            errors[f"engagements.{index}.occurred_on"] = [TAKEN]
        dates.add(day["occurred_on"])
        spend = day.get("ad_spend")
        if spend is not None and not has_valid_precision(
            spend, day.get("currency_code") or get_current_shop().currency
        ):
            errors[f"engagements.{index}.ad_spend"] = [INVALID]
    if errors:
        raise Unprocessable(errors)
