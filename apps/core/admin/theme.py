"""The only module that imports django-unfold, so that a theme upgrade affects only this module.

The theme has no type hints. The type checker therefore uses Django's classes with the additional attributes of the
theme's classes.
"""

import html
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from django.db.models import Model
from django.forms import Widget
from django.utils.formats import number_format
from django.utils.functional import Promise, cached_property
from django.utils.html import conditional_escape
from django.utils.safestring import SafeData, SafeString, mark_safe
from django.utils.translation import gettext_noop
from django_stubs_ext import StrOrPromise
from unfold import forms as themed_forms
from unfold.dataclasses import SearchResult
from unfold.fields import UnfoldAdminReadonlyField
from unfold.sites import UnfoldAdminSite as ThemedSite
from unfold.templatetags import unfold as unfold_tags
from unfold.templatetags import unfold_list
from unfold.widgets import UnfoldAdminSelectWidget

from apps.core.admin.lists.column_classes import DAY
from apps.core.money import format_plain

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin, StackedInline, TabularInline
    from django.contrib.admin.helpers import AdminForm, InlineAdminFormSet
    from django.contrib.admin.options import _FieldOpts
    from django.contrib.admin.views.main import ChangeList as ThemedChangeList
    from django.db.models import ForeignObjectRel
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
        list_filter_sheet: bool
        list_filter_submit: bool
        warn_unsaved_form: bool

    class ThemedTabularInline(TabularInline[Child, Parent]):
        per_page: int
        tab: bool

    class ThemedStackedInline(StackedInline[Child, Parent]):
        tab: bool

    def display(
        *,
        description: StrOrPromise,
        ordering: str = ...,
        boolean: bool = ...,
        label: Mapping[str, str] = ...,
        empty_value: str = ...,
    ) -> Callable[[Column], Column]:
        """Declare a column of a list."""

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

    # The theme would allow lists and forms in frames, because the theme opens pop-ups in frames. The panel has none.
    ThemedAdmin.changelist_view = ThemedAdmin.changelist_view.__wrapped__
    ThemedAdmin.changeform_view = ThemedAdmin.changeform_view.__wrapped__

# The theme would repeat a dozen CSS classes in each list cell, which would make up most of the page. panel.css styles
# the cells instead.
unfold_list.TABLE_CELL_CLASSES[:] = []
unfold_list.LINK_CLASSES[:] = ["bo-to"]
unfold_list.TABLE_ACTION_CELL_CLASSES[:] = ["action-checkbox"]
# The start of a cell that phones show with the label of the column: neither the link of the row nor a badge.
_LABELED_CELL = re.compile(
    r'<td class="[^"]*"(?=>(?!<a href="[^"]*" class="bo-to"|\s*<span class="bo-badge(?![^"]*bo-flag)))'
)
# The day and the time in a cell.
_TIME = re.compile(r">([^<>]*), (\d\d:\d\d)</t")
_render_cells = unfold_list.items_for_result
_build_headers = unfold_list.result_headers


def _render_labeled_cells(change_list: Any, row: Model, form: object) -> Iterator[SafeString]:
    """Render the cells of a row with the class of the column.

    Phones show each row as a block, in which most values need a label.
    """
    columns = zip(change_list.phone_labels, change_list.column_classes, strict=True)
    for (label, column_class), cell in zip(columns, _render_cells(change_list, row, form), strict=False):
        text = cell.replace('class="', f'class="{column_class} ', 1) if column_class else cell
        if column_class == DAY:
            text = _TIME.sub(r' title="\1, \2">\1</t', text)
        start = _LABELED_CELL.match(text) if label else None
        yield mark_safe(f'{start[0]} data-label="{label}"{text[start.end() :]}' if start else text)  # noqa: S308 - the label is escaped


def _build_classed_headers(change_list: Any) -> Iterator[dict[str, Any]]:
    """Build the column headers with the same classes as the cells below."""
    for column_class, header in zip(change_list.column_classes, _build_headers(change_list), strict=True):
        yield header | {"class_attrib": f"{header.get('class_attrib', '')} {column_class}".strip()}


unfold_list.items_for_result = _render_labeled_cells
unfold_list.result_headers = _build_classed_headers


@lru_cache(maxsize=1024)
def _render_badge(text: str, kind: str | None, *, is_safe: bool) -> SafeString:
    label = mark_safe(text) if is_safe else text  # noqa: S308 - the text was safe before
    return _render_label(label, "", {label: kind})


def _render_label_once(value: Any, empty_value: str, kinds: Any) -> SafeString:
    """Render a badge, or the empty value, for which the theme has another dash than the rest of the panel.

    The rows of a list have the same few badges, so rendered badges are cached by text and kind.
    """
    key, text = value if isinstance(value, tuple) and len(value) == 2 else (value, value)
    if not text:
        return conditional_escape(empty_value)
    if (
        not isinstance(kinds, dict)
        or not isinstance(key, str)
        or key not in kinds
        or not isinstance(text, str | Promise)
    ):
        return _render_label(value, empty_value, kinds)
    return _render_badge(str(text), kinds[key], is_safe=isinstance(text, SafeData))


_render_label = unfold_list.display_for_label
unfold_list.display_for_label = _render_label_once


def _escape(text: object) -> str:
    """Escape a text that is not safe yet."""
    text = str(text) if isinstance(text, Promise) else text
    return str(text) if hasattr(text, "__html__") else html.escape(str(text))


def _render_options(choices: Iterable[Any], selected: Collection[str]) -> SafeString:
    """Render the options of a select box. Django would render a template for each option, such as for each country."""
    parts = []
    for value, label in choices:
        if isinstance(label, list | tuple):
            parts.append(f'<optgroup label="{_escape(value)}">{_render_options(label, selected)}</optgroup>')
            continue
        text = "" if value is None else str(value)
        mark = " selected" if text in selected else ""
        parts.append(f'<option value="{html.escape(text)}"{mark}>{_escape(label)}</option>')
    return mark_safe("\n".join(parts))  # noqa: S308 - all parts are escaped


def _get_select_context(widget: Any, name: str, value: object, attrs: dict[str, Any] | None) -> dict[str, Any]:
    context = Widget.get_context(widget, name, value, attrs)
    context["widget"]["options"] = _render_options(widget.choices, context["widget"]["value"])
    return context


UnfoldAdminSelectWidget.get_context = _get_select_context
UnfoldAdminSelectWidget.template_name = "panel/widgets/select.html"


class ReadOnlyField(UnfoldAdminReadonlyField):
    """A read-only field that uses the form field's ``render_read_only``, or shows decimals without final zeros."""

    @cached_property
    def contents(self) -> SafeString:
        """Return the formatted value, cached because the theme's templates read it several times."""
        format_value = getattr(self.form.fields.get(self.field["field"]), "render_read_only", None)
        field, column, value = self.resolved_field or (None, None, None)
        is_blank = value is None or value == ""
        if self.resolved_field and field is None and is_blank and not getattr(column, "boolean", False):
            return conditional_escape(self.empty_value_display)
        if format_value is not None and value not in {None, ""}:
            return format_value(value)
        return (
            conditional_escape(number_format(format_plain(value))) if isinstance(value, Decimal) else super().contents()
        )

    def get_admin_url(self, remote_field: "ForeignObjectRel", remote_obj: Model) -> str:
        request = getattr(self.form, "request", None)
        model_admin = self.model_admin.admin_site._registry.get(remote_field.model)
        if request and model_admin and not model_admin.has_view_or_change_permission(request, remote_obj):
            return str(remote_obj)
        return str(super().get_admin_url(remote_field, remote_obj))


themed_forms.UnfoldAdminReadonlyField = ReadOnlyField


def _count_inline_errors(inline: "InlineAdminFormSet") -> int:
    """Count the invalid fields of inline rows. The theme's own function would count invalid rows."""
    return sum(map(len, inline.formset.errors)) + len(inline.formset.non_form_errors())


def _count_general_errors(form: "AdminForm", inlines: "Iterable[InlineAdminFormSet]") -> int:
    """Count the invalid fields in the general tab: the fields of the form and of inlines without their own tab."""
    rows = (inline for inline in inlines if not getattr(inline.opts, "tab", False))
    return len(form.errors) + sum(map(_count_inline_errors, rows))


unfold_tags._count_errors_in_general, unfold_tags._count_errors_in_inline = _count_general_errors, _count_inline_errors


def attribute_column(path: str, description: StrOrPromise, **options: Any) -> Callable[[Any, Any], Any]:
    """Return a column that shows an attribute of the row or of a related row, such as ``app.name``."""
    get_value = attrgetter(path)

    @display(description=description, **options)
    def column(model_admin: object, row: Model) -> Any:
        return get_value(row)

    column.path = path  # type: ignore[attr-defined]
    return column


# A group of form fields below a heading.
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
    "attribute_column",
    "display",
]

# Strings in the theme's templates that neither Django nor the theme translates.
THEME_MESSAGES = (
    gettext_noop("Choose file to upload"),
    gettext_noop("Click to cancel"),
    gettext_noop("Click to download"),
    gettext_noop("General"),
    gettext_noop("Image preview"),
    gettext_noop("Run"),
    gettext_noop("Select action"),
    gettext_noop("Select action to run"),
    gettext_noop("This item will be deleted."),
    gettext_noop("Toggle password visibility"),
    gettext_noop("Type to search"),
)
