import json
from typing import ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import Fieldset, attribute_column, display
from apps.core.exceptions import DomainError
from apps.core.tenancy.permissions import allow, grants
from apps.core.types import Attrs
from apps.payments.admin.forms import PaymentHandlerForm, group_errors_by_field
from apps.payments.domain import discovery, handlers, schemas
from apps.payments.models import PaymentHandlerConfig

grants.add(allow("platform_payments_accounts", "vacd", "payments.paymenthandlerconfig"))

_PERMISSIONS = tuple(f"payments.{verb}_paymenthandlerconfig" for verb in ("add", "change"))


@admin.register(PaymentHandlerConfig)
class PaymentHandlerConfigAdmin(ShopOwnedAdmin[PaymentHandlerConfig]):
    form = PaymentHandlerForm
    menu = MenuItem("Settings", "payments", 30, gettext_lazy("Payment handlers"))
    search_terms = pgettext_lazy(
        "search",
        "payment method, payment provider, pay, checkout, credit card, gateway, paypal, bank, wallet",
    )
    intro = gettext_lazy(
        "Payment handlers for your checkout. Shopping platforms can find enabled handlers at the shop's domain."
    )
    empty_text = gettext_lazy(
        "No payment handlers yet. To add one, you need the shop ID that the wallet assigned to your shop."
    )
    change_form_template = "panel/payments/change_form.html"
    list_display = ("handler_id", "environment_label", "is_enabled", "handler_version", "changed_at")
    list_filter = ("environment", "enabled")
    search_fields = ("handler_id__icontains",)
    ordering = ("id",)
    fieldsets: ClassVar[tuple[Fieldset, ...]] = (
        (None, {"fields": ("handler_id", "handler_version", "enabled", "wallet_environment")}),
        (gettext_lazy("Wallet"), {"fields": ("wallet_shop", "merchant_id", "merchant_name")}),
        (
            gettext_lazy("Availability"),
            {"fields": ("supported_currencies", "supported_countries", "instruments")},
        ),
        (gettext_lazy("Advanced"), {"fields": ("other", "reason")}),
    )

    @display(
        description=gettext_lazy("Environment"),
        ordering="environment",
        label={"sandbox": "info", "production": "success"},
    )
    def environment_label(self, handler: PaymentHandlerConfig) -> tuple[str, str]:
        return handler.environment, handler.get_environment_display()

    is_enabled = attribute_column(
        "enabled", pgettext_lazy("payment handler", "Enabled"), ordering="enabled", boolean=True
    )
    changed_at = attribute_column("updated_at", gettext_lazy("Updated at"), ordering="updated_at")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        query = f"?of={object_id}" if object_id else ""
        preview = f"{self.url('preview')}{query}" if has_permission(request, *_PERMISSIONS) else ""
        context = {"preview_url": preview, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    @extra_view("preview/", *_PERMISSIONS, post_only=True)
    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """Render the entry of the unsaved form. Only users who may edit see a form that they can submit."""
        row = self.get_row_or_404(request, request.GET["of"]) if "of" in request.GET else None
        form = self.get_form(request, row, change=row is not None)(request.POST, instance=row)
        assert isinstance(form, PaymentHandlerForm)
        form.is_valid()
        problems = [
            (form.fields[field].label or field, message)
            for field, messages in form.errors.items()
            if field in form.fields and field != "reason"
            for message in messages
        ]
        context = {"problems": problems} if problems else self._render_preview(request, form.attrs)
        return render(request, "panel/payments/preview.html", context)

    def _render_preview(self, request: HttpRequest, attrs: Attrs) -> Context:
        """Render the entry as published in the discovery profile and as received by an example checkout."""
        shop = self.shop(request)
        handler = PaymentHandlerConfig(shop=shop, **handlers.to_columns(attrs) | {"enabled": True})
        checkout = discovery.build_checkout_response(
            handler, currency=shop.currency, country=shop.country_code, checkout_id="example"
        )
        return {
            "schema_url": schemas.get_schema_url(handler.handler_version),
            "enabled": attrs["enabled"],
            "entry": _format_json(discovery.build_discovery_entry(handler)),
            "checkout": _format_json(checkout["ucp"]["payment_handlers"]),
            "fits": bool(checkout["ucp"]["payment_handlers"]),
            "currency": shop.currency,
            "country": shop.country_code,
        }

    def save_model(
        self, request: HttpRequest, obj: PaymentHandlerConfig, form: PaymentHandlerForm, change: bool
    ) -> None:
        actor, reason = self.event_kwargs(request), form.cleaned_data["reason"]
        try:
            if change:
                row = self.model.objects.get(pk=obj.pk)
                handlers.update_handler(row, form.attrs, **actor, reason=reason)
            else:
                obj.__dict__.update(handlers.create_handler(form.attrs, **actor, reason=reason).__dict__)
        except DomainError as error:
            raise DomainError(group_errors_by_field(error.errors)) from error

    def delete_model(self, request: HttpRequest, obj: PaymentHandlerConfig) -> None:
        handlers.delete_handler(obj, **self.event_kwargs(request), unless_in_use=True)


def _format_json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
