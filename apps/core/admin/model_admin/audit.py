"""Record events when rows are saved or deleted in the panel, and show a row's events as its history."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, QuerySet
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from apps.core.admin.display.changes import describe_changes
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin
from apps.core.admin.staff_request import Context
from apps.core.events.models import Event
from apps.core.events.recording import build_changes, record_event
from apps.core.events.timelines import describe_event
from apps.core.events.values import Changes
from apps.core.registry import Registry
from apps.core.tenancy.actor_names import get_actor_names

HISTORY_LENGTH = 100
# Functions that return the former IDs of a row, such as the IDs of merged customers. The history of a row includes the
# events for its former IDs.
former_ids = Registry[type[Model], Callable[[int], list[int]]]("former IDs of rows")
M = TypeVar("M", bound=Model)


def _get_form_changes(form: BaseForm) -> Changes:
    return build_changes(
        {
            name: (form.get_initial_for_field(form.fields[name], name), form.cleaned_data.get(name))
            for name in form.changed_data
            if name in form.fields and not form.fields[name].widget.is_hidden
        }
    )


def _skip_log(*args: object, **kwargs: object) -> Any:
    """Do nothing, because events replace Django's log entries."""


class AuditedAdmin(ExtraViewsAdmin[M]):
    """A model admin that records events instead of Django's log entries.

    ``topics`` is the first part of the topics, such as ``locations``, or empty if the services record the events.
    """

    topics = ""

    def record(self, request: HttpRequest, verb: str, instance: M, changes: dict[str, Any] | None = None) -> None:
        record_event(f"{self.topics}/{verb}", instance, changes=changes, **self.event_kwargs(request))

    def save_model(self, request: HttpRequest, obj: M, form: Any, change: bool) -> None:
        """Save the row. If the form of an existing row is unchanged, skip the save to preserve ``updated_at``."""
        if not change or form.has_changed():
            super().save_model(request, obj, form, change)

    def save_related(self, request: HttpRequest, form: Any, formsets: Iterable[Any], change: bool) -> None:
        super().save_related(request, form, formsets, change)
        if self.topics and (not change or form.has_changed() or any(f.has_changed() for f in formsets)):
            self.record(request, "update" if change else "create", form.instance, _get_form_changes(form))

    def delete_model(self, request: HttpRequest, obj: M) -> None:
        if self.topics:
            self.record(request, "delete", obj)
        obj.delete()

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[M]) -> None:
        """Delete rows one by one, because each row needs a separate event."""
        for row in queryset.order_by("pk"):
            self.delete_model(request, row)

    log_addition = log_change = log_deletions = _skip_log

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        instance = self.get_row_or_404(request, object_id)
        if not self.has_view_or_change_permission(request, instance):
            raise PermissionDenied
        subject = self.opts.concrete_model or self.model
        ids = [instance.pk, *(former_ids[subject](instance.pk) if subject in former_ids else ())]
        row_events = Event.rows().filter(subject_type=subject._meta.label_lower, subject_id__in=ids)
        events = list(row_events.order_by("-id").defer("payload")[:HISTORY_LENGTH])
        names = get_actor_names([event.actor for event in events])
        return self.page(
            request,
            "panel/history.html",
            _("History of {name}").format(name=instance),
            original=instance,
            back=self.url("change", instance.pk),
            events=[
                (
                    event,
                    names[event.actor],
                    describe_event(event),
                    describe_changes(event),
                )
                for event in events
            ],
        )
