"""The search fields of gift cards."""

from dataclasses import dataclass
from datetime import date, tzinfo

from django.db.models import Q

from apps.core.i18n.error_messages import NOT_A_DATE
from apps.core.search_query import Comparator, Kind, Term
from apps.core.search_query.database import SearchFields
from apps.core.search_query.fields import Integer, InvalidValueError, Number, Timestamp, Words
from apps.gift_cards.domain import codes


@dataclass(frozen=True)
class CodeField:
    """The search field for the last characters of a code, or for a whole code. A whole code is compared by digest."""

    def build_condition(self, term: Term, _zone: tzinfo, /) -> Q:
        if term.kind is Kind.PRESENT:
            return Q(last_characters__gt="")
        if term.kind is not Kind.EXACT or term.comparator is not Comparator.EQUAL:
            raise InvalidValueError(term, "must be a whole code or its last characters")
        code = codes.normalize_code(term.value)
        if len(code) <= codes.LAST_CHARACTERS:
            return Q(last_characters=code)
        return Q(code_digest__in=codes.calculate_digests(code))


@dataclass(frozen=True)
class Day(Integer):
    """The search field for a calendar date."""

    def build_comparison(self, term: Term, zone: tzinfo, /) -> Q:
        """Compare with the date. A missing date never matches, also if the comparison is negated."""
        present = Q(**{f"{self.lookup}__isnull": False})
        return present & super().build_comparison(term, zone)

    def parse_value(self, term: Term) -> object:
        try:
            return date.fromisoformat(term.value)
        except ValueError:
            raise InvalidValueError(term, NOT_A_DATE) from None


@dataclass(frozen=True)
class NullableTimestamp(Timestamp):
    """The search field for a time that may be missing. A missing time never matches a comparison."""

    def build_comparison(self, term: Term, zone: tzinfo, /) -> Q:
        return Q(**{f"{self.lookup}__isnull": False}) & super().build_comparison(term, zone)


CODE = CodeField()
SEARCH = SearchFields(
    fields={
        "code": CODE,
        "last_characters": CODE,
        "id": Integer("pk"),
        "balance": Number("balance"),
        "initial_value": Number("initial_value"),
        "note": Words("note"),
        "created_at": Timestamp("created_at"),
        "updated_at": Timestamp("updated_at"),
        "disabled_at": NullableTimestamp("disabled_at"),
        "expires_on": Day("expires_on"),
    },
    default_fields=("code",),
)
ORDERS = {
    "id": (),
    "created_at": ("created_at",),
    "updated_at": ("updated_at",),
    "balance": ("balance",),
    "initial_value": ("initial_value",),
}
