"""The panel form for a metafield. ``domain.write`` validates the values."""

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.core.admin.forms.forms import ShopOwnedForm, Values
from apps.core.admin.theme import ThemedSelect
from apps.metafields.domain import types, write
from apps.metafields.domain.owners import owner_types
from apps.metafields.models import Metafield

LIST_TYPES = (
    *("single_line_text_field", "number_integer", "number_decimal", "date", "date_time", "url", "color"),
    *("link", "weight", "dimension", "volume", "rating"),
)

EDITABLE_FIELDS = ("type", "value", "description")


def get_type_choices(current: str = "") -> list[tuple[str, str]]:
    references = [f"{owner.resource}_reference" for owner in owner_types.values() if owner.resource != "shop"]
    lists = [f"list.{name}" for name in (*LIST_TYPES, *references)]
    names = [*types.get_type_names(), *references, *lists]
    if current and current not in names:
        names.append(current)
    return [(name, format_type_name(name)) for name in names]


# The display names of types.
_TYPE_NAMES = {
    "single line text": gettext_noop("single-line text"),
    "multi line text": gettext_noop("multi-line text"),
    "number integer": gettext_noop("integer"),
    "number decimal": gettext_noop("decimal number"),
    "boolean": gettext_noop("true or false"),
    "date": gettext_noop("date"),
    "date time": gettext_noop("date and time"),
    "json": gettext_noop("JSON"),
    "url": gettext_noop("URL"),
    "link": gettext_noop("link"),
    "money": gettext_noop("money"),
    "dimension": gettext_noop("dimension"),
    "volume": gettext_noop("volume"),
    "rating": gettext_noop("rating"),
    "rich text": gettext_noop("rich text"),
    "id": gettext_noop("ID"),
}


def format_type_name(name: str) -> str:
    """Return the display name of a type, e.g. "Single-line text", or "Product reference" for a reference type."""
    words = name.removeprefix("list.").replace("_", " ").removesuffix(" field")
    owner = words.removesuffix(" reference")
    suffix = _(" (list)") if name.startswith("list.") else ""
    if owner == words:
        return capfirst(_(_TYPE_NAMES.get(words, words))) + suffix
    return _("{resource} reference").format(resource=capfirst(_(owner))) + suffix


class MetafieldForm(ShopOwnedForm[Metafield]):
    """The metafield form. Namespace and key cannot change after creation. Type and value are validated together."""

    type = forms.ChoiceField(label=gettext_lazy("Type"), widget=ThemedSelect)

    class Meta:
        model = Metafield
        fields = ("namespace", "key", "type", "value", "description")

    def prepare(self) -> None:
        self.set_choices("type", get_type_choices(self.instance.type))
        if "value" in self.fields:
            self.fields["value"].widget.attrs["rows"] = 2
        if not self.instance._state.adding:
            for name in self.fields.keys() & {"namespace", "key"}:
                self.fields[name].disabled = True
            for name in self.fields.keys() & set(EDITABLE_FIELDS):
                # The hidden initial values show which fields the user changed, so that only these fields are saved.
                self.fields[name].show_hidden_initial = True

    def clean(self) -> Values | None:
        cleaned = super().clean() or self.cleaned_data
        if not self.instance._state.adding and not self.has_changed():
            return cleaned
        submitted: Values = {name: cleaned[name] for name in self.Meta.fields if name in cleaned}
        for name in self.conflicting_fields:
            self.add_error(name, _("Someone else changed this field. Review the value, then save again."))
        values, errors = write.validate_metafield(submitted, None if self.instance._state.adding else self.instance)
        for name, messages in errors.items():
            if name in self.fields and name not in self.errors:
                self.add_error(name, messages)
        return {**cleaned, **values}

    @property
    def conflicting_fields(self) -> list[str]:
        """Return the fields that both the user and someone else have changed since the page was loaded."""
        if self.instance._state.adding or self.data.get("_overwrite"):
            return []
        initial_texts = {
            name: self.data.get(self.add_initial_prefix(name)) for name in EDITABLE_FIELDS if name in self.changed_data
        }
        current_texts = {name: _as_submitted(self.initial.get(name)) for name in initial_texts}
        return [
            name
            for name, text in initial_texts.items()
            if text is not None and _as_submitted(text) != current_texts[name]
        ]

    @property
    def values(self) -> Values:
        if not self.instance.pk:
            return {name: self.cleaned_data[name] for name in self.Meta.fields}
        # The value must fit the type, so always save both fields together.
        changed = set(self.changed_data) | ({"type", "value"} if {"type", "value"} & set(self.changed_data) else set())
        return {name: self.cleaned_data[name] for name in EDITABLE_FIELDS if name in changed}


def _as_submitted(value: object) -> str:
    """Return stored text as a browser would submit it, with uniform line endings."""
    return str(value or "").replace("\r\n", "\n").strip()
