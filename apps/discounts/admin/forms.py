"""The form of a discount. Values are positive in the form, and negative in the service."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.core.admin.display.money import MoneyField
from apps.core.admin.forms.error_display import add_domain_errors, as_sentence
from apps.core.admin.forms.styled import StyledForm
from apps.core.admin.forms.times import ShopDateTimeField
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.discounts.admin.discount_kinds import (
    BOUGHT_ITEMS,
    BUY_X_GET_Y,
    CUSTOMERS,
    EACH,
    FIXED_AMOUNT,
    FREE_SHIPPING,
    KIND_FIELDS,
    KINDS,
    PERCENTAGE,
    SELECTED_ITEMS,
    TERM_FIELDS,
    get_used_lists,
    has_other_terms,
    keeps_each,
)
from apps.discounts.admin.form_fields import PercentageField, create_amount_field, create_count_field
from apps.discounts.admin.pickers import Picker
from apps.discounts.models import PriceRule
from apps.discounts.models.codes import MAX_CODE

# The form fields of the names in errors of the service.
_FIELD_NAMES = {
    "prerequisite_subtotal_range": "prerequisite_subtotal",
    "prerequisite_quantity_range": "prerequisite_quantity",
    "prerequisite_shipping_price_range": "prerequisite_shipping_price",
    "prerequisite_to_entitlement_purchase": "prerequisite_amount",
    "prerequisite_to_entitlement_quantity_ratio": "entitled_quantity_ratio",
}


# The fields that each kind needs. "Buy X, get Y" also needs one of two more.
_REQUIRED = {
    PERCENTAGE: ["percentage"],
    FIXED_AMOUNT: ["amount"],
    BUY_X_GET_Y: ["percentage", "entitled_quantity_ratio"],
}
_NEEDS = ("prerequisite_quantity_ratio", "prerequisite_amount")


def _has_one_need(values: ReadOnlyAttrs) -> bool:
    return [values.get(name) for name in _NEEDS].count(None) == 1 and values.get(_NEEDS[1]) != 0


class DiscountForm(StyledForm):
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
    amount = create_amount_field(gettext_lazy("Amount"))
    is_each = forms.BooleanField(
        label=gettext_lazy("On each item, instead of once per order"),
        required=False,
    )
    prerequisite_shipping_price = create_amount_field(
        gettext_lazy("Maximum shipping price"), gettext_lazy("More expensive shipping methods are not free.")
    )
    prerequisite_quantity_ratio = create_count_field(gettext_lazy("Quantity to buy"))
    prerequisite_amount = create_amount_field(
        gettext_lazy("Or amount to spend"), gettext_lazy("Enter either a quantity or an amount.")
    )
    entitled_quantity_ratio = create_count_field(gettext_lazy("Discounted quantity"))
    allocation_limit = create_count_field(
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
    prerequisite_subtotal = create_amount_field(gettext_lazy("Minimum amount"))
    prerequisite_quantity = create_count_field(gettext_lazy("Minimum number of items"))
    usage_limit = create_count_field(
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
            for name in ("kind", *TERM_FIELDS):
                del self.fields[name]
        currency = get_current_shop().currency
        for field in self.fields.values():
            if isinstance(field, MoneyField):
                field.label = _("{what} ({currency})").format(what=field.label, currency=currency)

    def clean(self) -> Attrs:
        values: Attrs = super().clean() or self.cleaned_data
        kind = values.get("kind")
        self._ignore_other_kinds(kind)
        for name in _REQUIRED.get(str(kind), ()):
            if values.get(name) is None and name not in self.errors:
                self.add_error(name, _("This field is required."))
        if kind == FIXED_AMOUNT and values.get("amount") == 0:
            self.add_error("amount", _("Enter an amount above 0."))
        is_incomplete = kind == BUY_X_GET_Y and not _has_one_need(values)
        if is_incomplete and not any(name in self.errors for name in _NEEDS):
            self.add_error(_NEEDS[0], _("Enter either a quantity to buy or an amount to spend."))
        return values

    def has_complete_terms(self, values: ReadOnlyAttrs) -> bool:
        """Return True if the values that the kind needs are entered and valid."""
        kind = str(values.get("kind"))
        if any(values.get(name) is None for name in _REQUIRED.get(kind, ())):
            return False
        return kind in KIND_FIELDS and (kind != BUY_X_GET_Y or _has_one_need(values))

    def _ignore_other_kinds(self, kind: str | None) -> None:
        """Drop the values and errors of fields that do not belong to the kind, because the page hides these fields."""
        for name in set(TERM_FIELDS) - set(KIND_FIELDS.get(str(kind), TERM_FIELDS)):
            self.errors.pop(name, None)
            if name in self.fields:
                self.cleaned_data[name] = None

    @property
    def used_pickers(self) -> Mapping[str, Picker]:
        """Return the pickers that the page shows with the input."""
        kind, target, customers = (self.data.get(name) for name in ("kind", "target_selection", "customer_selection"))
        names = get_used_lists(None if self.has_other_terms else kind, target, customers)
        return {name: picker for name, picker in self.pickers.items() if name in names}

    @property
    def attrs(self) -> Attrs:
        """Return the values in the format of the service."""
        return self.get_attrs(self.cleaned_data)

    def get_attrs(self, values: ReadOnlyAttrs) -> Attrs:
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
            CUSTOMERS: self.pickers[CUSTOMERS].ids if is_for_some else [],
        }
        if values["starts_at"] is not None:
            attrs["starts_at"] = values["starts_at"]
        attrs["title"] = values["title"] or values.get("code") or (self.rule.title if self.rule else "")
        return attrs if self.has_other_terms else attrs | self._get_terms(values)

    def _get_terms(self, values: ReadOnlyAttrs) -> Attrs:
        """Return the columns that depend on the kind. Columns of other kinds are cleared."""
        kind, rule = values["kind"], self.rule
        terms: Attrs = {
            **dict.fromkeys(("prerequisite_shipping_price", "allocation_limit", "prerequisite_quantity_ratio")),
            **dict.fromkeys(("entitled_quantity_ratio", "prerequisite_amount")),
            **{name: [] for name in (*SELECTED_ITEMS, *BOUGHT_ITEMS)},
            "value_type": PriceRule.ValueType.PERCENTAGE,
            "target_type": PriceRule.TargetType.LINE_ITEM,
            "target_selection": PriceRule.TargetSelection.ALL,
        }
        if kind == FREE_SHIPPING:
            terms |= {
                "value": Decimal(-100),
                "target_type": PriceRule.TargetType.SHIPPING_LINE,
                "allocation_method": EACH,
                "prerequisite_shipping_price": values["prerequisite_shipping_price"],
            }
            if rule is not None and rule.target_type == PriceRule.TargetType.SHIPPING_LINE:
                # Only apps select countries.
                del terms["target_selection"]
            return terms
        if rule is not None and rule.target_type == PriceRule.TargetType.SHIPPING_LINE:
            terms["entitled_country_ids"] = []
        is_each = values["is_each"] if kind == FIXED_AMOUNT else keeps_each(rule)
        terms["allocation_method"] = EACH if is_each else PriceRule.AllocationMethod.ACROSS
        if kind == FIXED_AMOUNT:
            terms |= {"value_type": PriceRule.ValueType.FIXED_AMOUNT, "value": -values["amount"]}
        else:
            terms["value"] = -values["percentage"]
        if kind == BUY_X_GET_Y:
            names = ("prerequisite_quantity_ratio", "entitled_quantity_ratio", "prerequisite_amount")
            terms |= {name: values[name] for name in (*names, "allocation_limit")}
            terms |= {name: self.pickers[name].ids for name in BOUGHT_ITEMS}
            terms["allocation_method"] = EACH
        if kind == BUY_X_GET_Y or values["target_selection"] == PriceRule.TargetSelection.ENTITLED:
            terms["target_selection"] = PriceRule.TargetSelection.ENTITLED
            terms |= {name: self.pickers[name].ids for name in SELECTED_ITEMS}
        return terms

    def add_domain_error(self, error: DomainError) -> None:
        """Add the messages to their fields and pickers. The service reports the value of every kind as ``value``."""
        others = dict(error.errors)
        # Products or collections are missing: the message belongs to both pickers.
        for start in ("entitled", "prerequisite"):
            names = {f"{start}_product_ids", f"{start}_collection_ids"} & self.used_pickers.keys()
            if any(BLANK in others.get(name, ()) for name in names):
                others |= {name: others.get(name, [BLANK]) for name in names}
        for name in self.used_pickers.keys() & others.keys():
            text = _("Select at least one product or collection.")
            if name == CUSTOMERS:
                text = _("Select at least one customer.")
            self.pickers[name].errors += [
                text if message == BLANK else as_sentence(message) for message in others.pop(name)
            ]
        value = "amount" if self.cleaned_data.get("kind") == FIXED_AMOUNT else "percentage"
        add_domain_errors(self, DomainError(others), {**_FIELD_NAMES, "value": value})


def get_initial(rule: PriceRule) -> Attrs:
    """Return the form values of a rule."""
    names = set(DiscountForm.base_fields) - {"code", "kind", "percentage", "amount", "is_each", "seen_version"}
    is_fixed = rule.value_type == PriceRule.ValueType.FIXED_AMOUNT
    kind, target = FIXED_AMOUNT if is_fixed else PERCENTAGE, rule.target_selection
    if rule.target_type == PriceRule.TargetType.SHIPPING_LINE:
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
        "is_each": is_fixed and rule.allocation_method == EACH,
    }
