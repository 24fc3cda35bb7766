from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict

from django import forms
from django.conf import settings
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.i18n import formats
from apps.core.i18n.error_messages import format_bytes
from apps.core.types import ReadOnlyAttrs
from apps.imports_exports.domain.resources import Resource
from apps.imports_exports.models import Format
from apps.imports_exports.resources.audit_log import AUDIT_LOG
from apps.imports_exports.resources.orders import ORDERS
from apps.orders.models import Order

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Choices: TypeAlias = "Sequence[tuple[str, str | _StrPromise]]"

_MATCHING, _ALL = "matching", "all"
_FORMATS = [(file_format.value, file_format.label) for file_format in (Format.CSV, Format.XLSX, Format.JSON_LINES)]


class ExportOptions(TypedDict):
    """The options that the user chose, as arguments for ``create_export``."""

    kind: str
    format: str
    filters: Mapping[str, object]


# The page hides these fields while another resource is selected.
_FOR_ORDERS = {"data-for": "orders"}


def _create_date_input(**attrs: str) -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date", **attrs}, format="%Y-%m-%d")


class ExportForm(forms.Form):
    kind = forms.ChoiceField(label=gettext_lazy("Resource"))
    status = forms.ChoiceField(
        label=gettext_lazy("Orders"),
        required=False,
        choices=[("", gettext_lazy("All")), *Order.Status.choices],
        widget=forms.Select(attrs=_FOR_ORDERS),
        help_text=gettext_lazy("Only applies to orders."),
    )
    since = forms.DateField(
        label=gettext_lazy("Start date"),
        required=False,
        widget=_create_date_input(**_FOR_ORDERS),
        help_text=gettext_lazy("Only applies to orders."),
    )
    until = forms.DateField(
        label=gettext_lazy("End date"),
        required=False,
        widget=_create_date_input(**_FOR_ORDERS),
        help_text=gettext_lazy("Includes this day. Only applies to orders."),
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=_FORMATS)

    def __init__(
        self, data: ReadOnlyAttrs | None, *, kinds: Choices, initial: ReadOnlyAttrs, is_fixed: bool = False
    ) -> None:
        """Create the form. With ``is_fixed``, the only kind can't be changed."""
        super().__init__(data, initial=dict(initial))
        set_choices(self, "kind", kinds)
        self.title = _format_title(kinds[0][1]) if is_fixed else _("New export")
        if is_fixed:
            self.fields["kind"].widget = forms.HiddenInput()
        if is_fixed and initial["kind"] != ORDERS.name:
            del self.fields["status"], self.fields["since"], self.fields["until"]

    @property
    def export_options(self) -> ExportOptions:
        return self.get_options(self.cleaned_data)

    def get_options(self, values: ReadOnlyAttrs) -> ExportOptions:
        filters: dict[str, object] = {}
        if values["kind"] == ORDERS.name:
            until = values["until"] + timedelta(days=1) if values["until"] else None
            filters = {
                "status": values["status"],
                "processed_at__gte": _format_start_of_day(values["since"]),
                "processed_at__lt": _format_start_of_day(until),
            }
        return {"kind": values["kind"], "format": values["format"], "filters": filters}


class MatchingRows(NamedTuple):
    """The rows that a list shows, its active filters as text, and the error if there are too many rows."""

    ids: Sequence[int]
    filter_labels: Sequence[str]
    error: str = ""


class ListExportForm(forms.Form):
    """Form to export the rows that a list shows, or all rows of the resource."""

    rows = forms.ChoiceField(label=gettext_lazy("Rows"))
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=_FORMATS)

    def __init__(self, data: ReadOnlyAttrs | None, *, kind: Resource, matching: MatchingRows) -> None:
        super().__init__(data, initial={"rows": _ALL if matching.error else _MATCHING})
        self._kind, self._ids = kind, matching.ids
        self.title = _format_title(kind.label)
        matching_label = _("Current list: {number}").format(number=formats.format_integer(len(matching.ids)))
        all_label = _("All {label}").format(label=formats.lowercase_label(str(kind.label)))
        set_choices(self, "rows", [*([] if matching.error else [(_MATCHING, matching_label)]), (_ALL, all_label)])
        self.fields["rows"].help_text = matching.error or " · ".join(matching.filter_labels)

    @property
    def export_options(self) -> ExportOptions:
        values = self.cleaned_data
        filters = {"ids": self._ids} if values["rows"] == _MATCHING else {}
        return {"kind": self._kind.name, "format": values["format"], "filters": filters}


class AuditExportForm(forms.Form):
    """Form for an audit log export. The form fields have the same names as the filters of the audit log."""

    title = gettext_lazy("Export the audit log")
    topic = forms.ChoiceField(label=gettext_lazy("Event"), required=False)
    who = forms.ChoiceField(label=gettext_lazy("Done by"), required=False)
    q = forms.CharField(
        label=gettext_lazy("Object"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("Part of the name, such as #1001."),
    )
    since = forms.DateField(label=gettext_lazy("Start date"), required=False, widget=_create_date_input())
    until = forms.DateField(
        label=gettext_lazy("End date"),
        required=False,
        widget=_create_date_input(),
        help_text=gettext_lazy("Includes this day."),
    )
    format = forms.ChoiceField(label=gettext_lazy("Format"), choices=_FORMATS)

    def __init__(self, data: ReadOnlyAttrs | None, *, topics: Choices, people: Choices, initial: ReadOnlyAttrs) -> None:
        super().__init__(data, initial=dict(initial))
        set_choices(self, "topic", [("", _("Everything")), *topics])
        set_choices(self, "who", [("", _("Everyone")), *people])

    @property
    def export_options(self) -> ExportOptions:
        """Return resource, format and filters. Dates are interpreted in the shop's time zone."""
        values = self.cleaned_data
        actor_lookup = "actor__startswith" if values["who"] == "app:" else "actor"
        until = values["until"] + timedelta(days=1) if values["until"] else None
        filters = {
            "topic": values["topic"],
            actor_lookup: values["who"],
            "subject_label__icontains": values["q"],
            "created_at__gte": _format_start_of_day(values["since"]),
            "created_at__lt": _format_start_of_day(until),
        }
        return {"kind": AUDIT_LOG.name, "format": values["format"], "filters": filters}


# The web server refuses larger requests, and a request contains more than the file.
MAX_UPLOAD_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE - 1024 * 1024


class UploadForm(forms.Form):
    file = forms.FileField(
        help_text=format_lazy(
            gettext_lazy("A CSV, Excel or JSON lines file of up to {size}. Nothing is imported until you confirm."),
            size=format_bytes(MAX_UPLOAD_BYTES),
        ),
        label=gettext_lazy("File"),
    )


def _format_title(label: "str | _StrPromise") -> str:
    return _("Export {things}").format(things=formats.lowercase_label(str(label)))


def set_choices(form: forms.Form, name: str, choices: Choices) -> None:
    """Set choices that depend on the request."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = list(choices)


def _format_start_of_day(day: date | None) -> str | None:
    """Return the start of a day in the shop's time zone, in ISO 8601 format."""
    return datetime.combine(day, time(), timezone.get_current_timezone()).isoformat() if day else None
