"""Tests for CSV files that are not UTF-8: staff see and confirm how a file is read before it is imported."""

from pathlib import Path

import pytest
from django.core.management import CommandError
from django.utils import timezone

from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Shop
from apps.customers.models import Customer
from apps.imports_exports.domain import imports
from apps.imports_exports.models import Import
from tests.support.files.import_export import import_bytes
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import run_latest_job, upload_file

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

CHANGE, CONFIRM = "imports_exports_import_change", "imports_exports_import_confirm"
ENCODING = "imports_exports_import_encoding"
ROWS = "email,first_name,city\nada@example.com,Ada,Köln – Süd\n"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("customers")


def check_upload(panel: Panel, content: bytes) -> Import:
    upload_file(panel, content, "in.csv")
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    return Import.objects.latest("pk")


def read_page(panel: Panel, import_job: Import) -> str:
    return " ".join(panel.get(CHANGE, import_job.pk).content.decode().split())


def post(panel: Panel, name: str, import_job: Import, **values: str) -> None:
    key = panel.get(CHANGE, import_job.pk).context["form_key"]
    assert panel.post(name, import_job.pk, form_key=key, **values).status_code == 302


def get_city() -> str:
    address = Customer.objects.get(email="ada@example.com").default_address
    return "" if address is None else str(address.city)


def test_a_windows_file_is_imported_after_staff_confirm_its_letters(panel: Panel) -> None:
    import_job = check_upload(panel, ROWS.encode("cp1252"))
    page = read_page(panel, import_job)

    post(panel, CONFIRM, import_job)
    refused = read_page(panel, import_job)
    post(panel, CONFIRM, import_job, has_checked_encoding="on")
    run_latest_job(panel.shop, imports.RUN_TASK)

    assert "The file is not UTF-8. It is read as Windows-1252 (Western European). Check these texts:" in page
    assert "<q>Köln – Süd</q>" in page
    assert "The letters of the file are correct" in page
    assert "Check the letters of the file, and confirm that they are correct" in refused
    assert get_city() == "Köln – Süd"


def test_staff_choose_another_encoding(panel: Panel) -> None:
    rows = "email,first_name,Miasto\nada@example.com,Ada,Łódź\n".encode("cp1250")
    import_job = check_upload(panel, rows)
    before = read_page(panel, import_job)

    post(panel, ENCODING, import_job, encoding="cp1250")
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    page = read_page(panel, import_job)
    post(panel, ENCODING, import_job, encoding="rot13")
    unknown = read_page(panel, import_job)

    assert "<q>£ódŸ</q>" in before
    assert "It is read as Windows-1250 (Central European)." in page
    assert "<q>Łódź</q>" in page
    assert "Select an encoding from the list" in unknown
    import_job.refresh_from_db()
    assert (import_job.encoding, import_job.state) == ("cp1250", Import.State.CHECKED)
    post(panel, CONFIRM, import_job, without_unknown="on", has_checked_encoding="on")
    with pytest.raises(DomainError):
        imports.choose_encoding(import_job, encoding="cp1252", actor="system", at=timezone.now())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_the_byte_order_mark_identifies_utf_16(panel: Panel, encoding: str) -> None:
    content = ROWS.encode(encoding)
    import_job = check_upload(panel, content if encoding == "utf-16" else b"\xfe\xff" + content)
    page = read_page(panel, import_job)

    post(panel, CONFIRM, import_job)
    run_latest_job(panel.shop, imports.RUN_TASK)

    assert "The file is read as UTF-16." in page
    assert "The letters of the file are correct" not in page
    assert get_city() == "Köln – Süd"


def test_a_few_invalid_bytes_do_not_change_the_encoding(panel: Panel) -> None:
    rows = "email,city\nada@example.com,Köln – Süd\n".encode() + b"bo@example.com,caf\xe9\n"

    import_job = check_upload(panel, rows)

    assert import_job.encoding == "utf-8"
    assert import_job.counts == {"new": 1, "failed": 1}


def test_characters_that_an_encoding_lacks_refuse_their_row(panel: Panel) -> None:
    import_job = check_upload(panel, b"email,note\nada@example.com,\xe4\nbo@example.com,\x81\n")

    assert import_job.counts == {"new": 1, "failed": 1}
    assert "Has characters that are not Windows-1252 (Western European)" in read_page(panel, import_job)


@pytest.mark.parametrize(
    "content",
    [
        b"sep=;\r\nemail;city\r\nada@example.com;A, B|C\r\n",
        b'"sep=|"\nemail|city\nada@example.com|A, B;C\n',
        b"\xef\xbb\xbfSEP=\t\nemail\tcity\nada@example.com\tA, B;C\n",
        b"email|city\nada@example.com|A, B;C\n",
        b'email;"city"\nada@example.com;"A, B|C"\n',
        b'"a, b, c";email;city\n1;ada@example.com;A, B|C\n',
        b"email\tcity\nada@example.com\tA, B\n",
    ],
)
def test_all_delimiters_are_recognized(shop: Shop, tmp_path: Path, content: bytes) -> None:
    report = import_bytes(shop, content, tmp_path, "in.csv", ignore_unknown=True)

    assert "1 new" in report, report
    assert get_city().startswith("A, B")


def test_the_command_reads_other_encodings_only_on_request(shop: Shop, tmp_path: Path) -> None:
    content = ROWS.encode("cp1252")

    with pytest.raises(CommandError, match=r"not UTF-8.*Windows-1252.*“Köln – Süd”.*--encoding cp1252"):
        import_bytes(shop, content, tmp_path, "in.csv")
    validated = import_bytes(shop, content, tmp_path, "in.csv", dry_run=True)
    report = import_bytes(shop, content, tmp_path, "in.csv", encoding="cp1252")

    assert validated.startswith("The file is not UTF-8. As Windows-1252")
    assert (
        report == "The file is read as Windows-1252 (Western European).\nDone: 1 new, 0 changed, 0 skipped, 0 failed.\n"
    )
    assert get_city() == "Köln – Süd"
    assert Import.objects.count() == 1
