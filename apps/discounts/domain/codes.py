"""Create, change and delete the codes of price rules."""

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from django.db import IntegrityError, transaction

from apps.core.db.constraint_errors import find_violated_constraint
from apps.core.db.row_locks import refresh_for_update
from apps.core.events.recording import EventInput, apply_changes, record_event, record_events
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


class NewCode(NamedTuple):
    """A code to create. ``earlier_uses`` is the number of uses in another system."""

    rule: PriceRule
    code: str
    earlier_uses: int = 0


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
    return create_codes([NewCode(rule, code, earlier_uses)], actor=actor, at=at)[0]


@transaction.atomic
def create_codes(codes: Sequence[NewCode], *, actor: str, at: datetime) -> list[DiscountCode]:
    """Create codes with few statements. If one of them is refused, none is created."""
    rows = [
        DiscountCode(
            shop_id=new.rule.shop_id,
            rule=new.rule,
            code=_check_code(new.code),
            usage_count=new.earlier_uses,
            earlier_uses=new.earlier_uses,
            created_at=at,
        )
        for new in codes
    ]
    with _refuse_taken_code():
        DiscountCode.objects.bulk_create(rows)
    record_events([EventInput(CREATED, row) for row in rows], actor=actor, at=at)
    return rows


@transaction.atomic
def update_code(row: DiscountCode, code: str, *, actor: str, at: datetime) -> None:
    refresh_for_update(row, no_key=True)
    text = _check_code(code)
    if changes := apply_changes(row, {"code": text}):
        with _refuse_taken_code():
            row.save(update_fields=list(changes))
        record_event(UPDATED, row, actor=actor, at=at, changes=changes)


@transaction.atomic
def set_earlier_uses(row: DiscountCode, earlier_uses: int, *, actor: str, at: datetime) -> None:
    """Set the number of uses in another system. The uses in this shop are added to it."""
    refresh_for_update(row, no_key=True)
    difference = earlier_uses - row.earlier_uses
    if changes := apply_changes(row, {"earlier_uses": earlier_uses}):
        row.usage_count += difference
        row.save(update_fields=["earlier_uses", "usage_count"])
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
