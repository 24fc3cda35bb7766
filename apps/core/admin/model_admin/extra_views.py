"""The base class for model admins, with request helpers and additional pages."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.db.models import Model
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django_stubs_ext import StrOrPromise

from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import submit_once_or_redirect
from apps.core.admin.lists.search import describe_search_limits
from apps.core.admin.menu import MenuItem
from apps.core.admin.permissions import require_permission
from apps.core.admin.staff_request import Context, EventKwargs, as_staff_request
from apps.core.admin.theme import ThemedAdmin
from apps.core.exceptions import DomainError
from apps.core.tenancy.actor_names import get_staff_actor
from apps.core.tenancy.models import Shop

M = TypeVar("M", bound=Model)
View = TypeVar("View", bound=Callable[..., HttpResponseBase])


@dataclass(frozen=True, slots=True)
class _ExtraView:
    route: str
    name: str
    permissions: tuple[str, ...]
    post_only: bool
    keyed: bool
    takes_row: bool


def extra_view(
    route: str,
    *permissions: str,
    name: str = "",
    post_only: bool = False,
    keyed: bool = False,
    takes_row: bool = False,
) -> Callable[[View], View]:
    """Declare a method of a model admin as an extra page under the list's URL.

    Args:
        route: The route, relative to the list.
        permissions: The user needs one of these permissions. Without permissions, the method checks the access.
        name: The end of the route's name ``<app>_<model>_<name>``, by default the method's name without ``_view``.
        post_only: Whether to refuse requests with other methods.
        keyed: Whether to refuse submissions without a form key.
        takes_row: Whether the method gets the row with the ``object_id`` of the route.
    """

    def declare(view: View) -> View:
        url_name = name or view.__name__.removesuffix("_view")
        view.extra_view = _ExtraView(route, url_name, permissions, post_only, keyed, takes_row)  # type: ignore[attr-defined]
        return view

    return declare


def row_view(route: str, *permissions: str, **options: Any) -> Callable[[View], View]:
    """Declare a method as an extra page of a row, with a route relative to the row. The method gets the row."""
    return extra_view(f"<path:object_id>/{route}", *permissions, takes_row=True, **options)


class ExtraViewsAdmin(ThemedAdmin[M]):
    """A model admin with extra pages, which ``extra_view`` and ``row_view`` declare.

    Users can add ``optional_columns``, which must need no extra queries. Phones show ``mobile_hide_labels`` unlabeled.
    """

    menu: MenuItem | None = None
    # Additional search terms for the command palette, separated by commas.
    search_terms: StrOrPromise = ""
    optional_columns: Sequence[str] = ()
    mobile_hide_labels: Sequence[str] = ()

    def shop(self, request: HttpRequest) -> Shop:
        return as_staff_request(request).shop

    def actor(self, request: HttpRequest) -> str:
        return get_staff_actor(as_staff_request(request).user)

    def event_kwargs(self, request: HttpRequest) -> EventKwargs:
        return {"actor": self.actor(request), "at": timezone.now()}

    def run_action(
        self, request: HttpRequest, row: Model, message: str, action: Callable[..., object]
    ) -> HttpResponseRedirect:
        """Run a service on a row, and show the message, or why the service refused. Redirect to the row's page."""
        try:
            action(row, **self.event_kwargs(request))
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            self.message_user(request, message, messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", row.pk))

    def page(self, request: HttpRequest, template: str, title: str, **context: object) -> HttpResponse:
        base = {
            **self.admin_site.each_context(request),
            **self._get_header_context(request),
            "title": title,
            "opts": self.opts,
        }
        return TemplateResponse(request, template, base | context)

    def get_urls(self) -> list[URLPattern]:
        return [*self._build_extra_urls(), *super().get_urls()]

    def _build_extra_urls(self) -> Iterator[URLPattern]:
        declared = {
            name: declaration for name in dir(type(self)) if (declaration := _find_declaration(type(self), name))
        }
        # An ID can contain slashes, so ``<id>/delete/`` would also match the longer ``<id>/code/delete/``.
        for name, declaration in sorted(declared.items(), key=lambda item: -item[1].route.count("/")):
            checked_view: Any = self.admin_site.admin_view(self._wrap_view(getattr(self, name), declaration))
            checked_view.model_admin = self
            url_name = f"{self.opts.app_label}_{self.opts.model_name}_{declaration.name}"
            yield path(declaration.route, checked_view, name=url_name)

    def _wrap_view(self, view: Callable[..., HttpResponseBase], declaration: _ExtraView) -> Any:
        """Return the view with the checks of its declaration. A form that is submitted twice is processed once."""

        @wraps(view)
        def submit(request: HttpRequest, /, **kwargs: Any) -> HttpResponseBase:
            return submit_once_or_redirect(request, lambda: respond(request, **kwargs), keyed=declaration.keyed)

        def respond(request: HttpRequest, /, **kwargs: Any) -> HttpResponseBase:
            if declaration.permissions:
                require_permission(request, *declaration.permissions)
            row = [self.get_row_or_404(request, kwargs.pop("object_id"))] if declaration.takes_row else []
            if declaration.post_only and request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            return view(request, *row, **kwargs)

        return submit

    def url(self, name: str, *args: object) -> str:
        """Return the URL of a page of this model, such as ``changelist`` or ``change``."""
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    def suggest_searches(self, term: str) -> Sequence[str]:
        """Return a few similar search texts for a search without matches. The cost must be bounded."""
        return ()

    def get_search_note(self, term: str) -> str:
        return describe_search_limits(term, self.search_fields)

    @property
    def heading(self) -> str:
        return (str(self.menu.title) if self.menu else "") or capfirst(str(self.opts.verbose_name_plural))

    def _get_header_context(self, request: HttpRequest) -> Context:
        link = self.url("changelist") if self.has_view_or_change_permission(request) else ""
        return {"heading_link": link, "model_admin": self}

    def show_under(self, request: HttpRequest, model: type[Model]) -> Context:
        """Return the header context for a page that belongs to the list of another model, also in the menu."""
        other = self.admin_site.get_model_admin(model)
        if not isinstance(other, ExtraViewsAdmin) or not other.has_view_or_change_permission(request):
            return {}
        request.menu_link = other.url("changelist")  # type: ignore[attr-defined]
        return other._get_header_context(request)

    def get_row_or_404(self, request: HttpRequest, object_id: str) -> M:
        # Call Django's method, because ``PanelAdmin.get_object`` locks the row, and each workflow locks rows in its own
        # order.
        instance = super().get_object(request, unquote(object_id))
        if instance is None:
            raise Http404(_("There is no {model} with the ID {id}.").format(model=self.opts.verbose_name, id=object_id))
        return instance


def _find_declaration(admin_class: type, name: str) -> _ExtraView | None:
    """Return the declaration of a method. An override without a decorator keeps the declaration, and so its checks."""
    declarations = (getattr(base.__dict__.get(name), "extra_view", None) for base in admin_class.__mro__)
    return next((declaration for declaration in declarations if declaration), None)
