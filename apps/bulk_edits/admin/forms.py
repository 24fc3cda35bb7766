"""The form for a bulk edit. Fields that are left blank do not change the rows."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.bulk_edits.domain.operations import AMOUNT, AMOUNTS, CLEAR, COPY, FIELD_LABELS, PERCENT, SET, get_roundings
from apps.bulk_edits.domain.targets import EditTarget
from apps.catalog.models import Product
from apps.core.admin.forms.error_display import as_sentence
from apps.core.admin.forms.number_parsing import InvalidNumber, normalize_number
from apps.core.admin.theme import ThemedTextInput
from apps.core.i18n import formats
from apps.core.money import MAX_AMOUNT, format_plain, round_money
from apps.core.tags import find_tag_error, normalize_tags
from apps.core.tenancy.scope import get_current_shop
from apps.core.types import Attrs, ReadOnlyAttrs
from apps.customers.models import ConsentState
from apps.orders.models import Order

METHOD_LABELS = {
    PERCENT: gettext_lazy("Change by percentage"),
    AMOUNT: gettext_lazy("Change by amount"),
    SET: gettext_lazy("Set to"),
}
COPY_LABELS = {
    "price": gettext_lazy("Set to the compare-at price"),
    "compare_at_price": gettext_lazy("Set to the current price"),
}
ROUNDING_LABELS = {
    "0.05": gettext_lazy("to the nearest 0.05"),
    "0.10": gettext_lazy("to the nearest 0.10"),
    "1": gettext_lazy("to the nearest whole amount"),
    "10": gettext_lazy("to the nearest 10"),
    "0.99": gettext_lazy("up to .99"),
    "0.95": gettext_lazy("up to .95"),
}
UNCHANGED = ("", gettext_lazy("No change"))
_STATUSES: Mapping[str, Sequence[tuple[str, Any]]] = {
    "products": Product.Status.choices,
    "orders": [
        (Order.Status.CLOSED.value, gettext_lazy("Archive")),
        (Order.Status.OPEN.value, gettext_lazy("Unarchive")),
    ],
}
_CONSENTS = [
    (ConsentState.SUBSCRIBED.value, gettext_lazy("Subscribed (the customer has agreed)")),
    (ConsentState.UNSUBSCRIBED.value, gettext_lazy("Unsubscribed")),
]


_TAG_TEXTS = {"add": gettext_lazy("Add tags: {names}"), "remove": gettext_lazy("Remove tags: {names}")}


class _SignedNumberField(forms.DecimalField):
    """Form field for a signed amount or percentage in any common notation."""

    def to_python(self, value: object) -> Decimal | None:  # type: ignore[override]
        if isinstance(value, str) and value.strip():
            try:
                value = normalize_number(value.replace("−", "-").removesuffix("%"), "")
            except InvalidNumber as error:
                raise ValidationError(str(error), code="invalid") from error
        return super().to_python(value)


class EditForm(forms.Form):
    """Form with a field for each editable field of the target. An amount has three form fields."""

    def __init__(self, data: ReadOnlyAttrs | None, *, kind: EditTarget, operations: ReadOnlyAttrs) -> None:
        super().__init__(data, initial=_get_initial(operations))
        self._kind = kind
        self._currency = get_current_shop().currency
        self.amounts = [name for name in kind.fields if name in AMOUNTS]
        for name in kind.fields:
            if name in AMOUNTS:
                self._add_amount(name)
            elif name == "tags":
                for part, label in (("tags_add", _("Add tags")), ("tags_remove", _("Remove tags"))):
                    self.fields[part] = _create_text_field(label, _("Separated by commas."), longest=5000)
            elif name in ("vendor", "product_type"):
                self.fields[name] = _create_text_field(_(FIELD_LABELS[name]), "", longest=255)
            else:
                choices = _STATUSES[kind.name] if name == "status" else _CONSENTS
                self.fields[name] = forms.ChoiceField(
                    label=_(FIELD_LABELS[name]), required=False, choices=[UNCHANGED, *choices], widget=forms.Select
                )
        # Focus the field that is used most often, unless there is already a preview to read.
        first = f"{self.amounts[0]}_value" if self.amounts else next(iter(self.fields))
        if not operations or data is not None:
            self.fields[first].widget.attrs["autofocus"] = True
        aria_labels = {"value": _("{field}: value"), "how": _("{field}: method"), "round": _("{field}: rounding")}
        for name in self.amounts:
            for part, text in aria_labels.items():
                self.fields[f"{name}_{part}"].widget.attrs["aria-label"] = text.format(field=_(FIELD_LABELS[name]))

    def _add_amount(self, name: str) -> None:
        methods: list[tuple[str, StrOrPromise]] = [*METHOD_LABELS.items(), (COPY, COPY_LABELS[name])]
        if name == "compare_at_price":
            methods.append((CLEAR, _("Remove")))
        rounding_choices = [
            ("", _("No extra rounding ({currency})").format(currency=self._currency)),
            *((rounding, str(ROUNDING_LABELS[rounding])) for rounding in get_roundings(self._currency)),
        ]
        self.fields[f"{name}_value"] = _SignedNumberField(
            required=False,
            label=_(FIELD_LABELS[name]),
            max_digits=15,
            decimal_places=3,
            widget=ThemedTextInput(attrs={"inputmode": "text", "size": "8", "placeholder": gettext_lazy("e.g. -10")}),
        )
        self.fields[f"{name}_how"] = forms.ChoiceField(required=False, label=_("Method"), choices=methods)
        self.fields[f"{name}_round"] = forms.ChoiceField(required=False, label=_("Rounding"), choices=rounding_choices)

    def get_field_groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """Return the form fields in groups, each with its label. The three fields of an amount form one group."""
        groups = [
            (_(FIELD_LABELS[name]), [self[f"{name}_{part}"] for part in ("how", "value", "round")])
            for name in self.amounts
        ]
        grouped = {field.name for _label, fields in groups for field in fields}
        return [
            *groups,
            *((str(field.label), [self[name]]) for name, field in self.fields.items() if name not in grouped),
        ]

    def clean(self) -> Attrs:
        values = super().clean() or {}
        for name in self.amounts:
            self._check_amount(name, values)
        for name in ("tags_add", "tags_remove"):
            if name in values and (fault := find_tag_error(normalize_tags(values[name].split(",")))):
                self.add_error(name, as_sentence(fault))
        if not self.errors and not self.get_operations():
            raise ValidationError(_("Enter at least one change."))
        return values

    def _check_amount(self, name: str, values: ReadOnlyAttrs) -> None:
        value, method = values.get(f"{name}_value"), values.get(f"{name}_how")
        if value is None or method in {COPY, CLEAR}:
            return
        field = f"{name}_value"
        if method == SET and value < 0:
            self.add_error(field, _("Must not be negative."))
        elif abs(value) >= MAX_AMOUNT:
            self.add_error(field, _("Must be less than {limit}.").format(limit=formats.format_integer(int(MAX_AMOUNT))))
        elif method == PERCENT and value < -100:
            self.add_error(field, _("Prices can't be lowered by more than 100 percent."))
        elif method != PERCENT and value != round_money(value, self._currency):
            self.add_error(
                field, _("This amount has too many decimal places for {currency}.").format(currency=self._currency)
            )

    def get_operations(self) -> Attrs:
        """Return the submitted operations, as described in ``apps.bulk_edits.domain.operations``."""
        values, operations_by_field = self.cleaned_data, {}
        for name in self.amounts:
            value, method = values.get(f"{name}_value"), values.get(f"{name}_how") or PERCENT
            if method in {COPY, CLEAR}:
                operations_by_field[name] = {"how": method}
            elif value is not None:
                rounding = values.get(f"{name}_round", "")
                operations_by_field[name] = {"how": method, "value": format_plain(value), "round": rounding}
        add, remove = (normalize_tags(values.get(name, "").split(",")) for name in ("tags_add", "tags_remove"))
        if add or remove:
            operations_by_field["tags"] = {"add": add, "remove": remove}
        other_names = (name for name in self._kind.fields if values.get(name))
        return {**operations_by_field, **{name: values[name] for name in other_names}}


def _get_initial(operations: ReadOnlyAttrs) -> Attrs:
    initial: Attrs = {}
    for name, operation in operations.items():
        if name in AMOUNTS:
            initial |= {f"{name}_{part}": operation.get(part, "") for part in ("how", "value", "round")}
        elif name == "tags":
            initial |= {f"tags_{part}": ", ".join(operation[part]) for part in ("add", "remove")}
        else:
            initial[name] = operation
    return initial


def _create_text_field(label: str, help_text: str, *, longest: int) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=longest,
        help_text=help_text,
        widget=ThemedTextInput(attrs={"placeholder": _("No change")}),
    )


def describe_operations(operations: ReadOnlyAttrs) -> list[str]:
    """Return the operations of an edit as sentences for staff."""
    texts = []
    for name, operation in operations.items():
        if name in AMOUNTS:
            texts.append(f"{_(FIELD_LABELS[name])}: {_describe_amount(name, operation)}")
        elif name == "tags":
            texts += [_TAG_TEXTS[verb].format(names=", ".join(tags)) for verb, tags in operation.items() if tags]
        else:
            texts.append(f"{_(FIELD_LABELS[name])}: {_(str(operation).replace('_', ' '))}")
    return texts


def _describe_amount(name: str, operation: Mapping[str, str]) -> str:
    method = operation["how"]
    if method == CLEAR:
        return _("removed")
    if method == COPY:
        return str(COPY_LABELS[name])
    value = Decimal(operation["value"])
    sign = "+" if value > 0 and method != SET else "−" if value < 0 else ""
    amount = f"{sign}{formats.format_plain_number(format_plain(abs(value)))}{' %' if method == PERCENT else ''}"
    rounding = operation.get("round", "")
    return _("{amount}, rounded {how}").format(amount=amount, how=ROUNDING_LABELS[rounding]) if rounding else amount
