"""From a list to an edit: of the rows that are ticked, or of all that its filters and its search find."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy

from apps.bulk.domain import edits
from apps.bulk.domain.kinds import kind_of
from apps.bulk.kinds import KINDS
from apps.ground.rows import ShopOwned
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.screens.choosing import RowsRefused, chosen_ids
from apps.panel.screens.extensions import add_action, add_list_header
from apps.panel.wording import in_words


@admin.action(description=gettext_lazy("Edit the chosen…"))
def edit_chosen(
    screen: ShopOwnedAdmin[ShopOwned], request: HttpRequest, queryset: QuerySet[ShopOwned]
) -> HttpResponse | None:
    """Keep which rows are to be changed, and lead to the form that asks how."""
    try:
        ids = chosen_ids(request, queryset, most=edits.MOST)
    except RowsRefused as refusal:
        screen.message_user(request, in_words(refusal), messages.ERROR)
        return None
    edit = edits.choose(kind_of(screen.model), ids, actor=screen.actor(request), at=timezone.now())
    return HttpResponseRedirect(reverse("admin:bulk_bulkedit_change", args=[edit.pk]))


for kind in KINDS:
    add_action(kind.model, edit_chosen, permission=kind.permission)
    add_list_header(kind.model, "panel/bulk/list_header.html")
