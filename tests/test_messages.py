"""Tests for messages, which are stored as a code with parameters and displayed in the reader's language."""

import ast
import copy
import json
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter

import pytest
from django.conf import settings

from apps.core.exceptions import DomainError
from apps.core.i18n import messages
from apps.core.i18n.error_messages import BLANK, at_most, between, too_long
from apps.core.i18n.formats import language_override
from apps.core.i18n.messages import Amount, Message, MessageTemplate, as_message, decode, encode_message, join_errors
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.domain import edit_lines, payments
from apps.orders.models.transactions import KIND_TEXTS, STATUS_TEXTS
from apps.refunds.domain import payment_allocation

ROOT = Path(settings.BASE_DIR)
LESS = edit_lines._DISCOUNTED(money=Amount("1203.00", "USD"), name="Hat")
_DEFINITIONS = {"define_message", "define_text", "define_format"}


def _get_names(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("template", messages.templates.values(), ids=lambda template: template.code)
def test_every_message_renders_in_english_and_german_with_its_parameters(template: MessageTemplate) -> None:
    params = {name: f"<{name}>" for name in _get_names(str(template.english))}
    message = Message(template.code, params)
    with language_override("de"):
        german = message.localize()

    for text in (message, message.localize(), german):
        assert text
        assert all(value in text for value in params.values())
        assert "{" not in text.replace("{…}", "")


def test_every_code_in_the_sources_is_registered_when_django_starts() -> None:
    program = "import json; from apps.core.i18n.messages import templates; print(json.dumps(list(templates)))"
    command = [sys.executable, "manage.py", "shell", "--no-imports", "--command", program]
    registered = set(json.loads(subprocess.check_output(command, cwd=ROOT).splitlines()[-1]))
    used = set()
    for path in (ROOT / "apps").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in {*_DEFINITIONS, "Message"}:
                used |= {code.value for code in node.args[:1] if isinstance(code, ast.Constant)}

    assert len(used) > 150
    assert used - registered == set()


@pytest.mark.parametrize(
    ("message", "english", "german"),
    [
        (
            edit_lines._EDITED(moves=[edit_lines._REMOVED(count=1, name="Cut off jeans"), LESS]),
            "Edited: 1 × Cut off jeans removed; 1203.00 USD off Hat",
            "Bearbeitet: 1 × Cut off jeans entfernt; 1.203,00 USD Rabatt auf Hat",
        ),
        (
            payments._EVENT_MESSAGE(
                kind=KIND_TEXTS["sale"], amount=Amount("12.00", "USD"), status=STATUS_TEXTS["success"]
            ),
            "Sale of 12.00 USD (Success)",
            "Zahlung über 12,00 USD (Erfolgreich)",
        ),
        (
            payment_allocation._REFUNDED(
                amounts=payment_allocation._THROUGH(amount=Amount("48.00", "USD"), gateway="this and that")
            ),
            "Refunded 48.00 USD through this and that",
            "Erstattet: 48,00 USD über this and that",
        ),
        (between("48.00", 1200), "must be between 48.00 and 1200", "muss zwischen 48,00 und 1.200 liegen"),
    ],
)
def test_parameters_are_shown_in_the_language_of_the_reader(message: Message, english: str, german: str) -> None:
    stored = decode(json.loads(encode_message(message)))

    assert stored == message == english
    with language_override("de"):
        assert stored.localize() == german


def test_times_are_stored_in_iso_format_and_shown_in_the_readers_zone() -> None:
    template = MessageTemplate("test.time", "since {moment}")
    params = {"moment": {"time": datetime(2031, 5, 5, 14, 33, tzinfo=UTC).isoformat()}}

    assert template.render(params, localized=False) == "since 2031-05-05 14:33"
    assert template.render(params, localized=True) == "since 5 May 2031, 14:33"


def test_a_message_of_another_release_is_shown_with_its_parameters() -> None:
    assert Message("orders.archived", {"reason": "old", "by": 3}) == "orders.archived (reason: old, by: 3)"
    assert Message("orders.archived").localize() == "orders.archived"
    assert decode({"code": at_most(3).code, "params": {"most": 3}}) == "at_most (most: 3)"


def test_other_strings_are_free_text() -> None:
    assert encode_message("Card declined") == '{"code":"text","params":{"text":"Card declined"}}'
    with language_override("de"):
        assert as_message("Order closed by me").localize() == "Order closed by me"
        # Django and DRF copy messages into plain strings.
        assert as_message(str.__add__("", "can't be blank")).localize() == "muss ausgefüllt werden"
    assert encode_message("") == ""


def test_a_message_is_kept_by_exceptions_and_copies() -> None:
    message = too_long(255)
    [kept] = DomainError(message).errors["base"]

    copies = (str(message), f"{message}", str(ValueError(message)), kept, copy.deepcopy(message))
    for copied in (*copies, pickle.loads(pickle.dumps(message))):
        assert isinstance(copied, Message)
        assert (copied, copied.code, copied.params) == (message, message.code, message.params)
    assert message.encode() == b"is too long (maximum is 255 characters)"


def test_errors_of_several_fields_are_one_message() -> None:
    message = join_errors({"email": [BLANK], "base": ["Already there"], "name": [too_long(5), BLANK]})

    assert message == (
        "email can't be blank; Already there; name is too long (maximum is 5 characters); name can't be blank"
    )
    assert [item.code for item in messages.get_items(message)] == ["error.field", "text", "error.field", "error.field"]
    assert len(join_errors({f"field{number}": [BLANK] for number in range(5000)})) < 2 * messages.MAX_LIST


@pytest.mark.django_db
def test_a_column_stores_the_code_and_the_parameters(shop: Shop) -> None:
    with shop_scope(shop):
        job = Job.objects.create(shop=shop, task="test.messages", error=at_most("1.50"))
        job.refresh_from_db()
        first_error = job.error
        Job.objects.filter(pk=job.pk).update(error=f"\ud800{'x' * 5000}")
        job.refresh_from_db()
        Job.objects.filter(pk=job.pk).update(error="")
        cleared = Job.objects.filter(error="").get(pk=job.pk)

    assert isinstance(first_error, Message)
    assert first_error.params == {"limit": {"amount": "1.50"}}
    assert isinstance(job.error, Message)
    assert job.error.params == {"text": "?" + "x" * (messages.MAX_PARAMETER - 1)}
    assert cleared.error == ""
