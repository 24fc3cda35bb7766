"""The usual column names in German files, which are not the labels of the panel."""

from collections.abc import Iterable, Mapping, Sequence

_ADDRESS = {
    "first_name": ("Vorname", "Rufname"),
    "last_name": ("Nachname", "Familienname", "Zuname"),
    "name": ("Vollständiger Name", "Vor- und Nachname", "Kundenname", "Empfänger"),
    "company": ("Firma", "Firmenname", "Unternehmen"),
    "address1": (
        "Straße",
        "Str.",
        "Anschrift",
        "Straße und Hausnummer",
        "Straße und Nr.",
        "Straße Nr.",
        "Adresse",
        "Adresse 1",
    ),
    "address2": ("Adresszusatz", "Adresszeile 2", "Adresse 2", "Zusatz"),
    "city": ("Ort", "Stadt", "Wohnort"),
    "province": ("Bundesland", "Kanton", "Provinz", "Region"),
    "country": ("Land", "Staat"),
    "country_code": ("Länderkürzel", "Ländercode", "Landcode"),
    "zip": ("PLZ", "Postleitzahl"),
    "phone": ("Telefonnummer", "Tel.", "Telefon", "Handy", "Handynummer", "Mobil", "Mobiltelefon", "Mobilnummer"),
}
_KINDS = {
    "billing": ("Rechnungsadresse", "Rechnungs", "Rechnung"),
    "shipping": ("Lieferadresse", "Liefer", "Lieferung", "Versandadresse", "Versand"),
}
_EMAIL = ("E-Mail", "Mail", "E-Mail-Adresse", "Mailadresse")
_NOTE = ("Bemerkung", "Bemerkungen", "Anmerkung", "Kommentar", "Notizen", "Notiz")
_TAGS = ("Schlagworte", "Schlagwörter", "Stichworte", "Tags")
CUSTOMER_WORDS: Mapping[str, Sequence[str]] = {
    **_ADDRESS,
    "email": _EMAIL,
    "note": _NOTE,
    "tags": _TAGS,
    "accepts_marketing": ("Newsletter", "Werbung erlaubt", "Akzeptiert Werbung"),
    "tax_exempt": ("Steuerfrei", "Steuerbefreit"),
}
ORDER_WORDS: Mapping[str, Sequence[str]] = {
    "order": ("Bestellnummer", "Bestellnr.", "Bestell-Nr.", "Auftragsnummer", "Auftragsnr.", "Bestellung"),
    "email": (*_EMAIL, "Kunden-E-Mail"),
    "processed_at": ("Bestelldatum", "Auftragsdatum", "Datum"),
    "financial_status": ("Zahlungsstatus",),
    "fulfillment_status": ("Versandstatus", "Lieferstatus"),
    "currency": ("Währung",),
    "total_price": ("Gesamtbetrag", "Gesamtsumme", "Gesamtpreis", "Gesamt", "Summe"),
    "subtotal_price": ("Zwischensumme",),
    "total_tax": ("MwSt.", "Mehrwertsteuer", "Umsatzsteuer", "USt.", "Steuern", "Steuer"),
    "shipping_price": ("Versandkosten", "Versand"),
    "shipping_title": ("Versandart",),
    "payment_method": ("Zahlungsart", "Zahlungsmethode", "Zahlungsweise"),
    "paid_at": ("Bezahlt am", "Zahlungsdatum"),
    "fulfilled_at": ("Versendet am", "Versanddatum", "Lieferdatum"),
    "cancelled_at": ("Storniert am",),
    "refunded_amount": ("Erstattet", "Erstattungsbetrag"),
    "discount_code": ("Gutscheincode", "Rabattcode", "Gutschein"),
    "discount_amount": ("Rabatt", "Rabattbetrag"),
    "tags": _TAGS,
    "note": _NOTE,
    "line_title": ("Artikel", "Artikelname", "Artikelbezeichnung", "Bezeichnung", "Produkt", "Produktname"),
    "line_variant": ("Variante",),
    "line_sku": ("Artikelnummer", "Artikel-Nr.", "Art.-Nr."),
    "line_quantity": ("Menge", "Anzahl", "Stück"),
    "line_price": ("Einzelpreis", "Stückpreis", "Preis", "Artikelpreis"),
    "line_vendor": ("Hersteller", "Lieferant"),
    **{
        f"{kind}_{name}": [
            spelling for word in words for prefix in prefixes for spelling in (f"{prefix} {word}", f"{word} ({prefix})")
        ]
        for kind, prefixes in _KINDS.items()
        for name, words in {**_ADDRESS, "name": ("Name", *_ADDRESS["name"])}.items()
    },
}
PRODUCT_WORDS: Mapping[str, Sequence[str]] = {
    "Title": ("Titel", "Produktname", "Artikelname", "Bezeichnung", "Artikelbezeichnung"),
    "Body (HTML)": ("Beschreibung", "Artikelbeschreibung", "Produktbeschreibung"),
    "Vendor": ("Hersteller", "Marke", "Lieferant", "Anbieter"),
    "Type": ("Produkttyp", "Produktart"),
    "Tags": _TAGS,
    "Variant SKU": ("Artikelnummer", "Artikel-Nr.", "Art.-Nr.", "SKU"),
    "Variant Barcode": ("Barcode", "EAN", "GTIN", "Strichcode"),
    "Variant Price": ("Preis", "Verkaufspreis", "VK"),
    "Variant Compare At Price": ("Vergleichspreis", "UVP", "Streichpreis"),
    "Cost per item": ("Einkaufspreis", "EK", "Kosten"),
    "Variant Inventory Qty": ("Bestand", "Lagerbestand", "Menge"),
    "Variant Grams": ("Gewicht in Gramm", "Gewicht (g)"),
    "Variant Taxable": ("Steuerpflichtig",),
    "Image Src": ("Bild", "Bild-URL", "Bildadresse"),
    "Image Alt Text": ("Alternativtext", "Bildbeschreibung"),
    "Collection": ("Kollektion", "Kollektionen"),
    "Published": ("Veröffentlicht",),
}


def merge_words(aliases: Mapping[str, Iterable[str]], words: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """Return the names of each column in other systems and in German files."""
    return {name: [*aliases.get(name, ()), *words.get(name, ())] for name in dict.fromkeys([*aliases, *words])}
