"""The panel's menu: what each domain puts there, and what one person sees of it.

A ``PanelAdmin`` with ``menu = Menu("Catalog", "sell", 10)`` has an entry where its list may be viewed. Pages that
belong to no model are added with ``add_page``. The search and the home page ask the same permissions.
"""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext
from django_stubs_ext import StrOrPromise

from apps.panel.addresses import outside_url, panel_url
from apps.panel.requests import Context, shop_of
from apps.panel.wishes import Wish
from apps.staff.domain.access import shops_of
from apps.staff.models import User

SECTIONS = {
    "Sales": gettext_lazy("Sales"),
    "Catalog": gettext_lazy("Catalog"),
    "Customers": gettext_lazy("Customers"),
    "Online store": gettext_lazy("Online store"),
    "Apps": gettext_lazy("Apps"),
    "Settings": gettext_lazy("Settings"),
    "Activity": gettext_lazy("Activity"),
}
_ORDER = list(SECTIONS)
SWITCHER_SHOPS = 8


@dataclass(frozen=True, slots=True)
class Menu:
    """Where an entry stands: its section, its icon (a Material Symbols name), its place and, if needed, its title.

    ``words`` are further ones, between commas, by which people look for the page in the search from anywhere.
    """

    section: str
    icon: str
    order: int = 50
    title: StrOrPromise = ""
    words: StrOrPromise = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry that somebody may see."""

    section: str
    title: str
    icon: str
    order: int
    link: str
    words: str = ""

    @property
    def section_name(self) -> str:
        """The section, as it is read."""
        return str(SECTIONS.get(self.section, self.section))

    def nearness(self, wish: Wish) -> int | None:
        """How near it comes to what somebody types; ``None`` where it is not meant."""
        return wish.nearness(self.title, self.words, self.section_name)


@dataclass(frozen=True, slots=True)
class Addition(Entry):
    """The form that adds a row, for somebody who may; ``noun`` is what the row is called."""

    noun: str = ""

    def nearness(self, wish: Wish) -> int | None:
        """How near it comes to what somebody types, who names such a row or wants to make something."""
        return wish.addition(self.noun, self.words)


@dataclass(frozen=True, slots=True)
class _Page:
    menu: Menu
    url_name: str
    allowed: Callable[[HttpRequest], bool]


_pages: list[_Page] = []


def add_page(menu: Menu, url_name: str, allowed: Callable[[HttpRequest], bool]) -> None:
    """Put a page that is no model's list into the menu, for those whom ``allowed`` lets in."""
    _pages.append(_Page(menu, url_name, allowed))


def entries(request: HttpRequest) -> list[Entry]:
    """What this person may open here, in the order of the menu."""
    found = [
        Entry(each.section, str(each.title), each.icon, each.order, reverse(f"admin:{page.url_name}"), str(each.words))
        for page in _pages
        if page.allowed(request) and (each := page.menu)
    ]
    for model, model_admin in admin.site._registry.items():
        menu: Menu | None = getattr(model_admin, "menu", None)
        if menu and model_admin.has_view_or_change_permission(request):
            title = str(menu.title) or capfirst(str(model._meta.verbose_name_plural))
            link = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
            found.append(Entry(menu.section, title, menu.icon, menu.order, link, str(menu.words)))
    return sorted(found, key=lambda entry: (_ORDER.index(entry.section), entry.order, entry.title))


def additions(request: HttpRequest) -> list[Addition]:
    """What this person may add here, in the order of the menu."""
    found = []
    for model, model_admin in admin.site._registry.items():
        menu: Menu | None = getattr(model_admin, "menu", None)
        if menu and model_admin.has_add_permission(request):
            noun = str(model._meta.verbose_name)
            title = _("Add %(verbose_name)s") % {"verbose_name": noun}
            link = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_add")
            found.append(Addition(menu.section, title, "add", menu.order, link, str(menu.words), noun))
    return sorted(found, key=lambda entry: (_ORDER.index(entry.section), entry.order, entry.title))


def list_address(request: HttpRequest, model: type[Model], query: str = "") -> str:
    """The address of a model's list; empty for those who may not open it."""
    if not admin.site.get_model_admin(model).has_view_or_change_permission(request):
        return ""
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{query}" if query else address


def navigation(request: HttpRequest) -> list[Context]:
    """The sidebar, as the theme wants it."""
    home = {"title": _("Home"), "icon": "home", "link": reverse("admin:index"), "order": 0}
    groups: list[Context] = [{"title": None, "items": [home]}]
    for entry in entries(request):
        if groups[-1]["title"] != entry.section_name:
            groups.append({"title": entry.section_name, "items": []})
        groups[-1]["items"].append({"title": entry.title, "icon": entry.icon, "link": entry.link})
    groups.append({"title": None, "items": [{"title": _("Help"), "icon": "help", "link": reverse("admin:help")}]})
    # A page may stand below another's address: the nearest is where the person is.
    items = [item for group in groups for item in group["items"]]
    here = max((item["link"] for item in items if request.path.startswith(item["link"])), key=len, default=None)
    for item in items:
        item["active"] = item["link"] == here
    return groups


def shop_name(request: HttpRequest) -> str:
    """The header of the menu."""
    return str(shop_of(request) or "Backoffice")


def shop_domain(request: HttpRequest) -> str:
    """The line below it."""
    shop = shop_of(request)
    return shop.domain if shop else ""


def shop_switcher(request: HttpRequest) -> list[Context]:
    """The other shops of this person; empty where there is none."""
    shop = shop_of(request)
    if shop is None or not isinstance(request.user, User):
        return []
    others = list(shops_of(request.user).exclude(pk=shop.pk)[:SWITCHER_SHOPS])
    if not others and not request.user.is_superuser:
        return []
    links = [{"title": other.name, "link": panel_url(other), "icon": "storefront"} for other in others]
    return [*links, {"title": _("All shops"), "link": outside_url("shops"), "icon": "apps"}]


def account_pages() -> list[Entry]:
    """The person's own pages, which belong to no shop."""
    profile, factors = outside_url("profile"), outside_url("mfa_index")
    pages = (
        (_("My profile"), profile, pgettext("search", "account, name, e-mail, phone, about me")),
        (_("Password"), outside_url("account_change_password"), pgettext("search", "login, passphrase")),
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
    return [Entry(_("Your account"), title, "person", 0, link, words) for title, link, words in pages]


def account_links(request: HttpRequest) -> list[Context]:
    """What the person's own menu holds."""
    return [{"title": page.title, "link": page.link} for page in account_pages()]
