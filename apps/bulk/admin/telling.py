"""What became of the rows of an edit, as staff read it; stored are English and the interface's names of fields."""

from collections.abc import Iterable

from django.utils.translation import gettext as _

from apps.bulk.domain.operations import AMOUNTS, NAMES
from apps.bulk.models import EditedRow
from apps.ground import languages
from apps.ground.retelling import retold
from apps.panel.wording import reason

# Their values are names of states, as the interface has them.
_STATES = {NAMES[name] for name in ("status", "email_consent", "sms_consent")}
_BETWEEN = " – "


def told(rows: Iterable[EditedRow]) -> list[EditedRow]:
    """The rows with reasons, names of fields and values in the reader's language; they are not to be saved."""
    found = list(rows)
    for row in found:
        row.reason = reason(row.reason, NAMES)
        row.changes = [[_(name), _value(name, old), _value(name, new)] for name, old, new in row.changes]
    return found


def _value(name: str, text: str) -> str:
    """A value; of amounts the least and the greatest."""
    if name in AMOUNTS.values():
        return _BETWEEN.join(map(languages.retold_amount, text.split(_BETWEEN)))
    return retold(text) if name in _STATES else text
