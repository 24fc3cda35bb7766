"""Tests for the permissions to import and export metafields."""

from pathlib import Path

import pytest
from django.utils import timezone

from apps.core.tenancy.models import Shop
from apps.imports_exports.domain import imports
from apps.imports_exports.models import Import, ImportedRow
from tests.imports_exports.test_metafield_files import COLUMNS, full_shop, get_values, import_table
from tests.panel.test_imports import check_upload
from tests.support.files.import_export import export_text, import_text
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import run_latest_job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media_root")]
__all__ = ["full_shop"]


def test_staff_only_change_metafields_of_owners_that_they_manage(full_shop: Shop, admin_client_with: PanelWith) -> None:
    panel = admin_client_with("products")
    rows = "product,mug,a,b,json,{}\ncustomer,ada@example.com,a,b,json,{}\n"
    import_job = check_upload(panel, f"{COLUMNS}\n{rows}".encode())
    assert import_job.counts == {"new": 1, "failed": 1}

    imports.start_import(import_job, actor=import_job.actor, at=timezone.now())
    run_latest_job(full_shop, imports.RUN_TASK)

    assert get_values() == {("product", "a", "b", "{}")}
    reason = ImportedRow.objects.get(file=import_job, dry=False, fate="failed").reason
    assert str(reason) == "Owner Type: You don't have permission to change metafields of customer"


def test_an_export_has_the_metafields_that_its_user_may_export(
    full_shop: Shop, tmp_path: Path, admin_client_with: PanelWith
) -> None:
    import_table(
        full_shop,
        tmp_path,
        "product,mug,details,material,single_line_text_field,=Clay",
        "customer,ada@example.com,crm,level,single_line_text_field,gold",
    )

    texts = {
        names: export_as(full_shop, admin_client_with(*names.split()))
        for names in ("export_products", "export_products export_customers")
    }
    again = import_text(full_shop, texts["export_products export_customers"], tmp_path, "again.csv")

    assert texts["export_products"].splitlines() == [
        f"{COLUMNS},Description",
        "product,mug,details,material,single_line_text_field,'=Clay,",
    ]
    assert again.endswith("Done: 0 new, 0 changed, 2 skipped, 0 failed.\n")
    assert Import.objects.latest("pk").unknown == []


def export_as(shop: Shop, panel: Panel) -> str:
    return export_text(shop, panel.user, "metafield", "csv")
