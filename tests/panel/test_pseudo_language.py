"""Tests for every panel page in a pseudo language that puts brackets around translated texts.

Text outside brackets is untranslated. Exceptions are stored data, and names of countries, languages and time zones.
"""

import html
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from zoneinfo import available_timezones

import pytest
from babel import Locale
from django.conf import settings
from django.db import transaction
from django.utils import translation

from apps.core.tenancy.models import User
from apps.shops.domain.countries import get_countries, get_provinces
from tests.support.api_client import Response
from tests.support.panel.admin_urls import TABLE
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import get_untouched_data
from tests.support.panel.one_of_each import make_one_of_each
from tests.support.panel.script_texts import find_unmarked
from tests.support.subtests import Subtests

_ENGLISH = Locale("en")
_DROPPED = re.compile(
    r"<(script|style|pre|code|kbd|textarea|template|svg)\b.*?</\1>|<!--.*?-->"
    r'|<span class="[^"]*material-symbols-outlined[^"]*"[^>]*>[^<]*</span>',
    re.DOTALL,
)
_TAG = re.compile(r'</?[a-zA-Z!](?:"[^"]*"|[^>"])*>', re.DOTALL)
_TOLD = re.compile(r'\b(?:title|aria-label|placeholder|alt|data-label)="([^"]*)"')
_WORD = re.compile(r"[^\W\d_]{2,}")
_SAID = re.compile(r"⟦[^⟦⟧]*⟧")
_CUT = re.compile(r"\A[^⟦⟧]*⟧|⟦[^⟦⟧]*\Z")

# Stored data of the test shop, and names of software and formats.
DATA = {
    "Acme", "App", "Backoffice", "CSV", "Cold", "Copy of Starter", "Customer", "Depot", "Fulfillment: route", "Hello",
    "Home page", "IOS", "JSON", "Kitchen", "MUG-", "Mug", "Mugs", "News", "Own", "Refund", "SKU", "Sam", "Setting up",
    "Shopify", "Shop location", "Size", "Starter", "XML", "acme", "at", "staff", "assets", "config", "layout",
    "locales", "news", "status", "system", "templates", "news-", "Ada Lovelace", "Ada Lovelace: Lovely.", "Lovely.",
    "About", "about", "/old-", "/old-0", "/new", "Ada Lovelace: Lovely. | | Backoffice", "About | | Backoffice",
    "/old-0 | | Backoffice", "https://old.example", "https://shop.example", "Montreal, Canada", "Within 30 days.",
    "SUMMER", "Summer", "Pro",
    # Languages of documents, each with its own name.
    "Deutsch", "Español", "Français", "Italiano", "Nederlands", "Polski",
    # Text between HTML elements within a translated text.
    "Copy the values below now.", "Copy the link now.", "Apps → In-house apps", "Settings → Apps → Develop apps",
}  # fmt: skip
# Scripts that are built from frontend/.
BUILT = {"editor.js", "liquid.js", "visual.js"}
# Strings in scripts that are not texts: keys, selectors, classes and fonts.
NO_TEXTS = frozenset({
    "Backspace", "Enter", "Escape", "Files", "bo bo-visual", "bo bo-visual-dialog", "input, button, a, label",
    "input, select, textarea", "input, textarea", "select, input", "textarea, label",
    'data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>',
    'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
})  # fmt: skip
_BESIDE = " :#–→×·|+0123456789"
STANDARDS = {
    *_ENGLISH.territories.values(),
    *(country.name for country in get_countries()),
    *(province.name for province in get_provinces("CA")),
    *_ENGLISH.languages.values(),
    *(name.replace("_", " ").strip(_BESIDE) for name in available_timezones()),
}
# Queues have their names in settings and on command lines, too.
_KNOWN = DATA | STANDARDS | set(settings.TASK_QUEUES)
# Codes, URLs, email addresses, file names, API names, amounts and times.
_CODE = re.compile(
    r"[A-Z]{3} – .+|(https?://)?[\w.-]+(:\d+)?(/[\w.*-]*)+(\?.*)?|[\w.+-]+@[\w.]+|[\w-]+\.\w{2,7}|[a-z]+(_[a-z]+)+|\w+:\d+,?"
    r"|(Refund of |Sale of )?-?[\d.,]+ [A-Z]{3},?|[A-Z]{3}|bko_[\w-]+…?|at \d+|\w+/\w+ → .*|\S+/\S+, [-\d: ]+"
    r"|\w+/\w+ \(test\)|(Copy of )+Starter|\d+ \d{4}, [\d:]+ – Sam|, Sam|(Sam|Backoffice),|manual"
    r"|\"\w+\": .*|inventory.location|, [\d:]+ – (Backoffice|Sam)|Mug · \d"
    r"|(INV|CN)-\d{4}-\d*|, [\d:]+, (Backoffice|Sam)|, [\d.]+ [A-Z]{3}|[0-9a-f]{16,}|[RT]\d+ – Acme|Logo [0-9a-f]+"
    r"|•••• \w{1,4}|, : staff|\(\w+[/.]\w+\)"
)


def get_texts(page: str) -> Iterator[str]:
    """Yield a page's texts, including attributes that browsers display or screen readers read."""
    page = _DROPPED.sub("", page)
    attributes = [match for tag in _TAG.findall(page) for match in _TOLD.findall(tag)]
    yield from map(html.unescape, (*_TAG.split(page), *attributes))


def find_english(page: str) -> Iterator[str]:
    """Yield the texts with untranslated words."""
    for text in get_texts(page):
        while _SAID.search(text):
            text = _SAID.sub("", text)
        # HTML elements split a translated text, so also remove parts with only one of the two brackets.
        text = _CUT.sub("", text)
        if _WORD.search(text):
            yield " ".join(text.split())


def is_ours(text: str) -> bool:
    """Return True if the text contains words other than stored data, codes and standard names."""
    parts = (part.strip(_BESIDE) for part in text.split(" | "))
    return any(_WORD.search(part) and part not in _KNOWN and not _CODE.fullmatch(part) for part in parts)


def find_our_english(page: str) -> set[str]:
    return {text for text in find_english(page) if is_ours(text)}


# English amounts: with a decimal point and a currency, as the complete text, or with a thousands separator.
_POINTED = re.compile(r"\d\.\d\d\s[A-Z]{3}\b|\A\s*[-−+]?\d+\.\d\d\s*\Z|\d,\d{3}\.\d\d")


def find_decimal_points(page: str) -> set[str]:
    """Return the texts that contain an amount in English format."""
    return {" ".join(text.split()) for text in get_texts(page) if _POINTED.search(text)}


def read_html(response: Response) -> str:
    """Return the response's HTML, or an empty string for a file."""
    return response.content.decode() if "html" in response.headers.get("Content-Type", "") else ""


@pytest.fixture
def pseudo_language(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the pseudo language that puts texts in brackets."""
    translation.gettext("")
    spoken = translation._trans  # type: ignore[attr-defined]

    def one(text: str) -> str:
        return f"⟦{text}⟧" if text else text

    monkeypatch.setattr(spoken, "gettext", one)
    monkeypatch.setattr(spoken, "pgettext", lambda context, text: text if context == "date format" else one(text))
    monkeypatch.setattr(spoken, "ngettext", lambda singular, plural, number: one(singular if number == 1 else plural))
    monkeypatch.setattr(spoken, "npgettext", lambda context, singular, plural, number: one(plural))


def test_untranslated_texts_are_found() -> None:
    page = '<p title="⟦No⟧">⟦Images of ⟦Mug⟧⟧ <b>Yes</b> <code>code</code></p><i aria-label="Also">–</i>'

    assert list(find_english(page)) == ["Yes", "Also"]
    assert is_ours("Yes | Backoffice")
    assert not is_ours("10.00 EUR | shop/update | Backoffice")


@pytest.mark.usefixtures("pseudo_language")
def test_pages_and_answers_to_forms_say_nothing_in_english(owner_client: Panel) -> None:
    things = make_one_of_each(owner_client.shop)
    with Subtests() as checks:
        for name, row in TABLE.items():
            if not row.lets or row.status not in {HTTPStatus.OK, HTTPStatus.METHOD_NOT_ALLOWED}:
                continue
            arguments = things[row.about]
            content = read_html(owner_client.get(name, *arguments)) if row.status == HTTPStatus.OK else ""
            with checks(name):
                assert find_our_english(content) == set()
            as_shown = get_untouched_data(content) if re.search(r'<form[^>]*method="post"', content) else {}
            # Most forms refuse empty data and accept the displayed data, so both responses are checked.
            for form_data in ({}, as_shown) if as_shown else ({},):
                with checks(name, len(form_data)), transaction.atomic():
                    form_data.pop("form_key", None)
                    response = owner_client.forge(name, *arguments, **form_data)
                    if response.status_code == HTTPStatus.FOUND:
                        response = owner_client.http.get(response.headers["Location"])
                    transaction.set_rollback(True)
                    assert find_our_english(read_html(response)) == set()


def test_german_pages_write_amounts_as_german_does(owner_client: Panel) -> None:
    things = make_one_of_each(owner_client.shop)
    User.objects.filter(pk=owner_client.user.pk).update(language="de")

    with Subtests() as checks:
        for name, row in TABLE.items():
            if row.lets and row.status == HTTPStatus.OK:
                with checks(name):
                    assert find_decimal_points(read_html(owner_client.get(name, *things[row.about]))) == set()


def test_amounts_that_english_writes_are_found() -> None:
    page = '<p title="1,234.50">9.90</p><p>1.234,50 EUR, 10. 12. 2026</p>3.00 EUR<input value="5.00 EUR">'

    assert find_decimal_points(page) == {"1,234.50", "9.90", "3.00 EUR"}


def test_texts_of_scripts_are_translated() -> None:
    base = Path(settings.BASE_DIR)
    scripts = [*(base / "static/panel").glob("*.js"), *(base / "frontend").rglob("*.js")]
    result = {base / "static/panel" / name for name in BUILT}
    own = [path for path in scripts if path not in result and not path.name.startswith("words.")]

    texts = {f"{path.relative_to(base)}: {text}" for path in own for text in find_unmarked(path.read_text(), NO_TEXTS)}

    assert len(own) > 20
    assert texts == set()


def test_texts_of_scripts_that_are_not_translated_are_found() -> None:
    script = r"""
        // Said to nobody.
        const gone = '<p class="bo-empty">It is gone.</p>';
        note(`${count} cells filled`, "Enter", 'bo-row bo-wide', translate("Copied"), translate(`No ${name}`));
        const pattern = /"not a text"/g, size = width / 2 / height;
        show(`a-${one ? `Held by ${who}` : "Free."}`, "#menu a[href]", "[data-row] input", "application/json");
    """

    assert find_unmarked(script, frozenset({"Enter"})) == [
        '<p class="bo-empty">It is gone.</p>',
        "␣ cells filled",
        "Held by ␣",
        "Free.",
    ]
