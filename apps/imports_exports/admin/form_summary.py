"""Summarize in words what an export will contain, also while the form is not complete."""

from collections.abc import Iterator
from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext as _

from apps.core.admin.forms.form_summary import FormSummary
from apps.core.admin.lists.paginator import MAX_COUNTED_ROWS
from apps.core.i18n import formats
from apps.core.tenancy.models import User
from apps.core.types import ReadOnlyAttrs
from apps.imports_exports.admin.forms import ExportForm
from apps.imports_exports.domain import exports
from apps.imports_exports.resources.audit_log import AUDIT_LOG
from apps.imports_exports.resources.orders import ORDERS


def summarize_export(form: forms.Form, user: User) -> FormSummary:
    values: ReadOnlyAttrs = {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}
    if form.is_bound:
        form.is_valid()
        values = {**dict.fromkeys(form.fields), **form.cleaned_data}
    subject = next((name for name in ("kind", "rows") if name in form.fields), "")
    title = _get_text(form.fields[subject], values[subject]) if subject else str(AUDIT_LOG.label)
    if isinstance(form, ExportForm) and values["kind"]:
        title = _format_count(form, values, title, user)
    hint = _("The file is created in the background. Only you can download it, within two days.")
    filters = list(_list_filters(form, values, subject)) or ([] if subject == "rows" else [_("All rows")])
    return FormSummary(title, [*filters, _get_text(form.fields["format"], values["format"])], hint)


def _format_count(form: ExportForm, values: ReadOnlyAttrs, label: str, user: User) -> str:
    """Return the number of objects with their name, such as "12 orders"."""
    options = form.get_options(values)
    count = exports.count_objects(
        kind=options["kind"], filters=options["filters"], user=user, limit=MAX_COUNTED_ROWS + 1
    )
    text = _("More than {number} {label}") if count > MAX_COUNTED_ROWS else _("{number} {label}")
    number = formats.format_integer(min(count, MAX_COUNTED_ROWS))
    return text.format(number=number, label=formats.lowercase_label(label))


def _list_filters(form: forms.Form, values: ReadOnlyAttrs, subject: str) -> Iterator[str]:
    for name, field in form.fields.items():
        is_hidden = field.widget.attrs.get("data-for") == ORDERS.name and values["kind"] != ORDERS.name
        if name not in {subject, "format"} and not is_hidden and values[name]:
            yield _("{name}: {value}").format(name=field.label, value=_get_text(field, values[name]))


def _get_text(field: forms.Field, value: object) -> str:
    """Return a value as the form shows it. A choice that is not set has its first option."""
    if isinstance(field, forms.ChoiceField):
        choices: Any = field.choices
        labels = {str(key): str(label) for key, label in choices}
        return labels.get(str(value), "") or next(iter(labels.values()))
    return formats.format_date(value, "j M Y") if isinstance(value, date) else str(value)
