"""Bulk edits in the panel: say what is to be done, look at the first rows, let it be done, read the report, undo."""

from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.bulk.admin.forms import EditForm, in_words
from apps.bulk.admin.telling import told
from apps.bulk.domain import edits
from apps.bulk.domain.kinds import all_kinds, named
from apps.bulk.models import BulkEdit, EditedRow
from apps.ground import languages
from apps.ground.attrs import Attrs
from apps.ground.cells import Writer
from apps.ground.errors import DomainError
from apps.jobs.domain.waiting import unfinished, waits_since
from apps.panel import wording
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import posted
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.theme import display
from apps.staff.domain.actors import name_of

VIEW = "bulk.view_bulkedit"
SHOWN = 200
State, Fate = BulkEdit.State, EditedRow.Fate
LABELS: dict[str, str] = {
    State.DRAFT: "warning",
    State.RUNNING: "info",
    State.DONE: "success",
    State.STOPPED: "default",
    State.FAILED: "danger",
    State.UNDOING: "info",
    State.UNDONE: "default",
}


@admin.register(BulkEdit)
class BulkEditAdmin(ReadOnly, ShopOwnedAdmin[BulkEdit]):
    """What was changed in bulk, by whoever may change such rows."""

    menu = Menu(
        "Activity",
        "edit_note",
        25,
        gettext_lazy("Bulk edits"),
        words=pgettext_lazy("search", "many, several, mass, batch, price change, undo"),
    )
    intro = gettext_lazy(
        "Many rows changed at once. Begin in the list of products, variants, customers or orders: tick rows, or narrow "
        "the list, and choose Edit."
    )
    empty_text = gettext_lazy("Nothing was changed in bulk lately.")
    list_display = ("what", "change", "total", "status", "created_at", "finished_at")
    list_display_links = ("what",)
    list_filter = ("state",)
    ordering = ("-id",)
    sortable_by = ()
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[BulkEdit]:
        """In the list those of the kinds that the person may see, without the ids of their rows."""
        rows = super().get_queryset(request)
        if request.resolver_match and request.resolver_match.url_name == "bulk_bulkedit_changelist":
            mine = [kind.name for kind in all_kinds() if may(request, kind.view_permission)]
            return rows.filter(kind__in=mine).defer("ids")
        return rows

    def has_view_permission(self, request: HttpRequest, obj: BulkEdit | None = None) -> bool:
        """Whoever may see what was changed of such rows."""
        return may(request, VIEW) and (obj is None or may(request, named(obj.kind).view_permission))

    @display(description=gettext_lazy("What"))
    def what(self, edit: BulkEdit) -> str:
        """The kind of the rows."""
        return edit.kind_label

    @display(description=gettext_lazy("Change"))
    def change(self, edit: BulkEdit) -> str:
        """What is done to them."""
        return "; ".join(in_words(edit.operations)) or "–"

    @display(description=gettext_lazy("State"), label=LABELS)
    def status(self, edit: BulkEdit) -> tuple[str, str]:
        """Where it stands."""
        return edit.state, edit.get_state_display()

    def get_urls(self) -> list[URLPattern]:
        """Looking at a change, beginning, stopping and undoing it, and the report as a file."""
        return [
            self.action_url("<path:object_id>/plan/", self.plan_view, "plan", keyed=True),
            self.action_url("<path:object_id>/start/", self.start_view, "start", keyed=True),
            self.action_url("<path:object_id>/stop/", self.stop_view, "stop", keyed=True),
            self.action_url("<path:object_id>/undo/", self.undo_view, "undo", keyed=True),
            self.action_url("<path:object_id>/report/", self.report_view, "report"),
            *super().get_urls(),
        ]

    def _edit(self, request: HttpRequest, object_id: str, *, reading: bool = False) -> BulkEdit:
        """The edit, for whoever may change such rows; for ``reading``, whoever may see what was changed of them."""
        require(request, VIEW)
        edit: BulkEdit = self.row_or_404(request, object_id)
        kind = named(edit.kind)
        require(request, kind.view_permission if reading else kind.permission)
        return edit

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Attrs | None = None
    ) -> HttpResponse:
        """The form with what would become of the first rows; or the progress and the report."""
        edit = self._edit(request, object_id, reading=True)
        may_change = may(request, named(edit.kind).permission)
        if edit.state == State.DRAFT and may_change:
            return self._draft(request, edit, EditForm(None, kind=named(edit.kind), operations=edit.operations))
        live = edit.state in {State.RUNNING, State.UNDOING}
        rows = EditedRow.objects.filter(edit=edit, dry=False)
        counted = dict(rows.order_by().values_list("fate").annotate(Count("pk")))
        return self.page(
            request,
            "panel/bulk/report.html",
            f"{edit}",
            original=edit,
            badge=LABELS[edit.state],
            who=name_of(edit.actor),
            operations=in_words(edit.operations),
            done=sum(counted.values()),
            counts=[(fate.label, counted[fate]) for fate in Fate if fate in counted],
            left=told(rows.filter(fate__in=(Fate.REFUSED, Fate.KEPT)).order_by("row_id")[:SHOWN]),
            changed=told(rows.filter(fate__in=(Fate.CHANGED, Fate.UNDONE)).order_by("row_id")[: edits.PREVIEW]),
            live=live,
            waits=waits_since(unfinished(edits.RUN, edits.UNDO_TASK, edit_id=edit.pk)) if live else None,
            may_stop=may_change and edit.state == State.RUNNING,
            may_undo=may_change and edit.state in {State.DONE, State.STOPPED, State.FAILED} and Fate.CHANGED in counted,
        )

    def _draft(self, request: HttpRequest, edit: BulkEdit, form: EditForm) -> HttpResponse:
        planned = edit.operations and not form.is_bound
        return self.page(
            request,
            "panel/bulk/draft.html",
            _("Edit {number} {rows}").format(number=languages.count(edit.total), rows=_noun(edit)),
            original=edit,
            form=form,
            noun=_noun(edit),
            operations=in_words(edit.operations) if planned else [],
            preview=told(EditedRow.objects.filter(edit=edit, dry=True).order_by("row_id")) if planned else [],
        )

    def plan_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Keep what is to be done, and show the first rows; what does not fit comes back with the form."""
        edit = self._edit(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        form = EditForm(posted(request), kind=named(edit.kind), operations=edit.operations)
        if edit.state == State.DRAFT and not form.is_valid():
            return self._draft(request, edit, form)
        if edit.state == State.DRAFT:
            edits.plan(edit, form.operations(), **self.by(request))
        return HttpResponseRedirect(f"{self.url('change', edit.pk)}#preview")

    def start_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let it be done."""
        return self._move(request, object_id, "start")

    def stop_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Leave the rest as it is."""
        return self._move(request, object_id, "stop")

    def undo_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Put back what nobody has changed since."""
        return self._move(request, object_id, "undo")

    def _move(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        edit = self._edit(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        move = {"start": edits.start, "stop": edits.stop, "undo": edits.undo}[name]
        try:
            move(edit, **self.by(request))
        except DomainError as refusal:
            self.message_user(request, wording.in_words(refusal), messages.ERROR)
        return HttpResponseRedirect(self.url("change", edit.pk))

    def report_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Every row and what became of it, as CSV."""
        edit = self._edit(request, object_id, reading=True)
        response = HttpResponse("\ufeff", content_type="text/csv; charset=utf-8")
        response["Content-Disposition"] = f'attachment; filename="bulk-edit-{edit.pk}.csv"'
        add_never_cache_headers(response)
        blank = _("(blank)")
        writer = Writer(response, ("id", "name", "result", "reason", "changes"))
        for row in EditedRow.objects.filter(edit=edit, dry=False).order_by("row_id").iterator():
            changes = "; ".join(f"{_(name)}: {old or blank} → {new or blank}" for name, old, new in row.changes)
            values = {"id": row.row_id, "name": row.label, "result": row.get_fate_display()}
            writer.write({**values, "reason": row.reason, "changes": changes})
        return response


def _noun(edit: BulkEdit) -> str:
    """What the rows are called within a sentence."""
    names = named(edit.kind).model._meta
    return str(names.verbose_name if edit.total == 1 else names.verbose_name_plural)
