"""The forms of discounts and codes. Values are positive in the form, and negative in the service."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.display.money import MoneyField
from apps.core.admin.forms.error_display import SentenceErrorList, as_sentence, format_field_error
from apps.core.admin.forms.number_parsing import InvalidNumber, normalize_number
from apps.core.admin.forms.times import ShopDateTimeField
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.i18n.error_messages import BLANK
from apps.core.money import format_plain
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs
from apps.discounts.admin.pickers import Picker
from apps.discounts.models import PriceRule
from apps.discounts.models.codes import MAX_CODE

PERCENTAGE, FIXED_AMOUNT, FREE_SHIPPING, BUY_X_GET_Y = "percentage", "fixed_amount", "free_shipping", "buy_x_get_y"
KINDS = (
    (PERCENTAGE, gettext_lazy("Percentage")),
    (FIXED_AMOUNT, gettext_lazy("Fixed amount")),
    (FREE_SHIPPING, gettext_lazy("Free shipping")),
    (BUY_X_GET_Y, gettext_lazy("Buy X, get Y")),
)
_MAX_INTEGER = 2**31 - 1
_ENTITLED, _EACH = PriceRule.TargetSelection.ENTITLED, PriceRule.AllocationMethod.EACH
_SHIPPING, _ITEMS = PriceRule.TargetType.SHIPPING_LINE, PriceRule.TargetType.LINE_ITEM
_SELECTED_ITEMS = ("entitled_product_ids", "entitled_collection_ids", "entitled_variant_ids")
_BOUGHT_ITEMS = ("prerequisite_product_ids", "prerequisite_collection_ids", "prerequisite_variant_ids")
_CUSTOMERS = "prerequisite_customer_ids"
# The form fields of the names in errors of the service.
_FIELD_NAMES = {
    "prerequisite_subtotal_range": "prerequisite_subtotal",
    "prerequisite_quantity_range": "prerequisite_quantity",
    "prerequisite_shipping_price_range": "prerequisite_shipping_price",
    "prerequisite_to_entitlement_purchase": "prerequisite_amount",
    "prerequisite_to_entitlement_quantity_ratio": "entitled_quantity_ratio",
}


class PercentageField(forms.DecimalField):
    """A percentage above 0, with a decimal comma or point and an optional percent sign."""

    def __init__(self, **options: Any) -> None:
        message = gettext_lazy("Enter a percentage above 0 and up to 100.")
        widget = forms.TextInput(attrs={"inputmode": "decimal", "size": "8"})
        errors = {"min_value": message, "max_value": message}
        super().__init__(
            min_value=Decimal("0.001"),
            max_value=100,
            decimal_places=3,
            widget=widget,
            error_messages=errors,
            **options,
        )

    def to_python(self, value: object) -> Decimal | None:  # type: ignore[override]
        if isinstance(value, str) and value.strip():
            try:
                value = normalize_number(value.strip().rstrip("% \u00a0"), "")
            except InvalidNumber as error:
                raise forms.ValidationError(str(error), code="invalid") from error
        return super().to_python(value)

    def prepare_value(self, value: object) -> object:
        return formats.format_plain_number(format_plain(value)) if isinstance(value, Decimal) else value


def _count_field(label: Any, help_text: Any = "") -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        required=False,
        min_value=1,
        max_value=_MAX_INTEGER,
        help_text=help_text,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "size": "8"}),
        error_messages={"invalid": gettext_lazy("Enter a whole number.")},
    )


def _amount_field(label: Any, help_text: Any = "") -> MoneyField:
    widget = forms.TextInput(attrs={"inputmode": "decimal", "size": "8"})
    return MoneyField(label=label, required=False, help_text=help_text, widget=widget)


class ServiceForm(forms.Form):
    """A form that shows the errors of a service at its own fields."""

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, error_class=SentenceErrorList, **options)
        for field in self.fields.values():
            if not isinstance(field.widget, forms.HiddenInput | forms.CheckboxInput | forms.RadioSelect):
                field.widget.attrs |= {"class": "bo-input", "autocomplete": "off"}

    def add_domain_error(self, error: DomainError) -> None:
        for name, messages in error.errors.items():
            self.add_messages(_FIELD_NAMES.get(name, name), messages)

    def add_messages(self, name: str, messages: Sequence[str]) -> None:
        for message in messages:
            if name in self.fields:
                self.add_error(name, as_sentence(message))
            else:
                self.add_error(None, format_field_error(name, message))


class DiscountForm(ServiceForm):
    """The values of a rule, with the code of a new rule.

    A rule of an app can have terms that this form has no fields for (``has_other_terms``). The form then leaves them as
    they are.
    """

    seen_version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=MAX_CODE,
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocapitalize": "characters"}),
        help_text=gettext_lazy("Customers enter the code. Upper and lower case make no difference."),
        error_messages={"required": gettext_lazy("Enter a code, or generate one.")},
    )
    title = forms.CharField(label=pgettext_lazy("discount", "Title"), required=False, max_length=255)
    kind = forms.ChoiceField(
        label=pgettext_lazy("discount", "Type"), choices=KINDS, initial=PERCENTAGE, widget=forms.RadioSelect
    )
    percentage = PercentageField(label=gettext_lazy("Percentage"), required=False)
    amount = _amount_field(gettext_lazy("Amount"))
    is_each = forms.BooleanField(
        label=gettext_lazy("On each item, instead of once per order"),
        required=False,
    )
    prerequisite_shipping_price = _amount_field(
        gettext_lazy("Maximum shipping price"), gettext_lazy("More expensive shipping methods are not free.")
    )
    prerequisite_quantity_ratio = _count_field(gettext_lazy("Quantity to buy"))
    prerequisite_amount = _amount_field(
        gettext_lazy("Or amount to spend"), gettext_lazy("Enter either a quantity or an amount.")
    )
    entitled_quantity_ratio = _count_field(gettext_lazy("Discounted quantity"))
    allocation_limit = _count_field(
        gettext_lazy("Uses per order"), gettext_lazy("Leave blank if one order may use the offer several times.")
    )
    target_selection = forms.ChoiceField(
        label=gettext_lazy("Applies to"),
        choices=(
            (PriceRule.TargetSelection.ALL, gettext_lazy("The whole order")),
            (PriceRule.TargetSelection.ENTITLED, gettext_lazy("Selected products and collections")),
        ),
        initial=PriceRule.TargetSelection.ALL,
        required=False,
        widget=forms.RadioSelect,
    )
    customer_selection = forms.ChoiceField(
        label=gettext_lazy("Customers"),
        choices=PriceRule.CustomerSelection.choices,
        initial=PriceRule.CustomerSelection.ALL,
        required=False,
        widget=forms.RadioSelect,
    )
    prerequisite_subtotal = _amount_field(gettext_lazy("Minimum amount"))
    prerequisite_quantity = _count_field(gettext_lazy("Minimum number of items"))
    usage_limit = _count_field(
        gettext_lazy("Total uses of each code"), gettext_lazy("Leave blank for any number of uses.")
    )
    once_per_customer = forms.BooleanField(label=gettext_lazy("Once per customer"), required=False)
    starts_at = ShopDateTimeField(gettext_lazy("Start"), required=False)
    ends_at = ShopDateTimeField(
        gettext_lazy("End"), required=False, help_text=gettext_lazy("Leave blank for a discount without an end.")
    )

    def __init__(
        self, data: QueryDict | None, rule: PriceRule | None, pickers: Mapping[str, Picker], **options: Any
    ) -> None:
        super().__init__(data, **options)
        self.rule, self.pickers = rule, pickers
        self.has_other_terms = rule is not None and has_other_terms(rule)
        if rule is not None:
            del self.fields["code"]
            self.fields["starts_at"].required = True
        else:
            del self.fields["seen_version"]
            self.fields["title"].help_text = _("Orders show the title. Leave blank to use the code.")
            self.fields["starts_at"].help_text = _("Leave blank to start now. {zone}").format(
                zone=self.fields["starts_at"].help_text
            )
        if self.has_other_terms:
            for name in _TERM_FIELDS:
                del self.fields[name]
        currency = get_current_shop().currency
        for field in self.fields.values():
            if isinstance(field, MoneyField):
                field.label = _("{what}, in {currency}").format(what=field.label, currency=currency)

    def clean(self) -> Attrs:
        values: Attrs = super().clean() or self.cleaned_data
        kind = values.get("kind")
        required = {
            PERCENTAGE: ["percentage"],
            FIXED_AMOUNT: ["amount"],
            BUY_X_GET_Y: ["percentage", "entitled_quantity_ratio"],
        }
        for name in required.get(str(kind), ()):
            if values.get(name) is None and name not in self.errors:
                self.add_error(name, _("This field is required."))
        if kind == FIXED_AMOUNT and values.get("amount") == 0:
            self.add_error("amount", _("Enter an amount above 0."))
        needs = ("prerequisite_quantity_ratio", "prerequisite_amount")
        is_incomplete = [values.get(name) for name in needs].count(None) != 1 or values.get(needs[1]) == 0
        if kind == BUY_X_GET_Y and is_incomplete and not any(name in self.errors for name in needs):
            self.add_error(needs[0], _("Enter either a quantity to buy or an amount to spend."))
        return values

    @property
    def attrs(self) -> Attrs:
        """Return the values in the format of the service."""
        values = self.cleaned_data
        attrs = {
            name: values[name]
            for name in (
                "prerequisite_subtotal",
                "prerequisite_quantity",
                "usage_limit",
                "once_per_customer",
                "ends_at",
            )
        }
        customers = values["customer_selection"] or PriceRule.CustomerSelection.ALL
        is_for_some = customers == PriceRule.CustomerSelection.PREREQUISITE
        attrs |= {
            "customer_selection": customers,
            _CUSTOMERS: self.pickers[_CUSTOMERS].ids if is_for_some else [],
        }
        if values["starts_at"] is not None:
            attrs["starts_at"] = values["starts_at"]
        attrs["title"] = values["title"] or values.get("code") or (self.rule.title if self.rule else "")
        return attrs if self.has_other_terms else attrs | self._get_terms()

    def _get_terms(self) -> Attrs:
        """Return the columns that depend on the kind. Columns of other kinds are cleared."""
        values, kind, rule = self.cleaned_data, self.cleaned_data["kind"], self.rule
        terms: Attrs = {
            **dict.fromkeys(("prerequisite_shipping_price", "allocation_limit", "prerequisite_quantity_ratio")),
            **dict.fromkeys(("entitled_quantity_ratio", "prerequisite_amount")),
            **{name: [] for name in (*_SELECTED_ITEMS, *_BOUGHT_ITEMS)},
            "value_type": PriceRule.ValueType.PERCENTAGE,
            "target_type": _ITEMS,
            "target_selection": PriceRule.TargetSelection.ALL,
        }
        if kind == FREE_SHIPPING:
            terms |= {
                "value": Decimal(-100),
                "target_type": _SHIPPING,
                "allocation_method": _EACH,
                "prerequisite_shipping_price": values["prerequisite_shipping_price"],
            }
            if rule is not None and rule.target_type == _SHIPPING:
                # Only apps select countries.
                del terms["target_selection"]
            return terms
        if rule is not None and rule.target_type == _SHIPPING:
            terms["entitled_country_ids"] = []
        is_each = values["is_each"] if kind == FIXED_AMOUNT else _keeps_each(rule)
        terms["allocation_method"] = _EACH if is_each else PriceRule.AllocationMethod.ACROSS
        if kind == FIXED_AMOUNT:
            terms |= {"value_type": PriceRule.ValueType.FIXED_AMOUNT, "value": -values["amount"]}
        else:
            terms["value"] = -values["percentage"]
        if kind == BUY_X_GET_Y:
            names = ("prerequisite_quantity_ratio", "entitled_quantity_ratio", "prerequisite_amount")
            terms |= {name: values[name] for name in (*names, "allocation_limit")}
            terms |= {name: self.pickers[name].ids for name in _BOUGHT_ITEMS}
            terms["allocation_method"] = _EACH
        if kind == BUY_X_GET_Y or values["target_selection"] == _ENTITLED:
            terms |= {"target_selection": _ENTITLED, **{name: self.pickers[name].ids for name in _SELECTED_ITEMS}}
        return terms

    def add_messages(self, name: str, messages: Sequence[str]) -> None:
        """Add messages to a field or picker. The service reports the value of every kind as ``value``."""
        if name == "value":
            name = "amount" if self.cleaned_data.get("kind") == FIXED_AMOUNT else "percentage"
        if (picker := self.pickers.get(name)) is None:
            super().add_messages(name, messages)
            return
        text = _("Select at least one customer.")
        if name != _CUSTOMERS:
            text = _("Select at least one product or collection.")
        picker.errors += [text if message == BLANK else as_sentence(message) for message in messages]


_TERM_FIELDS = (
    *("kind", "percentage", "amount", "is_each", "prerequisite_shipping_price", "prerequisite_quantity_ratio"),
    *("prerequisite_amount", "entitled_quantity_ratio", "allocation_limit", "target_selection"),
)


def has_other_terms(rule: PriceRule) -> bool:
    """Return True for terms that the form has no fields for, such as 50 % off shipping."""
    is_percentage = rule.value_type == PriceRule.ValueType.PERCENTAGE
    if rule.target_type == _SHIPPING:
        return not (is_percentage and rule.value == -100) or rule.allocation_limit is not None
    return not is_percentage if rule.is_buy_x_get_y else rule.allocation_limit is not None or not rule.value


def _keeps_each(rule: PriceRule | None) -> bool:
    """Return True if a percentage of the rule is calculated for each item. Only apps choose that."""
    return (
        rule is not None
        and rule.target_type == _ITEMS
        and rule.value_type == PriceRule.ValueType.PERCENTAGE
        and not rule.is_buy_x_get_y
        and rule.allocation_method == _EACH
    )


def get_initial(rule: PriceRule) -> Attrs:
    """Return the form values of a rule."""
    names = set(DiscountForm.base_fields) - {"code", "kind", "percentage", "amount", "is_each", "seen_version"}
    is_fixed = rule.value_type == PriceRule.ValueType.FIXED_AMOUNT
    kind, target = FIXED_AMOUNT if is_fixed else PERCENTAGE, rule.target_selection
    if rule.target_type == _SHIPPING:
        # The selection of countries is not a selection of products.
        target = PriceRule.TargetSelection.ALL
        kind = FREE_SHIPPING
    elif rule.is_buy_x_get_y:
        kind = BUY_X_GET_Y
    return {
        **{name: getattr(rule, name) for name in names},
        "seen_version": rule.version,
        "kind": kind,
        "target_selection": target,
        "percentage": None if is_fixed or kind == FREE_SHIPPING else -rule.value,
        "amount": -rule.value if is_fixed else None,
        "is_each": is_fixed and rule.allocation_method == _EACH,
    }


class CodeForm(ServiceForm):
    """The form that adds one code."""

    code = forms.CharField(
        label=gettext_lazy("Code"), max_length=MAX_CODE, widget=forms.TextInput(attrs={"spellcheck": "false"})
    )


class RandomCodesForm(ServiceForm):
    """The form that adds many random codes."""

    MAX_NUMBER, MAX_PREFIX = 1_000, 50

    number = forms.IntegerField(
        label=gettext_lazy("Number of codes"),
        min_value=1,
        max_value=MAX_NUMBER,
        help_text=gettext_lazy("Up to 1,000. Each code has 10 random letters and digits."),
        widget=forms.TextInput(attrs={"inputmode": "numeric", "size": "8"}),
        error_messages={"invalid": gettext_lazy("Enter a whole number.")},
    )
    code_prefix = forms.CharField(
        label=gettext_lazy("Prefix"),
        required=False,
        max_length=MAX_PREFIX,
        help_text=gettext_lazy("Each code begins with the prefix, for example SUMMER-."),
        widget=forms.TextInput(attrs={"spellcheck": "false"}),
    )
