"""The form of a bulk edit: what is left blank stays as it is."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.bulk.domain.kinds import Kind
from apps.bulk.domain.operations import AMOUNT, AMOUNTS, CLEAR, COPY, NAMES, PERCENT, SET, roundings
from apps.catalog.models import Product
from apps.customers.models import ConsentState
from apps.ground import languages
from apps.ground.attrs import Attrs, Given
from apps.ground.money import MAX_AMOUNT, plain, rounded
from apps.ground.tags import canonical, fault_of
from apps.ground.tenancy import current_shop
from apps.orders.models import Order
from apps.panel.amounts import Unclear, plain_amount
from apps.panel.theme import ThemedTextInput
from apps.panel.wording import sentence

HOWS = {
    PERCENT: gettext_lazy("Raise or lower by percent"),
    AMOUNT: gettext_lazy("Raise or lower by an amount"),
    SET: gettext_lazy("Set to"),
}
COPIES = {
    "price": gettext_lazy("Set to the compare-at price"),
    "compare_at_price": gettext_lazy("Set to the present price"),
}
ROUNDED = {
    "0.05": gettext_lazy("to 0.05"),
    "0.10": gettext_lazy("to 0.10"),
    "1": gettext_lazy("to whole amounts"),
    "10": gettext_lazy("to tens"),
    "0.99": gettext_lazy("up to .99"),
    "0.95": gettext_lazy("up to .95"),
}
STAYS = ("", gettext_lazy("Leave as it is"))
_STATUSES: Mapping[str, Sequence[tuple[str, Any]]] = {
    "products": Product.Status.choices,
    "orders": [
        (Order.Status.CLOSED.value, gettext_lazy("Closed: into the archive")),
        (Order.Status.OPEN.value, gettext_lazy("Open: out of the archive")),
    ],
}
_CONSENTS = [
    (ConsentState.SUBSCRIBED.value, gettext_lazy("Subscribed: they have agreed")),
    (ConsentState.UNSUBSCRIBED.value, gettext_lazy("Unsubscribed")),
]


_TAGGING = {"add": gettext_lazy("Add tags: {names}"), "remove": gettext_lazy("Remove tags: {names}")}


class _Change(forms.DecimalField):
    """An amount or a percentage, with its sign, as people write numbers."""

    def to_python(self, value: object) -> Decimal | None:  # type: ignore[override]
        """The number; one that can be read in two ways is refused."""
        if isinstance(value, str) and value.strip():
            try:
                value = plain_amount(value.replace("−", "-").removesuffix("%"), "")
            except Unclear as refusal:
                raise ValidationError(str(refusal), code="invalid") from refusal
        return super().to_python(value)


class EditForm(forms.Form):
    """The fields that the kind's rows have."""

    def __init__(self, data: Given | None, *, kind: Kind, operations: Given) -> None:
        super().__init__(data, initial=_typed(operations))
        self._kind = kind
        self._currency = current_shop().currency
        for name in kind.fields:
            if name in AMOUNTS:
                self._add_amount(name)
            elif name == "tags":
                self.fields["tags_add"] = _text(_("Add tags"), _("Separated by commas."), longest=5000)
                self.fields["tags_remove"] = _text(_("Remove tags"), _("Separated by commas."), longest=5000)
            elif name in ("vendor", "product_type"):
                self.fields[name] = _text(_(NAMES[name]), "", longest=255)
            else:
                choices = _STATUSES[kind.name] if name == "status" else _CONSENTS
                self.fields[name] = forms.ChoiceField(
                    label=_(NAMES[name]), required=False, choices=[STAYS, *choices], widget=forms.Select
                )
        # What is changed most is typed at once; where there is something to look at already, one begins there.
        first = f"{self.amounts[0]}_value" if self.amounts else next(iter(self.fields))
        if not operations or data is not None:
            self.fields[first].widget.attrs["autofocus"] = True
        for name in self.amounts:
            self.fields[f"{name}_value"].widget.attrs["aria-label"] = _("{field}: how much").format(
                field=_(NAMES[name])
            )
            self.fields[f"{name}_how"].widget.attrs["aria-label"] = _("{field}: how").format(field=_(NAMES[name]))
            self.fields[f"{name}_round"].widget.attrs["aria-label"] = _("{field}: rounded").format(field=_(NAMES[name]))

    @property
    def amounts(self) -> list[str]:
        """The prices that the form has."""
        return [name for name in self._kind.fields if name in AMOUNTS]

    def _add_amount(self, name: str) -> None:
        hows: list[tuple[str, StrOrPromise]] = [*HOWS.items(), (COPY, COPIES[name])]
        if name == "compare_at_price":
            hows.append((CLEAR, _("Take away")))
        offered: list[tuple[str, StrOrPromise]] = [
            ("", _("to the decimals of {currency}").format(currency=self._currency))
        ]
        offered += [(each, str(ROUNDED[each])) for each in roundings(self._currency)]
        self.fields[f"{name}_value"] = _Change(
            required=False,
            label=_(NAMES[name]),
            max_digits=15,
            decimal_places=3,
            widget=ThemedTextInput(attrs={"inputmode": "text", "size": "8", "placeholder": gettext_lazy("e.g. -10")}),
        )
        self.fields[f"{name}_how"] = forms.ChoiceField(required=False, label=_("How"), choices=hows)
        self.fields[f"{name}_round"] = forms.ChoiceField(required=False, label=_("Rounded"), choices=offered)

    def groups(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The fields as they stand on the page, those of one amount together under its name."""
        groups = [
            (_(NAMES[name]), [self[f"{name}_{part}"] for part in ("how", "value", "round")]) for name in self.amounts
        ]
        others = [name for name in self.fields if not any(name.startswith(f"{each}_") for each in self.amounts)]
        return [*groups, *((str(self.fields[name].label), [self[name]]) for name in others)]

    def clean(self) -> Attrs:
        """Amounts that fit how they are meant, and at least one thing to do."""
        given = super().clean() or {}
        for name in self.amounts:
            self._check_amount(name, given)
        for name in ("tags_add", "tags_remove"):
            if name in given and (fault := fault_of(canonical(given[name].split(",")))):
                self.add_error(name, sentence(fault))
        if not self.errors and not self.operations():
            raise ValidationError(_("Say first what is to be changed."))
        return given

    def _check_amount(self, name: str, given: Given) -> None:
        value, how = given.get(f"{name}_value"), given.get(f"{name}_how")
        if value is None or how in {COPY, CLEAR}:
            return
        field = f"{name}_value"
        if how == SET and value < 0:
            self.add_error(field, _("Must not be negative."))
        elif abs(value) >= MAX_AMOUNT:
            self.add_error(field, _("Must be less than {limit}.").format(limit=languages.count(int(MAX_AMOUNT))))
        elif how == PERCENT and value < -100:
            self.add_error(field, _("No price can be lowered by more than 100 percent."))
        elif how != PERCENT and value != rounded(value, self._currency):
            self.add_error(field, _("{currency} has no such small amounts.").format(currency=self._currency))

    def operations(self) -> Attrs:
        """What is to be done, as ``apps.bulk.domain.operations`` has it."""
        given, found = self.cleaned_data, {}
        for name in self.amounts:
            value, how = given.get(f"{name}_value"), given.get(f"{name}_how") or PERCENT
            if how in {COPY, CLEAR}:
                found[name] = {"how": how}
            elif value is not None:
                found[name] = {"how": how, "value": plain(value), "round": given.get(f"{name}_round", "")}
        add, remove = (canonical(given.get(name, "").split(",")) for name in ("tags_add", "tags_remove"))
        if add or remove:
            found["tags"] = {"add": add, "remove": remove}
        simple = (name for name in self._kind.fields if given.get(name))
        return {**found, **{name: given[name] for name in simple}}


def _typed(operations: Given) -> Attrs:
    """What was typed to come to these operations."""
    typed: Attrs = {}
    for name, operation in operations.items():
        if name in AMOUNTS:
            typed |= {f"{name}_{part}": operation.get(part, "") for part in ("how", "value", "round")}
        elif name == "tags":
            typed |= {f"tags_{part}": ", ".join(operation[part]) for part in ("add", "remove")}
        else:
            typed[name] = operation
    return typed


def _text(label: str, help_text: str, *, longest: int) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        max_length=longest,
        help_text=help_text,
        widget=ThemedTextInput(attrs={"placeholder": _("Leave as it is")}),
    )


def in_words(operations: Given) -> list[str]:
    """What is done, a sentence for each field."""
    said = []
    for name, operation in operations.items():
        if name in AMOUNTS:
            said.append(f"{_(NAMES[name])}: {_amount_in_words(name, operation)}")
        elif name == "tags":
            said += [_TAGGING[verb].format(names=", ".join(operation[verb])) for verb in operation if operation[verb]]
        else:
            said.append(f"{_(NAMES[name])}: {_(str(operation).replace('_', ' '))}")
    return said


def _amount_in_words(name: str, operation: Mapping[str, str]) -> str:
    how = operation["how"]
    if how == CLEAR:
        return _("taken away")
    if how == COPY:
        return str(COPIES[name])
    value = Decimal(operation["value"])
    sign = "+" if value > 0 and how != SET else "−" if value < 0 else ""
    amount = f"{sign}{languages.retold_amount(plain(abs(value)))}{' %' if how == PERCENT else ''}"
    rounding = operation.get("round", "")
    return _("{amount}, rounded {how}").format(amount=amount, how=ROUNDED[rounding]) if rounding else amount
