"""Imports in the panel: upload a file, look at it, say what its columns mean, confirm, read the report."""

import io
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice

from django.contrib import admin, messages
from django.db.models import Count
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.exchange.admin.forms import UploadForm
from apps.exchange.admin.naming import named_rows
from apps.exchange.admin.telling import told
from apps.exchange.domain import imports
from apps.exchange.domain.columns import suggested
from apps.exchange.domain.kinds import Kind, importers, named
from apps.exchange.domain.parsing import UnreadableFile
from apps.exchange.kinds.orders import ORDERS
from apps.exchange.models import Format, Import, ImportedRow
from apps.ground import languages
from apps.ground.attrs import Attrs
from apps.ground.cells import Writer
from apps.ground.errors import DomainError
from apps.jobs.domain.waiting import unfinished, waits_since
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import posted
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.theme import display
from apps.panel.wording import in_words

IMPORT, VIEW_IMPORT = "exchange.add_import", "exchange.view_import"
SHOWN_FATES = 500
_NAMED_AT_ONCE = 500
FATES = ImportedRow.Fate


@admin.register(Import)
class ImportAdmin(ReadOnly, ShopOwnedAdmin[Import]):
    """Files that came in: checked first, imported after a yes, each row with its fate."""

    menu = Menu(
        "Sales",
        "upload",
        70,
        gettext_lazy("Imports"),
        words=pgettext_lazy(
            "search", "csv, excel, upload, spreadsheet, migration, import products, import customers, import orders"
        ),
    )
    intro = gettext_lazy(
        "Bring orders, products and customers from elsewhere. A file is checked; nothing changes before you agree."
    )
    empty_text = gettext_lazy("Nothing was imported yet. Upload a file with the button above.")
    list_display = ("name", "status", "progress", "created_at", "finished_at")
    list_before_template = "panel/exchange/imports.html"
    ordering = ("-id",)
    actions = None

    @display(
        description=gettext_lazy("State"),
        label={"done": "success", "checked": "warning", "checking": "info", "importing": "info", "failed": "danger"},
    )
    def status(self, kept: Import) -> tuple[str, str]:
        """Where it stands."""
        return kept.state, kept.get_state_display()

    @display(description=gettext_lazy("Rows"))
    def progress(self, kept: Import) -> str:
        """How far it is."""
        return _("{done} of {total}").format(done=kept.done, total=kept.total) if kept.total else str(kept.done)

    def get_urls(self) -> list[URLPattern]:
        """Uploading, confirming, and the report as a file."""
        return [
            self.action_url("upload/", self.upload_view, "upload", keyed=True),
            self.action_url("sample/", self.sample_view, "sample"),
            self.action_url("<path:object_id>/columns/", self.columns_view, "columns", keyed=True),
            self.action_url("<path:object_id>/confirm/", self.confirm_view, "confirm", keyed=True),
            self.action_url("<path:object_id>/report/", self.report_view, "report"),
            *super().get_urls(),
        ]

    def upload_view(self, request: HttpRequest) -> HttpResponse:
        """Take a file in to be checked."""
        require(request, IMPORT)
        form = UploadForm(posted(request), request.FILES or None)
        if request.method == "POST" and form.is_valid():
            actor, file = self.actor(request), form.cleaned_data["file"]
            try:
                kept = imports.keep(file, file.name, actor=actor, at=timezone.now())
            except DomainError as refusal:
                form.add_error("file", in_words(refusal))
            else:
                imports.ask_for_check(kept, actor=actor)
                return HttpResponseRedirect(self.url("change", kept.pk))
        kinds = [named(name) for name, importer in importers().items() if may(request, importer.permission)]
        context = {"form": form, "button": _("Upload and check"), "multipart": True, "kinds": kinds}
        return self.page(request, "panel/exchange/upload.html", _("Import orders, products and customers"), **context)

    def sample_view(self, request: HttpRequest) -> HttpResponse:
        """A small table of a kind, which comes in as it is."""
        require(request, IMPORT)
        kind = request.GET.get("kind", ORDERS.name)
        importer = importers().get(kind)
        if importer is None:
            raise Http404(_("There is no such kind"))
        response = _table(f"{kind}-sample.csv")
        writer = Writer(response, [name for name in importer.columns if any(name in row for row in importer.sample)])
        for row in importer.sample:
            writer.write(row)
        return response

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Attrs | None = None
    ) -> HttpResponse:
        """The preview, the progress, or the report."""
        require(request, VIEW_IMPORT)
        kept: Import = self.row_or_404(request, object_id)
        dry = kept.state in {Import.State.CHECKING, Import.State.CHECKED}
        rows = ImportedRow.objects.filter(file=kept, dry=dry)
        counted = kept.counts if dry else dict(rows.order_by().values_list("fate").annotate(Count("pk")))
        return self.page(
            request,
            "panel/exchange/import.html",
            _("Import of {name}").format(name=kept),
            original=kept,
            dry=dry,
            waits=_waits_since(kept),
            counts=[(str(fate.label), counted.get(fate.value, 0)) for fate in FATES],
            foreseen=_foreseen(counted),
            following=importers()[kind].following if (kind := _first_kind(kept)) in importers() else (),
            to_import=counted.get(FATES.NEW, 0) + counted.get(FATES.CHANGED, 0),
            failures=told(rows.filter(fate=FATES.FAILED).order_by("line")[:SHOWN_FATES]),
            preview=told(named_rows(rows.exclude(fate=FATES.FAILED).order_by("line")[: imports.PREVIEW], request)),
            notes=told(
                named_rows(
                    rows.filter(fate__in=(FATES.NEW, FATES.CHANGED)).exclude(reason="").order_by("line")[:SHOWN_FATES],
                    request,
                )
            ),
            may_confirm=may(request, IMPORT) and kept.state == Import.State.CHECKED and not kept.problem,
            may_map=may(request, IMPORT) and kept.state == Import.State.CHECKED and kept.format == Format.CSV,
        )

    def columns_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Say what the columns of a table mean; it is checked again after that."""
        require(request, IMPORT)
        kept: Import = self.row_or_404(request, object_id)
        if kept.state != Import.State.CHECKED or kept.format != Format.CSV:
            return HttpResponseRedirect(self.url("change", kept.pk))
        try:
            columns = imports.columns_of(kept)
        except UnreadableFile as error:
            self.message_user(request, str(error), messages.ERROR)
            return HttpResponseRedirect(self.url("change", kept.pk))
        kinds = [named(name) for name, importer in importers().items() if may(request, importer.permission)]
        kind = _asked(request, kept, kinds)
        chosen = _chosen(request, kept, kind, list(columns))
        if request.method == "POST":
            names = dict(zip(columns, chosen, strict=True))
            try:
                imports.map_columns(kept, kind=kind.name, names=names, actor=self.actor(request), at=timezone.now())
            except DomainError as refusal:
                self.message_user(request, in_words(refusal), messages.ERROR)
            else:
                return HttpResponseRedirect(self.url("change", kept.pk))
        rows = [
            (number, column, name, samples)
            for number, ((column, samples), name) in enumerate(zip(columns.items(), chosen, strict=True))
        ]
        context = {"original": kept, "kinds": kinds, "kind": kind, "columns": rows}
        return self.page(
            request, "panel/exchange/columns.html", _("What the columns of {name} mean").format(name=kept), **context
        )

    def confirm_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Import what was checked."""
        require(request, IMPORT)
        kept: Import = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        try:
            imports.confirm(
                kept, without_unknown="without_unknown" in request.POST, actor=self.actor(request), at=timezone.now()
            )
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
        else:
            self.message_user(request, _("The import has begun; this page shows how far it is."), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", kept.pk))

    def report_view(self, request: HttpRequest, object_id: str) -> FileResponse:
        """Every row and its fate, as CSV."""
        require(request, VIEW_IMPORT)
        kept: Import = self.row_or_404(request, object_id)
        columns = ("line", "kind", "fate", "label", "reason")
        dry = kept.state in {Import.State.CHECKING, Import.State.CHECKED}
        rows = ImportedRow.objects.filter(file=kept, dry=dry).order_by("line")
        # On disk, and sent from there: a file may have a million rows.
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        writer = Writer(text, columns)
        noted = rows.iterator(chunk_size=_NAMED_AT_ONCE)
        while some := list(islice(noted, _NAMED_AT_ONCE)):
            for row in named_rows(some, request):
                writer.write({name: getattr(row, name) for name in columns})
        text.detach()
        file.seek(0)
        response = FileResponse(file, as_attachment=True, filename=f"import-{kept.pk}.csv")
        response["Content-Type"] = "text/csv; charset=utf-8"
        add_never_cache_headers(response)
        return response


def _foreseen(counted: Mapping[str, int]) -> str:
    """What would become of how many rows, in words."""
    new, changed, skipped, failed = (counted.get(fate.value, 0) for fate in FATES)
    said = (
        (new, ngettext("{number} is new", "{number} are new", new)),
        (changed, ngettext("{number} changes what is there", "{number} change what is there", changed)),
        (skipped, ngettext("{number} is skipped", "{number} are skipped", skipped)),
        (failed, ngettext("{number} fails and is left out", "{number} fail and are left out", failed)),
    )
    return ", ".join(words.format(number=languages.count(number)) for number, words in said if number)


def _waits_since(kept: Import) -> datetime | None:
    """Since when a file waits for a worker to go on with it."""
    working = kept.state in {Import.State.CHECKING, Import.State.IMPORTING}
    return waits_since(unfinished(imports.CHECK, imports.RUN, import_id=kept.pk)) if working else None


def _table(name: str) -> HttpResponse:
    """The beginning of a table to download; it says its encoding to spreadsheets."""
    response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    add_never_cache_headers(response)
    return response


def _asked(request: HttpRequest, kept: Import, kinds: Sequence[Kind]) -> Kind:
    """The kind that the rows of a table are said to be of."""
    name = request.GET.get("kind") or (kept.mapping or {}).get("kind") or _first_kind(kept)
    return next((kind for kind in kinds if kind.name == name), kinds[0])


def _first_kind(kept: Import) -> str:
    """What the check took its rows for; blank where it could not tell."""
    row = ImportedRow.objects.filter(file=kept).exclude(kind="").order_by("line").first()
    return row.kind if row else ""


def _chosen(request: HttpRequest, kept: Import, kind: Kind, columns: Sequence[str]) -> list[str]:
    """What each column means: as it was just sent, as it was said before, or as its name suggests."""
    if request.method == "POST":
        return [request.POST.get(f"column-{number}", "") for number in range(len(columns))]
    said = kept.mapping or {}
    if said.get("kind") == kind.name:
        return [said["columns"].get(column, "") for column in columns]
    assert kind.importer is not None
    return suggested(columns, kind.importer)
