import base64
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from apps.content.domain import blob_store, theme_extraction, themes
from apps.content.models import Asset, FileContent, Theme
from apps.core.jobs.models import Job
from apps.core.media.storage import ContentFileStorage, get_content_storage
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from tests.support.api_client import ApiClient
from tests.support.factories.content import LAYOUT, SMALL_THEME, create_zip, get_main_theme, get_theme, post_theme
from tests.support.files.zip_files import ZipEntry, make_zip
from tests.support.servers.files import FileServer

RunJobs = Callable[[], list[Job]]
SYMLINK, DEVICE = 0o120777 << 16, 0o020666 << 16
GOOD = ZipEntry(LAYOUT)


def create_damaged_zip() -> bytes:
    """Return a ZIP archive with many valid entries and a damaged last entry."""
    packed = bytearray(create_zip({f"assets/{number}.txt": f"text {number}" * 50 for number in range(300)}))
    at = packed.rindex(b"PK\x03\x04") + 60
    packed[at] ^= 0xFF
    return bytes(packed)


def create_overlapping_zip() -> bytes:
    entry = ZipEntry("assets/a.txt", b"\x00" * 100_000)
    return make_zip(GOOD, entry, *(ZipEntry(f"assets/{number}.txt", entry.data, offset=37) for number in range(50)))


def create_zip_bomb(entries: int) -> bytes:
    row = b"\x00" * (20 * 1024 * 1024 - 1)
    return create_zip({f"assets/{number}.bin": row for number in range(entries)})


HOSTILE: dict[str, Callable[[], bytes]] = {
    "parent": lambda: make_zip(GOOD, ZipEntry("../../x.liquid")),
    "absolute": lambda: make_zip(GOOD, ZipEntry("/layout/x.liquid")),
    "drive": lambda: make_zip(GOOD, ZipEntry("C:\\x.liquid")),
    "backslash": lambda: make_zip(GOOD, ZipEntry("layout\\..\\x")),
    "nul": lambda: make_zip(GOOD, ZipEntry(b"layout/a\x00b.liquid")),
    "device name": lambda: make_zip(GOOD, ZipEntry("layout/CON")),
    "long name": lambda: make_zip(GOOD, ZipEntry("layout/" + "a" * 300)),
    "empty name": lambda: make_zip(GOOD, ZipEntry("")),
    "symlink": lambda: make_zip(GOOD, ZipEntry("layout/link", b"/etc/passwd", attributes=SYMLINK)),
    "device": lambda: make_zip(GOOD, ZipEntry("layout/null", attributes=DEVICE)),
    "encrypted": lambda: make_zip(GOOD, ZipEntry("layout/secret.liquid", flags=0x0801)),
    "method 99": lambda: make_zip(GOOD, ZipEntry("layout/odd.liquid", method=99)),
    "truncated": lambda: create_zip(SMALL_THEME)[:-30],
    "empty file": lambda: b"",
    "html": lambda: b"<!doctype html><h1>Not here</h1>",
    "twice": lambda: make_zip(GOOD, GOOD),
    "same after folding": lambda: make_zip(GOOD, ZipEntry("layout/Theme.liquid")),
    "same after nfc": lambda: make_zip(GOOD, ZipEntry("assets/\u00e9"), ZipEntry("assets/e\u0301")),
    "overlapping": create_overlapping_zip,
    "bomb": lambda: create_zip_bomb(13),
    "huge text": lambda: create_zip({LAYOUT: b"x" * (256 * 1024 + 1)}),
    "10,001 entries": lambda: create_zip({f"assets/{number}.txt": b"" for number in range(10_001)}),
    "lying size": lambda: make_zip(GOOD, ZipEntry("assets/a.txt", b"x" * 1000, size=10)),
    "lying crc": lambda: make_zip(GOOD, ZipEntry("assets/a.txt", b"x" * 1000, crc=1)),
    "damaged at the end": create_damaged_zip,
    "broken json": lambda: create_zip({LAYOUT: "x", "locales/de.json": "{", "locales/fr.json": "[1,]"}),
    "binary data as text": lambda: create_zip({LAYOUT: "x", "assets/a.css": bytes(range(256))}),
    "no theme": lambda: create_zip({".git/config": "x", "readme.txt": "x"}),
    "nested only": lambda: create_zip({"theme.zip": create_zip(SMALL_THEME)}),
}


def get_contents(shop: Shop) -> tuple[set[int], set[Path]]:
    """Return the ids of all stored contents, and all files of the storage."""
    storage = get_content_storage()
    assert isinstance(storage, ContentFileStorage)
    with shop_scope(shop):
        rows = set(FileContent.objects.values_list("pk", flat=True))
    return rows, {path for path in Path(storage.location).rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused_with_a_reason_and_leaves_nothing(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs, name: str
) -> None:
    main, before = get_main_theme(api), get_contents(shop)
    theme = post_theme(api, src=file_server.offer("/theme.zip", HOSTILE[name]()), role="main")

    (job,) = run_jobs()

    after = get_theme(api, theme)
    assert (after["processing"], after["previewable"], after["role"]) == (False, False, "unpublished")
    assert (get_main_theme(api)["id"], job.state) == (main["id"], Job.State.FAILED)
    assert api.get(f"themes/{theme['id']}/assets.json").json() == {"assets": []}
    with shop_scope(shop):
        assert Theme.objects.get(pk=theme["id"]).failure == job.error
    assert job.error.startswith(("The ", "“"))
    assert get_contents(shop) == before
    assert api.delete(f"themes/{theme['id']}.json").status_code == 200


def test_an_unknown_directory_is_skipped(api: ApiClient, file_server: FileServer, run_jobs: RunJobs) -> None:
    archive = create_zip({LAYOUT: "x", ".git/config": "x", "node_modules/a.js": "x"})
    theme = post_theme(api, src=file_server.offer("/t.zip", archive))

    run_jobs()

    assets = api.get(f"themes/{theme['id']}/assets.json").json()["assets"]
    assert [asset["key"] for asset in assets] == [LAYOUT]


def test_a_theme_waits_during_a_full_disk_and_is_completed_later(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    theme = post_theme(api, src=file_server.offer("/t.zip", create_zip(SMALL_THEME)))

    with monkeypatch.context() as full:
        full.setattr(ContentFileStorage, "_save", Mock(side_effect=OSError(28, "No space left on device")))
        (job,) = run_jobs()
    waiting = get_theme(api, theme)
    with shop_scope(shop):
        Job.objects.update(due_at=Now())
    run_jobs()

    assert (job.state, waiting["processing"]) == (Job.State.WAITING, True)
    assert "No space left" in job.error
    assert get_theme(api, theme)["previewable"] is True


def test_a_repeated_job_changes_nothing(api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs) -> None:
    theme = post_theme(api, src=file_server.offer("/t.zip", create_zip(SMALL_THEME)))
    (job,) = run_jobs()
    before = get_theme(api, theme)

    with shop_scope(shop):
        theme_extraction.extract_theme(job, theme_id=theme["id"])
        assert not themes.install_theme_files(theme["id"], {}, actor="system", at=timezone.now())

    assert get_theme(api, theme) == before
    assert len(file_server.requests) == 1


def test_an_uploaded_archive_is_extracted_and_let_go(api: ApiClient, shop: Shop, run_jobs: RunJobs) -> None:
    with shop_scope(shop):
        upload = blob_store.store_blob(create_zip(SMALL_THEME))
        theme = themes.create_theme(name="Uploaded", upload=upload, actor="staff:1", at=timezone.now())

    run_jobs()

    with shop_scope(shop):
        theme.refresh_from_db()
        assert (theme.previewable, theme.upload) == (True, None)
        assert Asset.objects.filter(theme=theme).count() == len(SMALL_THEME)
        assert blob_store.get_unreferenced_blobs().filter(pk=upload.pk).exists()


def test_shared_contents_survive(api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs) -> None:
    with shop_scope(shop):
        mine = blob_store.store_blob(b"text 0" * 50)
    theme = post_theme(api, src=file_server.offer("/t.zip", create_damaged_zip()))

    run_jobs()

    assert get_theme(api, theme)["previewable"] is False
    with shop_scope(shop):
        assert blob_store.read_blob(FileContent.objects.get(pk=mine.pk)) == b"text 0" * 50


def test_bombs_of_these_tests_are_bombs() -> None:
    assert len(create_zip_bomb(13)) < 1024 * 1024
    with zipfile.ZipFile(io.BytesIO(create_zip_bomb(13))) as archive:
        assert sum(info.file_size for info in archive.infolist()) > 250 * 1024 * 1024


def test_an_archive_and_single_files_have_the_same_rules(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    files: dict[str, bytes | str] = {
        LAYOUT: "<p>ö</p>".encode("cp1252"),
        "assets/a.css": "\ufeffa{}".encode("utf-16-le"),
        "locales/de.json": '\ufeff{"a": 1}'.encode(),
        "locales/fr.json": '/* Note */ {"a": 1}',
        "assets/Größe (1)@2x.png": bytes(range(256)),
    }
    theme = post_theme(api, src=file_server.offer("/t.zip", create_zip(files | {"README.md": "x"})))

    run_jobs()

    listed = api.get(f"themes/{theme['id']}/assets.json").json()["assets"]
    main = get_main_theme(api)
    for asset in listed:
        content = files[asset["key"]]
        attachment = base64.b64encode(content.encode() if isinstance(content, str) else content).decode()
        body = {"asset": {"key": asset["key"], "attachment": attachment}}
        put = api.put(f"themes/{main['id']}/assets.json", body).json()["asset"]
        assert (put["checksum"], put["size"]) == (asset["checksum"], asset["size"])
    assert {asset["key"] for asset in listed} == files.keys()
    with shop_scope(shop):
        notes = str(Theme.objects.get(pk=theme["id"]).notes)
    assert notes == (
        "Not part of a theme and left out (1): “README.md”; Converted from UTF-16 to UTF-8 (1): “assets/a.css”; "
        f"Converted from Windows-1252 to UTF-8 (1): “{LAYOUT}”; Removed the byte order mark (1): “locales/de.json”"
    )


def test_an_archive_is_refused_with_all_its_bad_files(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    files: dict[str, bytes | str] = {LAYOUT: "x", "locales/de.json": "{", "assets/a.css": bytes(range(256))}
    theme = post_theme(api, src=file_server.offer("/t.zip", create_zip(files)))

    run_jobs()

    with shop_scope(shop):
        failure = Theme.objects.get(pk=theme["id"]).failure
    problem = "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"
    assert failure == (
        f"The file locales/de.json is not valid JSON: {problem}; The file assets/a.css is not UTF-8 text"
    )
