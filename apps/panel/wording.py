"""Refusals as staff read them: sentences.

The interface writes a refusal as what follows the name of its field ("can't be blank"), in words that its clients
compare letter by letter. A page shows the same words as a sentence, under the field or with the field's name before.
"""

from typing import Any

from django.forms.utils import ErrorList
from django.utils.text import capfirst
from django.utils.translation import gettext as _

from apps.ground.errors import DomainError
from apps.ground.retelling import retold

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
    name = capfirst(_(field.replace("_", " ")))
    return sentence(_("{field} {message}").format(field=name, message=retold(message)))


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
