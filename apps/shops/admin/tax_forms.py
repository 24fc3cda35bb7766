"""Forms for tax rates: one row of fields for each country or province."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.formats import get_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.money import format_plain
from apps.core.tenancy.models import Shop
from apps.core.types import Attrs
from apps.shops.domain.countries import get_country_choices
from apps.shops.domain.shop_countries import REST_OF_WORLD
from apps.shops.domain.tax_rates import combine_rates
from apps.shops.domain.tax_rates.tax_settings import SHOP_SETTINGS, RateChange
from apps.shops.models import ShopCountry, ShopProvince
from apps.shops.models.countries import RATE_DECIMALS

_INPUT = {"class": "bo-input", "autocomplete": "off"}
Region = ShopCountry | ShopProvince


def format_percentage(rate: Decimal) -> str:
    """Format a rate such as 0.081 as a percentage without a sign, such as 8.1."""
    return format_plain(rate * 100).replace(".", str(get_format("DECIMAL_SEPARATOR")))


class PercentageField(forms.DecimalField):
    """A field for a rate that users type as a percentage, such as ``8.1``, ``8,1`` or ``8.1 %``."""

    def __init__(self, **options: Any) -> None:
        widget = forms.TextInput(attrs={**_INPUT, "inputmode": "decimal", "size": 8})
        # A percentage has two decimals less than the rate.
        limits = {"min_value": 0, "max_value": 100, "decimal_places": RATE_DECIMALS - 2, "widget": widget}
        super().__init__(**{**limits, **options})

    def to_python(self, value: object) -> Decimal | None:  # type: ignore[override]
        if isinstance(value, str):
            value = value.strip().removesuffix("%").strip().replace(",", ".")
        return super().to_python(value)

    def prepare_value(self, value: object) -> object:
        return format_percentage(value / 100) if isinstance(value, Decimal) else value


class TaxesForm(forms.Form):
    """Rates of countries and provinces, and optionally the settings of the shop.

    The form contains the values that the page showed, so that only fields that the user changed are saved.
    """

    taxes_included = forms.BooleanField(
        label=gettext_lazy("Prices include tax"),
        help_text=gettext_lazy("Otherwise, tax is added to the prices of products and shipping."),
        required=False,
        show_hidden_initial=True,
    )
    shipping_taxed = forms.BooleanField(
        label=gettext_lazy("Tax is charged on shipping"), required=False, show_hidden_initial=True
    )

    def __init__(
        self, data: Any, regions: Sequence[Region], *, names: Mapping[Region, str], shop: Shop | None, editable: bool
    ) -> None:
        super().__init__(data)
        self.regions, self.names = regions, names
        for name in SHOP_SETTINGS:
            if shop is None:
                del self.fields[name]
                continue
            self.fields[name].initial = getattr(shop, name)
            self.fields[name].disabled = not editable
        for region in regions:
            # A country that was added after the page was rendered is not in the data.
            is_sent = data is None or _get_key(region, "tax") in data
            for name, field in _create_fields(region).items():
                field.show_hidden_initial = editable
                field.disabled = not editable or not is_sent
                label = {"tax_name": _("Tax name"), "tax": _("Percent"), "tax_type": _("Combination")}[name]
                field.label = f"{names[region]}: {label}"
                field.widget.attrs["aria-label"] = field.label
                self.fields[_get_key(region, name)] = field

    def get_settings(self) -> list[forms.BoundField]:
        return [self[name] for name in SHOP_SETTINGS if name in self.fields]

    def get_row(self, region: Region) -> dict[str, Any]:
        fields = {name: self[key] for name in _COLUMNS if (key := _get_key(region, name)) in self.fields}
        return {"region": region, "name": self.names[region], **fields}

    def get_changed_settings(self) -> dict[str, bool]:
        return {name: self.cleaned_data[name] for name in SHOP_SETTINGS if name in self.changed_data}

    def get_changes(self) -> list[RateChange]:
        changed = set(self.changed_data)
        changes = ((region, self._get_attrs(region, changed)) for region in self.regions)
        return [(region, attrs) for region, attrs in changes if attrs]

    def _get_attrs(self, region: Region, changed: Iterable[str]) -> Attrs:
        attrs = {name: self.cleaned_data[key] for name in _COLUMNS if (key := _get_key(region, name)) in changed}
        if "tax" in attrs:
            attrs["tax"] /= 100
        return attrs


_COLUMNS = ("tax_name", "tax", "tax_type")


def _get_key(region: Region, name: str) -> str:
    return f"{region._meta.model_name}-{region.pk}-{name}"


def _create_fields(region: Region) -> dict[str, forms.Field]:
    has_name = isinstance(region, ShopCountry)
    name = forms.CharField(
        max_length=255,
        required=has_name,
        empty_value="" if has_name else None,
        widget=forms.TextInput(attrs=_INPUT),
        initial=region.tax_name,
    )
    fields: dict[str, forms.Field] = {"tax_name": name, "tax": PercentageField(initial=(region.tax * 100).normalize())}
    if isinstance(region, ShopProvince):
        fields["tax_type"] = forms.ChoiceField(
            choices=ShopProvince.TaxType.choices,
            widget=forms.Select(attrs=_INPUT),
            # A province without a type is combined like one with the type normal.
            initial=region.tax_type or ShopProvince.TaxType.NORMAL.value,
        )
    return fields


def describe_rates(country: ShopCountry, province: ShopProvince | None = None) -> str:
    """Return the taxes of a region in words, such as ``5% GST + 9.975% QST``."""
    rates = combine_rates(country, province)
    template = _("{percentage}% {name}")
    texts = [template.format(percentage=format_percentage(tax.rate), name=tax.title) for tax in rates]
    return " + ".join(texts) or _("No tax")


class CountryForm(forms.Form):
    code = forms.ChoiceField(label=gettext_lazy("Country"), widget=forms.Select(attrs=_INPUT))

    def __init__(self, data: Any, listed: Iterable[str]) -> None:
        super().__init__(data)
        known = {*listed}
        choices = [(code, name) for code, name in get_country_choices() if code not in known]
        rest = [] if REST_OF_WORLD in known else [(REST_OF_WORLD, _("Rest of the world"))]
        self.fields["code"] = forms.ChoiceField(
            label=_("Country"),
            choices=[("", _("Choose a country")), *rest, *choices],
            widget=forms.Select(attrs=_INPUT),
        )


class StarterForm(forms.Form):
    codes = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, error_messages={"required": gettext_lazy("Select at least one country.")}
    )

    def __init__(self, data: Any, choices: Sequence[tuple[str, str]]) -> None:
        super().__init__(data, initial={"codes": [code for code, _label in choices]})
        field = self.fields["codes"]
        assert isinstance(field, forms.MultipleChoiceField)
        field.choices = choices
