"""Tests for the page on which staff map the columns of an import file, and for the labels of the columns."""

import html
import re
from itertools import product

import pytest

from apps.core.tenancy.models import User
from apps.imports_exports.domain import imports
from apps.imports_exports.models import Import
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import run_latest_job, upload_file

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

CHANGE, COLUMNS = "imports_exports_import_change", "imports_exports_import_columns"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("customers", "edit_orders", "products")


def check_upload(panel: Panel, text: str) -> Import:
    upload_file(panel, text.encode(), "in.csv")
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    return Import.objects.latest("pk")


def read_choices(panel: Panel, import_job: Import, kind: str) -> tuple[dict[str, str], list[str]]:
    """Return the labels that a column can be mapped to, keyed by our names, and the selected names."""
    page = panel.get(COLUMNS, import_job.pk, kind=kind).content.decode()
    page = page.partition('id="kind"')[2].partition("</select>")[2]
    options = re.findall(r'<option value="([^"]*)"\s*(selected)?\s*>([^<]*)</option>', page)
    labels = {html.unescape(name): html.unescape(label) for name, _, label in options if name}
    return labels, [html.unescape(name) for name, selected, _ in options if selected]


@pytest.mark.parametrize(("language", "kind"), list(product(["en", "de"], ["customers", "orders", "products"])))
def test_each_label_of_a_column_is_unique_and_known_as_a_name(panel: Panel, language: str, kind: str) -> None:
    User.objects.filter(pk=panel.user.pk).update(language=language)
    labels, _ = read_choices(panel, check_upload(panel, "email\nada@example.com\n"), kind)
    User.objects.filter(pk=panel.user.pk).update(language="en")

    header = ";".join(f'"{label}"' for label in labels.values())
    uploaded = check_upload(panel, f"{header}\nx\n")
    _, selected = read_choices(panel, uploaded, kind)

    assert len(set(labels.values())) == len(labels)
    assert uploaded.unknown == []
    assert selected == list(labels)


def test_similar_names_are_suggested_but_not_used_without_a_choice(panel: Panel) -> None:
    import_job = check_upload(panel, "E-Mail;Frist name;Postalcodes;Shoe size\nada@example.com;Ada;1;38\n")

    labels, selected = read_choices(panel, import_job, "customers")

    assert selected == ["email", "first_name", "zip"]
    assert (labels["first_name"], labels["zip"]) == ("First name", "Postal code")
    assert import_job.unknown == ["Frist name", "Postalcodes", "Shoe size"]


def test_a_table_of_names_alone_must_be_mapped(panel: Panel) -> None:
    import_job = check_upload(panel, "Name,Total\n#1001,25.00\n")

    assert "no known column name" in import_job.problem
    assert import_job.counts == {}


def test_columns_without_effect_are_named_and_need_no_confirmation(panel: Panel) -> None:
    table = (
        "Name,Email,Financial Status,Total,Lineitem name,Lineitem price,Risk Level,Device ID\n#1,,paid,5,Mug,5,Low,\n"
    )

    import_job = check_upload(panel, table)
    page = " ".join(panel.get(CHANGE, import_job.pk).content.decode().split())

    assert "2 columns are not supported and will be ignored: <code>Risk Level</code>, <code>Device ID</code>" in page
    assert 'name="without_unknown"' not in page
    assert import_job.counts == {"new": 1}


def test_the_preview_shows_the_names_of_orders_with_ids(panel: Panel) -> None:
    import_job = check_upload(panel, "Name,Id,Email,Total,Lineitem name,Lineitem price\n#7,4507900,,5,Mug,5\n")

    assert [row.label for row in panel.get(CHANGE, import_job.pk).context["preview"]] == ["#7"]
