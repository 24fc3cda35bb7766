"""Panel pages for imports: upload a file, check the preview, map columns, confirm, and read the report."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from django.contrib import admin, messages
from django.core.files.storage import default_storage
from django.db.models import Count
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import get_post_data
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import extra_view, row_view
from apps.core.admin.pages.first_steps import FirstStep, first_steps
from apps.core.admin.permissions import MissingPermission, has_permission
from apps.core.admin.theme import display
from apps.core.exceptions import DomainError
from apps.core.i18n import formats
from apps.core.i18n.error_messages import format_bytes
from apps.core.i18n.messages import translate
from apps.core.jobs.metrics import Stall, find_active_job, find_stall
from apps.core.types import Attrs
from apps.imports_exports.admin.csv_response import create_csv_response
from apps.imports_exports.admin.forms import MAX_UPLOAD_BYTES, UploadForm
from apps.imports_exports.admin.outcomes import describe_outcome, find_corrected_import, get_unmapped_columns
from apps.imports_exports.admin.result_display import add_labels_and_links, display_rows, format_reason
from apps.imports_exports.domain import imports, saved_mappings
from apps.imports_exports.domain.column_mapping import ColumnMapping, suggest_columns
from apps.imports_exports.domain.csv_reader import UnreadableFile
from apps.imports_exports.domain.formats.encodings import CHOICES
from apps.imports_exports.domain.resources import Resource, get_importers, resources
from apps.imports_exports.domain.rows import WITH_NOTES
from apps.imports_exports.models import Import, ImportedRow, SavedMapping
from apps.imports_exports.resources.orders import ORDERS
from apps.imports_exports.resources.products.redirects import find_changed_paths, has_changed_paths
from apps.imports_exports.resources.redirects import FROM, TO

IMPORT, VIEW_IMPORT = "imports_exports.add_import", "imports_exports.view_import"
MAX_SHOWN_RESULTS = 500
_BATCH_SIZE = 500
RESULTS = ImportedRow.Fate
# Small example files, which can be imported as they are. Their BOM lets spreadsheets detect UTF-8.
_SAMPLES = Path(__file__).parents[1] / "resources/samples"


@admin.register(Import)
class ImportAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[Import]):
    """Admin for imports. A file is validated, and imported after staff confirm the preview. Each row has a result."""

    menu = MenuItem("Settings", "upload", 70, gettext_lazy("Imports"))
    search_terms = pgettext_lazy(
        "search", "csv, excel, upload, spreadsheet, migration, import products, import customers, import orders"
    )
    intro = gettext_lazy(
        "Import orders, products, inventory, customers, gift cards, metafields, pages and redirects from other "
        "systems. Files are validated first. Nothing is imported until you confirm."
    )
    empty_text = gettext_lazy("No imports yet. To start, choose Upload file…")
    list_display = ("name", "status", "progress", "created_at", "finished_at")
    list_before_template = "panel/imports_exports/imports.html"
    list_notice_template = "panel/list_workers.html"
    ordering = ("-id",)
    actions = None

    @display(
        description=gettext_lazy("Status"),
        label={"done": "success", "checked": "warning", "checking": "info", "importing": "info", "failed": "danger"},
    )
    def status(self, import_job: Import) -> tuple[str, str]:
        return import_job.state, import_job.get_state_display()

    @display(description=gettext_lazy("Rows"))
    def progress(self, import_job: Import) -> str:
        text = _("{done} of {total}") if import_job.total else "{done}"
        return text.format(done=import_job.done, total=import_job.total)

    @extra_view("upload/", IMPORT, keyed=True)
    def upload_view(self, request: HttpRequest) -> HttpResponse:
        """Save an uploaded file and enqueue its validation. A corrected file keeps the mapping of the import."""
        form, corrected = UploadForm(get_post_data(request), request.FILES or None), find_corrected_import(request)
        if request.method == "POST" and form.is_valid():
            actor, file = self.actor(request), form.cleaned_data["file"]
            try:
                import_job = imports.save_upload(file, file.name, actor=actor, at=timezone.now())
            except DomainError as error:
                form.add_error("file", format_errors(error))
            else:
                if corrected is not None and not imports.keep_mapping(import_job, corrected):
                    text = _("The file has other columns, so the column mapping of {name} was not kept.")
                    self.message_user(request, text.format(name=corrected), messages.WARNING)
                imports.enqueue_validation(import_job, actor=actor)
                query = f"?kind={kind}" if (kind := request.GET.get("kind")) in get_importers() else ""
                return HttpResponseRedirect(f"{self.url('change', import_job.pk)}{query}")
        kinds, title = _get_allowed_resources(request), _("Import a file")
        context = {"form": form, "button": _("Upload and validate"), "kinds": kinds, "corrected": corrected}
        context |= {"max_bytes": MAX_UPLOAD_BYTES, "max_size": format_bytes(MAX_UPLOAD_BYTES)}
        return self.page(request, "panel/imports_exports/upload.html", title, **context)

    @extra_view("sample/", IMPORT)
    def sample_view(self, request: HttpRequest) -> HttpResponse:
        """Return a small example CSV file for a resource. The file can be imported unchanged."""
        kind = request.GET.get("kind", ORDERS.name)
        if kind not in get_importers():
            raise Http404(_("This resource does not exist"))
        response = HttpResponse((_SAMPLES / f"{kind}.csv").read_bytes(), content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="{kind}-sample.csv"'
        add_never_cache_headers(response)
        return response

    @row_view("change/", VIEW_IMPORT, name="change")
    def detail_view(self, request: HttpRequest, import_job: Import) -> HttpResponse:
        """Show the preview, the progress, or the report of an import."""
        is_preview = import_job.state in {Import.State.CHECKING, Import.State.CHECKED}
        rows = ImportedRow.objects.filter(file=import_job, dry=is_preview).order_by("line")
        previewed = rows.exclude(fate=RESULTS.FAILED)[: imports.PREVIEW_ROWS]
        noted = rows.filter(WITH_NOTES)[:MAX_SHOWN_RESULTS]
        is_confirmable = has_permission(request, IMPORT) and import_job.state == Import.State.CHECKED
        counts = import_job.counts if is_preview else dict(rows.order_by().values_list("fate").annotate(Count("pk")))
        failures = display_rows(rows.filter(fate=RESULTS.FAILED)[:MAX_SHOWN_RESULTS])
        return self.page(
            request,
            "panel/imports_exports/import.html",
            _("Import of {name}").format(name=import_job),
            original=import_job,
            dry=is_preview,
            waits=_find_stall(import_job),
            counts=[(str(row_result.label), counts.get(row_result.value, 0)) for row_result in RESULTS],
            foreseen=_describe_counts(counts),
            following=_get_computed_columns(import_job) if is_confirmable else (),
            to_import=counts.get(RESULTS.NEW, 0) + counts.get(RESULTS.CHANGED, 0),
            failures=failures,
            outcome=describe_outcome(import_job, counts, failures, is_preview=is_preview),
            may_upload=has_permission(request, IMPORT),
            preview=display_rows(add_labels_and_links(previewed, request)),
            notes=display_rows(add_labels_and_links(noted, request)),
            has_redirects=has_changed_paths(import_job),
            has_refused_rows=bool(import_job.refused_file) and _may_see_refused_rows(request, import_job),
            may_confirm=is_confirmable and not import_job.problem,
            may_map=is_confirmable and import_job.has_table,
            fitting=_find_fitting_mapping(import_job) if is_confirmable else None,
            **_get_encoding_context(import_job, is_confirmable=is_confirmable),
            **(_get_column_context(request, import_job) if is_confirmable else {}),
        )

    @row_view("encoding/", IMPORT, post_only=True, keyed=True)
    def encoding_view(self, request: HttpRequest, import_job: Import) -> HttpResponse:
        """Read a CSV file in another encoding. The file is validated again."""
        try:
            encoding = request.POST.get("encoding", "")
            imports.choose_encoding(import_job, encoding=encoding, **self.event_kwargs(request))
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        return HttpResponseRedirect(self.url("change", import_job.pk))

    @row_view("columns/", IMPORT, keyed=True)
    def columns_view(self, request: HttpRequest, import_job: Import) -> HttpResponse:
        """Map the columns of a table. The file is validated again with the new mapping."""
        if import_job.state != Import.State.CHECKED or not import_job.has_table:
            return HttpResponseRedirect(self.url("change", import_job.pk))
        try:
            columns = imports.get_file_columns(import_job)
        except UnreadableFile as error:
            self.message_user(request, translate(str(error)), messages.ERROR)
            return HttpResponseRedirect(self.url("change", import_job.pk))
        kinds = _get_allowed_resources(request)
        kind = _get_selected_resource(request, import_job, kinds)
        saved = _get_saved_mapping(request, import_job, list(columns))
        if saved is not None and not request.GET.get("kind"):
            kind = next((other for other in kinds if other.name == saved.mapping["kind"]), kind)
        mapping = _get_current_mapping(import_job, saved, kind)
        selected = _get_selected_columns(request, mapping, kind, list(columns))
        copies = _get_copies(request, mapping, list(columns))
        if request.method == "POST":
            names = dict(zip(columns, selected, strict=True))
            second_names = dict(zip(columns, copies, strict=True))
            save_as = request.POST.get("save_as", "").replace("\x00", "")
            event = self.event_kwargs(request)
            try:
                imports.map_columns(
                    import_job, kind=kind.name, names=names, copies=second_names, save_as=save_as, **event
                )
            except DomainError as domain_error:
                self.message_user(request, format_errors(domain_error), messages.ERROR)
            else:
                return HttpResponseRedirect(self.url("change", import_job.pk))
        rows = [
            (number, column, name, samples, copy)
            for number, ((column, samples), name, copy) in enumerate(
                zip(columns.items(), selected, copies, strict=True)
            )
        ]
        context = {"original": import_job, "kinds": kinds, "kind": kind, "columns": rows, "saved": saved}
        context |= {"mappings": SavedMapping.objects.all(), "save_as": request.POST.get("save_as", "")}
        context["choices"] = _get_column_choices(kind)
        title = _("Column mapping for {name}").format(name=import_job)
        return self.page(request, "panel/imports_exports/columns.html", title, **context)

    @row_view("delete-mapping/", IMPORT, post_only=True, keyed=True)
    def delete_mapping_view(self, request: HttpRequest, import_job: Import) -> HttpResponse:
        """Delete a saved column mapping, and show the columns of the import again."""
        saved = _find_mapping(request.POST.get("saved", ""))
        if saved is not None:
            saved_mappings.delete_mapping(saved, **self.event_kwargs(request))
            self.message_user(request, _("The column mapping {name} was deleted.").format(name=saved), messages.SUCCESS)
        return HttpResponseRedirect(self.url("columns", import_job.pk))

    @row_view("confirm/", IMPORT, post_only=True, keyed=True)
    def confirm_view(self, request: HttpRequest, import_job: Import) -> HttpResponse:
        try:
            imports.start_import(
                import_job,
                without_unknown="without_unknown" in request.POST,
                has_checked_encoding="has_checked_encoding" in request.POST,
                **self.event_kwargs(request),
            )
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            self.message_user(request, _("Import started. This page shows the progress."), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", import_job.pk))

    @row_view("report/", VIEW_IMPORT)
    def report_view(self, request: HttpRequest, import_job: Import) -> FileResponse:
        """Return a CSV file with the result of every row, and the reason in the user's language."""
        columns = ("line", "fate", "reason", "kind", "label")
        is_preview = import_job.state in {Import.State.CHECKING, Import.State.CHECKED}
        rows = ImportedRow.objects.filter(file=import_job, dry=is_preview).order_by("line")

        def iterate_cells() -> Iterator[Mapping[str, object]]:
            row_iterator = rows.iterator(chunk_size=_BATCH_SIZE)
            while batch := list(islice(row_iterator, _BATCH_SIZE)):
                for row in add_labels_and_links(batch, request):
                    yield {name: getattr(row, name) for name in columns} | {"reason": format_reason(row)}

        return create_csv_response(f"import-{import_job.pk}.csv", columns, iterate_cells())

    @row_view("refused/", IMPORT)
    def refused_view(self, request: HttpRequest, import_job: Import) -> FileResponse:
        """Return the refused rows in the format of the imported file, each with the reason."""
        if not _may_see_refused_rows(request, import_job):
            raise MissingPermission(*_get_refused_permissions(import_job))
        name = f"refused-{import_job.pk}.{import_job.format}"
        try:
            file = default_storage.open(import_job.refused_file) if import_job.refused_file else None
        except FileNotFoundError:
            file = None
        if file is None:
            raise Http404(_("The file of refused rows no longer exists"))
        response = FileResponse(file, as_attachment=True, filename=name)
        add_never_cache_headers(response)
        return response

    @row_view("redirects/", VIEW_IMPORT)
    def redirects_view(self, request: HttpRequest, import_job: Import) -> FileResponse:
        """Return a CSV file with a redirect for each product that could not keep its handle."""
        paths = find_changed_paths(import_job)
        rows = ({FROM: old, TO: new} for old, new in paths)
        return create_csv_response(f"redirects-{import_job.pk}.csv", (FROM, TO), rows)


def _get_refused_permissions(import_job: Import) -> list[str]:
    """Return the permissions to import the resources of the refused rows, which the file contains."""
    failed = ImportedRow.objects.filter(file=import_job, dry=False, fate=RESULTS.FAILED).order_by()
    kinds = set(failed.values_list("kind", flat=True).distinct())
    return [importer.permission for name, importer in get_importers().items() if name in kinds or "" in kinds]


def _may_see_refused_rows(request: HttpRequest, import_job: Import) -> bool:
    needed = [IMPORT, *_get_refused_permissions(import_job)]
    return all(has_permission(request, permission) for permission in needed)


def _get_encoding_context(import_job: Import, *, is_confirmable: bool) -> Attrs:
    """Return texts by which staff can check a guessed encoding, and the encodings to choose from."""
    is_choosable = is_confirmable and import_job.has_guessed_encoding
    return {
        "special_cells": imports.get_special_cells(import_job) if is_choosable else [],
        "encodings": CHOICES if is_choosable else [],
    }


def _get_column_context(request: HttpRequest, import_job: Import) -> Attrs:
    """Return the columns of a table that must be mapped first, and what the file may contain."""
    kinds = _get_allowed_resources(request)
    columns = get_unmapped_columns(import_job) if kinds else {}
    selected = _get_selected_resource(request, import_job, kinds).name if columns else ""
    return {"file_columns": columns, "kinds": kinds, "selected": selected}


def _describe_counts(counts: Mapping[str, int]) -> str:
    new, changed, skipped, failed = (counts.get(row_result.value, 0) for row_result in RESULTS)
    parts = (
        (new, ngettext("{number} new", "{number} new", new)),
        (changed, ngettext("{number} changed", "{number} changed", changed)),
        (skipped, ngettext("{number} skipped", "{number} skipped", skipped)),
        (failed, ngettext("{number} with errors", "{number} with errors", failed)),
    )
    return ", ".join(text.format(number=formats.format_integer(number)) for number, text in parts if number)


def _find_stall(import_job: Import) -> Stall | None:
    if import_job.state not in {Import.State.CHECKING, Import.State.IMPORTING}:
        return None
    return find_stall(find_active_job(imports.VALIDATE_TASK, imports.RUN_TASK, import_id=import_job.pk))


def _get_allowed_resources(request: HttpRequest) -> list[Resource]:
    importers = get_importers().items()
    return [resources[name] for name, importer in importers if has_permission(request, importer.permission)]


def _get_computed_columns(import_job: Import) -> Sequence[str]:
    """Return the file's columns that are not imported because Backoffice computes their values."""
    importer = get_importers().get(_get_first_resource(import_job))
    if importer is None or not importer.computed_columns or not import_job.has_table:
        return importer.computed_columns if importer else ()
    try:
        columns = imports.get_file_columns(import_job)
    except UnreadableFile:
        return ()
    return [name for name in importer.computed_columns if name in columns]


def _get_selected_resource(request: HttpRequest, import_job: Import, kinds: Sequence[Resource]) -> Resource:
    name = request.GET.get("kind") or (import_job.mapping or {}).get("kind") or _get_first_resource(import_job)
    return next((kind for kind in kinds if kind.name == name), kinds[0])


def _get_first_resource(import_job: Import) -> str:
    """Return the resource of the first row with a known resource, or an empty string."""
    row = ImportedRow.objects.filter(file=import_job).exclude(kind="").order_by("line").first()
    return row.kind if row else ""


def _get_column_choices(kind: Resource) -> list[tuple[str, str]]:
    """Return the importable columns with their labels, sorted by label."""
    assert kind.importer is not None
    choices = [(name, kind.importer.get_label(name)) for name in kind.importer.importable_columns]
    return sorted(choices, key=lambda choice: choice[1].casefold())


def _get_selected_columns(
    request: HttpRequest, mapping: ColumnMapping | None, kind: Resource, columns: Sequence[str]
) -> list[str]:
    """Return our column name for each column in the file: the submitted name, the saved name, or a suggestion."""
    if request.method == "POST":
        return [request.POST.get(f"column-{number}", "") for number in range(len(columns))]
    if mapping is not None:
        return [mapping["columns"].get(column, "") for column in columns]
    assert kind.importer is not None
    return suggest_columns(columns, kind.importer)


def _get_copies(request: HttpRequest, mapping: ColumnMapping | None, columns: Sequence[str]) -> list[str]:
    """Return the second name of each column in the file, or an empty string."""
    if request.method == "POST":
        return [request.POST.get(f"copy-{number}", "") for number in range(len(columns))]
    copies = mapping.get("copies", {}) if mapping is not None else {}
    return [copies.get(column, "") for column in columns]


def _get_current_mapping(import_job: Import, saved: SavedMapping | None, kind: Resource) -> ColumnMapping | None:
    """Return the mapping to show: the selected saved mapping, or the mapping of the import, if it is for this kind."""
    mapping: ColumnMapping | None = saved.mapping if saved is not None else import_job.mapping
    return mapping if mapping is not None and mapping["kind"] == kind.name else None


def _get_saved_mapping(request: HttpRequest, import_job: Import, columns: Sequence[str]) -> SavedMapping | None:
    """Return the saved mapping that the user selected, or for a file without a mapping, one for the same columns."""
    if request.method == "POST":
        return None
    if "saved" in request.GET:
        return _find_mapping(request.GET["saved"])
    return saved_mappings.find_fitting_mapping(columns) if import_job.mapping is None else None


def _find_mapping(number: str) -> SavedMapping | None:
    is_id = number.isascii() and number.isdecimal() and len(number) <= 18
    return SavedMapping.objects.filter(pk=number, mapping__kind__in=get_importers()).first() if is_id else None


def _find_fitting_mapping(import_job: Import) -> SavedMapping | None:
    """Return the saved mapping to offer for a validated file that has no mapping yet."""
    if not import_job.has_table or import_job.mapping is not None or not SavedMapping.objects.exists():
        return None
    try:
        return saved_mappings.find_fitting_mapping(list(imports.get_file_columns(import_job)))
    except UnreadableFile:
        return None


first_steps.add(
    FirstStep(
        "imports_exports_import_upload",
        gettext_lazy("Import from files"),
        gettext_lazy(
            "Upload CSV or Excel files with products, customers or orders. Nothing is saved until you confirm."
        ),
        "upload",
        IMPORT,
        Import.rows,
        order=20,
    )
)
