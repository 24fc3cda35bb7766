"""The panel's site: Django's admin in the theme, once per shop."""

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

from apps.panel import home, search, tour
from apps.panel.addresses import outside_url
from apps.panel.help import help_page, help_picture
from apps.panel.once import FIELD, form_key
from apps.panel.requests import Context, shop_of
from apps.panel.screens import saved_views
from apps.panel.theme import ThemedSite
from apps.staff.models import Membership


class StaffSite(ThemedSite):
    """The panel of the shop that the request is in; ``ShopMiddleware`` lets nobody else through.

    Login, logout and passwords belong to allauth, so that no way in leads around the second factor.
    """

    site_title = "Backoffice"
    index_title = gettext_lazy("Home")
    enable_nav_sidebar = True

    def register(
        self, model_or_iterable: object, admin_class: type[ModelAdmin[Model]] | None = None, **options: object
    ) -> None:
        """Take in screens of our own only.

        Packages bring theirs (groups, second factors, e-mail addresses), which know nothing of shops and would show
        everybody's rows.
        """
        from apps.panel.screens.bases import PanelAdmin

        if admin_class is not None and issubclass(admin_class, PanelAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def each_context(self, request: HttpRequest) -> Context:
        """What every page shows, with the key of its forms, and where on the tour it is."""
        return {**super().each_context(request), FIELD: form_key(request), "tour": tour.stay(request)}

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the request is in a shop; what it may do there, each page asks itself."""
        return bool(request.user.is_active and shop_of(request) is not None)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Django's, without the redirect to "view on site", which would look beyond the shop; and those of lists."""
        return [
            path("links/", self.admin_view(self.links), name="links"),
            path("session/", self.admin_view(self.session), name="session"),
            path("views/", self.admin_view(saved_views.save), name="save_view"),
            path("columns/", self.admin_view(saved_views.choose_columns), name="choose_columns"),
            path("tour/", self.admin_view(tour.end), name="end_tour"),
            path("help/", self.admin_view(self.help), name="help"),
            path("help/<slug:name>/", self.admin_view(self.help), name="help_page"),
            re_path(r"\Ahelp/images/(?P<name>[\w-]+\.png)\Z", self.admin_view(help_picture), name="help_picture"),
            path("views/<int:pk>/", self.admin_view(saved_views.change), name="change_view"),
            *(url for url in super().get_urls() if getattr(url, "name", "") != "view_on_site"),
        ]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[object]:
        """Nothing: the menu is the list, and this one costs four questions per model on every page."""
        return []

    def index(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """The home page, also for somebody without any permission."""
        owner = Membership.rows().filter(account_owner=True).select_related("user").order_by("id").first()
        context = {
            **self.each_context(request),
            "title": _("Home"),
            **home.page(request),
            "owner": owner.user if owner else None,
            **(extra_context or {}),
        }
        return TemplateResponse(request, "panel/home.html", context)

    def app_index(self, request: HttpRequest, app_label: str, extra_context: Context | None = None) -> HttpResponse:
        """There is no page per app; the home page has the menu."""
        return HttpResponseRedirect(reverse("admin:index"))

    def links(self, request: HttpRequest) -> HttpResponse:
        """What a text can point at, by its name (``q``)."""
        found = search.find_linked(request, request.GET.get("q", ""))
        return JsonResponse({"links": [linked._asdict() for linked in found]})

    def search(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """What the search field shows while somebody types."""
        began = time.monotonic()
        results = search.find(request, request.GET.get("s", ""))
        paginator = Paginator(results, per_page=100)
        extended = "extended" in request.GET
        return TemplateResponse(
            request,
            "unfold/helpers/command_results.html" if extended else "unfold/helpers/search_results.html",
            {
                "page_obj": paginator,
                "results": paginator.page(1),
                "page_counter": 0,
                "execution_time": time.monotonic() - began,
            },
            headers={"HX-Trigger": "search"},
        )

    def help(self, request: HttpRequest, name: str = "staff") -> HttpResponse:
        """The guide for staff."""
        return help_page(request, self.each_context(request), name)

    def session(self, request: HttpRequest) -> HttpResponse:
        """Whose session this is, for pages about to send what somebody typed; a page for who just logged in."""
        if request.accepts("text/html"):
            context = {**self.each_context(request), "title": _("You are logged in again")}
            return TemplateResponse(request, "panel/session/back.html", context)
        response = JsonResponse({"person": request.user.pk, "token": get_token(request)})
        add_never_cache_headers(response)
        return response

    def login(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Nobody logs in here: whoever comes this far is logged in."""
        return HttpResponseRedirect(reverse("admin:index"))

    def logout(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Log out; by POST only, so that no link or picture can."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        get_adapter(request).logout(request)
        return HttpResponseRedirect(str(settings.LOGOUT_REDIRECT_URL))

    def password_change(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Passwords are changed among the account's own pages."""
        return HttpResponseRedirect(outside_url("account_change_password"))

    def password_change_done(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """See ``password_change``."""
        return HttpResponseRedirect(outside_url("profile"))
