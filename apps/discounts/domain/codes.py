"""Create, change and delete the codes of price rules."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import IntegrityError, transaction

from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import apply_changes, record_event
from apps.core.exceptions import DomainError
from apps.core.i18n.error_messages import BLANK, TAKEN, too_long
from apps.core.i18n.messages import define_text
from apps.discounts.models import DiscountCode, PriceRule
from apps.discounts.models.codes import MAX_CODE

CREATED = "discount_codes/create"
UPDATED = "discount_codes/update"
DELETED = "discount_codes/delete"
_LENGTH = 10
# Without characters that are easily confused, because customers type codes from paper.
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")
_BAD_CHARACTERS = define_text("discounts.bad_characters", "must not contain line breaks or other control characters")


class CodeRefused(DomainError):
    """Raised when a discount code is blank, too long or already taken."""

    field = "code"


def generate_code(prefix: str = "") -> str:
    return prefix + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


@transaction.atomic
def create_code(rule: PriceRule, code: str, *, actor: str, at: datetime, earlier_uses: int = 0) -> DiscountCode:
    """Create a code. Codes are unique in the shop, regardless of case.

    ``earlier_uses`` is the number of uses in another system, which count for the usage limit.
    """
    text = _check_code(code)
    uses = {"usage_count": earlier_uses, "earlier_uses": earlier_uses}
    row = DiscountCode(shop_id=rule.shop_id, rule=rule, code=text, created_at=at, **uses)
    with _refuse_taken_code():
        row.save(force_insert=True)
    record_event(CREATED, row, actor=actor, at=at)
    return row


@transaction.atomic
def update_code(row: DiscountCode, code: str, *, actor: str, at: datetime) -> None:
    refresh_for_update(row, no_key=True)
    text = _check_code(code)
    if changes := apply_changes(row, {"code": text}):
        with _refuse_taken_code():
            row.save(update_fields=list(changes))
        record_event(UPDATED, row, actor=actor, at=at, changes=changes)


@transaction.atomic
def delete_code(row: DiscountCode, *, actor: str, at: datetime) -> None:
    """Delete a code with its uses. Orders keep their discounts."""
    refresh_for_update(row)
    record_event(DELETED, row, actor=actor, at=at)
    row.delete()


@contextmanager
def _refuse_taken_code() -> Iterator[None]:
    """Raise ``CodeRefused`` if the unique constraint refuses the code. The transaction remains usable."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as error:
        violation = find_violated_constraint(error)
        if violation is None or violation.field != "code":
            raise
        raise CodeRefused(TAKEN) from None


def _check_code(code: str) -> str:
    text = code.strip()
    if not text:
        raise CodeRefused(BLANK)
    if len(text) > MAX_CODE:
        raise CodeRefused(too_long(MAX_CODE))
    if _CONTROL_CHARACTERS.search(text):
        raise CodeRefused(_BAD_CHARACTERS)
    return text
