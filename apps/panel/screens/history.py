"""What happened to the rows of a screen: recorded when they are saved and deleted, and read as their history."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from apps.events.domain.changes import Changes, changes_between
from apps.events.domain.recording import record_event
from apps.events.domain.wording import sentence
from apps.events.models import Event
from apps.panel.requests import Context
from apps.panel.screens.pages import ScreenPages
from apps.panel.told import names_of_changes
from apps.staff.domain.actors import names_of

HISTORY_LENGTH = 100
# By model, gives the ids under which a row was known before.
_former: dict[type[Model], Callable[[int], list[int]]] = {}
M = TypeVar("M", bound=Model)


def add_former(model: type[Model], ids: Callable[[int], list[int]]) -> None:
    """Let the history of a model's rows show what happened under other ids, such as those of merged customers."""
    _former[model] = ids


def _changes_in(form: BaseForm) -> Changes:
    """What a person changed in a form, of what they could see."""
    return changes_between(
        {
            name: (form.get_initial_for_field(form.fields[name], name), form.cleaned_data.get(name))
            for name in form.changed_data
            if name in form.fields and not form.fields[name].widget.is_hidden
        }
    )


def _unlogged(*args: object, **kwargs: object) -> Any:
    """Nothing: the events are the log."""


class ScreenHistory(ScreenPages[M]):
    """Records events in place of Django's log.

    Attributes:
        topics: The resource part of the events that saving and deleting record; empty where services record their own.
    """

    topics = ""

    def record(self, request: HttpRequest, verb: str, instance: M, changes: dict[str, Any] | None = None) -> None:
        """Record ``<topics>/<verb>`` for this person, now."""
        record_event(f"{self.topics}/{verb}", instance, changes=changes, **self.by(request))

    def save_model(self, request: HttpRequest, obj: M, form: Any, change: bool) -> None:
        """Save the row, unless a form is sent back as it was: that moves no time stamp."""
        if not change or form.has_changed():
            super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Iterable[Any], change: bool) -> None:
        """Save what hangs on the row, then record what happened to all of it."""
        super().save_related(request, form, formsets, change)
        if self.topics and (not change or form.has_changed() or any(f.has_changed() for f in formsets)):
            self.record(request, "update" if change else "create", form.instance, _changes_in(form))

    def delete_model(self, request: HttpRequest, obj: M) -> None:
        """Record and delete one row."""
        if self.topics:
            self.record(request, "delete", obj)
        obj.delete()

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> None:
        """Delete rows one by one: each is an event."""
        for row in queryset.order_by("pk"):
            self.delete_model(request, row)

    log_addition = log_change = log_deletions = _unlogged

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """The newest events of one row."""
        instance = self.row_or_404(request, object_id)
        if not self.has_view_or_change_permission(request, instance):
            raise PermissionDenied
        subject = self.opts.concrete_model or self.model
        former = _former[subject](instance.pk) if subject in _former else []
        about = Event.rows().filter(subject_type=subject._meta.label_lower, subject_id__in=[instance.pk, *former])
        events = list(about.order_by("-id").defer("payload")[:HISTORY_LENGTH])
        names = names_of([event.actor for event in events])
        return self.page(
            request,
            "panel/history.html",
            _("History of {name}").format(name=instance),
            original=instance,
            back=self.url("change", instance.pk),
            events=[
                (event, names[event.actor], sentence(event), names_of_changes(event.subject_type, event.changes))
                for event in events
            ],
        )
