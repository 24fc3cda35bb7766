"""Tests that carriers are recognized by tracking number."""

import pytest

from apps.fulfillment.domain import carriers
from apps.fulfillment.domain.tracking import Tracking, complete_tracking


@pytest.mark.parametrize(
    ("number", "company"),
    [
        ("1Z5R89390357567127", "UPS"),
        ("1z5r 8939 0357 5671 27", "UPS"),
        ("9361289878700317633795", "USPS"),
        ("RB123456785US", "USPS"),
        ("986578788855", "FedEx"),
        ("9611020987654312345672", "FedEx"),
        ("0073938000549297", "Canada Post"),
        ("RB123456785CA", "Canada Post"),
        ("3318810025", "DHL"),
        ("JJD0099999999123456", "DHL"),
        ("1Z5R89390357567128", None),
        ("9361289878700317633796", None),
        ("RB123456786US", None),
        ("986578788856", None),
        ("3318810026", None),
        ("hello", None),
        ("", None),
        ("١٢٣٤٥٦٧٨٩٠", None),
    ],
)
def test_a_number_tells_its_carrier(number: str, company: str | None) -> None:
    carrier = carriers.recognize_carrier(number)

    assert (carrier and carrier.name) == company


def test_every_changed_digit_is_noticed() -> None:
    for number in ("1Z5R89390357567127", "9361289878700317633795", "986578788855", "3318810025"):
        for index in range(len(number) - 6, len(number)):
            other = number[:index] + str((int(number[index]) + 1) % 10) + number[index + 1 :]
            assert carriers.recognize_carrier(other) is None, other


def test_known_carriers_are_completed_and_given_values_stay() -> None:
    ups = "https://www.ups.com/track?tracknum=1Z5R89390357567127"

    assert complete_tracking({"number": "1Z5R89390357567127"}) == Tracking(("1Z5R89390357567127",), (ups,), "UPS")
    assert complete_tracking({"number": "A 1", "company": "ups"}).urls == ("https://www.ups.com/track?tracknum=A%201",)
    assert complete_tracking({"numbers": ["1", "2", "1"], "url": "https://x.example/", "company": "Van"}) == Tracking(
        ("1", "2"), ("https://x.example/",), "Van"
    )
    assert complete_tracking({"number": "unknown"}) == Tracking(("unknown",), (), "")
    assert complete_tracking({}) == Tracking()
