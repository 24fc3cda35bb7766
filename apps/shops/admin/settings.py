"""The settings of the shop one is in."""

from collections.abc import Iterator
from typing import cast
from zoneinfo import available_timezones

import pycountry
from django import forms
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django_stubs_ext import StrOrPromise

from apps.ground import languages
from apps.ground.money import is_currency
from apps.ground.retelling import retold
from apps.panel.addresses import panel_url
from apps.panel.menu import Entry, Menu
from apps.panel.places import add_settings
from apps.panel.requests import Context
from apps.panel.screens.bases import PanelAdmin
from apps.panel.screens.forms import PanelForm, Values
from apps.panel.theme import ThemedSelect
from apps.panel.wording import sentence
from apps.shops.admin.rates import PresentmentField
from apps.shops.domain.countries import country_choices
from apps.shops.domain.currency import CurrencyRefused, check_currency
from apps.shops.domain.presentment import PresentmentRefused, check_presentments
from apps.shops.domain.settings import tell_settings
from apps.shops.models import Shop

OPERATOR_ONLY = ("handle", "domain", "plan")


def _currencies() -> list[tuple[str, str]]:
    names = languages.locale().currencies
    known = ((currency.alpha_3, names.get(currency.alpha_3, currency.name)) for currency in pycountry.currencies)
    return sorted((code, f"{code} – {name}") for code, name in known if is_currency(code))


def _languages() -> list[tuple[str, str]]:
    codes = ("cs", "da", "de", "en", "es", "fi", "fr", "it", "ja", "ko", "nb", "nl", "pl", "pt", "sv", "th", "tr", "zh")
    return sorted(((code, languages.locale().languages[code]) for code in codes), key=lambda pair: pair[1])


# By which words people look for a setting, beside what it is called.
_WORDS: dict[str, StrOrPromise] = {
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
    "taxes_included": pgettext_lazy("search", "tax, vat, gross, net, sales tax"),
    "low_stock_at": pgettext_lazy("search", "low stock warning, threshold, minimum stock"),
    "two_factor_from": pgettext_lazy(
        "search", "two-factor for everybody, require 2fa, mandatory second factor, security"
    ),
    "handle": pgettext_lazy("search", "address of the panel"),
    "domain": pgettext_lazy("search", "url, web address, website"),
    "plan": pgettext_lazy("search", "subscription, tariff"),
}


class ShopForm(PanelForm[Shop]):
    """The shop's settings, with choices where the values are standard codes."""

    class Meta:
        model = Shop
        fields = "__all__"

    presentment_currencies = PresentmentField(
        required=False,
        label=gettext_lazy("Further currencies"),
        help_text=gettext_lazy(
            "Customers see prices in these, too: converted by the rate (units of the currency for one of the "
            "shop's) and rounded, or as fixed at a variant. Without a rate, fixed prices alone are shown."
        ),
    )

    def prepare(self) -> None:
        """Standard codes as choices."""
        for name, choices in (
            ("country_code", country_choices()),
            ("currency", _currencies()),
            ("timezone", [(name, name.replace("_", " ")) for name in sorted(available_timezones())]),
            ("primary_locale", _languages()),
        ):
            if name in self.fields:
                self._offer(name, choices)

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        plain, current = self.fields[name], str(getattr(self.instance, name))
        # A value from elsewhere stays possible: saving another field must not be refused for it.
        if current not in dict(choices):
            choices = [(current, current), *choices]
        self.fields[name] = forms.ChoiceField(
            choices=choices, label=plain.label, help_text=plain.help_text, widget=ThemedSelect(), required=True
        )

    def clean_currency(self) -> str:
        """Not another one once there is money in the books."""
        wanted: str = self.cleaned_data["currency"]
        try:
            check_currency(self.instance, wanted)
        except CurrencyRefused as refusal:
            raise forms.ValidationError(
                _("The currency {names}.").format(names="; ".join(map(retold, refusal.errors["currency"])))
            ) from None
        return wanted

    def clean(self) -> Values | None:
        """The further currencies, beside the currency that the shop has then."""
        cleaned = super().clean()
        if cleaned and "presentment_currencies" in cleaned:
            own = cleaned.get("currency") or self.instance.currency
            try:
                cleaned["presentment_currencies"] = check_presentments(cleaned["presentment_currencies"], own)
            except PresentmentRefused as refusal:
                messages = refusal.errors["presentment_currencies"]
                self.add_error("presentment_currencies", [sentence(message) for message in messages])
        return cleaned


@admin.register(Shop)
class ShopAdmin(PanelAdmin[Shop]):
    """One row only: the shop one is in."""

    menu = Menu(
        "Settings",
        "settings",
        10,
        gettext_lazy("Shop settings"),
        words=pgettext_lazy("search", "configuration, preferences, options, company, imprint"),
    )
    topics = "shop"
    form = ShopForm
    fieldsets = (
        (gettext_lazy("Shop"), {"fields": ("name", "email", "customer_email", "phone", "owner_name")}),
        (
            gettext_lazy("Address"),
            {"fields": ("address1", "address2", ("zip", "city"), ("province", "province_code"), "country_code")},
        ),
        (
            gettext_lazy("Standards"),
            {"fields": ("timezone", "currency", "presentment_currencies", "primary_locale", "weight_unit")},
        ),
        (gettext_lazy("Customers and taxes"), {"fields": ("customer_accounts", "taxes_included")}),
        (gettext_lazy("Stock"), {"fields": ("low_stock_at",)}),
        (gettext_lazy("Safety"), {"fields": ("two_factor_from",)}),
        (
            gettext_lazy("Installation"),
            {"fields": OPERATOR_ONLY, "description": gettext_lazy("Changed by the operator only.")},
        ),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Shop]:
        """This shop alone."""
        return Shop.objects.filter(pk=self.shop(request).pk)

    def get_readonly_fields(self, request: HttpRequest, obj: Shop | None = None) -> tuple[str, ...]:
        """What only the operator of the installation changes."""
        return () if request.user.is_superuser else OPERATOR_ONLY

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Shops are opened outside of any shop."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Shop | None = None) -> bool:
        """A shop is not deleted from within."""
        return False

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """There is nothing to list: on to the settings."""
        if not self.has_view_or_change_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(self.url("change", self.shop(request).pk))

    def save_model(self, request: HttpRequest, obj: Shop, form: ShopForm, change: bool) -> None:
        """The domains that go by a setting follow its change."""
        super().save_model(request, obj, form, change)
        tell_settings(form.changed_data, actor=self.by(request)["actor"])

    def response_change(self, request: HttpRequest, obj: Shop) -> HttpResponse:
        """Stay on the settings; the address of the panel may have changed with the handle."""
        self.message_user(request, _("The settings are saved."))
        return HttpResponseRedirect(panel_url(obj, "admin:shops_shop_change", obj.pk))


@add_settings
def settings_of(request: HttpRequest) -> Iterator[Entry]:
    """Each setting of the shop, for those who may open them."""
    screen = cast("ShopAdmin", admin.site.get_model_admin(Shop))
    if not screen.has_view_or_change_permission(request):
        return
    address, section = screen.url("change", screen.shop(request).pk), str(screen.menu.title)
    labels = {name: field.label for name, field in ShopForm.base_fields.items()}
    for name in flatten_fieldsets(screen.fieldsets):
        title = capfirst(str(labels[name]))
        yield Entry(section, title, screen.menu.icon, 0, f"{address}#id_{name}", str(_WORDS.get(name, "")))
