"""The forms that add codes to a discount."""

from django import forms
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.styled import StyledForm
from apps.discounts.models.codes import MAX_CODE


class CodeForm(StyledForm):
    """The form that adds one code."""

    code = forms.CharField(
        label=gettext_lazy("Code"), max_length=MAX_CODE, widget=forms.TextInput(attrs={"spellcheck": "false"})
    )


class RandomCodesForm(StyledForm):
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
