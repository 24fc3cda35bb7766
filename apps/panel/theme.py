"""What we take of django-unfold: the only module that imports it, so that one place changes with it.

The theme has no types of its own. To the type checker its classes are Django's, with the attributes that we set.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from django.db.models import Model
from django.utils.formats import number_format
from django.utils.functional import cached_property
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString
from django.utils.translation import gettext_noop
from django_stubs_ext import StrOrPromise
from unfold import forms as themed_forms
from unfold.dataclasses import SearchResult
from unfold.fields import UnfoldAdminReadonlyField
from unfold.forms import ActionForm
from unfold.sites import UnfoldAdminSite as ThemedSite
from unfold.templatetags import unfold as unfold_tags
from unfold.templatetags import unfold_list

from apps.ground.money import plain

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin, StackedInline, TabularInline
    from django.contrib.admin.helpers import AdminForm, InlineAdminFormSet
    from django.contrib.admin.options import _FieldOpts
    from django.contrib.admin.views.main import ChangeList as ThemedChangeList
    from django.forms import CheckboxInput as ThemedSwitch
    from django.forms import ClearableFileInput as ThemedFileInput
    from django.forms import EmailInput as ThemedEmailInput
    from django.forms import Select as ThemedSelect
    from django.forms import Textarea as ThemedTextarea
    from django.forms import TextInput as ThemedTextInput

    M = TypeVar("M", bound=Model)
    Child = TypeVar("Child", bound=Model)
    Parent = TypeVar("Parent", bound=Model)
    Column = TypeVar("Column", bound=Callable[..., object])

    class ThemedAdmin(ModelAdmin[M]):
        """A screen in the theme."""

        list_filter_sheet: bool
        list_filter_submit: bool
        warn_unsaved_form: bool

    class ThemedTabularInline(TabularInline[Child, Parent]):
        """Inline rows as a table."""

        per_page: int
        tab: bool

    class ThemedStackedInline(StackedInline[Child, Parent]):
        """Inline rows one below the other."""

        tab: bool

    def display(
        *,
        description: StrOrPromise,
        ordering: str = ...,
        boolean: bool = ...,
        header: bool = ...,
        label: Mapping[str, str] = ...,
        empty_value: str = ...,
    ) -> Callable[[Column], Column]:
        """A column of a list."""

else:
    from unfold.admin import ModelAdmin as ThemedAdmin
    from unfold.admin import StackedInline as ThemedStackedInline
    from unfold.admin import TabularInline as ThemedTabularInline
    from unfold.decorators import display
    from unfold.views import ChangeList as ThemedChangeList
    from unfold.widgets import UnfoldAdminEmailInputWidget as ThemedEmailInput
    from unfold.widgets import UnfoldAdminFileFieldWidget as ThemedFileInput
    from unfold.widgets import UnfoldAdminSelectWidget as ThemedSelect
    from unfold.widgets import UnfoldAdminTextareaWidget as ThemedTextarea
    from unfold.widgets import UnfoldAdminTextInputWidget as ThemedTextInput
    from unfold.widgets import UnfoldBooleanSwitchWidget as ThemedSwitch

# Each cell of a list would repeat 26 classes, most of the page's weight; panel.css says the same of all, and lays the
# cells of a row out as a few lines on a phone.
unfold_list.ROW_CLASSES[:] = []
unfold_list.LINK_CLASSES[:] = ["bo-to"]
unfold_list.CHECKBOX_CLASSES[:] = ["action-checkbox"]
# So does the choice of a bulk action.
ActionForm.base_fields["action"].widget.attrs["class"] = "bo-action"


class ShownField(UnfoldAdminReadonlyField):
    """A field for those who may only look: a form's field with a ``shown`` says what they see of the value.

    Other numbers go without the zeros at the end of their decimals.
    """

    @cached_property
    def contents(self) -> SafeString:
        """The value, as the form would show it; the theme's templates ask several times."""
        shown = getattr(self.form.fields.get(self.field["field"]), "shown", None)
        value = self.resolved_field[2] if self.resolved_field else None
        if shown is not None and value not in {None, ""}:
            return shown(value)
        return conditional_escape(number_format(plain(value))) if isinstance(value, Decimal) else super().contents()


themed_forms.UnfoldAdminReadonlyField = ShownField


def _wrong_in_rows(inline: "InlineAdminFormSet") -> int:
    """How many fields of inline rows are wrong; the theme counts the rows."""
    return sum(map(len, inline.formset.errors)) + len(inline.formset.non_form_errors())


def _wrong_in_general(form: "AdminForm", inlines: "Iterable[InlineAdminFormSet]") -> int:
    """How many fields are wrong in the tab of the form itself."""
    rows = (inline for inline in inlines if not getattr(inline.opts, "tab", False))
    return len(form.errors) + sum(map(_wrong_in_rows, rows))


unfold_tags._count_errors_in_general, unfold_tags._count_errors_in_inline = _wrong_in_general, _wrong_in_rows

# A group of fields of a form, under its heading.
Fieldset: TypeAlias = "tuple[StrOrPromise | None, _FieldOpts]"

__all__ = [
    "Fieldset",
    "SearchResult",
    "ThemedAdmin",
    "ThemedChangeList",
    "ThemedEmailInput",
    "ThemedFileInput",
    "ThemedSelect",
    "ThemedSite",
    "ThemedStackedInline",
    "ThemedSwitch",
    "ThemedTabularInline",
    "ThemedTextInput",
    "ThemedTextarea",
    "display",
]

# What the theme's templates say and neither Django nor the theme translates.
SAID_BY_THE_THEME = (
    gettext_noop("Add row"),
    gettext_noop("Apply Filters"),
    gettext_noop("Choose file to upload"),
    gettext_noop("Click to cancel"),
    gettext_noop("Click to download"),
    gettext_noop("Expand row"),
    gettext_noop("General"),
    gettext_noop("Go back"),
    gettext_noop("Image preview"),
    gettext_noop("Loading more results..."),
    gettext_noop("More actions"),
    gettext_noop("No data"),
    gettext_noop("No recent searches"),
    gettext_noop("No results found"),
    gettext_noop("No results matching your query"),
    gettext_noop("Recent searches"),
    gettext_noop("Record picture"),
    gettext_noop("Reset filters"),
    gettext_noop("Run"),
    gettext_noop("Save and add another"),
    gettext_noop("Save and continue editing"),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop("Select all rows"),
    gettext_noop("Select value"),
    gettext_noop("This item will be deleted."),
    gettext_noop("This page yielded into no results. Create a new item or reset your filters."),
    gettext_noop("Toggle password visibility"),
    gettext_noop("Type to search"),
)
