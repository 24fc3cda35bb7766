"""Recognize the carrier of a tracking number by the carriers' published formats and check digits.

No maintained library recognizes carriers. A number that fits no format is stored without a carrier.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class Carrier:
    """A carrier. ``tracking_url`` has ``{}`` for the number. Each format has a check-digit function."""

    name: str
    tracking_url: str
    formats: Sequence[tuple[str, Callable[[str], bool]]]

    def get_tracking_url(self, number: str) -> str:
        return self.tracking_url.format(quote(number, safe=""))


def _check_modulo_10(number: str) -> bool:
    """Check that the sum from the right, weighted by 3 and 1, plus the last digit is a multiple of ten."""
    digits = [int(digit) for digit in number]
    total = sum(digit * weight for digit, weight in zip(digits[-2::-1], cycle((3, 1)), strict=False))
    return (total + digits[-1]) % 10 == 0


def _check_fedex(number: str) -> bool:
    """Check a FedEx Express number: the last digit must be the weighted sum modulo eleven, with ten counted as zero."""
    digits = [int(digit) for digit in number]
    total = sum(digit * weight for digit, weight in zip(digits[-2::-1], cycle((1, 3, 7)), strict=False))
    return total % 11 % 10 == digits[-1]


def _check_dhl(number: str) -> bool:
    """Check a DHL Express number: the last digit must equal the preceding number modulo seven."""
    return int(number[:-1]) % 7 == int(number[-1])


def _check_s10(number: str) -> bool:
    """Check an S10 number of the Universal Postal Union: two letters, nine digits and the country."""
    digits = [int(digit) for digit in number[2:11]]
    total = sum(digit * weight for digit, weight in zip(digits, (8, 6, 4, 2, 3, 5, 9, 7), strict=False))
    return {10: 0, 11: 5}.get(11 - total % 11, 11 - total % 11) == digits[8]


def _check_ups(number: str) -> bool:
    """Check a UPS number, in which letters count as digits: A is 2, B is 3, and so on."""
    values = [int(sign) if sign.isdigit() else (ord(sign) - 63) % 10 for sign in number[2:]]
    total = sum(value * weight for value, weight in zip(values[:-1], cycle((1, 2)), strict=False))
    return (total + values[-1]) % 10 == 0


def _check_last_digits(length: int, check: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return a check-digit function that only checks the last ``length`` digits of a number."""
    return lambda number: check(number[-length:])


CARRIERS = (
    Carrier("UPS", "https://www.ups.com/track?tracknum={}", ((r"1Z[0-9A-Z]{15}[0-9]", _check_ups),)),
    Carrier(
        "USPS",
        "https://tools.usps.com/go/TrackConfirmAction?tLabels={}",
        (
            (r"9[1-5][0-9]{20}", _check_modulo_10),
            (r"420[0-9]{5}(?:[0-9]{4})?9[1-5][0-9]{20}", _check_last_digits(22, _check_modulo_10)),
            (r"[A-Z]{2}[0-9]{9}US", _check_s10),
        ),
    ),
    Carrier(
        "FedEx",
        "https://www.fedex.com/fedextrack/?trknbr={}",
        (
            (r"[0-9]{12}", _check_fedex),
            (r"[0-9]{15}", _check_modulo_10),
            (r"96[0-9]{20}", _check_last_digits(15, _check_modulo_10)),
        ),
    ),
    Carrier(
        "Canada Post",
        "https://www.canadapost-postescanada.ca/track-reperage/en#/search?searchFor={}",
        ((r"[0-9]{16}", _check_modulo_10), (r"[A-Z]{2}[0-9]{9}CA", _check_s10)),
    ),
    Carrier(
        "DHL",
        "https://www.dhl.com/global-en/home/tracking.html?tracking-id={}",
        ((r"[0-9]{10}", _check_dhl), (r"(?:J?JD|GM)[0-9]{16,18}", lambda _number: True)),
    ),
)
CARRIERS_BY_NAME = {carrier.name.lower(): carrier for carrier in CARRIERS}


def recognize_carrier(number: str) -> Carrier | None:
    """Return the carrier of a tracking number, or None if no format fits."""
    bare = re.sub(r"[\s-]", "", number).upper()
    for carrier in CARRIERS:
        if any(re.fullmatch(pattern, bare, re.ASCII) and check(bare) for pattern, check in carrier.formats):
            return carrier
    return None
