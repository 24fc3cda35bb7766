"""Every page of the panel in a made-up language, whose texts stand in brackets: what stands outside is English to all.

What is stored is no text of ours, and standards have names in each language that a library knows.
"""

import html
import re
from collections.abc import Iterator
from http import HTTPStatus
from zoneinfo import available_timezones

import pytest
from babel import Locale
from django.utils import translation

from tests.each import Each
from tests.panel.conftest import Panel
from tests.panel.pages import TABLE
from tests.panel.things import Things

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

# What the shop of the test stored, and names of products.
DATA = {
    "Acme", "App", "Backoffice", "CSV", "Cold", "Copy of Starter", "Customer", "Depot", "Fulfillment: route", "Hello",
    "Home page", "IOS", "JSON", "Kitchen", "MUG-", "Mug", "Mugs", "News", "Own", "Refund", "SKU", "Sam", "Setting up",
    "Shop location", "Starter", "XML", "acme", "at", "staff", "assets", "config", "layout", "locales", "news", "status",
    "system", "templates", "news-",
}  # fmt: skip
_BESIDE = " :#–→×·|+0123456789"
STANDARDS = {
    *_ENGLISH.territories.values(),
    *_ENGLISH.languages.values(),
    *(name.replace("_", " ").strip(_BESIDE) for name in available_timezones()),
}
# Codes, addresses, names of files, what the interface calls a column, amounts and moments.
_CODE = re.compile(
    r"[A-Z]{3} – .+|(https?://)?[\w.-]+(:\d+)?(/[\w.*-]*)+(\?.*)?|[\w.+-]+@[\w.]+|[\w-]+\.\w{2,7}|[a-z]+(_[a-z]+)+|\w+:\d+"
    r"|(Refund of |Sale of )?-?[\d.,]+ [A-Z]{3}|[A-Z]{3}|bko_\w+…?|at \d+|\w+/\w+ → .*|\S+/\S+, [-\d: ]+"
    r"|\w+/\w+ \(test\)"
    r"|\"\w+\": .*|inventory.location|, [\d:]+ – Backoffice|Mug · \d"
)


def english(page: str) -> Iterator[str]:
    """The texts and the attributes with words that were not translated."""
    page = _DROPPED.sub("", page)
    told = [said for tag in _TAG.findall(page) for said in _TOLD.findall(tag)]
    for text in (*_TAG.split(page), *told):
        text = html.unescape(text)
        while _SAID.search(text):
            text = _SAID.sub("", text)
        # A text with elements in it stands in several of its parts.
        text = _CUT.sub("", text)
        if _WORD.search(text):
            yield " ".join(text.split())


def is_ours(text: str) -> bool:
    """Whether it says more than data and standards."""
    parts = (part.strip(_BESIDE) for part in text.split(" | "))
    return any(_WORD.search(part) and part not in DATA | STANDARDS and not _CODE.fullmatch(part) for part in parts)


@pytest.fixture
def brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The language of brackets."""
    translation.gettext("")
    spoken = translation._trans  # type: ignore[attr-defined]

    def one(text: str) -> str:
        return f"⟦{text}⟧" if text else text

    monkeypatch.setattr(spoken, "gettext", one)
    monkeypatch.setattr(spoken, "pgettext", lambda context, text: text if context == "date format" else one(text))
    monkeypatch.setattr(spoken, "ngettext", lambda singular, plural, number: one(singular if number == 1 else plural))
    monkeypatch.setattr(spoken, "npgettext", lambda context, singular, plural, number: one(plural))


def test_what_is_not_translated_is_found() -> None:
    page = '<p title="⟦No⟧">⟦Images of ⟦Mug⟧⟧ <b>Yes</b> <code>code</code></p><i aria-label="Also">–</i>'

    assert list(english(page)) == ["Yes", "Also"]
    assert is_ours("Yes | Backoffice")
    assert not is_ours("10.00 EUR | shop/update | Backoffice")


@pytest.mark.usefixtures("brackets")
def test_pages_say_nothing_in_english(owner: Panel, things_of: Things) -> None:
    things = things_of(owner.shop)

    with Each() as each:
        for name, row in TABLE.items():
            if row.lets and row.status == HTTPStatus.OK:
                with each(name):
                    answer = owner.get(name, *things[row.about])
                    page = answer.content.decode() if "html" in answer.headers["Content-Type"] else ""
                    assert {text for text in english(page) if is_ours(text)} == set()
