"""Script tags as staff see them."""

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.content.domain.scripts import is_vintage
from apps.content.models import ScriptTag, Theme
from apps.panel.menu import Menu
from apps.panel.requests import Context
from apps.panel.screens.bases import ReadOnly, ShopOwnedAdmin
from apps.panel.theme import display
from apps.shops.admin.departures import leaves_with_app
from apps.shops.admin.filters import AppFilter
from apps.staff.domain.permissions import grant

NOT_VINTAGE = gettext_lazy(
    "These scripts do not load: the published theme has JSON templates, and such themes take no script tags."
)

grant("themes", "v", "content.scripttag")
grant("applications", "v", "content.scripttag")
leaves_with_app(
    gettext_noop("script tags"), lambda installation: ScriptTag.rows().filter(app_id=installation.app_id).count()
)


@admin.register(ScriptTag)
class ScriptTagAdmin(ReadOnly, ShopOwnedAdmin[ScriptTag]):
    """What apps load on the storefront's pages; apps alone write it."""

    menu = Menu("Online store", "code", 50, words=pgettext_lazy("search", "javascript, tracking, analytics, pixel"))
    intro = gettext_lazy(
        "Scripts that apps load on the storefront. Apps manage them; an uninstalled app takes its scripts along."
    )
    empty_text = gettext_lazy("No app loads a script on the storefront.")
    list_display = ("source", "app_name", "shown_on", "cached", "created_at")
    list_self_evident = ("app_name", "shown_on")
    list_display_links = ("source",)
    list_filter = (AppFilter, "display_scope")
    list_filter_submit = True
    list_select_related = ("app",)
    search_fields = ("src__icontains",)
    ordering = ("-id",)
    fields = ("src", "app", "event", "display_scope", "cache", "created_at", "updated_at")
    readonly_fields = ("app", "created_at", "updated_at")

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Say so where the published theme keeps scripts from loading."""
        main = Theme.rows().filter(role=Theme.Role.MAIN).first()
        if request.method == "GET" and main is not None and not is_vintage(main):
            self.message_user(request, NOT_VINTAGE, messages.WARNING)
        return super().changelist_view(request, extra_context)

    @display(description=gettext_lazy("Source"), ordering="src")
    def source(self, tag: ScriptTag) -> str:
        """The address."""
        return tag.src

    @display(description=gettext_lazy("App"), ordering="app__name")
    def app_name(self, tag: ScriptTag) -> str:
        """Whose it is."""
        return tag.app.name

    @display(description=gettext_lazy("Shown on"))
    def shown_on(self, tag: ScriptTag) -> str:
        """Which pages load it."""
        return tag.get_display_scope_display()

    @display(description=gettext_lazy("Cached"), boolean=True)
    def cached(self, tag: ScriptTag) -> bool:
        """Whether we serve our own copy."""
        return tag.cache
