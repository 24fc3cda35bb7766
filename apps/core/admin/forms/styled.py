"""Plain forms with the styles of the panel."""

from typing import Any

from django import forms

from apps.core.admin.forms.error_display import SentenceErrorList


class StyledForm(forms.Form):
    """A form with the panel's styles, and with errors as sentences."""

    def __init__(self, data: Any = None, **options: Any) -> None:
        super().__init__(data, error_class=SentenceErrorList, **options)
        for field in self.fields.values():
            if not isinstance(field.widget, forms.HiddenInput | forms.CheckboxInput | forms.RadioSelect):
                field.widget.attrs |= {"class": "bo-input", "autocomplete": "off"}
