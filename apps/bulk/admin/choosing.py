"""From a list to an edit: of the rows that are ticked, or of all that its filters and its search find."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.bulk.domain import edits
from apps.bulk.domain.kinds import kind_of
from apps.bulk.kinds import KINDS
from apps.ground import languages
from apps.ground.rows import ShopOwned
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.extensions import add_action, add_list_header
from apps.panel.screens.paging import COUNTED
from apps.panel.screens.searching import cut_of

MANY_FOUND = gettext_lazy(
    "The search finds more than {limit} rows, and a list shows no more of them. Narrow it with a filter first."
)
CUT = gettext_lazy("The search shows only some of the rows that it finds. Narrow it with another word first.")
TOO_MANY = gettext_lazy("These are more than {limit} rows. Narrow the list with a filter first.")


@admin.action(description=gettext_lazy("Edit the chosen…"))
def edit_chosen(
    screen: ShopOwnedAdmin[ShopOwned], request: HttpRequest, queryset: QuerySet[ShopOwned]
) -> HttpResponse | None:
    """Keep which rows are to be changed, and lead to the form that asks how."""
    ids = list(queryset.order_by("pk").values_list("pk", flat=True)[: edits.MOST + 1])
    refusal = ""
    if request.POST.get("select_across") == "1" and cut_of(request):
        refusal = str(CUT)
    elif request.GET.get("q") and len(ids) >= COUNTED:
        refusal = MANY_FOUND.format(limit=languages.count(COUNTED))
    elif len(ids) > edits.MOST:
        refusal = TOO_MANY.format(limit=languages.count(edits.MOST))
    elif not ids:
        refusal = _("There is nothing to edit: the rows are gone.")
    if refusal:
        screen.message_user(request, refusal, messages.ERROR)
        return None
    edit = edits.choose(kind_of(screen.model), ids, actor=screen.actor(request), at=timezone.now())
    return HttpResponseRedirect(reverse("admin:bulk_bulkedit_change", args=[edit.pk]))


for kind in KINDS:
    add_action(kind.model, edit_chosen, permission=kind.permission)
    add_list_header(kind.model, "panel/bulk/list_header.html")
