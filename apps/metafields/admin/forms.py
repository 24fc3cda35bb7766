"""The form of one metafield in the panel; what it refuses and keeps is the service's to say."""

from django import forms

from apps.metafields.domain import setting, types
from apps.metafields.domain.owners import all_owners
from apps.metafields.models import Metafield
from apps.panel.screens.forms import ShopOwnedForm, Values
from apps.panel.theme import ThemedSelect

LISTED = ("single_line_text_field", "number_integer", "number_decimal", "date", "date_time", "url", "color")


def type_choices(current: str = "") -> list[tuple[str, str]]:
    """The types to choose from, and the one that a metafield has already."""
    references = [f"{owner.resource}_reference" for owner in all_owners() if owner.resource != "shop"]
    lists = [f"list.{name}" for name in (*LISTED, *references)]
    names = [*types.type_names(), *references, *lists]
    if current and current not in names:
        names.append(current)
    return [
        (name, name.removeprefix("list.").replace("_", " ").removesuffix(" field").capitalize() + ending(name))
        for name in names
    ]


def ending(name: str) -> str:
    """Says of a type that it takes many values."""
    return " (list)" if name.startswith("list.") else ""


class MetafieldForm(ShopOwnedForm[Metafield]):
    """Namespace and key are given once; type and value are checked together."""

    type = forms.ChoiceField(label="Type", widget=ThemedSelect)

    class Meta:
        model = Metafield
        fields = ("namespace", "key", "type", "value", "description")

    def prepare(self) -> None:
        """The types to choose from; a stored one keeps its name."""
        self.offer("type", type_choices(self.instance.type))
        if "value" in self.fields:
            self.fields["value"].widget.attrs["rows"] = 2
        if not self.instance._state.adding:
            for name in self.fields.keys() & {"namespace", "key"}:
                self.fields[name].disabled = True

    def clean(self) -> Values | None:
        """What fits the type, as the text that is kept."""
        cleaned = super().clean() or self.cleaned_data
        given: Values = {name: cleaned[name] for name in self.Meta.fields if name in cleaned}
        values, errors = setting.check(given, None if self.instance._state.adding else self.instance)
        for name, messages in errors.items():
            if name in self.fields and name not in self.errors:
                self.add_error(name, messages)
        return {**cleaned, **values}

    @property
    def values(self) -> Values:
        """The checked columns."""
        names = ("type", "value", "description") if self.instance.pk else self.Meta.fields
        return {name: self.cleaned_data[name] for name in names}
