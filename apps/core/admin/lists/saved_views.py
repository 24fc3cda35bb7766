"""Saved views of lists. A view stores a search, filters, sort order and columns under a name.

A view belongs to a user in a shop. Shared views are visible to all staff members who may see the list. Saving a view
changes no shop data, so the audit log does not record it.
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
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from apps.core.admin.lists import column_choice
from apps.core.admin.lists.column_choice import COLUMNS_VAR
from apps.core.admin.model_admin.extra_views import ExtraViewsAdmin
from apps.core.admin.pages.tour import TOUR_VAR
from apps.core.admin.permissions import MissingPermission
from apps.core.admin.staff_request import as_staff_request
from apps.core.models import TimestampedQuerySet
from apps.core.tenancy.backends import get_current_membership
from apps.core.tenancy.models import SavedView, User

SIZE_VAR = "size"
# URL parameters that do not affect which rows the list contains and are not saved with a view.
TRANSIENT_PARAMETERS = frozenset(
    {SIZE_VAR, ALL_VAR, PAGE_VAR, ERROR_FLAG, IS_FACETS_VAR, IS_POPUP_VAR, TO_FIELD_VAR, TOUR_VAR}
)
Screen: TypeAlias = ExtraViewsAdmin[Any]
MAX_QUERY_LENGTH, MAX_VIEWS = 2000, 30


def normalize_query(query: str) -> str:
    """Remove empty and transient parameters and sort the other parameters, so that equal views compare equal."""
    pairs = parse_qsl(query.replace("\x00", ""), keep_blank_values=False)
    return urlencode(sorted((name, value) for name, value in pairs if name not in TRANSIENT_PARAMETERS))


@dataclass(frozen=True, slots=True)
class Tab:
    view: SavedView
    current: bool
    may_change: bool


def get_view_tabs(request: HttpRequest, model_admin: Screen) -> list[Tab]:
    now = normalize_query(request.GET.urlencode())
    visible = Q(user=_get_user(request)) | Q(shared=True)
    views = SavedView.rows().filter(visible, screen=_get_list_name(model_admin)).select_related("user")[:MAX_VIEWS]
    return [Tab(view, view.query == now, _may_change(request, view)) for view in views]


def get_default_query(request: HttpRequest, model_admin: Screen) -> str:
    """Return the query string of the user's default view, or an empty string if the URL already has a query."""
    if request.method != "GET" or request.META.get("QUERY_STRING"):
        return ""
    default_views = SavedView.rows().filter(
        screen=_get_list_name(model_admin), user=_get_user(request), is_default=True
    )
    return default_views.values_list("query", flat=True).first() or ""


def get_columns(request: HttpRequest, model_admin: Screen) -> str:
    """Return the columns from the URL or, if there are none, the user's choice. Return "" for the default columns."""
    return request.GET.get(COLUMNS_VAR) or column_choice.get_chosen_columns(
        _get_user(request), _get_list_name(model_admin)
    )


class ViewForm(forms.ModelForm[SavedView]):
    class Meta:
        model = SavedView
        fields = ("name", "shared", "is_default")


@require_POST
def save_view(request: HttpRequest) -> HttpResponse:
    """Save the current state of a list as a view. An existing view of the user with the same name is replaced."""
    model_admin = _get_model_admin(request, request.POST.get("screen", ""))
    query = _add_columns(request, model_admin, normalize_query(request.POST.get("query", "")))
    if not query or len(query) > MAX_QUERY_LENGTH:
        messages.error(request, _("Search, filter or sort the list first, then save it as a view."))
        return HttpResponseRedirect(model_admin.url("changelist"))
    view = SavedView(
        shop=model_admin.shop(request), screen=_get_list_name(model_admin), user=_get_user(request), query=query
    )
    return _save_from_form(request, model_admin, view)


def _add_columns(request: HttpRequest, model_admin: Screen, query: str) -> str:
    chosen_columns = column_choice.get_chosen_columns(_get_user(request), _get_list_name(model_admin))
    if not query or not chosen_columns or COLUMNS_VAR in dict(parse_qsl(query)):
        return query
    return normalize_query(f"{query}&{urlencode({COLUMNS_VAR: chosen_columns})}")


@require_POST
def choose_columns(request: HttpRequest) -> HttpResponse:
    """Save the user's choice of columns and redirect to the list. After a move, the URL points to the moved column."""
    model_admin = _get_model_admin(request, request.POST.get("screen", ""))
    column_choice.save_chosen_columns(
        _get_user(request),
        model_admin.shop(request),
        _get_list_name(model_admin),
        _parse_columns_form(request, model_admin),
    )
    parameters = parse_qsl(normalize_query(request.POST.get("query", "")))
    query = urlencode([pair for pair in parameters if pair[0] != COLUMNS_VAR]) or f"{ALL_VAR}=1"
    moved_column = request.POST.get("move", "").partition(":")[2]
    return HttpResponseRedirect(
        f"{model_admin.url('changelist')}?{query}{f'#column-{quote(moved_column)}' if moved_column else ''}"
    )


def _parse_columns_form(request: HttpRequest, model_admin: Screen) -> str:
    """Return the submitted columns, including required columns, or an empty string for the defaults."""
    if "reset" in request.POST:
        return ""
    defaults = model_admin.get_list_display(request)
    links = model_admin.get_list_display_links(request, defaults)
    ticked = [*request.POST.getlist("ticked"), *column_choice.Columns(model_admin, defaults, links, "").required]
    names = column_choice.reorder_columns(
        request.POST.get("order", "").split("."), ticked, request.POST.get("move", "")
    )
    return column_choice.Columns(model_admin, defaults, links, ".".join(names)).choice


@require_POST
def change_view(request: HttpRequest, pk: int) -> HttpResponse:
    view = SavedView.rows().filter(pk=pk).first()
    if view is None or not _may_change(request, view):
        raise Http404(_("View not found."))
    model_admin = _get_model_admin(request, view.screen)
    if "remove" in request.POST:
        view.delete()
        messages.success(request, _("View “{name}” deleted.").format(name=view.name))
        return HttpResponseRedirect(f"{model_admin.url('changelist')}?{ALL_VAR}=1")
    return _save_from_form(request, model_admin, view)


def _save_from_form(request: HttpRequest, model_admin: Screen, view: SavedView) -> HttpResponse:
    form = ViewForm(request.POST, instance=view)
    if not form.is_valid():
        messages.error(request, _("Enter a name of up to 60 characters."))
    elif view.pk and _get_other_views(view).filter(name=view.name).exists():
        messages.error(request, _("A view named “{name}” already exists.").format(name=view.name))
    else:
        try:
            with transaction.atomic():
                _get_other_views(view).filter(name=view.name).delete()
                if view.is_default:
                    _get_other_views(view).update(is_default=False)
                form.save()
        except IntegrityError:
            text = _("A view named “{name}” was just saved in another window. Reload the list and try again.")
            messages.error(request, text.format(name=view.name))
        else:
            messages.success(request, _("View “{name}” saved.").format(name=view.name))
    return HttpResponseRedirect(f"{model_admin.url('changelist')}?{view.query}")


def _get_other_views(view: SavedView) -> TimestampedQuerySet[SavedView]:
    return SavedView.rows().filter(screen=view.screen, user_id=view.user_id).exclude(pk=view.pk)


def _get_model_admin(request: HttpRequest, name: str) -> Screen:
    for model, model_admin in admin.site._registry.items():
        if model._meta.label_lower == name and isinstance(model_admin, ExtraViewsAdmin):
            if not model_admin.has_view_or_change_permission(request):
                raise MissingPermission(f"{model._meta.app_label}.view_{model._meta.model_name}")
            return model_admin
    raise Http404(_("This list does not exist."))


def _get_list_name(model_admin: Screen) -> str:
    return str(model_admin.opts.label_lower)


def _may_change(request: HttpRequest, view: SavedView) -> bool:
    """Return True for the user's own views. Account owners and operators may also change shared views."""
    user = _get_user(request)
    if view.user_id == user.pk:
        return True
    membership = get_current_membership(user)
    return view.shared and (user.is_superuser or bool(membership and membership.account_owner))


def _get_user(request: HttpRequest) -> User:
    return as_staff_request(request).user
