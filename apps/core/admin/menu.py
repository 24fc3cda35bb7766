"""The panel's menu: entries registered by the apps, filtered by the user's permissions.

A ``PanelAdmin`` with ``menu = MenuItem("Products", "sell", 10)`` gets an entry for users who may view its list. Pages
without a model are registered in ``pages``. The command palette and the home page check the same permissions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django_stubs_ext import StrOrPromise

from apps.core.admin.palette.matching import PaletteQuery
from apps.core.admin.reverse import get_global_url, get_panel_url
from apps.core.admin.staff_request import Context, get_request_shop
from apps.core.registry import Registry
from apps.core.tenancy.models import User
from apps.core.tenancy.staff_access import get_accessible_shops

# The label and the icon of each section, in the order of the menu.
SECTIONS: dict[str, tuple[StrOrPromise, str]] = {
    "Orders": (gettext_lazy("Orders"), "orders"),
    "Products": (gettext_lazy("Products"), "sell"),
    "Customers": (gettext_lazy("Customers"), "group"),
    "Discounts": (gettext_lazy("Discounts"), "loyalty"),
    "Reports": (gettext_lazy("Reports"), "bar_chart"),
    "Online store": (gettext_lazy("Online store"), "storefront"),
    "Content": (gettext_lazy("Content"), "description"),
    "Apps": (gettext_lazy("Apps"), "extension"),
    "Activity": (gettext_lazy("Activity"), "history"),
    "Settings": (gettext_lazy("Settings"), "settings"),
}
_ORDER = list(SECTIONS)
SWITCHER_SHOPS = 8


@dataclass(frozen=True, slots=True)
class MenuItem:
    """The menu settings of a page: section, icon (a Material Symbols name), order and optional title."""

    section: str
    icon: str
    order: int = 50
    title: StrOrPromise = ""

    def build_entry(self, title: str, link: str, search_terms: StrOrPromise) -> "PageEntry":
        return PageEntry(self.section, title, self.icon, self.order, link, str(search_terms))


@dataclass(frozen=True, slots=True)
class PageEntry:
    """A menu entry that the user may open."""

    section: str
    title: str
    icon: str
    order: int
    link: str
    search_terms: str = ""

    @property
    def section_name(self) -> str:
        return str(SECTIONS[self.section][0]) if self.section in SECTIONS else self.section

    def get_rank(self, query: PaletteQuery) -> int | None:
        return query.rank_page(self.title, self.search_terms, self.section_name)


@dataclass(frozen=True, slots=True)
class AddFormEntry(PageEntry):
    noun: str = ""

    def get_rank(self, query: PaletteQuery) -> int | None:
        return query.rank_add_form(self.noun, self.search_terms)


@dataclass(frozen=True, slots=True)
class Page:
    """A page without a model. The menu shows the page if ``is_allowed`` returns True for the request."""

    menu: MenuItem
    url_name: str
    is_allowed: Callable[[HttpRequest], bool]
    search_terms: StrOrPromise


pages = Registry[str, Page]("menu pages", get_key=attrgetter("url_name"))


@dataclass(frozen=True, slots=True)
class AccountPage:
    """A page of the panel about the user's own settings in this shop. The account menu links to the page."""

    title: StrOrPromise
    url_name: str
    search_terms: StrOrPromise


account_pages = Registry[str, AccountPage]("account pages", get_key=attrgetter("url_name"))


def get_page_entries(request: HttpRequest) -> list[PageEntry]:
    menu_entries = [
        page.menu.build_entry(str(page.menu.title), reverse(f"admin:{page.url_name}"), page.search_terms)
        for page in pages.values()
        if page.is_allowed(request)
    ]
    for model, model_admin in admin.site._registry.items():
        menu: MenuItem | None = getattr(model_admin, "menu", None)
        if menu and model_admin.has_view_or_change_permission(request):
            title = str(menu.title) or capfirst(str(model._meta.verbose_name_plural))
            link = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            menu_entries.append(menu.build_entry(title, link, get_search_terms(model_admin)))
    return sorted(menu_entries, key=lambda entry: (_ORDER.index(entry.section), entry.order, entry.title))


def get_add_form_entries(request: HttpRequest) -> list[AddFormEntry]:
    add_entries = []
    for model, model_admin in admin.site._registry.items():
        menu: MenuItem | None = getattr(model_admin, "menu", None)
        if menu and model_admin.has_add_permission(request):
            noun = str(model._meta.verbose_name)
            title = str(getattr(model_admin, "add_title", "")) or _("Add %(verbose_name)s") % {"verbose_name": noun}
            link = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
            search_terms = get_search_terms(model_admin)
            add_entries.append(AddFormEntry(menu.section, title, "add", menu.order, link, search_terms, noun))
    return sorted(add_entries, key=lambda entry: (_ORDER.index(entry.section), entry.order, entry.title))


def get_search_terms(model_admin: admin.ModelAdmin[Any]) -> str:
    return str(getattr(model_admin, "search_terms", ""))


def get_list_url(request: HttpRequest, model: type[Model], query: str = "") -> str:
    """Return the URL of a model's list, or an empty string if the user may not open the list."""
    if not admin.site.get_model_admin(model).has_view_or_change_permission(request):
        return ""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{query}" if query else address


def build_navigation(request: HttpRequest) -> list[Context]:
    """Return the sidebar in the format of django-unfold: home, one group for each section, and help."""
    home = {"title": _("Home"), "icon": "home", "link": reverse("admin:index"), "order": 0}
    groups: list[Context] = [{"title": None, "items": [home]}]
    for section, entries in groupby(get_page_entries(request), attrgetter("section")):
        title, icon = SECTIONS[section]
        items: list[Context] = [{"title": entry.title, "icon": entry.icon, "link": entry.link} for entry in entries]
        groups.append({"title": str(title), "key": section, "icon": icon, "items": items})
    groups.append({"title": None, "items": [{"title": _("Help"), "icon": "help", "link": reverse("admin:help")}]})
    # Page URLs can be nested, so the longest matching URL belongs to the active page.
    all_items = [item for group in groups for item in group["items"]]
    path = getattr(request, "menu_link", request.path)
    active_link = max((item["link"] for item in all_items if path.startswith(item["link"])), key=len, default=None)
    for item in all_items:
        item["active"] = item["link"] == active_link
    return groups


def get_shop_name(request: HttpRequest) -> str:
    return str(get_request_shop(request) or "Backoffice")


def get_shop_domain(request: HttpRequest) -> str:
    shop = get_request_shop(request)
    return shop.domain if shop else ""


def build_shop_switcher(request: HttpRequest) -> list[Context]:
    """Return links to the user's other shops and the shop chooser, or nothing if there is only one shop to open."""
    shop = get_request_shop(request)
    if shop is None or not isinstance(request.user, User):
        return []
    other_shops = list(get_accessible_shops(request.user).exclude(pk=shop.pk)[:SWITCHER_SHOPS])
    if not other_shops and not request.user.is_superuser:
        return []
    links = [{"title": other.name, "link": get_panel_url(other), "icon": "storefront"} for other in other_shops]
    return [*links, {"title": _("All shops"), "link": get_global_url("shops"), "icon": "apps"}]


def get_account_page_entries() -> list[PageEntry]:
    profile, factors = get_global_url("profile"), get_global_url("mfa_index")
    pages = (
        (_("My profile"), profile, pgettext("search", "account, name, e-mail, phone, about me")),
        (_("Password"), get_global_url("account_change_password"), pgettext("search", "login, passphrase")),
        (
            _("Two-factor authentication"),
            factors,
            pgettext(
                "search",
                "2fa, two factor, second factor, passkey, security key, authenticator, code, recovery code, security, "
                "login",
            ),
        ),
    )
    shop_pages = (
        (str(page.title), reverse(f"admin:{page.url_name}"), str(page.search_terms)) for page in account_pages.values()
    )
    section = _("Your account")
    return [PageEntry(section, title, "person", 0, link, words) for title, link, words in (*pages, *shop_pages)]


def get_account_links(request: HttpRequest) -> list[Context]:
    return [{"title": page.title, "link": page.link} for page in get_account_page_entries()]
