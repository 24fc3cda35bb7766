"""Payment handlers as staff see them: with what the world will read of them."""

import json
from datetime import datetime
from typing import ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import URLPattern
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.ground.attrs import Attrs
from apps.ground.errors import DomainError
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.theme import Fieldset, display
from apps.payments.admin.forms import PaymentHandlerForm, by_field
from apps.payments.domain import configuring, discovery, publishing
from apps.payments.models import PaymentHandlerConfig
from apps.staff.domain.permissions import grant

grant("platform_payments_accounts", "vacd", "payments.paymenthandlerconfig")

_PERMISSIONS = tuple(f"payments.{verb}_paymenthandlerconfig" for verb in ("add", "change"))
_EXAMPLE = "example"


@admin.register(PaymentHandlerConfig)
class PaymentHandlerConfigAdmin(ShopOwnedAdmin[PaymentHandlerConfig]):
    """How the shop's checkout takes the wallet."""

    form = PaymentHandlerForm
    menu = Menu(
        "Settings",
        "payments",
        30,
        gettext_lazy("Payment handlers"),
        words=pgettext_lazy(
            "search",
            "payment method, payment provider, pay, checkout, credit card, gateway, paypal, bank, wallet",
        ),
    )
    intro = gettext_lazy(
        "How the shop can be paid. What is on is published at the shop's domain, for platforms that buy for people."
    )
    empty_text = gettext_lazy("There is no payment handler. Add one with the shop ID that the wallet gave you.")
    change_form_template = "panel/payments/change_form.html"
    list_display = ("handler_id", "where", "on", "handler_version", "changed")
    list_filter = ("environment", "enabled")
    search_fields = ("handler_id__icontains",)
    ordering = ("id",)
    fieldsets: ClassVar[tuple[Fieldset, ...]] = (
        (None, {"fields": ("handler_id", "handler_version", "enabled", "wallet_environment")}),
        (gettext_lazy("Wallet"), {"fields": ("wallet_shop", "merchant_id", "merchant_name")}),
        (
            gettext_lazy("Where it is offered"),
            {"fields": ("supported_currencies", "supported_countries", "instruments")},
        ),
        (gettext_lazy("Further"), {"fields": ("other", "reason")}),
    )

    @display(
        description=gettext_lazy("Environment"),
        ordering="environment",
        label={"sandbox": "info", "production": "success"},
    )
    def where(self, handler: PaymentHandlerConfig) -> tuple[str, str]:
        """Whether money moves."""
        return handler.environment, handler.get_environment_display()

    @display(description=pgettext_lazy("payment handler", "On"), ordering="enabled", boolean=True)
    def on(self, handler: PaymentHandlerConfig) -> bool:
        """Whether it is published."""
        return handler.enabled

    @display(description=gettext_lazy("Updated at"), ordering="updated_at")
    def changed(self, handler: PaymentHandlerConfig) -> datetime:
        """When it was changed last."""
        return handler.updated_at

    def get_urls(self) -> list[URLPattern]:
        """The preview besides."""
        return [self.action_url("preview/", self.preview_view, "preview"), *super().get_urls()]

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """With the address of the preview, for whoever may type."""
        query = f"?of={object_id}" if object_id else ""
        preview = f"{self.url('preview')}{query}" if may(request, *_PERMISSIONS) else ""
        context = {"preview_url": preview, **(extra_context or {})}
        return super().changeform_view(request, object_id, form_url, context)

    def preview_view(self, request: HttpRequest) -> HttpResponse:
        """What the world would read of the form as it is typed; nothing is stored.

        For whoever can type: the page of a viewer has no form to send.
        """
        require(request, *_PERMISSIONS)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        row = self.row_or_404(request, request.GET["of"]) if "of" in request.GET else None
        form = self.get_form(request, row, change=row is not None)(request.POST, instance=row)
        assert isinstance(form, PaymentHandlerForm)
        form.is_valid()
        problems = [
            (form.fields[field].label or field, message)
            for field, messages in form.errors.items()
            if field in form.fields and field != "reason"
            for message in messages
        ]
        context = {"problems": problems} if problems else self._published(request, form.attrs)
        return render(request, "panel/payments/preview.html", context)

    def _published(self, request: HttpRequest, attrs: Attrs) -> Context:
        """The entry for discovery, and that of an example of a checkout."""
        shop = self.shop(request)
        shown = PaymentHandlerConfig(shop=shop, **configuring.stored(attrs) | {"enabled": True})
        checkout = discovery.checkout_response(
            shown, currency=shop.currency, country=shop.country_code, checkout_id=_EXAMPLE
        )
        return {
            "schema_url": publishing.schema_url(shown.handler_version),
            "enabled": attrs["enabled"],
            "entry": _readable(discovery.entry(shown)),
            "checkout": _readable(checkout["ucp"]["payment_handlers"]),
            "fits": bool(checkout["ucp"]["payment_handlers"]),
            "currency": shop.currency,
            "country": shop.country_code,
        }

    def save_model(
        self, request: HttpRequest, obj: PaymentHandlerConfig, form: PaymentHandlerForm, change: bool
    ) -> None:
        """Make or change the handler."""
        actor, reason = self.by(request), form.cleaned_data["reason"]
        try:
            if change:
                row = self.model.objects.get(pk=obj.pk)
                configuring.change_handler(row, form.attrs, **actor, reason=reason)
            else:
                obj.__dict__.update(configuring.create_handler(form.attrs, **actor, reason=reason).__dict__)
        except DomainError as refusal:
            raise DomainError(by_field(refusal.errors)) from refusal

    def delete_model(self, request: HttpRequest, obj: PaymentHandlerConfig) -> None:
        """Remove it, once production does without it."""
        configuring.delete_handler(obj, **self.by(request), unless_in_use=True)


def _readable(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
