import ast
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from apps.core.rest.management.commands.openapi import CHANGELOG_PATH
from apps.core.rest.openapi import changelog
from apps.core.rest.openapi.changelog import MARKER, Feature
from apps.core.rest.versions import get_served_versions

VERSION = re.compile(r"\d{4}-\d{2}")


def split_by_heading(text: str, level: str) -> dict[str, str]:
    parts = re.split(rf"^{level} (\S+)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def read_sections() -> dict[str, str]:
    return split_by_heading(CHANGELOG_PATH.read_text().partition(MARKER)[2], "##")


def find_declared_versions() -> Iterator[tuple[str, str]]:
    """Yield every version passed to ``since`` or ``until`` or stored in a constant, with the file and line."""
    for path in Path(settings.BASE_DIR, "apps").rglob("*.py"):
        if "migrations" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            values = []
            if isinstance(node, ast.Call):
                values = [keyword.value for keyword in node.keywords if keyword.arg in {"since", "until"}]
            elif isinstance(node, ast.Assign):
                values = [node.value]
            for value in values:
                if isinstance(value, ast.Constant) and VERSION.fullmatch(str(value.value)):
                    yield str(value.value), f"{path.name}:{value.lineno}"


def test_the_page_is_up_to_date() -> None:
    assert CHANGELOG_PATH.read_text().partition(MARKER)[2].strip() == changelog.render_changelog().strip()
    assert list(read_sections()) == list(reversed(get_served_versions()))


def test_every_version_that_the_code_declares_has_changes() -> None:
    declared = list(find_declared_versions())

    assert len(declared) >= 6, "the search finds no declarations any more"
    assert [location for version, location in declared if "No changes." in read_sections()[version]] == []


def test_known_changes_are_listed() -> None:
    known = [
        ("2024-10", "Deprecated", "`GET /script_tags/count.json`"),
        ("2025-01", "Deprecated", "`POST /products/{product_id}/images.json`"),
        ("2025-01", "Removed", "Field `Customer.accepts_marketing` in responses"),
        ("2025-10", "Added", "GraphQL argument `uri` of `QueryRoot.webhookSubscriptions`"),
        ("2025-10", "Deprecated", "GraphQL field `WebhookSubscription.callbackUrl`"),
        ("2026-04", "Removed", "Field `FulfillmentService.permits_sku_sharing` in requests and responses"),
    ]

    changes = {version: split_by_heading(text, "###") for version, text in read_sections().items()}
    assert [row for row in known if f"- {row[2]}" not in changes[row[0]][row[1]]] == []


def test_parts_of_what_is_new_are_not_listed() -> None:
    old = {"GET /a": Feature("`GET /a`"), "GET /a ?b": Feature("parameter `b`", "GET /a", "integer")}
    new = {
        "GET /a": Feature("`GET /a`", deprecated="Use c."),
        "GET /a ?b": Feature("parameter `b`", "GET /a", "string"),
        "GET /c": Feature("`GET /c`", description="List c"),
        "GET /c ?d": Feature("parameter `d`", "GET /c"),
    }

    assert changelog.compare_features(old, new) == {
        "Added": ["- `GET /c`: List c."],
        "Changed": ["- Parameter `b`"],
        "Deprecated": ["- `GET /a`: Use c."],
    }
    assert changelog.compare_features(new, old)["Removed"] == ["- `GET /c`: List c."]
    assert changelog.compare_features(old, old) == {}


def test_a_field_of_several_bodies_is_one_line() -> None:
    fields = {usage: Feature("field `A.b`", usage=usage, description="The b.") for usage in ("responses", "requests")}

    assert changelog.compare_features({}, fields) == {"Added": ["- Field `A.b` in requests and responses: The b."]}


def test_a_changed_field_of_a_document_is_found() -> None:
    def describe(**properties: object) -> dict[str, object]:
        return {"paths": {}, "components": {"schemas": {"Mug": {"type": "object", "properties": properties}}}}

    old = dict(changelog.list_document_features(describe(size={"type": "integer"}), "2026-07"))
    new = dict(
        changelog.list_document_features(
            describe(size={"type": "string", "description": "How large."}, lid={"properties": {"color": {}}}), "2026-07"
        )
    )

    assert changelog.compare_features(old, new) == {
        "Added": ["- Field `Mug.lid` in responses"],
        "Changed": ["- Field `Mug.size` in responses: How large."],
    }
