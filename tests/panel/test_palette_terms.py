from decimal import Decimal

import pytest
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets

from apps.core.admin.menu import pages
from apps.core.admin.model_admin.base import PanelAdmin
from apps.core.admin.palette import search
from apps.core.tenancy.models import Shop
from apps.inventory.models import InventoryItem
from tests.support.factories.catalog import make_product
from tests.support.factories.orders import make_order
from tests.support.panel.client import Panel, PanelWith
from tests.support.subtests import Subtests

pytestmark = pytest.mark.usefixtures("in_shop")

# The expected first result, and the search terms.
ENGLISH = {
    "Home": "home, dashboard, overview, start",
    "Orders": "orders, order, purchase, unpaid, channel, sales channel, basket",
    "Drafts": "drafts, order by phone, phone order, quote, estimate",
    "Invoices": "invoice, invoices, bill, credit note",
    "Invoices and documents": "vat number, numbering, footer",
    "Sales report": "sales report, revenue, turnover, statistics, analytics",
    "Refunds": "refund, returns, money back, chargeback",
    "Refund report": "refund report",
    "Tax report": "tax report, vat report, vat return, gst, bookkeeping",
    "Fulfillment": "shipping, ship, delivery, parcels, packing slip, tracking number, fulfillment",
    "Exports": "export, backup, download, export customers, export orders",
    "Imports": "import, migration, import products, import customers",
    "Products": "products, goods, article, item, price, brand, vendors",
    "Variants": "variants, sku, barcodes, ean, size, colour, compare-at price, sale price",
    "Collections": "collections, category, categories, department",
    "Smart collections": "smart collection, rules",
    "Inventory": "stock, inventory, quantity, stocktaking, sold out, warehouse",
    "Inventory history": "stock movements, ledger, stock history",
    "Stock receipts": "stock receipts, receive stock, goods in, supplier, scan",
    "Stock transfers": "stock transfers, move stock, in transit",
    "Locations": "locations, pickup, branch, depots",
    "Customers": "customers, customer, clients, buyers, newsletter, contact, gdpr, privacy",
    "Discounts": "discount, discounts, discount code, coupon, promo code, price rule, free shipping",
    "Gift cards": "gift card, gift cards, voucher, gift certificate, store credit",
    "Themes": "theme, design, logo, layout, template, fonts, storefront",
    "Blogs": "blogs, news",
    "Pages": "about us, faq, static page",
    "Comments": "moderation, spam",
    "URL redirects": "forwarding, 301, navigation",
    "Policies": "terms and conditions, withdrawal",
    "Articles": "blog post, writing, content",
    "Files": "files, pictures, images, photo, upload a file, media, pdf",
    "Script tags": "script tags, javascript, pixel",
    "Mobile apps": "mobile app, android, iphone, deep links",
    "Apps": "apps, plugins, add-on, integrations",
    "In-house apps": "in-house apps, secret, developer, credentials",
    "Fulfillment services": "fulfillment service, 3pl, logistics, dropshipping",
    "Webhooks": "webhook, webhooks, callback",
    "Webhook deliveries": "webhook deliveries, webhook log",
    "Shop settings": "settings, shop settings, configuration, preferences",
    "Staff": "staff, employee, employees, team, users, permissions, roles, invite, colleagues, access rights",
    "Taxes": "tax, taxes, vat, tax rate, tax rates, tax exempt",
    "Payment handlers": "payment methods, payment provider, credit card, paypal, checkout",
    "Shop metafields": "metafields, custom fields, custom data",
    "Audit log": "audit log, audit trail, history, changes, who changed",
    "Background jobs": "jobs, background job, tasks, queue, failed",
    "Bulk edits": "bulk edit, mass, undo",
    "My profile": "profile, my account",
    "Password": "password, passwords, change password, change my password",
    "Two-factor authentication": "two factor, two-factor, 2fa, passkey, passkeys, second factor, recovery codes",
    "My notifications": "my notifications, notifications, alerts, badge, sound",
    "Panel language": "language, my language, change language, languages",
    "Dark mode": "dark, dark mode, dark theme, night mode",
    "Light mode": "light, light mode, light theme, bright",
    "Use system theme": "system mode, system theme, like the system",
    "Active sessions": "sessions, devices, sign out everywhere",
    "All shops": "switch shop, all shops, other shop",
    "Log out": "log out, logout, sign out, sign-out, log off",
    "Help": "help, guide, manual, documentation, support",
    "Import files": "import file",
    "Move a store here": "import a store, switch platform, copy store",
    "Prices include tax": "gross, prices include tax",
    "Tax is charged on shipping": "shipping tax, tax on shipping",
    "Currency": "currency, currencies",
    "Presentment currencies": "presentment currencies, exchange rate, foreign currency",
    "Time zone": "time zone, timezone, time",
    "Weight unit": "weight, weight unit, kilograms",
    "Customer accounts": "customer accounts, guest checkout, registration",
    "Low-stock threshold": "low-stock threshold, low stock warning, threshold",
    "Require two-factor authentication from": "require 2fa, two-factor for everybody",
    "Domain": "domain, url, web address",
    "Plan": "plan, subscription",
    "Owner": "owner",
}
GERMAN = {
    "Startseite": "startseite, übersicht, dashboard",
    "Bestellungen": "bestellung, bestellungen, aufträge, unbezahlt, kanal, verkaufskanal, orders",
    "Entwürfe": "entwurf, entwürfe, bestellung am telefon, telefonbestellung, angebot",
    "Rechnungen": "rechnung, rechnungen, gutschrift",
    "Umsatzbericht": "umsatz, einnahmen, statistik, auswertung",
    "Steuerbericht": "steuerbericht, mehrwertsteuerbericht, umsatzsteuervoranmeldung, buchhaltung",
    "Erstattungen": "rückzahlung, erstattung, retoure, rückgabe, storno, geld zurück, refund",
    "Versand": "versand, versenden, lieferung, paket, pakete, lieferschein, sendungsnummer",
    "Exporte": "export, datensicherung, backup, sicherung, herunterladen, kunden exportieren",
    "Shop hierher umziehen": "umziehen, plattform wechseln, shop kopieren",
    "Importe": "import, umzug, datenübernahme, produkte importieren",
    "Produkte": "produkt, produkte, artikel, waren, preis, hersteller, products",
    "Varianten": "artikelnummer, strichcode, größe, farbe, sonderangebot, streichpreis",
    "Kategorien": "kategorie, kategorien, warengruppe",
    "Bestand": "bestand, lager, lagerbestand, inventur, ausverkauft, inventory",
    "Wareneingänge": "wareneingang, anlieferung, scannen",
    "Umlagerungen": "umlagerung, unterwegs",
    "Standorte": "standort, filiale, abholung, lagerort",
    "Rabatte": "rabatt, rabatte, rabattcode, preisregel, coupon, aktionscode",
    "Geschenkgutscheine": "geschenkgutschein, geschenkkarte, gutschein, guthaben",
    "Kunden": "kunde, kunden, kundin, käufer, newsletter, dsgvo, datenschutz, customer",
    "Themes": "design, logo, gestaltung, aussehen, vorlage",
    "Dateien": "datei, bilder, foto, hochladen einer datei",
    "Team": "mitarbeiter, mitarbeiterin, mitarbeiterinnen, personal, benutzer, berechtigungen, rechte, einladen, staff",
    "Zahlungsanbieter": "zahlung, zahlungsarten, kreditkarte, paypal",
    "Protokoll": "protokoll, verlauf, änderungen, wer hat geändert",
    "Passwort": "passwort, kennwort, passwort ändern, password",
    "Zwei-Faktor-Authentifizierung": "zwei-faktor, zweifaktor, 2fa, passkey, sicherheitsschlüssel, two factor",
    "Meine Benachrichtigungen": "benachrichtigungen, hinweiston",
    "Sprache des Panels": "sprache, sprachen, meine sprache, language",
    "Dunkler Modus": "dunkel, dunkelmodus, dunkler modus, nachtmodus, dark mode, darstellung",
    "Heller Modus": "hell, hellmodus, heller modus, light mode",
    "Hell oder dunkel wie das System": "systemmodus, wie das system",
    "Abmelden": "abmelden, ausloggen, logout, sign out",
    "Hilfe": "hilfe, anleitung, handbuch, help",
    "Steuern": "steuer, steuern, mehrwertsteuer, mwst, kleinunternehmer, tax",
    "Währung": "währung, währungen, waehrung, currency",
    "Zeitzone": "zeitzone, uhrzeit, time zone",
}


def search_titles(panel: Panel, term: str, language: str = "en") -> list[str]:
    response = panel.http.get(panel.url("search"), {"s": term, "extended": "1"}, HTTP_ACCEPT_LANGUAGE=language)
    return [result.title for result in response.context["results"]]


@pytest.mark.parametrize(("language", "table"), [("en", ENGLISH), ("de", GERMAN)])
def test_terms_find_pages(
    owner_client: Panel, language: str, table: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Searching only the pages is ten times faster than also searching the shop's rows, even in an empty shop.
    monkeypatch.setattr(search, "_find_rows", lambda request, term: ())
    with Subtests() as checks:
        for title, words in table.items():
            for word in words.split(", "):
                with checks(f"{word!r} is {title!r}"):
                    assert search_titles(owner_client, word, language)[:1] == [title]


@pytest.mark.parametrize(("language", "word"), [("en", "affiliate"), ("de", "affiliate")])
def test_terms_for_missing_features_find_nothing_else(owner_client: Panel, language: str, word: str) -> None:
    assert search_titles(owner_client, word, language) == []


def test_an_ambiguous_word_finds_shop_themes_before_light_and_dark(owner_client: Panel) -> None:
    matching_titles = search_titles(owner_client, "theme")

    assert matching_titles[0] == "Themes"
    assert {"Dark mode", "Light mode", "Use system theme"} <= {*matching_titles}


def test_every_menu_page_and_setting_has_terms(owner_client: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [screen for screen in admin.site._registry.values() if isinstance(screen, PanelAdmin) and screen.menu]
    screen = admin.site.get_model_admin(Shop)
    monkeypatch.setattr(search, "_find_rows", lambda request, term: ())
    with Subtests() as checks:
        for listed_screen in listed:
            with checks(str(listed_screen)):
                assert listed_screen.search_terms
        for name in flatten_fieldsets(screen.fieldsets or ()):
            with checks(name):
                label = str(screen.form.base_fields[name].label)
                links = [result.link for result in owner_client.get("search", s=label, extended="1").context["results"]]
                assert f"/change/#id_{name}" in " ".join(links)
    assert ENGLISH.keys() >= {str(screen.menu.title) for screen in listed if screen.menu and screen.menu.title}


def test_settings_are_found_by_those_who_may_open_them(admin_client_with: PanelWith) -> None:
    assert search_titles(admin_client_with("products"), "time zone") == []
    assert search_titles(admin_client_with("products"), "sign out") == ["Log out", "Active sessions"]


def test_products_customers_and_orders_come_before_what_is_kept_of_them(shop: Shop, owner_client: Panel) -> None:
    make_product("Mug")
    InventoryItem.objects.update(sku="mug-1")
    line = {"title": "Mug", "sku": "mug", "price": Decimal("12.50"), "quantity": 1}
    make_order(shop, lines=[line], customer={"first_name": "Mug", "last_name": "Smith"})

    results = owner_client.get("search", s="mug", extended="1").context["results"]

    assert [result.description.split(" ")[0] for result in results[:3]] == ["Product", "Customer", "Order"]


def test_menu_entries_have_the_same_order_in_all_languages() -> None:
    """Entries of a section with the same number would be sorted by their translated title."""
    screens = [*pages.values(), *admin.site._registry.values()]
    positions = [(menu.section, menu.order) for screen in screens if (menu := getattr(screen, "menu", None))]

    assert len(positions) > 40
    assert sorted(positions) == sorted(set(positions))
