"""The settings of the shop one is in."""

from zoneinfo import available_timezones

import pycountry
from babel import Locale
from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from apps.ground.money import is_currency
from apps.panel.addresses import panel_url
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.bases import PanelAdmin
from apps.panel.screens.forms import PanelForm, Values
from apps.panel.theme import ThemedSelect
from apps.shops.admin.rates import PresentmentField
from apps.shops.domain.currency import CurrencyRefused, check_currency
from apps.shops.domain.presentment import PresentmentRefused, check_presentments
from apps.shops.models import Shop

ENGLISH = Locale("en")
OPERATOR_ONLY = ("handle", "domain", "plan")


def _countries() -> list[tuple[str, str]]:
    return sorted(((country.alpha_2, country.name) for country in pycountry.countries), key=lambda pair: pair[1])


def _currencies() -> list[tuple[str, str]]:
    known = ((currency.alpha_3, currency.name) for currency in pycountry.currencies)
    return sorted((code, f"{code} – {name}") for code, name in known if is_currency(code))


def _languages() -> list[tuple[str, str]]:
    codes = ("cs", "da", "de", "en", "es", "fi", "fr", "it", "ja", "ko", "nb", "nl", "pl", "pt", "sv", "th", "tr", "zh")
    return sorted(((code, ENGLISH.languages[code]) for code in codes), key=lambda pair: pair[1])


class ShopForm(PanelForm[Shop]):
    """The shop's settings, with choices where the values are standard codes."""

    class Meta:
        model = Shop
        fields = "__all__"

    presentment_currencies = PresentmentField(
        required=False,
        label="Further currencies",
        help_text="Customers see prices in these, too: converted by the rate (units of the currency for one of the "
        "shop's) and rounded, or as fixed at a variant. Without a rate, fixed prices alone are shown.",
    )

    def prepare(self) -> None:
        """Standard codes as choices."""
        for name, choices in (
            ("country_code", _countries()),
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
            raise forms.ValidationError(f"The currency {'; '.join(refusal.errors['currency'])}.") from None
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
                self.add_error("presentment_currencies", [f"{message}." for message in messages])
        return cleaned


@admin.register(Shop)
class ShopAdmin(PanelAdmin[Shop]):
    """One row only: the shop one is in."""

    menu = Menu(
        "Settings",
        "settings",
        10,
        "Shop settings",
        words=(
            "tax",
            "vat",
            "domain",
            "currency",
            "currencies",
            "time zone",
            "timezone",
            "address",
            "language",
            "name",
            "two-factor",
            "preferences",
        ),
    )
    topics = "shop"
    form = ShopForm
    fieldsets = (
        ("Shop", {"fields": ("name", "email", "customer_email", "phone", "owner_name")}),
        (
            "Address",
            {"fields": ("address1", "address2", ("zip", "city"), ("province", "province_code"), "country_code")},
        ),
        (
            "Standards",
            {"fields": ("timezone", "currency", "presentment_currencies", "primary_locale", "weight_unit")},
        ),
        ("Customers and taxes", {"fields": ("customer_accounts", "taxes_included")}),
        ("Safety", {"fields": ("two_factor_from",)}),
        ("Installation", {"fields": OPERATOR_ONLY, "description": "Changed by the operator only."}),
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

    def response_change(self, request: HttpRequest, obj: Shop) -> HttpResponse:
        """Stay on the settings; the address of the panel may have changed with the handle."""
        self.message_user(request, "The settings are saved.")
        return HttpResponseRedirect(panel_url(obj, "admin:shops_shop_change", obj.pk))
