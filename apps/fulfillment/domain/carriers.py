"""Which carrier a tracking number belongs to, told by the carriers' published formats and check digits.

No maintained library knows them; a number that fits none is kept as it is, without a company.
Rule: decisions, Fulfillment (tracking numbers).
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Carrier:
    """A carrier.

    Attributes:
        name: As it is shown.
        follow: Where a parcel is followed, with ``{}`` for its number.
        formats: What its numbers look like, each with the check that they pass.
    """

    name: str
    follow: str
    formats: Sequence[tuple[re.Pattern[str], Callable[[str], bool]]]

    def url(self, number: str) -> str:
        """Where a parcel is followed."""
        return self.follow.format(quote(number, safe=""))


def _tens(weights: Sequence[int]) -> Callable[[str], bool]:
    """The last digit completes the weighted sum, counted from the right, to a multiple of ten."""

    def check(number: str) -> bool:
        digits = [int(digit) for digit in number]
        total = sum(digit * weight for digit, weight in zip(digits[-2::-1], cycle(weights), strict=False))
        return (total + digits[-1]) % 10 == 0

    return check


def _elevens(number: str) -> bool:
    """FedEx Express: the weighted sum modulo eleven, ten being zero, is the last digit."""
    digits = [int(digit) for digit in number]
    total = sum(digit * weight for digit, weight in zip(digits[-2::-1], cycle((1, 3, 7)), strict=False))
    return total % 11 % 10 == digits[-1]


def _sevens(number: str) -> bool:
    """DHL Express: the number before its last digit, modulo seven, is that digit."""
    return int(number[:-1]) % 7 == int(number[-1])


def _union(number: str) -> bool:
    """The Universal Postal Union's S10: two letters, nine digits, the country."""
    digits = [int(digit) for digit in number[2:11]]
    total = sum(digit * weight for digit, weight in zip(digits, (8, 6, 4, 2, 3, 5, 9, 7), strict=False))
    return {10: 0, 11: 5}.get(11 - total % 11, 11 - total % 11) == digits[8]


def _ups(number: str) -> bool:
    """UPS: letters count as the last digit of their place behind the second."""
    values = [int(sign) if sign.isdigit() else (ord(sign) - 63) % 10 for sign in number[2:]]
    total = sum(value * weight for value, weight in zip(values[:-1], cycle((1, 2)), strict=False))
    return (total + values[-1]) % 10 == 0


def _last(length: int, check: Callable[[str], bool]) -> Callable[[str], bool]:
    """The check of a number's last digits alone."""
    return lambda number: check(number[-length:])


def _always(_number: str) -> bool:
    return True


_THREE_ONE, _ONE_THREE = _tens((3, 1)), _tens((1, 3))


def _formats(*given: tuple[str, Callable[[str], bool]]) -> list[tuple[re.Pattern[str], Callable[[str], bool]]]:
    return [(re.compile(pattern, re.ASCII), check) for pattern, check in given]


CARRIERS = (
    Carrier("UPS", "https://www.ups.com/track?tracknum={}", _formats((r"1Z[0-9A-Z]{15}[0-9]", _ups))),
    Carrier(
        "USPS",
        "https://tools.usps.com/go/TrackConfirmAction?tLabels={}",
        _formats(
            (r"9[1-5][0-9]{20}", _THREE_ONE),
            (r"420[0-9]{5}9[1-5][0-9]{20}", _last(22, _THREE_ONE)),
            (r"420[0-9]{9}9[1-5][0-9]{20}", _last(22, _THREE_ONE)),
            (r"[A-Z]{2}[0-9]{9}US", _union),
        ),
    ),
    Carrier(
        "FedEx",
        "https://www.fedex.com/fedextrack/?trknbr={}",
        _formats(
            (r"[0-9]{12}", _elevens),
            (r"[0-9]{15}", _THREE_ONE),
            (r"96[0-9]{20}", _last(15, _THREE_ONE)),
        ),
    ),
    Carrier(
        "Canada Post",
        "https://www.canadapost-postescanada.ca/track-reperage/en#/search?searchFor={}",
        _formats((r"[0-9]{16}", _THREE_ONE), (r"[A-Z]{2}[0-9]{9}CA", _union)),
    ),
    Carrier(
        "DHL",
        "https://www.dhl.com/global-en/home/tracking.html?tracking-id={}",
        _formats((r"[0-9]{10}", _sevens), (r"J?JD[0-9]{16,18}", _always), (r"GM[0-9]{16,18}", _always)),
    ),
)
_BY_NAME = {carrier.name.lower(): carrier for carrier in CARRIERS}


def recognise(number: str) -> Carrier | None:
    """The carrier whose number it is; None where it fits no format."""
    bare = re.sub(r"[\s-]", "", number).upper()
    for carrier in CARRIERS:
        if any(pattern.fullmatch(bare) and check(bare) for pattern, check in carrier.formats):
            return carrier
    return None


def named(company: str) -> Carrier | None:
    """The carrier of that name."""
    return _BY_NAME.get(company.strip().lower())
