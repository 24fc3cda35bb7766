"""The base class for model admins, with request helpers and additional pages."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

from django.contrib.admin.utils import unquote
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.core.admin.forms.idempotency import submit_once_or_redirect
from apps.core.admin.lists.search import describe_search_limits
from apps.core.admin.menu import MenuItem
from apps.core.admin.staff_request import Context, EventKwargs, as_staff_request
from apps.core.admin.theme import ThemedAdmin
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Shop

M = TypeVar("M", bound=Model)
View = Callable[..., HttpResponseBase]


class ExtraViewsAdmin(ThemedAdmin[M]):
    """A model admin with extra pages under the list's URL.

    Users can add ``optional_columns``, which must need no extra queries. Phones show ``mobile_hide_labels`` unlabeled.
    """

    menu: MenuItem | None = None
    optional_columns: Sequence[str] = ()
    mobile_hide_labels: Sequence[str] = ()

    def shop(self, request: HttpRequest) -> Shop:
        return as_staff_request(request).shop

    def actor(self, request: HttpRequest) -> str:
        return get_staff_actor(as_staff_request(request).user)

    def event_kwargs(self, request: HttpRequest) -> EventKwargs:
        return {"actor": self.actor(request), "at": timezone.now()}

    def page(self, request: HttpRequest, template: str, title: str, **context: object) -> HttpResponse:
        base = {
            **self.admin_site.each_context(request),
            **self._get_header_context(request),
            "title": title,
            "opts": self.opts,
        }
        return TemplateResponse(request, template, base | context)

    def build_action_url(self, route: str, view: View, name: str, *, keyed: bool = False) -> URLPattern:
        """Build a route for ``get_urls``, named ``<app>_<model>_<name>``, with access checks and idempotent forms.

        If ``keyed`` is true, submissions without a form key are refused.
        """

        @wraps(view)
        def submit(request: HttpRequest, /, *args: object, **kwargs: object) -> HttpResponseBase:
            return submit_once_or_redirect(request, lambda: view(request, *args, **kwargs), keyed=keyed)

        checked_view: Any = self.admin_site.admin_view(submit)
        checked_view.model_admin = self
        return path(route, checked_view, name=f"{self.opts.app_label}_{self.opts.model_name}_{name}")

    def url(self, name: str, *args: object) -> str:
        """Return the URL of a page of this model, such as ``changelist`` or ``change``."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    def get_search_note(self, term: str) -> str:
        return describe_search_limits(term, self.search_fields)

    @property
    def heading(self) -> str:
        return (str(self.menu.title) if self.menu else "") or capfirst(str(self.opts.verbose_name_plural))

    def _get_header_context(self, request: HttpRequest) -> Context:
        link = self.url("changelist") if self.has_view_or_change_permission(request) else ""
        return {"heading_link": link, "model_admin": self}

    def get_row_or_404(self, request: HttpRequest, object_id: str) -> M:
        # Call Django's method, because ``PanelAdmin.get_object`` locks the row, and each workflow locks rows in its own
        # order.
        instance = super().get_object(request, unquote(object_id))
        if instance is None:
            raise Http404(_("There is no {model} with the ID {id}.").format(model=self.opts.verbose_name, id=object_id))
        return instance
