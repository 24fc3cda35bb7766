"""Tests that order messages stored in English are displayed in the reader's language."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import trans_real

from apps.ground.stored_messages import translate_stored

GERMAN = {
    "Edited: {moves}; and {count} more": "Bearbeitet: {moves}; und {count} weitere",
    "Edited: {moves}": "Bearbeitet: {moves}",
    "{count} × {name} removed": "{count} × {name} entfernt",
    "{money} off {name}": "{money} Rabatt auf {name}",
    "{kind} of {amount} ({status})": "{kind} über {amount} ({status})",
    "transaction\x04Sale": "Zahlung",
    "transaction\x04Success": "Erfolgreich",
    "Order closed": "Bestellung abgeschlossen",
}


@pytest.fixture
def german_translation(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Activate German with these translations only."""
    trans: Any = vars(translation)["_trans"]
    for name in ("gettext", "pgettext"):
        monkeypatch.setattr(trans, name, getattr(trans_real, name), raising=False)
    trans_real.activate("de")
    catalog: Any = trans_real.catalog()
    catalog._catalog._catalogs.insert(0, GERMAN)
    yield
    catalog._catalog._catalogs.remove(GERMAN)
    trans_real.deactivate()


@pytest.mark.usefixtures("german_translation")
@pytest.mark.parametrize(
    ("stored_value", "expected_text"),
    [
        ("Order closed", "Bestellung abgeschlossen"),
        ("Sale of 12.00 USD (Success)", "Zahlung über 12,00 USD (Erfolgreich)"),
        ("3 of 5 (late)", "3 of 5 (late)"),
        ("Edited: 1 × Cup removed; 3.00 USD off Hat", "Bearbeitet: 1 × Cup entfernt; 3,00 USD Rabatt auf Hat"),
        (
            "Edited: 1 × Cut off jeans removed; and 4 more",
            "Bearbeitet: 1 × Cut off jeans entfernt; und 4 weitere",
        ),
        ("Somebody's own words", "Somebody's own words"),
        ("", ""),
    ],
)
def test_stored_messages_are_translated_for_the_reader(stored_value: str, expected_text: str) -> None:
    assert translate_stored(stored_value) == expected_text


def test_a_stored_message_stays_for_a_reader_of_english() -> None:
    message = "Edited: 1 × Cup removed; 3.00 USD off Hat; and 4 more"

    assert translate_stored(message) == message
