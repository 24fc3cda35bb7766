"""Tests for column mappings that staff save under a name."""

import pytest

from apps.catalog.models import Product
from apps.core.events.models import Event
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.domain import imports, saved_mappings
from apps.imports_exports.models import Import, SavedMapping
from tests.panel.test_imports import CHANGE, COLUMNS, check_upload, run_import
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import run_latest_job

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

FILE = b"Kennung;Bezeichnung;Preis\nmug;Tasse;9.50\n"
NAMES = {"column-0": "Handle", "column-1": "Title", "copy-1": "SEO Title", "column-2": "Variant Price"}


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("products")


def save_columns(panel: Panel, import_job: Import, **values: str) -> str:
    key = panel.get(COLUMNS, import_job.pk, kind="products").context["form_key"]
    url = f"{panel.url(COLUMNS, import_job.pk)}?kind=products"
    return panel.http.post(url, {"form_key": key, **NAMES, **values}).content.decode()


def test_a_column_fills_two_fields(panel: Panel, shop: Shop) -> None:
    import_job = check_upload(panel, FILE)

    save_columns(panel, import_job)
    run_latest_job(shop, imports.VALIDATE_TASK)
    import_job.refresh_from_db()
    run_import(import_job)

    product = Product.objects.get()
    assert import_job.mapping is not None
    assert import_job.mapping["copies"] == {"Bezeichnung": "SEO Title"}
    assert (product.title, product.handle) == ("Tasse", "mug")
    page = panel.get("catalog_product_change", product.pk).content.decode()
    assert page.count("Tasse") >= 2


def test_a_field_that_is_filled_twice_is_refused(panel: Panel) -> None:
    import_job = check_upload(panel, FILE)

    page = save_columns(panel, import_job, **{"copy-1": "Handle"}, save_as="Spring feed")

    assert "Only one column can be mapped to Handle" in page
    assert not SavedMapping.objects.exists()


def test_a_saved_mapping_is_offered_for_the_same_columns(panel: Panel, shop: Shop) -> None:
    save_columns(panel, check_upload(panel, FILE), save_as=" Spring feed ")
    same, other = (
        check_upload(panel, b"PREIS,Kennung,Bezeichnung\n1,jug,Krug\n"),
        check_upload(panel, b"Kennung;X\n1;2\n"),
    )

    offer = panel.get(CHANGE, same.pk).content.decode()
    form = panel.get(COLUMNS, same.pk)

    saved = SavedMapping.objects.get()
    assert "The saved mapping Spring feed is for files with these columns." in " ".join(offer.split())
    assert f"?saved={saved.pk}" in offer
    assert "Spring feed" not in panel.get(CHANGE, other.pk).content.decode()
    assert [(row[1], row[2], row[4]) for row in form.context["columns"]] == [
        ("PREIS", "", ""),
        ("Kennung", "Handle", ""),
        ("Bezeichnung", "Title", "SEO Title"),
    ]
    assert list(Event.objects.filter(topic=saved_mappings.SAVED).values_list("subject_label", flat=True)) != [
        "Spring feed"
    ]


def test_a_mapping_with_the_same_name_is_replaced_and_can_be_deleted(panel: Panel) -> None:
    save_columns(panel, check_upload(panel, FILE), save_as="Spring feed")
    import_job = check_upload(panel, b"Kennung;Bezeichnung;Kosten\nmug;Tasse;9.50\n")
    save_columns(panel, import_job, **{"column-2": "Cost per item"}, save_as="Spring feed")

    saved = SavedMapping.objects.get()
    assert saved.mapping["columns"]["Kosten"] == "Cost per item"
    waiting = check_upload(panel, b"a;b\n1;2\n")
    key = panel.get(COLUMNS, waiting.pk).context["form_key"]
    panel.post("imports_exports_import_delete_mapping", waiting.pk, form_key=key, saved=str(saved.pk))
    assert not SavedMapping.objects.exists()


def test_mappings_of_another_shop_are_unknown(panel: Panel, admin_client_with: PanelWith, other_shop: Shop) -> None:
    save_columns(panel, check_upload(panel, FILE), save_as="Spring feed")
    saved = SavedMapping.objects.get()
    stranger = admin_client_with("products", shop=other_shop)
    with shop_scope(other_shop):
        import_job = check_upload(stranger, FILE)
        page = stranger.get(COLUMNS, import_job.pk, saved=saved.pk)
        key = page.context["form_key"]
        stranger.post("imports_exports_import_delete_mapping", import_job.pk, form_key=key, saved=str(saved.pk))

        assert "Spring feed" not in page.content.decode() + stranger.get(CHANGE, import_job.pk).content.decode()
    assert SavedMapping.objects.get() == saved


@pytest.mark.parametrize("name", ["x" * 101])
def test_long_names_are_refused(panel: Panel, name: str) -> None:
    import_job = check_upload(panel, FILE)

    page = save_columns(panel, import_job, save_as=name)

    import_job.refresh_from_db()
    assert "is too long (maximum is 100 characters)" in page
    assert import_job.mapping is None
