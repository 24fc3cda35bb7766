"""Tests for the wording of error messages for staff."""

import pytest

from apps.ground.error_messages import BLANK, TAKEN, too_long
from apps.ground.exceptions import DomainError
from apps.jobs.domain import queue
from apps.panel.error_display import SentenceErrorList, as_sentence, format_errors


@pytest.mark.parametrize(
    ("text", "expected_output"),
    [
        (BLANK, "Can't be blank."),
        (too_long(255), "Is too long (maximum is 255 characters)."),
        ("Enter a number.", "Enter a number."),
        ("api_key must not be published.", "api_key must not be published."),
        ("", ""),
    ],
)
def test_phrases_of_the_interface_are_shown_as_sentences(text: str, expected_output: str) -> None:
    assert as_sentence(text) == expected_output
    assert list(SentenceErrorList([text])) == [expected_output]


def test_a_refusal_names_its_fields_in_words() -> None:
    error = DomainError({"compare_at_price": [BLANK], "base": ["Order #1001 is closed"], "handle": [TAKEN]})

    assert (
        format_errors(error) == "Compare at price can't be blank. Order #1001 is closed. Handle has already been taken."
    )


def test_every_task_of_the_product_has_a_name_that_people_read() -> None:
    ours = {name: str(task.title) for name, task in queue._tasks.items() if not name.startswith("test.")}

    assert len(ours) > 20
    assert [name for name, title in ours.items() if not title or "." in title] == []
    assert queue.get_task_title("somebody.elses") == "somebody.elses"
