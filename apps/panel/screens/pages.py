"""What a screen knows of its request, and the pages of its own beside Django's."""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import TypeVar

from django.contrib.admin.utils import unquote
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.panel.menu import Menu
from apps.panel.once import once_or_back
from apps.panel.requests import By, Context, in_shop
from apps.panel.screens.searching import note_on
from apps.panel.theme import ThemedAdmin
from apps.shops.models import Shop
from apps.staff.domain.actors import actor_of

M = TypeVar("M", bound=Model)
View = Callable[..., HttpResponseBase]


def _working_once(view: View, keyed: bool) -> View:
    def working(request: HttpRequest, /, *args: object, **kwargs: object) -> HttpResponseBase:
        return once_or_back(request, lambda: view(request, *args, **kwargs), keyed=keyed)

    return update_wrapper(working, view)


class ScreenPages(ThemedAdmin[M]):
    """Pages of a screen's own, in the panel's frame and below the address of its list.

    Attributes:
        menu: Where the list stands in the menu; None keeps it out.
        list_extra: Columns that the list offers beside its ``list_display``; they cost no statements.
        list_self_evident: Columns that say by themselves what they are; a phone shows them without their label.
    """

    menu: Menu | None = None
    list_extra: Sequence[str] = ()
    list_self_evident: Sequence[str] = ()

    def shop(self, request: HttpRequest) -> Shop:
        """The shop that the request is in."""
        return in_shop(request).shop

    def actor(self, request: HttpRequest) -> str:
        """How the audit trail names who does this."""
        return actor_of(in_shop(request).user)

    def by(self, request: HttpRequest) -> By:
        """The actor, and now."""
        return {"actor": self.actor(request), "at": timezone.now()}

    def page(self, request: HttpRequest, template: str, title: str, **context: object) -> HttpResponse:
        """A page in the panel's frame."""
        base = {**self.admin_site.each_context(request), **self._where(request), "title": title, "opts": self.opts}
        return TemplateResponse(request, template, base | context)

    def action_url(self, route: str, view: View, name: str, *, keyed: bool = False) -> URLPattern:
        """A route for ``get_urls``: named ``<app>_<model>_<name>``, checked like every page; its forms work once.

        With ``keyed`` it takes no submission without a form's key.
        """

        def wrapper(*args: object, **kwargs: object) -> HttpResponseBase:
            return self.admin_site.admin_view(_working_once(view, keyed))(*args, **kwargs)

        wrapper.model_admin = self  # type: ignore[attr-defined]
        named = f"{self.opts.app_label}_{self.opts.model_name}_{name}"
        return path(route, update_wrapper(wrapper, view), name=named)

    def url(self, name: str, *args: object) -> str:
        """The address of one of this model's pages: ``changelist``, ``change`` and so on."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    def search_note(self, term: str) -> str:
        """What a search of the list did not do with a text, in a sentence; empty where it did all."""
        return note_on(term, self.search_fields)

    @property
    def heading(self) -> str:
        """What people call this screen."""
        return (str(self.menu.title) if self.menu else "") or capfirst(str(self.opts.verbose_name_plural))

    def _where(self, request: HttpRequest) -> Context:
        """What the header of a page below the list needs; who may not open the list has no way to it."""
        link = self.url("changelist") if self.has_view_or_change_permission(request) else ""
        return {"heading_link": link, "model_admin": self}

    def row_or_404(self, request: HttpRequest, object_id: str) -> M:
        """The shop's row of that id.

        Raises:
            Http404: The shop has none.
        """
        # Django's, which locks nothing: a workflow takes its locks in an order of its own.
        instance = super().get_object(request, unquote(object_id))
        if instance is None:
            raise Http404(_("No {model} {id}").format(model=self.opts.verbose_name, id=object_id))
        return instance
