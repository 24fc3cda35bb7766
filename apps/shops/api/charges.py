"""Views for the charges of the calling app: one-time, recurring and usage charges."""

from datetime import date, timedelta
from decimal import Decimal
from typing import ClassVar

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from rest_framework.request import Request

from apps.core.admin.reverse import get_panel_url
from apps.core.i18n.error_messages import INVALID
from apps.core.money import format_decimal
from apps.core.rest.exceptions import Unprocessable
from apps.core.rest.render_context import RenderContext
from apps.core.rest.requests.views import ONE
from apps.core.rest.resources.fields import (
    BooleanField,
    ComputedField,
    ConstantField,
    DateField,
    IntegerField,
    ModelDerivedField,
    OptionalComputedField,
    PriceField,
    ReadOnlyColumn,
    Render,
    TextField,
    UrlField,
)
from apps.core.rest.resources.serializers import ResourceSerializer, validate_body
from apps.core.rest.viewsets import ShopViewSet
from apps.core.types import Attrs
from apps.shops.domain import charges, purchases
from apps.shops.domain.return_urls import decorate_url
from apps.shops.models import AppPurchase, RecurringCharge, UsageCharge, get_billing_date, get_current_usage

_DECIMAL = {"type": "string", "format": "decimal"}
_BALANCE = ("capped_amount", "balance_used", "balance_period", "activated_on", "trial_days", "currency")
_DATE = {"type": ["string", "null"], "format": "date"}
_CAPPED_AMOUNT = "recurring_application_charge[capped_amount]"
MAX_TRIAL_DAYS = 1000


class TestField(BooleanField):
    """A flag for charges that are not paid, rendered as true or null."""

    inline = "({0} or None)"
    schema = {"type": ["boolean", "null"]}


def _build_confirmation_url(page: str) -> ComputedField:
    def render(context: RenderContext, pk: int, installation_id: int, status: str) -> str | None:
        if status != "pending":
            return None
        return f"{settings.BASE_URL}{get_panel_url(context.shop, page, installation_id, pk)}"

    return OptionalComputedField(render, "pk", "installation_id", "status")


class ChargePriceField(PriceField):
    """An amount in the currency of the row. New amounts are in the shop currency."""

    def get_columns(self) -> tuple[str, ...]:
        return (str(self.source), "currency")

    def get_renderer(self) -> Render:
        return _render_amount


def _render_amount(_: RenderContext, amount: Decimal | None, currency: str) -> str | None:
    return None if amount is None else format_decimal(amount, currency)


class ApplicationChargeSerializer(ResourceSerializer[AppPurchase]):
    name = TextField(max_length=255)
    api_client_id = ReadOnlyColumn("installation__app_id")
    price = ChargePriceField(required=True)
    status = ReadOnlyColumn()
    return_url = UrlField(max_length=2048)
    test = TestField(required=False)
    external_id = ConstantField(None)
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    currency = ReadOnlyColumn()
    charge_type = ConstantField(None)
    decorated_return_url = ComputedField(lambda _, url, pk: decorate_url(url, pk), "return_url", "pk")
    confirmation_url = _build_confirmation_url("admin:shops_installation_decide")


class ApplicationChargeViewSet(ShopViewSet[AppPurchase]):
    serializer_class = ApplicationChargeSerializer
    singular = "application_charge"

    def get_queryset(self) -> QuerySet[AppPurchase]:
        return AppPurchase.objects.filter(installation__app_id=self.access.installation.app_id)

    def perform_create(self, attrs: Attrs) -> AppPurchase:
        return purchases.create_purchase(self.access.installation, **attrs, actor=self.actor, at=self.at)


def _today(context: RenderContext) -> date:
    return timezone.now().astimezone(context.tz).date()


def _billing_on(context: RenderContext, activated_on: date | None, trial_days: int, status: str) -> str | None:
    if activated_on is None or status != RecurringCharge.Status.ACTIVE:
        return None
    return get_billing_date(activated_on, trial_days, _today(context)).isoformat()


def _trial_ends_on(_: RenderContext, activated_on: date | None, trial_days: int) -> str | None:
    return None if activated_on is None else (activated_on + timedelta(days=trial_days)).isoformat()


def _balance_used(  # noqa: PLR0917
    context: RenderContext,
    cap: Decimal | None,
    used: Decimal,
    period: date | None,
    activated_on: date | None,
    trial_days: int,
    currency: str,
) -> str | int | None:
    """Return the usage, or the number 0 before the charge is active, as existing clients expect."""
    if cap is None or activated_on is None:
        return None if cap is None else 0
    return format_decimal(get_current_usage(used, period, activated_on, trial_days, _today(context)), currency)


def _balance_remaining(  # noqa: PLR0917
    context: RenderContext,
    cap: Decimal | None,
    used: Decimal,
    period: date | None,
    activated_on: date | None,
    trial_days: int,
    currency: str,
) -> str | None:
    if cap is None:
        return None
    return format_decimal(cap - get_current_usage(used, period, activated_on, trial_days, _today(context)), currency)


def _capped_amount_url(context: RenderContext, pk: int, installation_id: int, requested: Decimal | None) -> str | None:
    if requested is None:
        return None
    return f"{settings.BASE_URL}{get_panel_url(context.shop, 'admin:shops_installation_charge', installation_id, pk)}"


class CappedAmountField(ChargePriceField):
    omitted_when_null = True


class RecurringChargeSerializer(ResourceSerializer[RecurringCharge]):
    name = TextField(max_length=255)
    price = ChargePriceField(required=True)
    billing_on = ComputedField(_billing_on, "activated_on", "trial_days", "status", schema=_DATE)
    status = ReadOnlyColumn()
    created_at = ModelDerivedField()
    updated_at = ModelDerivedField()
    activated_on = DateField(read_only=True)
    return_url = UrlField(max_length=2048)
    test = TestField(required=False)
    cancelled_on = DateField(read_only=True)
    trial_days = IntegerField(required=False, min_value=0, max_value=MAX_TRIAL_DAYS)
    trial_ends_on = ComputedField(_trial_ends_on, "activated_on", "trial_days", schema=_DATE)
    api_client_id = ReadOnlyColumn("installation__app_id")
    decorated_return_url = ComputedField(lambda _, url, pk: decorate_url(url, pk), "return_url", "pk")
    confirmation_url = _build_confirmation_url("admin:shops_installation_charge")
    currency = ReadOnlyColumn()
    terms = TextField(max_length=1000, required=False, allow_blank=True)
    capped_amount = CappedAmountField(allow_null=True)
    balance_used = OptionalComputedField(_balance_used, *_BALANCE, schema={"type": ["string", "integer"]})
    balance_remaining = OptionalComputedField(_balance_remaining, *_BALANCE, schema=_DECIMAL)
    risk_level = OptionalComputedField(
        lambda _, cap: None if cap is None else 0, "capped_amount", schema={"type": "integer"}
    )
    update_capped_amount_url = OptionalComputedField(
        _capped_amount_url, "pk", "installation_id", "requested_capped_amount"
    )


class CappedAmountBody(ResourceSerializer[RecurringCharge]):
    id = None
    capped_amount = PriceField(required=True)


class RecurringChargeViewSet(ShopViewSet[RecurringCharge]):
    serializer_class = RecurringChargeSerializer
    singular = "recurring_application_charge"
    request_bodies = {"customize": {"type": "object"}, "activate": {"type": "object"}}
    responses = {"customize": ONE, "activate": ONE}
    query_parameters = {"customize": (_CAPPED_AMOUNT,)}

    def get_queryset(self) -> QuerySet[RecurringCharge]:
        return RecurringCharge.objects.filter(installation__app_id=self.access.installation.app_id).select_related(
            "installation", "shop"
        )

    def perform_create(self, attrs: Attrs) -> RecurringCharge:
        return charges.create_charge(self.access.installation, attrs, actor=self.actor, at=self.at)

    def perform_destroy(self, instance: RecurringCharge) -> None:
        charges.cancel_charge(instance, actor=self.actor, at=self.at)

    def customize(self, request: Request, **kwargs: int) -> HttpResponse:
        """Ask the shop to raise the capped amount, which is in the query or in the body."""
        if _CAPPED_AMOUNT in self.query:
            data = {"capped_amount": self.query[_CAPPED_AMOUNT]}
        else:
            data = dict(self.unwrap_body(self.singular))
        amount = validate_body(CappedAmountBody, self.version, data)["capped_amount"]
        with transaction.atomic():
            charges.request_capped_amount(self.get_object(), amount, actor=self.actor, at=self.at)
            return self.render_object(kwargs["id"])

    def activate(self, request: Request, **kwargs: int) -> HttpResponse:
        """Return an approved charge, which is already active. Earlier versions of clients call this action."""
        charge = self.get_object()
        if charge.status != RecurringCharge.Status.ACTIVE:
            raise Unprocessable({"status": [INVALID]})
        return self.render_object(charge.pk)


class UsageChargeSerializer(ResourceSerializer[UsageCharge]):
    description = TextField(max_length=255)
    price = ChargePriceField(required=True)
    created_at = ModelDerivedField()
    currency = ReadOnlyColumn()
    balance_used = ComputedField(_balance_used, *(f"recurring_charge__{name}" for name in _BALANCE), schema=_DECIMAL)
    balance_remaining = ComputedField(
        _balance_remaining, *(f"recurring_charge__{name}" for name in _BALANCE), schema=_DECIMAL
    )
    risk_level = ConstantField(0)


class UsageChargeViewSet(ShopViewSet[UsageCharge]):
    serializer_class = UsageChargeSerializer
    singular = "usage_charge"
    parents: ClassVar = {"recurring_charge_id": RecurringCharge}

    def get_queryset(self) -> QuerySet[UsageCharge]:
        app_id = self.access.installation.app_id
        return super().get_queryset().filter(recurring_charge__installation__app_id=app_id)

    def load_parents(self) -> None:
        """Load the charge of the calling app."""
        rows = RecurringCharge.objects.filter(installation__app_id=self.access.installation.app_id)
        self.charge = get_object_or_404(rows.select_related("shop"), pk=self.kwargs["recurring_charge_id"])

    def perform_create(self, attrs: Attrs) -> UsageCharge:
        return charges.create_usage_charge(self.charge, **attrs, actor=self.actor, at=self.at)
