"""Names and links of the objects that events are about.

An event stores a label, which for some models is an ID. Apps register functions that return better names, such as the
order of a refund. Users only see names and links of objects that they may view.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst

from apps.core.admin.display.fields import get_subject_models
from apps.core.events.models import Event
from apps.core.registry import Registry

_ONLY_ID = re.compile(r"#?\d*")


@dataclass(frozen=True, slots=True)
class SubjectName:
    """The name of an object, and the row with the page that shows the object."""

    name: str
    page: int


@dataclass(frozen=True, slots=True)
class SubjectNames:
    """How the objects of a model are named. ``page_model`` is the model of the pages that show the objects.

    ``load`` returns the names of rows by ID. For missing rows, the label of the event is shown.
    """

    model: type[Model]
    page_model: type[Model]
    load: Callable[[Collection[int]], Mapping[int, SubjectName]]


@dataclass(frozen=True, slots=True)
class Subject:
    name: str
    url: str = ""


subject_names = Registry[type[Model], SubjectNames]("names of event subjects", get_key=lambda names: names.model)


def get_subjects(request: HttpRequest, events: Iterable[Event]) -> dict[int, Subject]:
    """Return the subject of each event by the event's ID, with at most one query for each model."""
    by_type: dict[str, list[Event]] = {}
    for event in events:
        by_type.setdefault(event.subject_type, []).append(event)
    subjects: dict[int, Subject] = {}
    for subject_type, typed_events in by_type.items():
        models = [*get_subject_models(subject_type)]
        found = _find(request, models[0], {event.subject_id for event in typed_events}) if models else {}
        for event in typed_events:
            subject = found.get(event.subject_id, Subject(""))
            subjects[event.pk] = Subject(subject.name or _get_recorded_name(event, models), subject.url)
    return subjects


def _get_recorded_name(event: Event, models: Collection[type[Model]]) -> str:
    label = event.label or f"#{event.subject_id}"
    if not _ONLY_ID.fullmatch(label):
        return label
    return " ".join([*(capfirst(str(model._meta.verbose_name)) for model in models), label])


def _find(request: HttpRequest, model: type[Model], ids: set[int]) -> dict[int, Subject]:
    names = subject_names.get(model)
    page_model = names.page_model if names else model
    if not admin.site.is_registered(page_model):
        return {}
    page_admin: Any = admin.site.get_model_admin(page_model)
    if not page_admin.has_view_or_change_permission(request):
        return {}
    url_name = f"admin:{page_model._meta.app_label}_{page_model._meta.model_name}_change"
    if names is None:
        existing = page_admin.get_queryset(request).order_by().filter(pk__in=ids).values_list("pk", flat=True)
        return {pk: Subject("", reverse(url_name, args=[pk])) for pk in existing}
    return {pk: Subject(row.name, reverse(url_name, args=[row.page])) for pk, row in names.load(ids).items()}
