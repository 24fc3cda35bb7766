"""The forms of exports and imports: what a file is to hold, and the file that comes in."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypedDict

from django import forms
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.exchange.domain.imports import MAX_BYTES
from apps.exchange.domain.kinds import Kind
from apps.exchange.kinds.audit_log import AUDIT_LOG
from apps.exchange.kinds.orders import ORDERS
from apps.exchange.models import OF_MANY
from apps.ground import languages
from apps.ground.attrs import Given
from apps.ground.phrases import size_of
from apps.orders.models import Order

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

Choices: TypeAlias = "Sequence[tuple[str, str | _StrPromise]]"


_MATCHING, _ALL = "matching", "all"
_FORMATS = [(each.value, each.label) for each in OF_MANY]


class Chosen(TypedDict):
    """What of ``exports.start`` the person chooses."""

    kind: str
    format: str
    filters: Mapping[str, object]


def _day() -> forms.DateInput:
    return forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class ExportForm(forms.Form):
    """What the file is to hold."""

    kind = forms.ChoiceField(label=pgettext_lazy("export", "What"))
    format = forms.ChoiceField(label=gettext_lazy("As"), choices=_FORMATS)
    status = forms.ChoiceField(
        label=gettext_lazy("Orders"),
        required=False,
        choices=[("", gettext_lazy("All of them")), *Order.Status.choices],
        help_text=gettext_lazy("For orders only."),
    )

    def __init__(self, data: Given | None, *, kinds: Choices, initial: Given) -> None:
        super().__init__(data, initial=dict(initial))
        offer(self, "kind", kinds)

    @property
    def chosen(self) -> Chosen:
        """Kind, format and filters."""
        given = self.cleaned_data
        filters = {"status": given["status"]} if given["kind"] == ORDERS.name else {}
        return {"kind": given["kind"], "format": given["format"], "filters": filters}


class Matching(NamedTuple):
    """What a list shows: the ids of its rows, what narrows it in words, and why they cannot be exported, if so."""

    ids: Sequence[int]
    narrowed_by: Sequence[str]
    refusal: str = ""


class ListExportForm(forms.Form):
    """Whether the file is to hold what a list shows, or all of that kind."""

    rows = forms.ChoiceField(label=pgettext_lazy("export", "What"))
    format = forms.ChoiceField(label=gettext_lazy("As"), choices=_FORMATS)

    def __init__(self, data: Given | None, *, kind: Kind, matching: Matching) -> None:
        super().__init__(data, initial={"rows": _ALL if matching.refusal else _MATCHING})
        self._kind, self._ids = kind, matching.ids
        found = _("What the list shows: {number}").format(number=languages.count(len(matching.ids)))
        every = _("All {label}").format(label=languages.lowered(str(kind.label)))
        offer(self, "rows", [*([] if matching.refusal else [(_MATCHING, found)]), (_ALL, every)])
        self.fields["rows"].help_text = matching.refusal or " · ".join(matching.narrowed_by)

    @property
    def chosen(self) -> Chosen:
        """Kind, format and filters."""
        given = self.cleaned_data
        filters = {"ids": self._ids} if given["rows"] == _MATCHING else {}
        return {"kind": self._kind.name, "format": given["format"], "filters": filters}


class AuditExportForm(forms.Form):
    """Which entries of the audit log the file is to hold; the fields are named like the list's filters."""

    topic = forms.ChoiceField(label=gettext_lazy("What happened"), required=False)
    who = forms.ChoiceField(label=gettext_lazy("Who"), required=False)
    q = forms.CharField(
        label=gettext_lazy("About"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("A part of the name, e.g. #1001."),
    )
    since = forms.DateField(label=gettext_lazy("From"), required=False, widget=_day())
    until = forms.DateField(
        label=gettext_lazy("Until"), required=False, widget=_day(), help_text=gettext_lazy("This day included.")
    )
    format = forms.ChoiceField(label=gettext_lazy("As"), choices=_FORMATS)

    def __init__(self, data: Given | None, *, topics: Choices, people: Choices, initial: Given) -> None:
        super().__init__(data, initial=dict(initial))
        offer(self, "topic", [("", _("Everything")), *topics])
        offer(self, "who", [("", _("Everybody")), *people])

    @property
    def chosen(self) -> Chosen:
        """Kind, format and filters; days are the shop's."""
        given = self.cleaned_data
        who = "actor__startswith" if given["who"] == "app:" else "actor"
        until = given["until"] + timedelta(days=1) if given["until"] else None
        filters = {"topic": given["topic"], who: given["who"], "subject_label__icontains": given["q"]}
        filters |= {"created_at__gte": _midnight(given["since"]), "created_at__lt": _midnight(until)}
        return {"kind": AUDIT_LOG.name, "format": given["format"], "filters": filters}


class UploadForm(forms.Form):
    """The file that comes in."""

    file = forms.FileField(
        help_text=format_lazy(
            gettext_lazy("CSV or JSON lines, at most {size}. Nothing is changed before you confirm."),
            size=size_of(MAX_BYTES, unit="B"),
        ),
        label=gettext_lazy("File"),
    )


def offer(form: forms.Form, name: str, choices: Choices) -> None:
    """Let one of a list be chosen that is known with the request only."""
    field = form.fields[name]
    assert isinstance(field, forms.ChoiceField)
    field.choices = list(choices)


def _midnight(day: date | None) -> str | None:
    """When a day of the shop begins, as JSON can hold it."""
    return datetime.combine(day, time(), timezone.get_current_timezone()).isoformat() if day else None
