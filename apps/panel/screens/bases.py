"""The bases of every screen in the panel.

How a domain adds one, in its ``admin`` package::

    grant("locations", "vac", "inventory.location")

    @admin.register(Location)
    class LocationAdmin(ShopOwnedAdmin[Location]):
        menu = Menu("Catalog", "pin_drop", 40)
        topics = "locations"                      # records locations/create, …/update, …/delete
        list_display = ("name", "city", "active")
        search_fields = ("name__istartswith",)    # also puts it into the search

The bases see to the rest: only the shop's rows (another shop's are 404), the shop on new rows and inline rows, events
with the actor, refusals of services as messages on the form, the "changed meanwhile" check where the model has a
``version``, pages of 25, 50 or 100 rows and no count beyond ten thousand, views that people keep of a list. Where
saving is more than writing the row, override ``save_model`` to call the service with ``**self.by(request)`` and
set ``topics = ""``, for services record their own events. Inline rows derive from the bases in ``.inlines``.
Never use ``date_hierarchy``: it reads the whole table.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IS_POPUP_VAR
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, models, transaction
from django.forms import BaseModelFormSet, Field, Media, ModelChoiceField, ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.ground.constraints import breach_of
from apps.ground.errors import DomainError
from apps.ground.rows import ShopOwned
from apps.panel.access import may
from apps.panel.once import once
from apps.panel.requests import Context, in_shop
from apps.panel.screens import deleting, saved_views, searching
from apps.panel.screens.extensions import Inline, added_to
from apps.panel.screens.forms import PanelForm
from apps.panel.screens.history import ScreenHistory
from apps.panel.screens.lists import PanelChangeList, lightened
from apps.panel.screens.paging import BoundedPaginator
from apps.panel.theme import display
from apps.panel.wording import in_words, nothing_changed

M = TypeVar("M", bound=models.Model)
Row = TypeVar("Row", bound=ShopOwned)


_DERIVING = ("/urlify.js", "/prepopulate.js", "/xregexp.js", "/xregexp.min.js")


class PanelAdmin(ScreenHistory[M]):
    """A screen for one model; see the module's beginning.

    Attributes:
        empty_text: What an empty list says instead of "nothing found".
        intro: A sentence above the list.
        place_in_search: The search from anywhere shows rows of a smaller one first: what staff work on has 10 to 40,
            what is kept of it 90.
        storefront_path: Says where shoppers see a row, e.g. ``/products/hat``, where texts may point at it.
    """

    storefront_path: Callable[[Any], str] | None = None
    empty_text: StrOrPromise = ""
    intro: StrOrPromise = ""
    place_in_search = 50
    form: type[ModelForm[M]] = PanelForm[M]
    paginator = BoundedPaginator
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    view_on_site = False
    warn_unsaved_form = True
    list_filter_sheet = True
    show_facets = ShowFacets.NEVER  # a count per filter's choice reads the table once for each

    @property
    def media(self) -> Media:
        """The scripts and styles of the screen, without those that derive a field from others while one types.

        No screen does that in the browser; the largest of them weighs as much as all others together.
        """
        given: Any = super().media  # Django documents no way to read what it holds
        return Media(css=given._css, js=[path for path in given._js if not str(path).endswith(_DERIVING)])

    # --- the list ---

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[PanelChangeList]:
        """The kind of list."""
        return PanelChangeList

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """The list, under the name that the menu gives it, with the view that the person wants to begin with."""
        if query := saved_views.landing(request, self):
            return HttpResponseRedirect(f"{request.path}?{query}")
        answer = super().changelist_view(request, {"title": self.heading, **(extra_context or {})})
        return lightened(answer, self.list_self_evident)

    @display(description=gettext_lazy("Select record"))
    def action_checkbox(self, instance: M) -> SafeString:
        """The mark by which a row is chosen, without the forty classes that the theme gives each."""
        return format_html(
            '<input type="checkbox" name="{}" value="{}" class="action-select" aria-label="{}">',
            ACTION_CHECKBOX_NAME,
            instance.pk,
            _("Select record"),
        )

    def get_preserved_filters(self, request: HttpRequest) -> str:
        """What narrows the list, for links that lead back to it; the size of its pages the session knows."""
        kept = super().get_preserved_filters(request)
        ((name, query),) = parse_qsl(kept) or [("", "")]
        asked = urlencode(
            [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != saved_views.SIZE_VAR]
        )
        return urlencode({name: asked}) if asked else ""

    def response_action(  # type: ignore[override]
        self, request: HttpRequest, queryset: models.QuerySet[M]
    ) -> HttpResponse | None:
        """Do a bulk action wholly or not at all."""
        try:
            with transaction.atomic():
                return super().response_action(request, queryset)
        except DomainError as refusal:
            self.message_user(request, nothing_changed(refusal), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[M], search_term: str
    ) -> tuple[models.QuerySet[M], bool]:
        """The rows that a text finds: of each column the newest ten thousand, as far as a list counts."""
        lookups = self.get_search_fields(request)
        if not search_term.strip() or not lookups:
            return queryset, False
        most, newest = searching.bound_of(request), not searching.is_from_anywhere(request)
        also = self.also_found(request, queryset, search_term.strip(), most)
        return searching.found(queryset, lookups, search_term, most=most, newest=newest, also=also), False

    def also_found(
        self, request: HttpRequest, queryset: models.QuerySet[M], term: str, most: int
    ) -> Sequence[models.QuerySet[M]]:
        """Rows that the whole text finds by what ``search_fields`` cannot name, such as rows of other tables.

        Each part is asked by its own index, and follows at most so many rows of another table.
        """
        return ()

    def names_in_search(self, rows: Sequence[M]) -> Mapping[int, str]:
        """What the search from anywhere calls rows, by their ids."""
        return {row.pk: str(row) for row in rows}

    def told_in_search(self, instance: M) -> Sequence[str]:
        """What the search from anywhere says of a row beside its name and its kind."""
        return ()

    def picture_in_search(self, instance: M) -> str:
        """The row's small picture there; empty where its icon stands for it."""
        return ""

    # --- what apps above add ---

    @property
    def list_before_template(self) -> str:
        """The template above the list."""
        return "panel/list_headers.html" if self.list_headers else ""

    @property
    def list_headers(self) -> Sequence[str]:
        """What other apps show above the list."""
        return added_to(self.model).list_headers

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The list's bulk actions, then the added ones that the person may use."""
        actions = super().get_actions(request)
        if IS_POPUP_VAR in request.GET:
            return actions
        added = added_to(self.model).actions
        allowed = (self.get_action(action) for action, permission in added if may(request, permission))
        return actions | {action[1]: action for action in allowed if action}

    def get_inlines(self, request: HttpRequest, obj: M | None) -> list[Inline]:
        """The form's own inline rows, then, once the row is stored, the added ones."""
        added = added_to(self.model).inlines if obj is not None else []
        return [*super().get_inlines(request, obj), *added]

    # --- only what is this shop's ---

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        """The row, locked while it is being saved, so that of two people saving the second sees the first."""
        instance = super().get_object(request, object_id, from_field)
        if instance is not None and request.method == "POST" and transaction.get_connection().in_atomic_block:
            self.hold(instance)
            instance = super().get_object(request, object_id, from_field)
        return instance

    def hold(self, instance: M) -> None:
        """Hold the row for a write; a screen whose service locks other rows before it holds those first."""
        self.model._default_manager.select_for_update().filter(pk=instance.pk).values_list("pk").first()

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: models.options.Options[M], object_id: str
    ) -> HttpResponse:
        raise Http404(_("No {model} {id}").format(model=opts.verbose_name, id=object_id))

    def formfield_for_dbfield(
        self, db_field: models.Field[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Field | None:
        """The form's field; times say that they are the shop's, wherever the person sits."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field and isinstance(db_field, models.DateTimeField):
            zone = _("In the shop's time, {zone}.").format(zone=self.shop(request).timezone.replace("_", " "))
            field.help_text = f"{field.help_text} {zone}".strip()
        return field

    def formfield_for_foreignkey(
        self, db_field: models.ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Offer rows of the shop; a relation to rows that belong to no shop must say which it offers."""
        target = db_field.remote_field.model
        if "queryset" not in kwargs and not issubclass(target, ShopOwned):
            raise ImproperlyConfigured(
                f"{type(self).__name__}: say with a queryset which {db_field.name} may be chosen."
            )
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    # --- forms ---

    def get_fields(self, request: HttpRequest, obj: M | None = None) -> list[Any]:
        """The fields; the version that the form carries is no field for people."""
        return [name for name in super().get_fields(request, obj) if name != "seen_version"]

    def get_form(
        self, request: HttpRequest, obj: M | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[M]]:
        """The form, with what a service refused a moment ago."""
        form = super().get_form(request, obj, change, **kwargs)
        assert issubclass(form, PanelForm)
        form.refusal = in_shop(request).panel_refusal
        return form

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """Show or save, once; what a service refuses comes back on the form, with everything that was typed."""
        extra_context = {**self._where, **(extra_context or {})}
        show = super().changeform_view
        try:
            return cast("HttpResponse", once(request, lambda: show(request, object_id, form_url, extra_context)))
        except DomainError as error:
            refusal = error
        except IntegrityError as error:
            # Somebody else was quicker than the form's own check.
            breach = breach_of(error)
            if breach is None:
                raise
            refusal = DomainError(breach.message, field=breach.field)
        for _name, files in request.FILES.lists():
            files[-1].seek(0)
        in_shop(request).panel_refusal = refusal
        return show(request, object_id, form_url, extra_context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """Ask, then delete; a service's refusal leads back with its reason."""
        try:
            return super().delete_view(request, object_id, {**self._where, **(extra_context or {})})
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
        except (models.ProtectedError, models.RestrictedError):
            # Something came that keeps the row, between the page that asked and the answer.
            self.message_user(request, _("It is in use, and cannot be deleted."), messages.ERROR)
        return HttpResponseRedirect(self.url("change", object_id))

    def get_deleted_objects(
        self, objs: "models.QuerySet[M] | Sequence[M]", request: HttpRequest
    ) -> tuple[list[Any], dict[Any, Any], set[str], list[str]]:
        """What the page that asks says of what goes: names of the rows, counts of the rest, what stands against it."""
        keys = [row.pk for row in objs[: deleting.AT_ONCE + 1]]
        rows = self.model._base_manager.filter(pk__in=keys)
        going = deleting.going_with(rows, request, dict(self.admin_site._registry))
        return deleting.named(list(objs[: deleting.NAMED]), self.model), going.shown(), going.forbidden, going.keeping

    def save_formset(
        self, request: HttpRequest, form: ModelForm[M], formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        """Save inline rows, new ones with the shop."""
        for row in formset.save(commit=False):
            if isinstance(row, ShopOwned) and row._state.adding:
                row.shop = self.shop(request)
            row.save()
        for row in formset.deleted_objects:
            row.delete()
        formset.save_m2m()


class ShopOwnedAdmin(PanelAdmin[Row]):
    """A screen for a model whose rows belong to shops."""

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Row]:
        """The rows of this shop."""
        queryset = self.model.rows()
        if ordering := self.get_ordering(request):
            queryset = queryset.order_by(*ordering)
        return queryset


class ReadOnly:
    """Mix-in for screens that only show: nobody adds, changes or deletes there, whatever they hold."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        """Nobody deletes."""
        return False
