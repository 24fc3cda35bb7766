"""The admin site of the panel: Django's admin with the unfold theme, for the shop of the request."""

import time

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.contrib.admin import ModelAdmin
from django.core.paginator import Paginator
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, JsonResponse
from django.middleware.csrf import get_token
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, re_path, reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.core.admin.forms.idempotency import FORM_KEY_FIELD, create_form_key
from apps.core.admin.lists import saved_views
from apps.core.admin.menu import build_navigation
from apps.core.admin.pages import dashboard, tour
from apps.core.admin.pages.docs_page import render_help_page, serve_help_image
from apps.core.admin.pages.workers import show_missing_workers
from apps.core.admin.palette import search as palette_search
from apps.core.admin.reverse import get_global_url
from apps.core.admin.routes import panel_routes
from apps.core.admin.staff_request import Context, get_request_shop
from apps.core.admin.theme import ThemedSite
from apps.core.tenancy.models import Membership


class StaffSite(ThemedSite):
    """The panel of the current shop. ``ShopMiddleware`` has already checked that the user has access to the shop.

    allauth handles login, logout and passwords, so that users cannot bypass the second factor with Django's login view.
    """

    site_title = "Backoffice"
    empty_value_display = "–"
    index_title = gettext_lazy("Home")
    enable_nav_sidebar = True

    def register(
        self, model_or_iterable: object, admin_class: type[ModelAdmin[Model]] | None = None, **options: object
    ) -> None:
        """Register subclasses of ``PanelAdmin`` and ignore all other model admins.

        Third-party packages register their own models (groups, second factors, email addresses). Their model admins do
        not filter by shop, so they would show the rows of all users.
        """
        from apps.core.admin.model_admin.base import PanelAdmin

        if admin_class is not None and issubclass(admin_class, PanelAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def each_context(self, request: HttpRequest) -> Context:
        return {
            **super().each_context(request),
            FORM_KEY_FIELD: create_form_key(request),
            "tour": tour.get_tour_position(request),
            "templates": {"navigation": "panel/menu.html"},
        }

    def get_sidebar_list(self, request: HttpRequest) -> list[Context]:
        """Return the menu. The theme's method would copy it and check the permissions a second time."""
        return build_navigation(request)

    def has_permission(self, request: HttpRequest) -> bool:
        """Return True for active users inside a shop. Each page checks its own permissions."""
        return bool(request.user.is_active and get_request_shop(request) is not None)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Add the panel's own routes and remove the "view on site" redirect, which could lead to other shops."""
        return [
            path("links/", self.admin_view(self.links), name="links"),
            path("session/", self.admin_view(self.session), name="session"),
            path("views/", self.admin_view(saved_views.save_view), name="save_view"),
            path("columns/", self.admin_view(saved_views.choose_columns), name="choose_columns"),
            path("tour/", self.admin_view(tour.end_tour), name="end_tour"),
            path("workers/", self.admin_view(show_missing_workers), name="workers"),
            path("help/", self.admin_view(self.help), name="help"),
            path("help/<slug:name>/", self.admin_view(self.help), name="help_page"),
            re_path(r"\Ahelp/images/(?P<name>[\w-]+\.png)\Z", self.admin_view(serve_help_image), name="help_picture"),
            path("views/<int:pk>/", self.admin_view(saved_views.change_view), name="change_view"),
            *(path(entry.route, self.admin_view(entry.view), name=name) for name, entry in panel_routes.items()),
            *(url for url in super().get_urls() if getattr(url, "name", "") != "view_on_site"),
        ]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[object]:
        """Return nothing, because the menu replaces Django's list of apps, which costs four queries per model."""
        return []

    def index(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Render the home page, even for users without any permissions."""
        owner = Membership.rows().filter(account_owner=True).select_related("user").order_by("id").first()
        context = {
            **self.each_context(request),
            "title": _("Home"),
            **dashboard.get_home_context(request),
            "owner": owner.user if owner else None,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "panel/home.html", context)

    def app_index(self, request: HttpRequest, app_label: str, extra_context: Context | None = None) -> HttpResponse:
        """Redirect to the home page, because the panel has no index pages for Django apps."""
        return HttpResponseRedirect(reverse("admin:index"))

    def links(self, request: HttpRequest) -> HttpResponse:
        return JsonResponse({"links": list(palette_search.search_link_targets(request, request.GET.get("q", "")))})

    def search(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        started_at = time.monotonic()
        term = request.GET.get("s", "")
        results = palette_search.search_panel(request, term)
        paginator = Paginator(results, per_page=100)
        return TemplateResponse(
            request,
            "panel/palette_results.html",
            {
                "page_obj": paginator,
                "results": paginator.page(1),
                "suggestions": [] if results else list(palette_search.suggest_searches(request, term)),
                "page_counter": 0,
                "execution_time": time.monotonic() - started_at,
            },
            headers={"HX-Trigger": "search"},
        )

    def help(self, request: HttpRequest, name: str = "staff") -> HttpResponse:
        return render_help_page(request, self.each_context(request), name)

    def session(self, request: HttpRequest) -> HttpResponse:
        """Return the current user and CSRF token as JSON, or a page for a user who has just logged in again.

        Scripts request the JSON before they submit a form, so that the user does not lose the input if the session has
        expired.
        """
        if request.accepts("text/html"):
            context = {**self.each_context(request), "title": _("You are logged in again")}
            return TemplateResponse(request, "panel/session/returned.html", context)
        response = JsonResponse({"person": request.user.pk, "token": get_token(request)})
        add_never_cache_headers(response)
        return response

    def login(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Redirect to the home page, because every user who reaches this view is already logged in."""
        return HttpResponseRedirect(reverse("admin:index"))

    def logout(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Log out. The request method must be POST, so that links and images cannot log a user out."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        get_adapter(request).logout(request)
        return HttpResponseRedirect(str(settings.LOGOUT_REDIRECT_URL))

    def password_change(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        return HttpResponseRedirect(get_global_url("account_change_password"))

    def password_change_done(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        return HttpResponseRedirect(get_global_url("profile"))
