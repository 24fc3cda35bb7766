"""The settings page *Taxes*: the countries that a shop sells to, with the tax rates of countries and provinces."""

from collections.abc import Iterator
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.menu import MenuItem, PageEntry
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.palette.entries import settings_entries
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.i18n import formats
from apps.core.tenancy.models import Shop
from apps.shops.admin.tax_forms import CountryForm, Region, StarterForm, TaxesForm, describe_rates, format_percentage
from apps.shops.domain import shop_countries
from apps.shops.domain.countries import get_country_choices, localize_country, localize_province
from apps.shops.domain.shop_countries import REST_OF_WORLD
from apps.shops.domain.tax_rates import starter_rates, tax_settings
from apps.shops.models import ShopCountry, ShopProvince

VIEW, CHANGE = "shops.view_shopcountry", "shops.change_shopcountry"
# Additional search terms for the settings in the command palette.
_SEARCH_TERMS = {
    "taxes_included": pgettext_lazy("search", "gross, net, gross prices, net prices"),
    "shipping_taxed": pgettext_lazy("search", "shipping tax, vat on shipping, taxed shipping"),
}


def get_region_name(region: Region) -> str:
    """Return the name of a country or province in the current language."""
    if isinstance(region, ShopProvince):
        return localize_province(region.country.code, region.name)
    return _("Rest of the world") if region.code == REST_OF_WORLD else localize_country(region.code)


def _get_starter_date() -> str:
    return formats.format_date(starter_rates.STARTER_DATE, "j M Y")


@admin.register(ShopCountry)
class ShopCountryAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[ShopCountry]):
    """The pages for taxes. One form edits the countries, and another one the provinces of a country."""

    menu = MenuItem("Settings", "percent", 28, gettext_lazy("Taxes"))
    search_terms = pgettext_lazy("search", "tax, vat, gst, sales tax, tax rate, countries, provinces, tax exempt")

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return request.user.has_perm(CHANGE)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        require_permission(request, VIEW, CHANGE)
        return HttpResponseRedirect(self.url("edit"))

    @extra_view("edit/", VIEW, CHANGE, keyed=True)
    def edit_view(self, request: HttpRequest) -> HttpResponse:
        shop = Shop.objects.get(pk=self.shop(request).pk)
        countries = _get_sorted_countries(shop)
        form = self._get_form(request, countries, shop)
        if request.method == "POST" and form.is_valid():
            return self._save(request, form, self.url("edit"))
        listed = {country.code for country in countries}
        return self.page(
            request,
            "panel/shops/taxes.html",
            _("Taxes"),
            form=form,
            rows=[{**form.get_row(country), **_summarize(country)} for country in countries],
            country_form=CountryForm(None, listed),
            has_starter_rates=any(code not in listed for code in starter_rates.STARTER_RATES),
            **self._get_context(request),
        )

    @row_view("change/", VIEW, CHANGE, name="change", keyed=True)
    def country_view(self, request: HttpRequest, country: ShopCountry) -> HttpResponse:
        provinces = list(ShopProvince.objects.filter(country=country).select_related("country"))
        form = self._get_form(request, [country, *provinces])
        if request.method == "POST" and form.is_valid():
            return self._save(request, form, self.url("change", country.pk))
        return self.page(
            request,
            "panel/shops/tax_country.html",
            get_region_name(country),
            original=country,
            form=form,
            country_row={**form.get_row(country), **_summarize(country)},
            rows=[{**form.get_row(province), "total": describe_rates(country, province)} for province in provinces],
            **self._get_context(request),
        )

    @extra_view("countries/", CHANGE, name="add_country", post_only=True, keyed=True)
    def add_country_view(self, request: HttpRequest) -> HttpResponse:
        listed = set(ShopCountry.objects.values_list("code", flat=True))
        form = CountryForm(request.POST, listed)
        if not form.is_valid():
            self.message_user(request, _("Choose a country that is not in the table."), messages.ERROR)
            return HttpResponseRedirect(self.url("edit"))
        country = starter_rates.create_country_with_starter_rate(
            form.cleaned_data["code"], **self.event_kwargs(request)
        )
        text = _("{country} was added: {taxes}. Check the rate.")
        self.message_user(request, text.format(country=get_region_name(country), taxes=describe_rates(country)))
        return HttpResponseRedirect(self.url("edit"))

    @extra_view("starter-rates/", CHANGE, name="starter_rates", keyed=True)
    def starter_rates_view(self, request: HttpRequest) -> HttpResponse:
        """Show the countries with a starter rate that the shop does not list. On POST, add the selected ones."""
        missing = starter_rates.get_missing_starter_codes()
        choices = [(code, _get_starter_label(code)) for code, _name in get_country_choices() if code in missing]
        form = StarterForm(get_post_data(request), choices)
        if request.method == "POST" and form.is_valid():
            added = starter_rates.add_starter_rates(form.cleaned_data["codes"], **self.event_kwargs(request))
            text = ngettext("{count} country was added.", "{count} countries were added.", len(added))
            self.message_user(request, text.format(count=len(added)), messages.SUCCESS)
            return HttpResponseRedirect(self.url("edit"))
        return self.page(
            request, "panel/shops/starter_rates.html", _("Add starter rates"), form=form, **self._get_context(request)
        )

    @row_view("remove/", CHANGE, keyed=True)
    def remove_view(self, request: HttpRequest, country: ShopCountry) -> HttpResponse:
        name = get_region_name(country)
        if request.method == "POST":
            shop_countries.delete_country(country, **self.event_kwargs(request))
            self.message_user(request, _("{country} was removed.").format(country=name), messages.SUCCESS)
            return HttpResponseRedirect(self.url("edit"))
        title = _("Remove {country}").format(country=name)
        return self.page(
            request, "panel/shops/remove_country.html", title, original=country, name=name, **self._get_context(request)
        )

    def _get_form(self, request: HttpRequest, regions: list[Any], shop: Shop | None = None) -> TaxesForm:
        editable = has_permission(request, CHANGE)
        if request.method == "POST":
            require_permission(request, CHANGE)
        names = {region: get_region_name(region) for region in regions}
        return TaxesForm(get_post_data(request), regions, names=names, shop=shop, editable=editable)

    def _save(self, request: HttpRequest, form: TaxesForm, page: str) -> HttpResponse:
        tax_settings.change_taxes(form.get_changed_settings(), form.get_changes(), **self.event_kwargs(request))
        self.message_user(request, _("Taxes saved."), messages.SUCCESS)
        return HttpResponseRedirect(page)

    def _get_context(self, request: HttpRequest) -> dict[str, object]:
        return {
            "list_url": self.url("edit"),
            "editable": has_permission(request, CHANGE),
            "starter_date": _get_starter_date(),
        }


def _get_sorted_countries(shop: Shop) -> list[ShopCountry]:
    """Return the shop's own country, the other countries by name, and the rest of the world."""
    places = {code: place for place, (code, _name) in enumerate(get_country_choices(), start=1)}
    places |= {shop.country_code: 0, REST_OF_WORLD: len(places) + 1}
    rows = ShopCountry.objects.prefetch_related("provinces")
    return sorted(rows, key=lambda country: places.get(country.code, 0))


def _summarize(country: ShopCountry) -> dict[str, object]:
    """Return the number of provinces, the number of provinces with rates, and the starter rate of a country at 0%."""
    provinces = list(country.provinces.all())
    starter = starter_rates.STARTER_RATES.get(country.code)
    return {
        "province_count": len(provinces),
        "own_count": sum(bool(province.tax) for province in provinces),
        "starter": format_percentage(starter.tax) if starter and not country.tax else "",
    }


def _get_starter_label(code: str) -> str:
    starter = starter_rates.STARTER_RATES[code]
    text = _("{country}: {percentage}%").format(
        country=localize_country(code), percentage=format_percentage(starter.tax)
    )
    count = len(starter.provinces)
    own = ngettext("with the rate of {count} province", "with the rates of {count} provinces", count)
    return f"{text}, {own.format(count=count)}" if count else text


@settings_entries.add
def find_tax_settings(request: HttpRequest) -> Iterator[PageEntry]:
    model_admin = admin.site.get_model_admin(ShopCountry)
    assert isinstance(model_admin, ShopCountryAdmin)
    if not has_permission(request, VIEW, CHANGE):
        return
    section, link = str(model_admin.menu.title), model_admin.url("edit")
    for name, terms in _SEARCH_TERMS.items():
        title = str(TaxesForm.base_fields[name].label)
        yield PageEntry(section, title, model_admin.menu.icon, 0, f"{link}#id_{name}", str(terms))
