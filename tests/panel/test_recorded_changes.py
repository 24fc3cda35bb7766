"""Tests that the audit log names each field that staff change in a form, with its old and its new value."""

from collections.abc import Iterator

import pytest

from apps.core.events.models import Event
from apps.core.tenancy.scope import shop_scope
from tests.support.databases.snapshots import rolled_back
from tests.support.panel.add_forms import LEAST, get_newest, submit_add_form
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import PageForm
from tests.support.recorded_changes import find_unrecorded, read_rows
from tests.support.subtests import Subtests

# A form refuses the values that do not fit the field.
VALUES = (
    "Other text",
    "7",
    "/other",
    "other@example.com",
    "https://other.example/x",
    "+493012345678",
    "2026-03-04",
    "12:30",
)
# Fields that change nothing on their own, or that need special values such as files. Other tests change most of them.
UNCHANGED = {
    "addresses-0-is_default",
    "addresses-0-province",
    "email_consent",
    "files",
    "handler_version",
    "instruments",
    "options-0-values",
    "options-1-name",
    "options-1-values",
    "options-2-name",
    "options-2-values",
    "other",
    "picture",
    "reason",
    "redirect_old_url",
    "remove_picture",
    "sha256_cert_fingerprints",
    "sms_consent",
    "supported_countries",
    "supported_currencies",
    "variants-0-DELETE",
    "variants-0-option2",
    "variants-0-option3",
    "variants-0-picture",
    "wallet_environment",
}


def get_field_names(form: PageForm) -> list[str]:
    """Return the names of the fields that staff fill in."""
    technical = ("_", "csrf", "form_key", "seen", "initial-")
    references = ("_FORMS", "-id", "-page", "-customer", "-product", "-place")
    return [
        name
        for name in sorted(form.names | form.data.keys())
        if not name.startswith(technical) and not name.endswith(references) and "__prefix__" not in name
    ]


def iterate_changes(form: PageForm, name: str) -> Iterator[dict[str, list[str]]]:
    """Yield the form's data with other values of a field."""
    current = form.data.get(name, [])
    if form.choices.get(name) == ["on"] and current:
        yield {other: values for other, values in form.data.items() if other != name}
    for value in form.choices.get(name, VALUES):
        if [value] != current:
            yield form.data | {name: [value]}


@pytest.mark.parametrize("screen", LEAST)
def test_each_field_of_a_form_is_recorded_with_both_values(owner_client: Panel, screen: str) -> None:
    form = submit_add_form(owner_client, screen)[2]
    before = read_rows(owner_client.shop)
    with shop_scope(owner_client.shop):
        last = Event.objects.latest("pk").pk
    url = owner_client.url(f"{screen}_change", get_newest(screen))

    def submit_change(data: dict[str, list[str]]) -> bool:
        """Submit a changed form, and check what it changed. Return False if it changed nothing."""
        with rolled_back():
            if owner_client.http.post(url, data).status_code != 302:
                return False
            with shop_scope(owner_client.shop):
                events = list(Event.objects.filter(pk__gt=last))
            assert find_unrecorded(before, read_rows(owner_client.shop), events) == []
            return bool(events)

    with Subtests() as checks:
        for name in get_field_names(form):
            with checks(name):
                assert any(submit_change(data) for data in iterate_changes(form, name)) or name in UNCHANGED
