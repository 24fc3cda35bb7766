"""Refusals as staff read them: sentences.

The interface writes a refusal as what follows the name of its field ("can't be blank"), in words that its clients
compare letter by letter. A page shows the same words as a sentence, under the field or with the field's name before.
"""

import re
from collections.abc import Container
from decimal import Decimal
from typing import Any

from django.forms.utils import ErrorList
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.ground import languages
from apps.ground.errors import DomainError
from apps.ground.retelling import retold
from apps.ground.tenancy import current_shop

# What forms call a field that the interface calls otherwise.
_CALLED = {
    "accepts_marketing": gettext_lazy("E-mail marketing"),
    "address1": gettext_lazy("Address"),
    "address2": gettext_lazy("Apartment, floor"),
    "alt": gettext_lazy("Alternative text"),
    "body_html": gettext_lazy("Description"),
    "buyer": gettext_lazy("Buyer"),
    "email": gettext_lazy("E-mail"),
    "email_marketing_consent": gettext_lazy("E-mail marketing"),
    "line_items": gettext_lazy("Lines"),
    "lines": gettext_lazy("Lines"),
    "requires_shipping": gettext_lazy("Has to be sent"),
    "sku": gettext_lazy("SKU"),
    "sms_marketing_consent": gettext_lazy("SMS marketing"),
    "total_price": gettext_lazy("Total"),
    "total_spent": gettext_lazy("Spent"),
    "tracked": gettext_lazy("Counted"),
    "zip": gettext_lazy("Postal code"),
}
# Fields of amounts in the shop's currency.
_AMOUNTS = frozenset({"price", "compare_at_price", "cost", "total_spent"})
_ABOUT_FIELD = re.compile(r"(?P<field>(?P<root>[a-z]\w*)(?:\.\w+)*) (?P<message>.+)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_ENDS = (".", "!", "?", "…", ":")


def sentence(text: str) -> str:
    """A text with a capital letter at its beginning and a full stop at its end.

    What ends as a sentence is one, and may begin with a name that is written small.
    """
    text = retold(text.strip())
    return text if not text or text.endswith(_ENDS) else f"{text[0].upper()}{text[1:]}."


def about(field: str, message: str) -> str:
    """A message as a sentence that names its field; what is a sentence already is not about a field."""
    if field == "base" or message[:1].isupper():
        return sentence(message)
    return sentence(_("{field} {message}").format(field=name_of(field), message=retold(message)))


def name_of(field: str) -> str:
    """What staff call a field of the interface; one of a list within another, ``addresses.0.city``, with its place."""
    said = ""
    for part in field.split("."):
        if part.isdecimal() and said:
            said += f" {int(part) + 1}"
        else:
            said += ", " * bool(said) + str(_CALLED.get(part) or capfirst(_(part.replace("_", " "))))
    return said


def reason(text: str, fields: Container[str]) -> str:
    """A refusal that was stored as one line, as sentences; of messages on ``fields`` each begins with one's name."""
    if not text or retold(text) != text:
        return sentence(text)
    said = [(part, _ABOUT_FIELD.fullmatch(part)) for part in text.split("; ")]
    return " ".join(
        about(found["field"], found["message"]) if found and found["root"] in fields else sentence(part)
        for part, found in said
    )


def amount(field: str, text: str) -> str:
    """A value that was stored as a text, as people read it: those of amounts in the reader's way of writing them."""
    if field in _AMOUNTS and _NUMBER.fullmatch(text):
        return languages.amount(Decimal(text), current_shop().currency)
    return languages.retold_amount(text) if field == "total_price" else text


def in_words(refusal: DomainError) -> str:
    """All that a refusal says, as sentences."""
    return " ".join(about(field, message) for field, messages in refusal.errors.items() for message in messages)


class Sentences(ErrorList):
    """The errors of a field, or of a form, as its page shows them."""

    def __getitem__(self, index: Any) -> Any:
        shown = super().__getitem__(index)
        return sentence(shown) if isinstance(shown, str) else shown


def nothing_changed(refusal: DomainError) -> str:
    """All that a refusal says, and that it has changed nothing."""
    return _("{refusal} Nothing has been changed.").format(refusal=in_words(refusal))
