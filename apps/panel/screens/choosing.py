"""Which rows of a list something is to be done with: those that are ticked, or all that its filters and search find."""

from copy import copy

from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, QueryDict
from django.utils.translation import gettext as _

from apps.ground import languages
from apps.ground.errors import DomainError
from apps.ground.rows import ShopOwned
from apps.panel.screens import saved_views
from apps.panel.screens.lists import PanelChangeList
from apps.panel.screens.pages import ScreenPages
from apps.panel.screens.paging import COUNTED
from apps.panel.screens.searching import cut_of


class RowsRefused(DomainError):
    """There are none of the rows, too many, or more than a search finds."""

    code = "rows_refused"


def chosen_ids(request: HttpRequest, rows: QuerySet[ShopOwned], *, most: int) -> list[int]:
    """The ids of the rows that a bulk action is asked for, ascending.

    Raises:
        RowsRefused: There are none, more than ``most``, or not all that were asked for.
    """
    across = request.POST.get("select_across") == "1"
    return _ids(rows, most, searched=bool(request.GET.get(SEARCH_VAR)), cut=cut_of(request) if across else "")


def listed_ids(listed: PanelChangeList, *, most: int) -> list[int]:
    """The ids of all rows that a list shows on its pages, ascending.

    Raises:
        RowsRefused: As ``chosen_ids``.
    """
    return _ids(listed.matching, most, searched=bool(listed.query), cut=listed.cut)


def list_at(screen: ScreenPages[ShopOwned], request: HttpRequest, query: str) -> PanelChangeList:
    """The list of a screen under a query string; 404 where its filters do not fit."""
    asked = copy(request)
    asked.GET = QueryDict(saved_views.canonical(query))
    try:
        listed = screen.get_changelist_instance(asked)
    except IncorrectLookupParameters as error:
        raise Http404(_("There is no such list.")) from error
    assert isinstance(listed, PanelChangeList)
    return listed


def _ids(rows: QuerySet[ShopOwned], most: int, *, searched: bool, cut: str) -> list[int]:
    if cut:
        raise RowsRefused(_("The search shows only some of the rows that it finds. Narrow it with another word first."))
    ids = list(rows.order_by("pk").values_list("pk", flat=True)[: most + 1])
    if searched and len(ids) >= COUNTED:
        text = _(
            "The search finds more than {limit} rows, and a list shows no more of them. Narrow it with a filter first."
        )
        raise RowsRefused(text.format(limit=languages.count(COUNTED)))
    if len(ids) > most:
        text = _("These are more than {limit} rows. Narrow the list with a filter first.")
        raise RowsRefused(text.format(limit=languages.count(most)))
    if not ids:
        raise RowsRefused(_("There are no such rows."))
    return ids
