from collections.abc import Iterator
from typing import cast
from zoneinfo import available_timezones

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.admin.forms.error_display import as_sentence
from apps.core.admin.forms.forms import PanelForm, Values
from apps.core.admin.menu import MenuItem, PageEntry
from apps.core.admin.model_admin.base import PanelAdmin
from apps.core.admin.palette.entries import settings_entries
from apps.core.admin.reverse import get_panel_url
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import ThemedSelect
from apps.core.i18n import formats
from apps.core.i18n.messages import translate
from apps.core.money import is_currency
from apps.core.tenancy.currency_conversion import InvalidPresentment, stamp_rates, validate_presentments
from apps.core.tenancy.models import Shop
from apps.shops.admin.presentment_form import PresentmentField
from apps.shops.domain.countries import get_country_choices
from apps.shops.domain.settings import CurrencyChangeRefused, check_currency_change, run_setting_callbacks

OPERATOR_ONLY = ("handle", "domain", "plan")


def _get_currency_choices() -> list[tuple[str, str]]:
    import pycountry

    names = formats.get_locale().currencies
    currencies = ((currency.alpha_3, names.get(currency.alpha_3, currency.name)) for currency in pycountry.currencies)
    return sorted((code, f"{code} – {name}") for code, name in currencies if is_currency(code))


def _get_language_choices() -> list[tuple[str, str]]:
    codes = ("cs", "da", "de", "en", "es", "fi", "fr", "it", "ja", "ko", "nb", "nl", "pl", "pt", "sv", "th", "tr", "zh")
    return sorted(((code, formats.get_locale().languages[code]) for code in codes), key=lambda pair: pair[1])


# Additional search terms for settings in the command palette, which always searches the labels of the settings.
_SEARCH_TERMS: dict[str, StrOrPromise] = {
    "name": pgettext_lazy("search", "shop name, store name"),
    "email": pgettext_lazy("search", "e-mail of the shop"),
    "customer_email": pgettext_lazy("search", "sender, contact address"),
    "address1": pgettext_lazy("search", "shop address, company address, street, imprint"),
    "timezone": pgettext_lazy("search", "clock, time"),
    "currency": pgettext_lazy("search", "currencies, money, euro, dollar"),
    "presentment_currencies": pgettext_lazy("search", "foreign currency, exchange rate, conversion, rounding"),
    "primary_locale": pgettext_lazy("search", "shop language, language of customers, language of mails"),
    "weight_unit": pgettext_lazy("search", "weight, kilograms, pounds"),
    "customer_accounts": pgettext_lazy("search", "registration, guest, guest checkout, customer login, sign-in"),
    "payment_instructions": pgettext_lazy(
        "search", "how to pay, bank account, bank transfer, iban, invoice text, prepayment"
    ),
    "low_stock_at": pgettext_lazy("search", "low stock warning, threshold, minimum stock"),
    "two_factor_from": pgettext_lazy(
        "search", "two-factor for everybody, require 2fa, mandatory second factor, security"
    ),
    "handle": pgettext_lazy("search", "address of the panel"),
    "domain": pgettext_lazy("search", "url, web address, website"),
    "plan": pgettext_lazy("search", "subscription, tariff"),
}


class ShopForm(PanelForm[Shop]):
    class Meta:
        model = Shop
        fields = "__all__"

    presentment_currencies = PresentmentField(
        required=False,
        label=gettext_lazy("Presentment currencies"),
        help_text=gettext_lazy(
            "Customers can also see prices in these currencies. The rate is the value of one unit of the shop "
            "currency. Prices are converted and rounded, unless a variant has a fixed price. Without a rate, only "
            "fixed prices are shown."
        ),
    )

    def prepare(self) -> None:
        for name, choices in (
            ("country_code", get_country_choices()),
            ("currency", _get_currency_choices()),
            ("timezone", [(name, name.replace("_", " ")) for name in sorted(available_timezones())]),
            ("primary_locale", _get_language_choices()),
        ):
            if field := self.fields.get(name):
                # Offer the current value even if it is not in the list. Otherwise, users could not save other fields.
                current = str(getattr(self.instance, name))
                all_choices = choices if current in dict(choices) else [(current, current), *choices]
                self.fields[name] = forms.ChoiceField(
                    choices=all_choices,
                    label=field.label,
                    help_text=field.help_text,
                    widget=ThemedSelect(),
                    required=True,
                )

    def clean_currency(self) -> str:
        currency: str = self.cleaned_data["currency"]
        try:
            check_currency_change(self.instance, currency)
        except CurrencyChangeRefused as error:
            raise forms.ValidationError(
                _("The currency {names}.").format(names="; ".join(map(translate, error.errors["currency"])))
            ) from None
        return currency

    def clean(self) -> Values | None:
        cleaned = super().clean()
        if cleaned and "presentment_currencies" in cleaned:
            shop_currency = cleaned.get("currency") or self.instance.currency
            try:
                rows = validate_presentments(cleaned["presentment_currencies"], shop_currency)
                cleaned["presentment_currencies"] = stamp_rates(
                    rows, self.instance.presentment_currencies, timezone.now()
                )
            except InvalidPresentment as error:
                messages = error.errors["presentment_currencies"]
                self.add_error("presentment_currencies", [as_sentence(message) for message in messages])
        return cleaned


@admin.register(Shop)
class ShopAdmin(PanelAdmin[Shop]):
    """The model admin for the shop settings. The current shop is the only row."""

    menu = MenuItem("Settings", "settings", 10, gettext_lazy("Shop settings"))
    search_terms = pgettext_lazy("search", "configuration, preferences, options, company, imprint")
    topics = "shop"
    form = ShopForm
    fieldsets = (
        (gettext_lazy("Shop"), {"fields": ("name", "email", "customer_email", "phone", "owner_name")}),
        (
            gettext_lazy("Address"),
            {"fields": ("address1", "address2", ("zip", "city"), ("province", "province_code"), "country_code")},
        ),
        (
            gettext_lazy("Regional formats and units"),
            {"fields": ("timezone", "currency", "presentment_currencies", "primary_locale", "weight_unit")},
        ),
        (gettext_lazy("Customers"), {"fields": ("customer_accounts", "payment_instructions")}),
        (gettext_lazy("Inventory"), {"fields": ("low_stock_at",)}),
        (gettext_lazy("Security"), {"fields": ("two_factor_from",)}),
        (
            gettext_lazy("Installation"),
            {"fields": OPERATOR_ONLY, "description": gettext_lazy("Only operators can change these settings.")},
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Shop]:
        return Shop.objects.filter(pk=self.shop(request).pk)

    def get_readonly_fields(self, request: HttpRequest, obj: Shop | None = None) -> tuple[str, ...]:
        return () if request.user.is_superuser else OPERATOR_ONLY

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Shop | None = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Redirect to the settings form, because there is only one row."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(self.url("change", self.shop(request).pk))

    def save_model(self, request: HttpRequest, obj: Shop, form: ShopForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        run_setting_callbacks(form.changed_data, actor=self.event_kwargs(request)["actor"])

    def response_change(self, request: HttpRequest, obj: Shop) -> HttpResponse:
        """Redirect to the settings page. If the handle has changed, the panel has a new URL."""
        self.message_user(request, _("Settings saved."))
        return HttpResponseRedirect(get_panel_url(obj, "admin:shops_shop_change", obj.pk))


@settings_entries.add
def find_settings_entries(request: HttpRequest) -> Iterator[PageEntry]:
    model_admin = cast("ShopAdmin", admin.site.get_model_admin(Shop))
    if not model_admin.has_view_or_change_permission(request):
        return
    settings_url, section = model_admin.url("change", model_admin.shop(request).pk), str(model_admin.menu.title)
    labels = {name: field.label for name, field in ShopForm.base_fields.items()}
    for name in flatten_fieldsets(model_admin.fieldsets):
        title = capfirst(str(labels[name]))
        yield PageEntry(
            section, title, model_admin.menu.icon, 0, f"{settings_url}#id_{name}", str(_SEARCH_TERMS.get(name, ""))
        )
