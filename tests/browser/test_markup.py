"""Tests that no page of the panel runs scripts from HTML in text columns."""

from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, models, transaction
from playwright.sync_api import Dialog, expect

from apps.ground.tenancy import all_shops_scope
from apps.shops.models import Shop
from apps.staff.models import User
from tests.browser.conftest import Open
from tests.collect_failures import Subtests
from tests.panel.admin_urls import TABLE
from tests.panel.one_of_each import Things, one_of_each

__all__ = ["one_of_each"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RUN = "document.title='run';alert(1)"
MARKUP = (
    f'"\'><script>{RUN}</script><img src=x onerror="{RUN}"><svg onload="{RUN}"></title></textarea>'
    f'<math><mi xlink:href="data:x,<script>{RUN}</script>"></math><a href="javascript:{RUN}">{{{{7*7}}}}</a>'
)
# Columns with a machine-readable format: HTML in these columns would break the page instead of running.
FORMED = (
    {"domain", "handle", "timezone", "currency", "email", "password", "task", "topic", "actor", "scope", "key", "kind"}
    | {"type", "value_type", "subject_type", "owner_resource", "namespace", "format", "screen", "query", "token"}
    | {"session_key", "src", "digest", "md5", "place", "secret", "prefix", "api_key", "api_secret", "fingerprint"}
)


def get_text_columns(model: type[models.Model]) -> list[models.Field[Any, Any]]:
    """Return the columns with user-written text."""
    return [
        field
        for field in model._meta.concrete_fields
        if isinstance(field, models.CharField | models.TextField)
        and not field.choices
        and not field.primary_key
        and field.name not in FORMED
        and not field.name.endswith(("_key", "_code", "_digest", "_unit", "_id", "_status"))
    ]


def write_html_into_texts() -> int:
    """Write HTML into every text column that accepts HTML, and return the number of changed columns."""
    column_count = 0
    with all_shops_scope():
        for model in apps.get_models():
            if not model.__module__.startswith("apps.") or model._meta.proxy:
                continue
            for field in get_text_columns(model):
                text = MARKUP[: field.max_length] if field.max_length else MARKUP
                try:
                    with transaction.atomic():
                        column_count += bool(model._base_manager.update(**{field.name: text}))
                except DatabaseError:
                    continue
    return column_count


def test_no_page_runs_html_of_any_text(
    logged_in_page: Open, committed_shop: Shop, owner: User, one_of_each: Things
) -> None:
    things = one_of_each(committed_shop)
    spoiled = write_html_into_texts()
    committed_shop.refresh_from_db()
    window = logged_in_page(owner, committed_shop)
    dialogs: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    window.page.on("dialog", dismiss)

    with Subtests() as subtest:
        for name, row in TABLE.items():
            if (
                row.status != 200
                or not row.lets
                or name.endswith(("_download", "_report", "_report_answers", "_report_file", "_progress", "_sample"))
            ):
                continue
            with subtest(name):
                page = window.go(name, *things[row.about])
                if page.locator("main, [role=main]").count():
                    expect(page.get_by_role("main")).to_be_visible()
                assert page.title() != "run"

    assert spoiled > 80
    assert dialogs == []
    assert sorted({problem for problem in window.problems if "404" not in problem}) == []
