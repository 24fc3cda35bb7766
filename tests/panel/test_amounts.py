"""Tests for localized amounts: each amount is either parsed correctly or refused with a reason."""

from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.utils import translation

from apps.panel.money import MoneyField


@pytest.mark.parametrize(
    ("typed", "currency", "intended"),
    [
        ("9.90", "EUR", "9.90"),
        ("9,90", "EUR", "9.90"),
        (" 9,9 ", "EUR", "9.90"),
        ("9", "EUR", "9.00"),
        (",5", "EUR", "0.50"),
        ("0,500", "KWD", "0.500"),
        ("1234,5", "EUR", "1234.50"),
        ("1.234,50", "EUR", "1234.50"),
        ("1,234.50", "EUR", "1234.50"),
        ("1.234.567,89", "EUR", "1234567.89"),
        ("1,234,567", "EUR", "1234567.00"),
        ("1 234,50", "EUR", "1234.50"),
        ("1\u202f234,50", "EUR", "1234.50"),
        ("1'234.50", "CHF", "1234.50"),
        ("9,90 €", "EUR", "9.90"),
        ("$9.90", "USD", "9.90"),
        ("EUR 9,90", "EUR", "9.90"),
        ("1,234", "JPY", "1234"),
        ("1.234", "KWD", "1.234"),
    ],
)
def test_an_amount_is_read_as_it_is_written(typed: str, currency: str, intended: str) -> None:
    assert MoneyField(currency=currency).clean(typed) == Decimal(intended)


@pytest.mark.parametrize(
    ("typed", "currency", "message"),
    [
        ("1,234", "EUR", "Is this 1234 or 1.234?"),
        ("1,234", "KWD", "Is this 1234 or 1.234?"),
        ("1.234", "EUR", "This amount has too many decimal places for EUR."),
        ("1,2345", "EUR", "decimal places"),
        ("1,23,4", "EUR", "Enter a number."),
        ("1.23,456.7", "EUR", "Enter a number."),
        ("12.34,50", "EUR", "Enter a number."),
        ("1,234,567.8.9", "EUR", "Enter a number."),
        ("9,90 $", "EUR", "Enter an amount in EUR."),
        ("NaN", "EUR", "Enter an amount in EUR."),
        ("1e3", "EUR", "Enter an amount in EUR."),
        ("-1", "EUR", "greater than or equal to 0"),
        ("-1.234,50", "EUR", "greater than or equal to 0"),
        (",", "EUR", "Enter a number."),
        ("1 2", "EUR", "Enter a number."),
        ("10,5", "JPY", "This amount has too many decimal places for JPY."),
        ("9" * 30, "EUR", "Must be less than 1,000,000,000,000"),
    ],
)
def test_what_could_be_another_amount_is_refused(typed: str, currency: str, message: str) -> None:
    with pytest.raises(ValidationError) as error:
        MoneyField(currency=currency).clean(typed)

    assert message in " ".join(error.value.messages)


@pytest.mark.parametrize(("language", "limit"), [("en", "1,000,000,000,000"), ("de", "1.000.000.000.000")])
def test_the_limit_is_written_as_the_language_writes_numbers(language: str, limit: str) -> None:
    with translation.override(language), pytest.raises(ValidationError, match=limit.replace(".", r"\.")):
        MoneyField(currency="EUR").clean("1000000000000")


@pytest.mark.parametrize("currency", ["EUR", "JPY", "KWD"])
@pytest.mark.parametrize(
    ("language", "expected_output"),
    [
        ("en", {"EUR": "1234.50", "JPY": "1234", "KWD": "1.234"}),
        ("de", {"EUR": "1234,50", "JPY": "1234", "KWD": "1.234"}),
    ],
)
def test_a_form_shows_amounts_as_the_language_writes_them_and_reads_what_it_shows(
    language: str, expected_output: dict[str, str], currency: str
) -> None:
    field = MoneyField(currency=currency)
    amount = Decimal({"EUR": "1234.500", "JPY": "1234.000", "KWD": "1.234"}[currency])

    with translation.override(language):
        assert field.prepare_value(amount) == expected_output[currency]
        assert field.clean(field.prepare_value(amount)) == amount
        assert not field.has_changed(amount, field.prepare_value(amount))
