"""What the page of an import shows: the progress of its streams, and the objects that were not imported."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from django.contrib import admin
from django.contrib.admin.utils import label_for_field
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.catalog.models import CustomCollection, SmartCollection
from apps.core.admin.menu import get_list_url
from apps.core.i18n.messages import translate
from apps.core.tenancy.models import Shop
from apps.store_imports.domain.id_map import IdMap
from apps.store_imports.domain.report import SETTING_COLUMNS, compare_settings
from apps.store_imports.domain.selection import GROUPS, StreamGroup, get_stream_label
from apps.store_imports.domain.source_client import SourceObject
from apps.store_imports.domain.streams import streams
from apps.store_imports.models import ImportProblem, StoreConnection, StoreImport, StreamState

MAX_SHOWN_PROBLEMS = 100
_BATCH_SIZE = 500
# The models with pages in the panel, if they differ from the models of the streams.
_PANEL_MODELS: Mapping[str, type[Model]] = {
    "custom_collections": CustomCollection,
    "smart_collections": SmartCollection,
}


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group of streams in the form, with the numbers of objects in the store."""

    group: StreamGroup
    counts: Sequence[tuple[str, int]]
    is_selected: bool
    is_refused: bool


@dataclass(frozen=True, slots=True)
class StreamRow:
    """The progress of a stream. ``link`` is the list of the imported objects."""

    label: str
    state: StreamState | None
    link: str

    @property
    def percent(self) -> int:
        if self.state is None:
            return 0
        if self.state.finished_at is not None:
            return 100
        return min(99, 100 * self.state.done // max(self.state.total or 1, 1))


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """An object that was not imported, or not completely.

    ``link`` is the page of the imported object, and ``label`` its name there.
    """

    stream: str
    source_id: int
    is_failure: bool
    reason: str
    target_id: int | None
    label: str
    link: str


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting that differs, with the values in the store and in this shop."""

    label: str
    theirs: str
    ours: str


def get_allowed_groups(request: HttpRequest) -> list[StreamGroup]:
    """Return the groups with objects that the user may add. The permission to start imports is needed as well."""
    return [group for group in GROUPS if request.user.has_perms(group.permissions)]


def list_groups(request: HttpRequest, connection: StoreConnection) -> list[GroupRow]:
    """Return the groups to choose from. Groups that were selected before are selected again."""
    rows = []
    for group in get_allowed_groups(request):
        refused = any(name in connection.refused for name in group.streams)
        counts = [(str(get_stream_label(name)), connection.counts.get(name, 0)) for name in group.streams]
        selected = not refused and (not connection.streams or any(name in connection.streams for name in group.streams))
        rows.append(GroupRow(group, [row for row in counts if row[1]], selected, refused))
    return rows


def list_streams(request: HttpRequest, store_import: StoreImport, selected: Sequence[str]) -> list[StreamRow]:
    """Return the selected streams, or all streams with a state, in the order in which they are imported."""
    states = {state.name: state for state in StreamState.objects.filter(store_import=store_import)}
    names = [name for name in streams if name in (selected or states)]
    return [StreamRow(str(get_stream_label(name)), states.get(name), _find_list_url(request, name)) for name in names]


def select_imported(rows: Sequence[StreamRow], store_import: StoreImport) -> list[StreamRow]:
    """Return the streams that this or an earlier pass has imported objects of."""
    ids = IdMap(store_import.pk)
    return [
        row for row in rows if row.state is None or row.state.done or ids.has_entries(streams[row.state.name].resource)
    ]


def get_problems(request: HttpRequest, store_import: StoreImport) -> QuerySet[ImportProblem]:
    """Return the problems of the objects that the user may import, because reasons can contain personal data."""
    names = [name for group in get_allowed_groups(request) for name in group.streams]
    rows = ImportProblem.objects.filter(store_import=store_import, stream__in=names)
    return rows.order_by("-is_failure", "pk")


def iterate_problem_rows(problems: QuerySet[ImportProblem]) -> Iterator[ProblemRow]:
    iterator = problems.iterator(chunk_size=_BATCH_SIZE)
    while batch := list(islice(iterator, _BATCH_SIZE)):
        yield from build_problem_rows(batch)


def build_problem_rows(problems: Sequence[ImportProblem]) -> Iterator[ProblemRow]:
    targets: dict[str, Mapping[int, int]] = {}
    labels: dict[str, Mapping[int, str]] = {}
    for name in {problem.stream for problem in problems}:
        ids = [problem.source_id for problem in problems if problem.stream == name]
        targets[name] = IdMap(problems[0].store_import_id).get_target_ids(streams[name].resource, ids)
        labels[name] = _get_labels(name, targets[name].values())
    for problem in problems:
        target_id = targets[problem.stream].get(problem.source_id)
        label = labels[problem.stream].get(target_id, "") if target_id else ""
        yield ProblemRow(
            str(get_stream_label(problem.stream)),
            problem.source_id,
            problem.is_failure,
            translate(problem.reason),
            target_id,
            label,
            _get_object_url(problem.stream, target_id) if target_id and label else "",
        )


def list_settings(source_settings: SourceObject) -> list[SettingRow]:
    return [
        SettingRow(str(label_for_field(SETTING_COLUMNS[name], Shop)), _format(theirs), _format(ours))
        for name, theirs, ours in compare_settings(source_settings)
    ]


def _format(value: object) -> str:
    return (_("Yes") if value else _("No")) if isinstance(value, bool) else str(value) or "–"


def _find_list_url(request: HttpRequest, name: str) -> str:
    model = _get_panel_model(name)
    return get_list_url(request, model) if admin.site.is_registered(model) else ""


def _get_labels(name: str, ids: Iterable[int]) -> Mapping[int, str]:
    """Return the names of the objects with pages in the panel, by ID."""
    model = _get_panel_model(name)
    if not admin.site.is_registered(model):
        return {}
    return {pk: str(row) for pk, row in model._default_manager.in_bulk(list(ids)).items()}


def _get_panel_model(name: str) -> type[Model]:
    return _PANEL_MODELS.get(name, streams[name].model)


def _get_object_url(name: str, target_id: int) -> str:
    model = _get_panel_model(name)
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[target_id])
