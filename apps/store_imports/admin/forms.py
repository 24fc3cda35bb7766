from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.types import ReadOnlyAttrs
from apps.store_imports.models import StoreConnection


class ConnectionForm(forms.Form):
    """The address and access token of a store. The token is never shown again."""

    platform = forms.ChoiceField(
        label=gettext_lazy("Platform"), choices=StoreConnection.Platform.choices, widget=forms.RadioSelect
    )
    address = forms.CharField(
        label=gettext_lazy("Address of the store"),
        max_length=250,
        widget=forms.TextInput(
            attrs={"placeholder": "https://shop.example", "autocomplete": "url", "spellcheck": "false"}
        ),
        help_text=gettext_lazy("The address at which the owner opens the store's panel."),
    )
    token = forms.CharField(
        label=gettext_lazy("Access token"),
        max_length=500,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=gettext_lazy(
            "The token is stored encrypted, and deleted when the import is done, or after seven days without progress."
        ),
    )

    def __init__(self, data: ReadOnlyAttrs | None, *, initial: ReadOnlyAttrs) -> None:
        super().__init__(data, initial=dict(initial))
        for name, field in self.fields.items():
            if field.help_text:
                field.widget.attrs["aria-describedby"] = f"id_{name}_helptext"
        self.fields["platform"].error_messages["required"] = _("Choose the platform of the store.")
