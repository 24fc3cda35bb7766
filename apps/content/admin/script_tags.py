from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy, gettext_noop, pgettext_lazy

from apps.content.domain.script_tags import is_vintage
from apps.content.models import ScriptTag, Theme
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ReadOnlyAdminMixin, ShopOwnedAdmin
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import attribute_column, display
from apps.core.tenancy.permissions import allow, grants
from apps.shops.admin.filters import AppFilter
from apps.shops.admin.uninstall_preview import uninstall_counts

THEME_WITHOUT_SCRIPT_TAGS = gettext_lazy(
    "These scripts are not loaded, because the published theme uses JSON templates, which don't support script tags."
)

grants.add(
    allow("themes", "v", "content.scripttag"),
    allow("applications", "v", "content.scripttag"),
)
uninstall_counts.register(
    gettext_noop("script tags"), lambda installation: ScriptTag.rows().filter(app_id=installation.app_id).count()
)


@admin.register(ScriptTag)
class ScriptTagAdmin(ReadOnlyAdminMixin, ShopOwnedAdmin[ScriptTag]):
    """Read-only admin for script tags, which only apps can change."""

    menu = MenuItem("Online store", "code", 50)
    search_terms = pgettext_lazy("search", "javascript, tracking, analytics, pixel")
    intro = gettext_lazy(
        "Scripts that apps add to your online store. Apps manage the scripts. Uninstall an app to remove its scripts."
    )
    empty_text = gettext_lazy("No scripts yet. Apps can add scripts to your online store.")
    list_display = ("source", "app_name", "shown_on", "cached", "created_at")
    mobile_hide_labels = ("app_name", "shown_on")
    list_display_links = ("source",)
    list_filter = (AppFilter, "display_scope")
    list_filter_submit = True
    list_select_related = ("app",)
    search_fields = ("src__icontains",)
    ordering = ("-id",)
    fields = ("src", "app", "event", "display_scope", "cache", "created_at", "updated_at")
    readonly_fields = ("app", "created_at", "updated_at")

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        """Warn if the published theme does not load script tags."""
        main = Theme.rows().filter(role=Theme.Role.MAIN).first()
        if request.method == "GET" and main is not None and not is_vintage(main):
            self.message_user(request, THEME_WITHOUT_SCRIPT_TAGS, messages.WARNING)
        return super().changelist_view(request, extra_context)

    source = attribute_column("src", gettext_lazy("Source"), ordering="src")
    app_name = attribute_column("app.name", gettext_lazy("App"), ordering="app__name")
    cached = attribute_column("cache", gettext_lazy("Cached"), boolean=True)

    @display(description=gettext_lazy("Shown on"))
    def shown_on(self, tag: ScriptTag) -> str:
        return tag.get_display_scope_display()
