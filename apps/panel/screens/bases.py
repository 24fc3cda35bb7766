"""The bases of every screen in the panel.

How a domain adds one, in its ``admin.py``::

    grant("locations", "vac", "inventory.location")

    @admin.register(Location)
    class LocationAdmin(ShopOwnedAdmin):
        menu = Menu("Catalog", "pin_drop", 40)
        topics = "locations"                      # records locations/create, …/update, …/delete
        list_display = ("name", "city", "active")
        search_fields = ("name__istartswith",)    # also puts it into the search

The bases see to the rest: only the shop's rows (another shop's are 404), the shop on new rows and inline rows, events
with the actor, refusals of services as messages on the form, the "changed meanwhile" check where the model has a
``version``, pages of 25, 50 or 100 rows and no count beyond ten thousand, views that people keep of a list. Where
saving is more than writing the row, override ``save_model`` to call the service with ``actor=self.actor(request)`` and
set ``topics = ""``, for services record their own events. Inline rows derive from the bases in ``.inlines``.
Never use ``date_hierarchy``: it reads the whole table.
"""

from collections.abc import Callable, Iterable
from functools import update_wrapper
from typing import Any, cast

from django.contrib import messages
from django.contrib.admin import ShowFacets
from django.contrib.admin.options import IS_POPUP_VAR
from django.contrib.admin.utils import unquote
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from django.db import models, transaction
from django.forms import ModelChoiceField, ModelForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.text import capfirst

from apps.events.domain.recording import record_event
from apps.events.domain.wording import changes_of, sentence
from apps.events.models import Event
from apps.ground.errors import DomainError
from apps.ground.rows import ShopOwned
from apps.panel.menu import Menu
from apps.panel.screens import saved_views
from apps.panel.screens.extensions import added_to
from apps.panel.screens.forms import PanelForm
from apps.panel.screens.lists import PanelChangeList
from apps.panel.screens.paging import BoundedPaginator
from apps.panel.theme import ThemedAdmin
from apps.shops.models import Shop
from apps.staff.domain.access import may
from apps.staff.domain.actors import actor_of, names_of
from apps.staff.models import User

HISTORY_LENGTH = 100


class PanelAdmin(ThemedAdmin):
    """A screen for one model; see the module's beginning.

    Attributes:
        menu: Where its list stands in the menu; None keeps it out.
        topics: The resource part of the events that saving and deleting record; empty where services record their own.
        empty_text: What an empty list says instead of "nothing found".
        intro: A sentence above the list.
    """

    menu: Menu | None = None
    topics = ""
    empty_text = ""
    intro = ""
    form = PanelForm
    paginator = BoundedPaginator
    list_per_page = 50
    list_max_show_all = 0
    show_full_result_count = False
    view_on_site = False
    warn_unsaved_form = True
    list_filter_sheet = True
    show_facets = ShowFacets.NEVER  # a count per filter's choice reads the table once for each

    # --- who and where ---

    def shop(self, request: HttpRequest) -> Shop:
        """The shop that the request is in."""
        return cast("Shop", request.shop)  # type: ignore[attr-defined]

    def actor(self, request: HttpRequest) -> str:
        """How the audit trail names who does this."""
        return actor_of(cast("User", request.user))

    def page(self, request: HttpRequest, template: str, title: str, **context: Any) -> TemplateResponse:
        """A page of our own in the panel's frame."""
        base = {**self.admin_site.each_context(request), **self._where, "title": title, "opts": self.opts}
        return TemplateResponse(request, template, base | context)

    def action_url(self, route: str, view: Callable[..., Any], name: str) -> URLPattern:
        """A route of our own, for ``get_urls``: named ``<app>_<model>_<name>``, checked like every page."""

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return self.admin_site.admin_view(view)(*args, **kwargs)

        wrapper.model_admin = self  # type: ignore[attr-defined]
        named = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        return path(route, update_wrapper(wrapper, view), name=named)

    def url(self, name: str, *args: object) -> str:
        """The address of one of this model's pages: ``changelist``, ``change`` and so on."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    @property
    def heading(self) -> str:
        """What people call this screen."""
        return (self.menu.title if self.menu else "") or capfirst(str(self.opts.verbose_name_plural))

    @property
    def _where(self) -> dict[str, Any]:
        """What the header of a page below the list needs."""
        return {"heading_link": self.url("changelist"), "model_admin": self}

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[PanelChangeList]:
        """The kind of list."""
        return PanelChangeList

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """The list, under the name that the menu gives it, with the view that the person wants to begin with."""
        if query := saved_views.landing(request, self):
            return HttpResponseRedirect(f"{request.path}?{query}")
        return super().changelist_view(request, {"title": self.heading, **(extra_context or {})})

    # --- only what is this shop's ---

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """The row, locked while it is being saved, so that of two people saving the second sees the first."""
        instance = super().get_object(request, object_id, from_field)
        if instance is not None and request.method == "POST" and transaction.get_connection().in_atomic_block:
            self.model._default_manager.select_for_update().filter(pk=instance.pk).values_list("pk").first()
            instance = super().get_object(request, object_id, from_field)
        return instance

    def row_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """The shop's row of that id.

        Raises:
            Http404: The shop has none.
        """
        instance = self.get_object(request, unquote(object_id))
        if instance is None:
            raise Http404(f"No {self.opts.verbose_name} {object_id}")
        return instance

    def _get_obj_does_not_exist_redirect(self, request: HttpRequest, opts: Any, object_id: str) -> HttpResponse:
        raise Http404(f"No {opts.verbose_name} {object_id}")

    def formfield_for_dbfield(self, db_field: models.Field[Any, Any], request: HttpRequest, **kwargs: Any) -> Any:
        """The form's field; times say that they are the shop's, wherever the person sits."""
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field and isinstance(db_field, models.DateTimeField):
            zone = f"In the shop's time, {self.shop(request).timezone.replace('_', ' ')}."
            field.help_text = f"{field.help_text} {zone}".strip()
        return field

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Offer rows of the shop; a relation to rows that belong to no shop must say which it offers."""
        target = db_field.remote_field.model
        if "queryset" not in kwargs and not issubclass(target, ShopOwned):
            raise ImproperlyConfigured(
                f"{type(self).__name__}: say with a queryset which {db_field.name} may be chosen."
            )
        return cast("ModelChoiceField[Any] | None", super().formfield_for_foreignkey(db_field, request, **kwargs))

    # --- what apps above add ---

    @property
    def list_before_template(self) -> str:
        """The template above the list."""
        return added_to(self.model).list_header

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """The list's bulk actions, then the added ones that the person may use."""
        actions: dict[str, Any] = super().get_actions(request)
        if IS_POPUP_VAR in request.GET:
            return actions
        allowed = (
            self.get_action(action) for action, permission in added_to(self.model).actions if may(request, permission)
        )
        return actions | {action[1]: action for action in allowed}

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        """The form's own inline rows, then, once the row is stored, the added ones."""
        added = added_to(self.model).inlines if obj is not None else []
        return [*super().get_inlines(request, obj), *added]

    # --- forms ---

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """The fields; the version that the form carries is no field for people."""
        return [name for name in super().get_fields(request, obj) if name != "seen_version"]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[Any]]:
        """The form, with what a service refused a moment ago."""
        form = cast("type[ModelForm[Any]]", super().get_form(request, obj, change, **kwargs))
        form.refusal = getattr(request, "panel_refusal", None)  # type: ignore[attr-defined]
        return form

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Show or save; what a service refuses comes back on the form, with everything that was typed."""
        extra_context = {**self._where, **(extra_context or {})}
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except DomainError as refusal:
            for file in request.FILES.values():
                cast("Any", file).seek(0)
            request.panel_refusal = refusal  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, extra_context)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Save inline rows, new ones with the shop."""
        for row in formset.save(commit=False):
            if isinstance(row, ShopOwned) and row._state.adding:
                row.shop = self.shop(request)
            row.save()
        for row in formset.deleted_objects:
            row.delete()
        formset.save_m2m()

    def save_related(self, request: HttpRequest, form: Any, formsets: Iterable[Any], change: bool) -> None:
        """Save what hangs on the row, then record what happened to all of it."""
        super().save_related(request, form, formsets, change)
        if self.topics and (not change or form.has_changed() or any(f.has_changed() for f in formsets)):
            self.record(request, "update" if change else "create", form.instance, changes_of(form))

    def record(self, request: HttpRequest, verb: str, instance: models.Model, changes: Any = None) -> None:
        """Record ``<topics>/<verb>`` for this person, now."""
        topic = f"{self.topics}/{verb}"
        record_event(topic, instance, actor=self.actor(request), at=timezone.now(), changes=changes)

    # --- deleting ---

    def delete_model(self, request: HttpRequest, obj: models.Model) -> None:
        """Record and delete one row."""
        if self.topics:
            self.record(request, "delete", obj)
        obj.delete()

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: Any) -> None:
        """Delete rows one by one: each is an event."""
        for row in queryset.order_by("pk"):
            self.delete_model(request, row)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """Ask, then delete; a service's refusal leads back with its reason."""
        try:
            return super().delete_view(request, object_id, {**self._where, **(extra_context or {})})
        except DomainError as refusal:
            self.message_user(request, refusal.sentence, messages.ERROR)
            return HttpResponseRedirect(self.url("change", object_id))

    def response_action(self, request: HttpRequest, queryset: Any) -> HttpResponse | None:
        """Do a bulk action wholly or not at all."""
        try:
            with transaction.atomic():
                return cast("HttpResponse | None", super().response_action(request, queryset))
        except DomainError as refusal:
            self.message_user(request, f"{refusal.sentence} Nothing has been changed.", messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    # --- what happened ---

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Nothing: the events are the log."""

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> None:
        """Nothing: the events are the log."""

    def log_deletions(self, request: HttpRequest, queryset: Any) -> None:
        """Nothing: the events are the log."""

    def history_view(self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None) -> Any:
        """The newest events of one row."""
        instance = self.row_or_404(request, object_id)
        if not self.has_view_or_change_permission(request, instance):
            raise PermissionDenied
        about = Event.rows().filter(subject_type=self.opts.concrete_model._meta.label_lower, subject_id=instance.pk)
        events = list(about.order_by("-id").defer("payload")[:HISTORY_LENGTH])
        names = names_of([event.actor for event in events])
        return self.page(
            request,
            "panel/history.html",
            f"History of {instance}",
            original=instance,
            back=self.url("change", instance.pk),
            events=[(event, names[event.actor], sentence(event)) for event in events],
        )


class ShopOwnedAdmin(PanelAdmin):
    """A screen for a model whose rows belong to shops."""

    def get_queryset(self, request: HttpRequest) -> Any:
        """The rows of this shop."""
        queryset = self.model.rows()
        if ordering := self.get_ordering(request):
            queryset = queryset.order_by(*ordering)
        return queryset


class ReadOnly:
    """Mix-in for screens that only show: nobody adds, changes or deletes there, whatever they hold."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes."""
        return False
