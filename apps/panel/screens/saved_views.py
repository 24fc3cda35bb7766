"""Views of lists that people keep: a search, filters and an order under a name.

A view belongs to one person in one shop; shared ones are seen by everybody there who may see the list. They are a
person's own arrangement of the panel and change no data of the shop, so they are not in the audit log.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote, urlencode

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.options import IS_FACETS_VAR, IS_POPUP_VAR, TO_FIELD_VAR
from django.contrib.admin.views.main import ALL_VAR, ERROR_FLAG, PAGE_VAR
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.utils.translation import gettext as _

from apps.ground.rows import TimestampedQuerySet
from apps.panel.access import MissingPermission
from apps.panel.requests import in_shop
from apps.panel.screens import columns
from apps.panel.screens.columns import COLUMNS_VAR
from apps.panel.screens.pages import ScreenPages
from apps.panel.tour import TOUR_VAR
from apps.staff.backends import current_membership
from apps.staff.models import SavedView, User

SIZE_VAR = "size"
# Parameters of an address that belong to the moment and not to what the list shows. ``all`` opens a list without the
# person's default view.
OF_THE_MOMENT = frozenset(
    {SIZE_VAR, ALL_VAR, PAGE_VAR, ERROR_FLAG, IS_FACETS_VAR, IS_POPUP_VAR, TO_FIELD_VAR, TOUR_VAR}
)
Screen: TypeAlias = ScreenPages[Any]
LONGEST_QUERY, MOST_SHOWN = 2000, 30


def canonical(query: str) -> str:
    """A query string without empty and momentary parameters, in one order, so that equal views are equal texts."""
    pairs = parse_qsl(query.replace("\x00", ""), keep_blank_values=False)
    return urlencode(sorted((name, value) for name, value in pairs if name not in OF_THE_MOMENT))


@dataclass(frozen=True, slots=True)
class Tab:
    """A kept view as its list shows it."""

    view: SavedView
    current: bool
    may_change: bool


def tabs(request: HttpRequest, screen: Screen) -> list[Tab]:
    """The views of a list that this person sees: their own, and what others share."""
    now = canonical(request.GET.urlencode())
    return [Tab(view, view.query == now, _may_change(request, view)) for view in _seen(request, screen)]


def landing(request: HttpRequest, screen: Screen) -> str:
    """The query string with which a list opens for this person; empty where its address says what to show."""
    if request.method != "GET" or request.META.get("QUERY_STRING"):
        return ""
    mine = SavedView.rows().filter(screen=_name(screen), user=_user(request), is_default=True)
    return mine.values_list("query", flat=True).first() or ""


def columns_of(request: HttpRequest, screen: Screen) -> str:
    """The columns that a list is to show: as its address says, else as the person chose; empty for none."""
    return request.GET.get(COLUMNS_VAR) or columns.chosen_by(_user(request), _name(screen))


class ViewForm(forms.ModelForm[SavedView]):
    """What a person says of a view."""

    class Meta:
        model = SavedView
        fields = ("name", "shared", "is_default")


def save(request: HttpRequest) -> HttpResponse:
    """Keep what a list shows now under a name; the same name again takes its place."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    screen = _screen(request, request.POST.get("screen", ""))
    query = _with_columns(request, screen, canonical(request.POST.get("query", "")))
    if not query or len(query) > LONGEST_QUERY:
        messages.error(request, _("Search, filter or sort the list first; then keep it as a view."))
        return HttpResponseRedirect(screen.url("changelist"))
    view = SavedView(shop=screen.shop(request), screen=_name(screen), user=_user(request), query=query)
    return _store(request, screen, view)


def _with_columns(request: HttpRequest, screen: Screen, query: str) -> str:
    """A query with the columns that the person sees under it."""
    chosen = columns.chosen_by(_user(request), _name(screen))
    if not query or not chosen or COLUMNS_VAR in dict(parse_qsl(query)):
        return query
    return canonical(f"{query}&{urlencode({COLUMNS_VAR: chosen})}")


def choose_columns(request: HttpRequest) -> HttpResponse:
    """Keep which columns a person wants of a list, and lead back to it; what moved stays in sight."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    screen = _screen(request, request.POST.get("screen", ""))
    columns.choose(_user(request), screen.shop(request), _name(screen), _chosen_columns(request, screen))
    asked = parse_qsl(canonical(request.POST.get("query", "")))
    query = urlencode([pair for pair in asked if pair[0] != COLUMNS_VAR]) or f"{ALL_VAR}=1"
    moved = request.POST.get("move", "").partition(":")[2]
    return HttpResponseRedirect(f"{screen.url('changelist')}?{query}{f'#column-{quote(moved)}' if moved else ''}")


def _chosen_columns(request: HttpRequest, screen: Screen) -> str:
    """The columns that a form asks for, with those that stay; empty for the list as it comes."""
    if "reset" in request.POST:
        return ""
    delivered = screen.get_list_display(request)
    links = screen.get_list_display_links(request, delivered)
    ticked = [*request.POST.getlist("ticked"), *columns.Columns(screen, delivered, links, "").staying]
    wanted = columns.arranged(request.POST.get("order", "").split("."), ticked, request.POST.get("move", ""))
    return columns.Columns(screen, delivered, links, ".".join(wanted)).choice


def change(request: HttpRequest, pk: int) -> HttpResponse:
    """Rename, share or remove a view, or let the list open with it."""
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    view = SavedView.rows().filter(pk=pk).first()
    if view is None or not _may_change(request, view):
        raise Http404(_("You have no such view."))
    screen = _screen(request, view.screen)
    if "remove" in request.POST:
        view.delete()
        messages.success(request, _("The view “{name}” is removed.").format(name=view.name))
        return HttpResponseRedirect(f"{screen.url('changelist')}?{ALL_VAR}=1")
    return _store(request, screen, view)


def _store(request: HttpRequest, screen: Screen, view: SavedView) -> HttpResponse:
    """Save a view as its form says; a new one takes the place of the person's former one of that name."""
    form = ViewForm(request.POST, instance=view)
    if not form.is_valid():
        messages.error(request, _("A view needs a name of at most 60 characters."))
    elif view.pk and _others(view).filter(name=view.name).exists():
        messages.error(request, _("There is a view “{name}” already.").format(name=view.name))
    else:
        try:
            with transaction.atomic():
                _others(view).filter(name=view.name).delete()
                if view.is_default:
                    _others(view).update(is_default=False)
                form.save()
        except IntegrityError:
            text = _("A view “{name}” was saved at the same moment; look at it first.")
            messages.error(request, text.format(name=view.name))
        else:
            messages.success(request, _("The view “{name}” is saved.").format(name=view.name))
    return HttpResponseRedirect(f"{screen.url('changelist')}?{view.query}")


def _others(view: SavedView) -> TimestampedQuerySet[SavedView]:
    """The person's other views of the same list."""
    return SavedView.rows().filter(screen=view.screen, user_id=view.user_id).exclude(pk=view.pk)


def _screen(request: HttpRequest, name: str) -> Screen:
    """The list of that name, for who may see it."""
    for model, screen in admin.site._registry.items():
        if model._meta.label_lower == name and isinstance(screen, ScreenPages):
            if not screen.has_view_or_change_permission(request):
                raise MissingPermission(f"{model._meta.app_label}.view_{model._meta.model_name}")
            return screen
    raise Http404(_("There is no such list."))


def _name(screen: Screen) -> str:
    return str(screen.opts.label_lower)


def _seen(request: HttpRequest, screen: Screen) -> list[SavedView]:
    mine_or_shared = Q(user=_user(request)) | Q(shared=True)
    return list(SavedView.rows().filter(mine_or_shared, screen=_name(screen)).select_related("user")[:MOST_SHOWN])


def _may_change(request: HttpRequest, view: SavedView) -> bool:
    """People change their own views; those that others share, also the account owner, who tidies up after them."""
    user = _user(request)
    if view.user_id == user.pk:
        return True
    place = current_membership(user)
    return view.shared and (user.is_superuser or bool(place and place.account_owner))


def _user(request: HttpRequest) -> User:
    return in_shop(request).user
