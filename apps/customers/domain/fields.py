"""Declare how searches, merges, files and privacy requests treat the customer columns that clients and staff can set.

To add a column, add the field to ``Customer``, ``CUSTOMER_FIELDS``, ``CustomerSerializer`` and ``CustomerAdmin``.
"""

from dataclasses import dataclass
from enum import StrEnum, unique


@unique
class FieldMark(StrEnum):
    """The mark before each word of a field in the search columns: a control character, which folded text never has."""

    FIRST_NAME = "\x01"
    LAST_NAME = "\x02"
    EMAIL = "\x03"
    TAG = "\x04"
    NOTE = "\x05"
    CITY = "\x06"
    PROVINCE = "\x07"
    ZIP = "\x08"
    COMPANY = "\x0e"
    COUNTRY = "\x10"


@dataclass(frozen=True, slots=True)
class CustomerField:
    """A customer column that clients and staff can set.

    Attributes:
        mark: The mark of the column's words in ``search_own``, or None if queries can't search the column by name.
        identifies: True if search words without a field name find the value, and an erasure also erases texts that
            mention it.
        merged_with: The merge field that selects the value together with other columns (see ``merge_rules.FIELDS``).
        can_combine: True if a merge can keep the values of both customers.
    """

    name: str
    mark: FieldMark | None = None
    identifies: bool = False
    merged_with: str = ""
    can_combine: bool = False
    in_csv: bool = True


CUSTOMER_FIELDS = (
    CustomerField("first_name", FieldMark.FIRST_NAME, identifies=True, merged_with="name"),
    CustomerField("last_name", FieldMark.LAST_NAME, identifies=True, merged_with="name"),
    CustomerField("email", FieldMark.EMAIL, identifies=True, merged_with="email"),
    CustomerField("phone", identifies=True),
    CustomerField("verified_email", merged_with="email", in_csv=False),
    CustomerField("tags", FieldMark.TAG, merged_with="tags"),
    CustomerField("note", FieldMark.NOTE, can_combine=True),
    CustomerField("tax_exempt", merged_with="tax"),
    CustomerField("tax_exemptions", merged_with="tax", in_csv=False),
    CustomerField("multipass_identifier", merged_with="multipass", in_csv=False),
)
EDITABLE_FIELDS = tuple(field.name for field in CUSTOMER_FIELDS)
IDENTIFYING_FIELDS = tuple(field.name for field in CUSTOMER_FIELDS if field.identifies)
# The mark of each column in ``search_own``.
MARKS = {field.name: field.mark for field in CUSTOMER_FIELDS if field.mark is not None}
