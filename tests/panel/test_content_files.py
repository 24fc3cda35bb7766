"""Files of pages and redirects, imported and exported through the panel."""

from collections.abc import Iterator

import pytest
from django.core.files.storage import default_storage
from django.utils import timezone

from apps.content.models import Page, Redirect
from apps.core.i18n.messages import translate
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.domain import exports, imports
from apps.imports_exports.models import Export, Import, ImportedRow
from tests.support import factories
from tests.support.factories.content import make_page, make_redirect
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.pages import run_latest_job, upload_file

pytestmark = pytest.mark.usefixtures("media_root", "in_shop")

HEADER = b"Redirect from,Redirect to\n"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("pages", "links", "products")


def check_file(panel: Panel, content: bytes, name: str = "in.csv") -> Import:
    upload_file(panel, content, name)
    run_latest_job(panel.shop, imports.VALIDATE_TASK)
    return Import.objects.latest("pk")


def import_file(panel: Panel, content: bytes, name: str = "in.csv") -> Import:
    import_job = check_file(panel, content, name)
    imports.start_import(import_job, actor=import_job.actor, at=timezone.now())
    run_latest_job(panel.shop, imports.RUN_TASK)
    return import_job


def export(panel: Panel, kind: str, file_format: str) -> bytes:
    export_job = exports.create_export(
        kind=kind, format=file_format, filters={}, user=panel.user, actor="system", at=timezone.now()
    )
    run_latest_job(panel.shop, exports.EXPORT)
    with default_storage.open(Export.objects.get(pk=export_job.pk).path) as file:
        return file.read()


def list_results(import_job: Import, *, dry: bool) -> Iterator[tuple[int, str, str]]:
    for row in ImportedRow.objects.filter(file=import_job, dry=dry).order_by("line"):
        yield row.line, row.fate, translate(row.reason)


def list_redirects() -> list[tuple[str, str]]:
    return list(Redirect.objects.order_by("path").values_list("path", "target"))


def test_redirects_are_created_updated_and_refused_with_reasons(panel: Panel) -> None:
    make_redirect("/same", "/x")
    make_redirect("/moved", "/x")
    rows = b"/new,/pages/new\n/same/,/x\n/Moved,/y\n/y,/moved\n,/z\n/a,javascript:x\n/new,/pages/newer\n"

    preview = check_file(panel, HEADER + rows)
    foreseen = list(list_results(preview, dry=True))
    assert list_redirects() == [("/moved", "/x"), ("/same", "/x")]
    imported = import_file(panel, HEADER + rows)

    loop = "Redirect to: creates a loop: /y → /moved → /y"
    assert foreseen == [
        (2, "new", ""),
        (3, "skipped", "already exists and is unchanged"),
        (4, "changed", ""),
        (5, "failed", loop),
        (6, "failed", "Redirect from: can't be blank"),
        (7, "failed", "Redirect to: must begin with /, http:// or https://"),
        (8, "changed", "occurs earlier in the file"),
    ]
    assert [result for _, result, _ in list_results(imported, dry=False)] == [
        "new", "skipped", "changed", "failed", "failed", "failed", "changed",
    ]  # fmt: skip
    assert list_redirects() == [("/moved", "/y"), ("/new", "/pages/newer"), ("/same", "/x")]


def test_the_redirects_of_a_product_import_can_be_imported(panel: Panel) -> None:
    products = import_file(panel, b"Handle,Title\nSkin\xe2\x84\xa2 & Co,Skin\n")
    response = panel.get("imports_exports_import_redirects", products.pk)

    import_file(panel, b"".join(response.streaming_content))  # type: ignore[attr-defined]

    assert list_redirects() == [("/products/Skin%E2%84%A2%20%26%20Co", "/products/skintm-co")]


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_exported_redirects_and_pages_can_be_imported_elsewhere(panel: Panel, file_format: str) -> None:
    make_redirect("/über uns", "https://example.com/?a=1,2")
    make_page(title="=Über uns", body_html="<p>A</p>\r\n<p>B</p>", published_at=timezone.now(), template_suffix="wide")
    make_page(title="Hidden", author="Kim")
    names = ("handle", "title", "body_html", "author", "template_suffix")
    files = [export(panel, kind, file_format) for kind in ("redirects", "pages")]
    redirects, pages = list_redirects(), list(Page.objects.order_by("handle").values(*names))
    visible = [page.published_at is not None for page in Page.objects.order_by("handle")]

    unchanged = [import_file(panel, file, f"in.{file_format}") for file in files]
    assert {result for job in unchanged for _, result, _ in list_results(job, dry=False)} == {"skipped"}
    Redirect.objects.all().delete()
    Page.objects.all().delete()
    for file in files:
        import_file(panel, file, f"in.{file_format}")

    assert (list_redirects(), list(Page.objects.order_by("handle").values(*names))) == (redirects, pages)
    assert [page.published_at is not None for page in Page.objects.order_by("handle")] == visible


def test_pages_are_updated_by_their_handle(panel: Panel) -> None:
    page = make_page(title="About", author="Kim")

    job = import_file(panel, b"page_handle,title,published\nabout,About us,no\n,Jobs,yes\nbad,,yes\n")

    page.refresh_from_db()
    assert (page.title, page.author, page.published_at) == ("About us", "Kim", None)
    assert Page.objects.exclude(pk=page.pk).get().handle == "jobs"
    assert list(list_results(job, dry=False)) == [
        (2, "changed", ""),
        (3, "new", ""),
        (4, "failed", "title: can't be blank"),
    ]


def test_files_need_the_permission_of_their_rows(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("pages")

    job = check_file(panel, HEADER + b"/a,/b\n")

    assert [result for _, result, _ in list_results(job, dry=True)] == ["failed"]


def test_exports_contain_only_rows_of_the_shop(panel: Panel, shop: Shop) -> None:
    other = factories.make_shop()
    with shop_scope(other):
        make_redirect("/foreign", "/x")
        make_page(title="Foreign")

    for kind in ("redirects", "pages"):
        assert b"oreign" not in export(panel, kind, "jsonl")
