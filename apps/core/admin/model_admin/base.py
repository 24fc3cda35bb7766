"""Base classes for all model admins in the panel.

An app adds a model admin in its ``admin`` package::

    grants.add(allow("locations", "vac", "inventory.location"))

    @admin.register(Location)
    class LocationAdmin(ShopOwnedAdmin[Location]):
        menu = MenuItem("Settings", "pin_drop", 15)
        topics = "locations"                      # records locations/create, …/update, …/delete
        list_display = ("name", "city", "active")
        search_fields = ("name__istartswith",)    # also adds the model to the command palette

The base classes provide:

- querysets limited to the shop (a request for a row of another shop returns 404)
- the current shop for new rows and inline rows
- events with the actor
- domain errors as form errors
- the edit conflict check for models with a ``version``
- pages of 25, 50 or 100 rows, with row counts up to 10,000
- saved views
- extra pages (``extra_view``, ``row_view``)

If saving does more than write the row, override ``save_model``, call the service with ``**self.event_kwargs(request)``
and set ``topics = ""``, because services record their own events. Inlines derive from the base classes in ``.inlines``.
Never use ``date_hierarchy``, because it reads the whole table.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeVar, cast
from urllib.parse import parse_qsl, urlencode

from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.widgets import RelatedFieldWidgetWrapper
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, models, transaction
from django.forms import BaseModelFormSet, Field, Media, ModelChoiceField, ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django_stubs_ext import StrOrPromise

from apps.core.admin.forms.error_display import format_errors, format_unchanged_error
from apps.core.admin.forms.forms import PanelForm
from apps.core.admin.forms.idempotency import submit_once
from apps.core.admin.forms.times import ShopSplitDateTimeField
from apps.core.admin.lists import saved_views, search
from apps.core.admin.lists.changelist import PanelChangeList, strip_markup
from apps.core.admin.lists.paginator import BoundedPaginator
from apps.core.admin.lists.row_ids import is_possible_id
from apps.core.admin.model_admin import delete_preview
from apps.core.admin.model_admin.audit import AuditedAdmin
from apps.core.admin.model_admin.registry import Inline, inlines, list_actions, list_buttons, list_headers
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context, as_staff_request
from apps.core.admin.theme import display
from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.exceptions import DomainError
from apps.core.tenancy.shop_owned import ShopOwned

M = TypeVar("M", bound=models.Model)
Row = TypeVar("Row", bound=ShopOwned)


_UNUSED_SCRIPTS = ("/actions.js", "/urlify.js", "/prepopulate.js", "/xregexp.js", "/xregexp.min.js")


class PanelAdmin(AuditedAdmin[M]):
    """The base class for all model admins in the panel (see the module docstring).

    Attributes:
        add_title: The label of the form for a new row, instead of "Add" with the name of the model.
        empty_text: The text that an empty list shows instead of "nothing found".
        intro: A sentence below the list.
        list_notice_template: A template that is rendered between the controls of a list and its rows.
        numeric_columns: Columns with calculated numbers, which the list aligns like fields with numbers.
        day_columns: Columns with times. The list shows the day, and the time as a tooltip.
        is_in_palette: Whether the search of the command palette finds the rows.
        palette_order: 10 to 40 for models that staff search for most, 90 for records such as jobs and deliveries.
        storefront_path: A function that returns a row's storefront path, if rich text may link to the rows.
    """

    storefront_path: Callable[[Any], str] | None = None
    add_title: StrOrPromise = ""
    empty_text: StrOrPromise = ""
    intro: StrOrPromise = ""
    list_notice_template = ""
    numeric_columns: Sequence[str] = ()
    day_columns: Sequence[str] = ()
    is_in_palette = True
    palette_order = 50
    form: type[ModelForm[M]] = PanelForm[M]
    formfield_overrides = {models.DateTimeField: {"form_class": ShopSplitDateTimeField}}
    paginator = BoundedPaginator
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    view_on_site = False
    warn_unsaved_form = True
    list_filter_sheet = True
    show_facets = ShowFacets.NEVER  # Facets would count the rows once per filter choice.

    @property
    def media(self) -> Media:
        """Return the scripts and styles without Django's scripts for list actions and prepopulated fields."""
        inherited: Any = super().media  # Django has no public API for the contents of a Media object.
        return Media(css=inherited._css, js=[path for path in inherited._js if not str(path).endswith(_UNUSED_SCRIPTS)])

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[PanelChangeList]:
        return PanelChangeList

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Render the list with the menu title, or redirect to the user's default view.

        The list needs none of Django's scripts, because lists.js replaces the script for bulk actions.
        """
        if query := saved_views.get_default_query(request, self):
            return HttpResponseRedirect(f"{request.path}?{query}")
        styles: Any = self.media
        context = {"title": self.heading, "media": Media(css=styles._css), **(extra_context or {})}
        response = super().changelist_view(request, context)
        return strip_markup(response)

    @display(description=gettext_lazy("Select record"))
    def action_checkbox(self, instance: M) -> SafeString:
        """Render the checkbox that selects a row, without the theme's forty CSS classes, to keep pages small."""
        return format_html(
            '<input type="checkbox" name="{}" value="{}" class="action-select" aria-label="{}">',
            ACTION_CHECKBOX_NAME,
            instance.pk,
            _("Select record"),
        )

    def get_preserved_filters(self, request: HttpRequest) -> str:
        """Return the filters for links back to the list, without the page size, which is stored in the session."""
        preserved = super().get_preserved_filters(request)
        ((name, query),) = parse_qsl(preserved) or [("", "")]
        filters = urlencode(
            [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != saved_views.SIZE_VAR]
        )
        return urlencode({name: filters}) if filters else ""

    def response_action(  # type: ignore[override]
        self, request: HttpRequest, queryset: models.QuerySet[M]
    ) -> HttpResponse | None:
        """Run a bulk action in a transaction, so that it changes either all rows or none. Ignore invalid IDs."""
        selected = [pk for pk in request.POST.getlist(ACTION_CHECKBOX_NAME) if is_possible_id(pk)]
        data = request.POST.copy()
        data.setlist(ACTION_CHECKBOX_NAME, selected)
        request.POST = data  # type: ignore[assignment]
        try:
            with transaction.atomic():
                return super().response_action(request, queryset)
        except DomainError as error:
            self.message_user(request, format_unchanged_error(error), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def get_search_results(
        self, request: HttpRequest, queryset: models.QuerySet[M], search_term: str
    ) -> tuple[models.QuerySet[M], bool]:
        lookups = self.get_search_fields(request)
        if not search_term.strip() or not lookups:
            return queryset, False
        most, newest = search.get_result_limit(request), not search.is_palette_search(request)
        extra_querysets = self.get_extra_search_querysets(request, queryset, search_term.strip(), most)
        return search.search_rows(
            queryset, lookups, search_term, limit=most, newest=newest, extra_querysets=extra_querysets
        ), False

    def get_extra_search_querysets(
        self, request: HttpRequest, queryset: models.QuerySet[M], term: str, most: int
    ) -> Sequence[models.QuerySet[M]]:
        """Return additional querysets of matches that ``search_fields`` cannot express, such as rows of other tables.

        Each queryset must be able to use an index and may read at most ``most`` rows of another table.
        """
        return ()

    def palette_titles(self, rows: Sequence[M]) -> Mapping[int, str]:
        return {row.pk: str(row) for row in rows}

    def palette_details(self, instance: M) -> Sequence[str]:
        return ()

    def palette_image(self, instance: M) -> str:
        return ""

    @property
    def list_headers(self) -> Sequence[str]:
        return [template for (model, _), template in list_headers.items() if model is self.model]

    @property
    def list_buttons(self) -> Sequence[str]:
        return [template for (model, _), template in list_buttons.items() if model is self.model]

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions = super().get_actions(request)
        if IS_POPUP_VAR in request.GET:
            return actions
        first: dict[str, Any] = {}
        last: dict[str, Any] = {}
        for action in sorted(list_actions.values(), key=attrgetter("order")):
            is_allowed = action.model is self.model and has_permission(request, action.permission)
            if is_allowed and (found := self.get_action(action.function)):
                (first if action.order < 50 else last)[found[1]] = found
        return first | actions | last

    def get_action_choices(self, request: HttpRequest, *args: Any) -> list[tuple[str, str]]:
        """Return the choices with the deletion last."""
        return sorted(super().get_action_choices(request, *args), key=lambda choice: choice[0] == "delete_selected")

    def get_inlines(self, request: HttpRequest, obj: M | None) -> list[Inline]:
        own_inlines = super().get_inlines(request, obj)
        if obj is None:
            return [*own_inlines]
        return [*own_inlines, *(inline for (model, _), inline in inlines.items() if model is self.model)]

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        """Return the row. A POST locks the row, so that concurrent saves run one after the other."""
        instance = super().get_object(request, object_id, from_field)
        if instance is not None and request.method == "POST" and transaction.get_connection().in_atomic_block:
            self.lock_row(instance)
            instance = super().get_object(request, object_id, from_field)
        return instance

    def lock_row(self, instance: M) -> None:
        """Lock the row before a write. Override this method if the service locks other rows first."""
        self.model._default_manager.select_for_update().filter(pk=instance.pk).values_list("pk").first()

    def _get_obj_does_not_exist_redirect(
        self, request: HttpRequest, opts: models.options.Options[M], object_id: str
    ) -> HttpResponse:
        raise Http404(_("There is no {model} with the ID {id}.").format(model=opts.verbose_name, id=object_id))

    def formfield_for_dbfield(
        self, db_field: models.Field[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> Field | None:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field and isinstance(field.widget, RelatedFieldWidgetWrapper):
            # The wrapper's links open windows, in which staff lose sight of their input.
            field.widget = field.widget.widget
        if field and isinstance(db_field, models.DateTimeField):
            zone = _("The time is in the shop's time zone ({zone}).").format(
                zone=self.shop(request).timezone.replace("_", " ")
            )
            field.help_text = f"{field.help_text} {zone}".strip()
        return field

    def formfield_for_foreignkey(
        self, db_field: models.ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Limit choices to the shop's rows. A relation to a model without a shop needs an explicit queryset."""
        target = db_field.remote_field.model
        if "queryset" not in kwargs and not issubclass(target, ShopOwned):
            raise ImproperlyConfigured(f"{type(self).__name__}: pass a queryset with the choices for {db_field.name}.")
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_fields(self, request: HttpRequest, obj: M | None = None) -> list[Any]:
        return [name for name in super().get_fields(request, obj) if name != "seen_version"]

    def get_form(
        self, request: HttpRequest, obj: M | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[M]]:
        form = super().get_form(request, obj, change, **kwargs)
        assert issubclass(form, PanelForm)
        form.request, form.domain_error = request, as_staff_request(request).domain_error
        return form

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: Context | None = None,
    ) -> HttpResponse:
        """Render the form, or save a submission once. After a domain error, show the input together with the error."""
        extra_context = {**self._get_header_context(request), **(extra_context or {})}
        if object_id is None and self.add_title:
            extra_context.setdefault("title", self.add_title)
        render_form = super().changeform_view
        try:
            return cast(
                "HttpResponse", submit_once(request, lambda: render_form(request, object_id, form_url, extra_context))
            )
        except DomainError as error:
            domain_error = error
        except IntegrityError as error:
            # Another transaction committed a conflicting row after the form's own check.
            violation = find_violated_constraint(error)
            if violation is None:
                raise
            domain_error = DomainError(violation.message, field=violation.field)
        for _name, files in request.FILES.lists():
            files[-1].seek(0)
        as_staff_request(request).domain_error = domain_error
        return render_form(request, object_id, form_url, extra_context)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """Render the confirmation page or delete the row. After a domain error, redirect to the form with a message."""
        try:
            return super().delete_view(
                request, object_id, {**self._get_header_context(request), **(extra_context or {})}
            )
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        except (models.ProtectedError, models.RestrictedError):
            # A protected reference was created after the confirmation page was rendered.
            self.message_user(request, _("This record is in use and can't be deleted."), messages.ERROR)
        return HttpResponseRedirect(self.url("change", object_id))

    def get_deleted_objects(
        self, objs: "models.QuerySet[M] | Sequence[M]", request: HttpRequest
    ) -> tuple[list[Any], dict[Any, Any], set[str], list[str]]:
        keys = [row.pk for row in objs[: delete_preview.MAX_DELETED_ROWS + 1]]
        rows = self.model._base_manager.filter(pk__in=keys)
        related = delete_preview.count_related_rows(rows, request, dict(self.admin_site._registry))
        label = capfirst(str(self.opts.verbose_name))
        return (
            [f"{label}: {row}" for row in objs[: delete_preview.MAX_NAMED_ROWS]],
            related.format_counts(),
            related.forbidden,
            related.obstacles,
        )

    def save_formset(
        self, request: HttpRequest, form: ModelForm[M], formset: BaseModelFormSet[Any, Any], change: bool
    ) -> None:
        for row in formset.save(commit=False):
            if isinstance(row, ShopOwned) and row._state.adding:
                row.shop = self.shop(request)
            row.save()
        for row in formset.deleted_objects:
            row.delete()
        formset.save_m2m()


class ShopOwnedAdmin(PanelAdmin[Row]):
    """A model admin for rows that belong to a shop."""

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Row]:
        queryset = self.model.rows()
        if ordering := self.get_ordering(request):
            queryset = queryset.order_by(*ordering)
        return queryset


class ReadOnlyAdminMixin:
    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False
