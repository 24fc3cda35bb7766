"""The form of one metafield in the panel; what it refuses and keeps is the service's to say."""

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from apps.metafields.domain import setting, types
from apps.metafields.domain.owners import all_owners
from apps.metafields.models import Metafield
from apps.panel.screens.forms import ShopOwnedForm, Values
from apps.panel.theme import ThemedSelect

LISTED = (
    *("single_line_text_field", "number_integer", "number_decimal", "date", "date_time", "url", "color"),
    *("link", "weight", "dimension", "volume", "rating"),
)

CHANGEABLE = ("type", "value", "description")


def type_choices(current: str = "") -> list[tuple[str, str]]:
    """The types to choose from, and the one that a metafield has already."""
    references = [f"{owner.resource}_reference" for owner in all_owners() if owner.resource != "shop"]
    lists = [f"list.{name}" for name in (*LISTED, *references)]
    names = [*types.type_names(), *references, *lists]
    if current and current not in names:
        names.append(current)
    return [(name, called(name)) for name in names]


# What types are called.
_WORDS = (
    gettext_noop("single line text"),
    gettext_noop("multi line text"),
    gettext_noop("number integer"),
    gettext_noop("number decimal"),
    gettext_noop("boolean"),
    gettext_noop("date"),
    gettext_noop("date time"),
    gettext_noop("json"),
    gettext_noop("url"),
    gettext_noop("link"),
    gettext_noop("money"),
    gettext_noop("dimension"),
    gettext_noop("volume"),
    gettext_noop("rating"),
    gettext_noop("rich text"),
    gettext_noop("id"),
)


def called(name: str) -> str:
    """A type in words, e.g. "Single line text"; a reference by what it refers to."""
    words = name.removeprefix("list.").replace("_", " ").removesuffix(" field")
    owner = words.removesuffix(" reference")
    if owner == words:
        return capfirst(_(words)) + ending(name)
    return _("{resource} reference").format(resource=capfirst(_(owner))) + ending(name)


def ending(name: str) -> str:
    """Says of a type that it takes many values."""
    return _(" (list)") if name.startswith("list.") else ""


class MetafieldForm(ShopOwnedForm[Metafield]):
    """Namespace and key are given once; type and value are checked together."""

    type = forms.ChoiceField(label=gettext_lazy("Type"), widget=ThemedSelect)

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
            for name in self.fields.keys() & set(CHANGEABLE):
                # What the page showed comes back with it: only what the person changed is a change.
                self.fields[name].show_hidden_initial = True

    def clean(self) -> Values | None:
        """What fits the type, as the text that is kept."""
        cleaned = super().clean() or self.cleaned_data
        if not self.instance._state.adding and not self.has_changed():
            return cleaned
        given: Values = {name: cleaned[name] for name in self.Meta.fields if name in cleaned}
        for name in self.overtaken:
            self.add_error(name, _("Somebody changed this meanwhile. Look at it, then save again."))
        values, errors = setting.check(given, None if self.instance._state.adding else self.instance)
        for name, messages in errors.items():
            if name in self.fields and name not in self.errors:
                self.add_error(name, messages)
        return {**cleaned, **values}

    @property
    def overtaken(self) -> list[str]:
        """The fields that the person changed, and somebody else too since the page was shown."""
        if self.instance._state.adding or self.data.get("_overwrite"):
            return []
        shown = {name: self.data.get(self.add_initial_prefix(name)) for name in CHANGEABLE if name in self.changed_data}
        stored = {name: _in_a_form(self.initial.get(name)) for name in shown}
        return [name for name, text in shown.items() if text is not None and _in_a_form(text) != stored[name]]

    @property
    def values(self) -> Values:
        """The checked columns."""
        if not self.instance.pk:
            return {name: self.cleaned_data[name] for name in self.Meta.fields}
        # A value is checked against its type, so that the two go together.
        changed = set(self.changed_data) | ({"type", "value"} if {"type", "value"} & set(self.changed_data) else set())
        return {name: self.cleaned_data[name] for name in CHANGEABLE if name in changed}


def _in_a_form(value: object) -> str:
    """A stored text as a browser sends it back, but for the kind of its line ends."""
    return str(value or "").replace("\r\n", "\n").strip()
