import io
from collections.abc import Callable
from typing import BinaryIO, cast

import pytest
from django.utils import timezone

from apps.content.domain import assets, blob_store, theme_extraction, themes
from apps.content.domain.theme_archive import DEFAULT_LIMITS
from apps.content.models import Asset, FileContent, Theme
from apps.core.events.models import Event
from apps.core.jobs.models import Job
from apps.core.media.storage import get_content_storage
from apps.core.media.zip_reader import ArchiveRefused
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from tests.support.api_client import ApiClient, Response, get_errors
from tests.support.factories.content import LAYOUT, SMALL_THEME, create_zip, get_main_theme, get_theme, post_theme
from tests.support.servers.files import FileServer
from tests.support.types import JsonObject
from tests.support.wire_tables import assert_fits

RunJobs = Callable[[], list[Job]]
BY: Attrs = {"actor": "staff:1", "at": timezone.now()}


def get_keys(api: ApiClient, theme: JsonObject) -> list[str]:
    return [asset["key"] for asset in api.get(f"themes/{theme['id']}/assets.json").json()["assets"]]


@pytest.fixture
def small_theme(api: ApiClient, file_server: FileServer, run_jobs: RunJobs) -> JsonObject:
    theme = post_theme(api, src=file_server.offer("/theme.zip", create_zip(SMALL_THEME)))
    run_jobs()
    return theme


def test_every_route_answers_in_the_shape_that_clients_know(api: ApiClient, run_jobs: RunJobs) -> None:
    created = api.post("themes.json", {"theme": {"name": "Dawn"}})
    path = f"themes/{created.json()['theme']['id']}.json"
    run_jobs()

    assert_fits("theme", "POST /themes.json", created.json())
    assert_fits("theme", "GET /themes.json", api.get("themes.json").json())
    assert_fits("theme", "GET /themes/{id}.json", api.get(path).json())
    assert_fits("theme", "PUT /themes/{id}.json", api.put(path, {"theme": {"name": "Dusk"}}).json())
    assert_fits("theme", "DELETE /themes/{id}.json", api.delete(path).json())


def test_a_new_shop_has_a_published_theme_that_works(api: ApiClient) -> None:
    (theme,) = api.get("themes.json").json()["themes"]

    assert (theme["role"], theme["processing"], theme["previewable"]) == ("main", False, True)
    assert {*get_keys(api, theme)} >= {LAYOUT, "templates/index.liquid"}


def test_a_theme_is_extracted_byte_for_byte(api: ApiClient, file_server: FileServer, run_jobs: RunJobs) -> None:
    src = file_server.offer("/theme.zip", create_zip({f"dawn-1.0/{key}": data for key, data in SMALL_THEME.items()}))
    theme = post_theme(api, src=src)

    jobs = run_jobs()

    result = get_theme(api, theme)
    assert (theme["role"], theme["previewable"], theme["processing"]) == ("unpublished", False, True)
    assert (result["role"], result["previewable"], result["processing"]) == ("unpublished", True, False)
    assert "src" not in theme
    assert [(job.state, job.progress_done, job.progress_total) for job in jobs] == [("done", 4, 4)]
    assert get_keys(api, theme) == sorted(SMALL_THEME)
    single = api.get(f"themes/{theme['id']}/assets.json", **{"asset[key]": LAYOUT}).json()["asset"]
    assert single["value"] == SMALL_THEME[LAYOUT]


def test_a_theme_without_a_source_is_filled_with_a_minimal_one(api: ApiClient, run_jobs: RunJobs) -> None:
    theme = post_theme(api)

    run_jobs()

    assert get_theme(api, theme)["previewable"] is True
    assert len(get_keys(api, theme)) >= 5


def test_role_main_publishes_only_complete_themes(api: ApiClient, file_server: FileServer, run_jobs: RunJobs) -> None:
    old = get_main_theme(api)
    theme = post_theme(api, src=file_server.offer("/theme.zip", create_zip(SMALL_THEME)), role="main")
    before = get_main_theme(api)

    run_jobs()

    assert (theme["role"], before["id"]) == ("unpublished", old["id"])
    assert (get_main_theme(api)["id"], get_theme(api, old)["role"]) == (theme["id"], "unpublished")


def test_publishing_a_processing_theme_takes_effect_when_it_is_done(api: ApiClient, run_jobs: RunJobs) -> None:
    theme = post_theme(api)

    response = api.put(f"themes/{theme['id']}.json", {"theme": {"id": theme["id"], "role": "main"}})
    run_jobs()

    assert (response.status_code, response.json()["theme"]["role"]) == (200, "unpublished")
    assert get_main_theme(api)["id"] == theme["id"]


def test_publishing_switches_and_records_both(api: ApiClient, shop: Shop, run_jobs: RunJobs) -> None:
    old, theme = get_main_theme(api), post_theme(api)
    run_jobs()

    response = api.put(f"themes/{theme['id']}.json", {"theme": {"role": "main", "name": "Dusk"}})

    assert (response.json()["theme"]["role"], response.json()["theme"]["name"]) == ("main", "Dusk")
    assert get_theme(api, old)["role"] == "unpublished"
    with shop_scope(shop):
        events = list(Event.objects.filter(subject_type="content.theme").order_by("-id")[:3])
    expected = [("themes/update", old["id"]), ("themes/publish", theme["id"]), ("themes/update", theme["id"])]
    assert [(event.topic, event.subject_id) for event in reversed(events)] == expected


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        ({}, {"name": ["can't be blank"]}),
        ({"name": " \t"}, {"name": ["can't be blank"]}),
        ({"name": "x", "role": "demo"}, {"role": ["is not included in the list"]}),
        ({"name": "x", "role": "development"}, {"role": ["is not included in the list"]}),
        ({"name": "x", "src": "ftp://files.example/t.zip"}, {"src": ["must use http or https"]}),
        ({"name": "x", "src": "http://127.0.0.1/t.zip"}, {"src": ["is not an allowed address"]}),
        ({"name": "x", "src": "http://[::1]/t.zip"}, {"src": ["is not an allowed address"]}),
    ],
)
def test_create_refuses_what_does_not_fit(api: ApiClient, shop: Shop, body: object, errors: object) -> None:
    assert get_errors(api.post("themes.json", {"theme": body})) == errors
    with shop_scope(shop):
        assert Theme.objects.count() == 1
        assert not Job.objects.exists()


@pytest.mark.parametrize("role", ["demo", "development"])
def test_demo_themes_cannot_be_published(api: ApiClient, shop: Shop, run_jobs: RunJobs, role: str) -> None:
    with shop_scope(shop):
        theme = themes.create_theme(name="Trial", role=role, **BY)
    run_jobs()

    response = api.put(f"themes/{theme.pk}.json", {"theme": {"role": "main"}})
    renamed = api.put(f"themes/{theme.pk}.json", {"theme": {"role": role, "name": "Bought"}})

    shown = get_theme(api, {"id": theme.pk})
    assert list(get_errors(response)) == ["role"]
    assert renamed.json()["theme"] == shown | {"updated_at": renamed.json()["theme"]["updated_at"]}
    assert (shown["name"], shown["role"]) == ("Bought", role)


def test_the_published_theme_cannot_be_unpublished_by_itself(api: ApiClient) -> None:
    path = f"themes/{get_main_theme(api)['id']}.json"

    assert list(get_errors(api.put(path, {"theme": {"role": "unpublished"}}))) == ["role"]
    assert api.get(path).json()["theme"]["role"] == "main"


def test_delete_refuses_published_and_processing_themes(api: ApiClient, shop: Shop, run_jobs: RunJobs) -> None:
    main, theme = get_main_theme(api), post_theme(api)
    path = f"themes/{theme['id']}.json"

    refused = [api.delete(path), api.delete(f"themes/{main['id']}.json")]
    run_jobs()
    before = get_theme(api, theme)
    deleted = api.delete(path)

    assert [list(get_errors(response)) for response in refused] == [["base"]] * 2
    assert (deleted.status_code, deleted.json()) == (200, before)
    assert api.get(path).status_code == 404
    with shop_scope(shop):
        assert not Asset.objects.filter(theme_id=theme["id"]).exists()
        assert Event.objects.filter(topic="themes/delete", subject_id=theme["id"]).count() == 1


def test_the_21st_theme_is_refused(api: ApiClient, shop: Shop) -> None:
    for _ in range(19):
        post_theme(api)

    response = api.post("themes.json", {"theme": {"name": "Too much"}})

    assert list(get_errors(response)) == ["base"]
    with shop_scope(shop):
        assert Theme.objects.count() == 20
        with pytest.raises(themes.TooManyThemes):
            themes.duplicate_theme(Theme.objects.get(role="main"), **BY)


def test_a_missing_archive_fails_the_theme(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    theme = post_theme(api, src=file_server.url("/theme.zip"), role="main")

    jobs = run_jobs()
    failed = get_theme(api, theme)
    with shop_scope(shop):
        row = Theme.objects.get(pk=theme["id"])
        assert row.failure == "Could not download the archive: status 404."
        themes.retry_theme(row, **BY)
        with pytest.raises(themes.NotRetryable):
            themes.retry_theme(row, **BY)
    file_server.offer("/theme.zip", create_zip(SMALL_THEME))
    run_jobs()

    assert [job.state for job in jobs] == ["failed"]
    assert (failed["processing"], failed["previewable"], failed["role"]) == (False, False, "unpublished")
    assert get_theme(api, theme)["role"] == "main"


def test_a_processing_or_failed_theme_is_read_only(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    theme = post_theme(api, src=file_server.url("/none.zip"))
    path, body = f"themes/{theme['id']}", {"asset": {"key": "assets/a.css", "value": "a{}"}}

    processing = api.put(f"{path}/assets.json", body)
    run_jobs()
    published = api.put(f"{path}.json", {"theme": {"role": "main"}})
    failed = api.put(f"{path}/assets.json", body)

    assert [list(get_errors(answer)) for answer in (processing, published, failed)] == [["asset"], ["role"], ["asset"]]
    with shop_scope(shop), pytest.raises(themes.NotCopyable):
        themes.duplicate_theme(Theme.objects.get(pk=theme["id"]), **BY)
    assert api.delete(f"{path}.json").status_code == 200


def get_files(shop: Shop, theme_id: int) -> set[tuple[str, int]]:
    with shop_scope(shop):
        return set(Asset.objects.filter(theme_id=theme_id).values_list("key", "content"))


def test_a_copy_shares_the_contents(shop: Shop, small_theme: JsonObject) -> None:
    with shop_scope(shop):
        before = FileContent.objects.count()
        copy = themes.duplicate_theme(Theme.objects.get(pk=small_theme["id"]), **BY)
        assert FileContent.objects.count() == before

    assert (copy.name, copy.role, copy.previewable) == ("Copy of Dawn", "unpublished", True)
    files = get_files(shop, small_theme["id"])
    assert (len(files), get_files(shop, copy.pk)) == (len(SMALL_THEME), files)


def test_a_downloaded_theme_can_be_uploaded(
    api: ApiClient, shop: Shop, small_theme: JsonObject, file_server: FileServer, run_jobs: RunJobs
) -> None:
    with shop_scope(shop), theme_extraction.create_theme_archive(Theme.objects.get(pk=small_theme["id"])) as file:
        uploaded = post_theme(api, src=file_server.offer("/again.zip", file.read()))
    run_jobs()

    assert get_files(shop, small_theme["id"]) == get_files(shop, uploaded["id"]) != set()


def test_equal_contents_are_shared(
    api: ApiClient, shop: Shop, other_shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    files = {LAYOUT: "same", "snippets/a.liquid": "same", "assets/a.txt": "same"}
    post_theme(api, src=file_server.offer("/theme.zip", create_zip(files)))
    run_jobs()

    with shop_scope(shop):
        name = FileContent.objects.get(size=4).name
    assert name.startswith(f"shops/{shop.pk}/content/")
    with get_content_storage().open(name) as file:
        assert file.read() == b"same"
    with shop_scope(other_shop):
        assert not FileContent.objects.filter(size=4).exists()


def test_themes_are_listed_by_name(api: ApiClient) -> None:
    post_theme(api, name="Zephyr")
    post_theme(api, name="Alpine")

    names = [theme["name"] for theme in api.get("themes.json").json()["themes"]]

    assert names == ["Alpine", "Starter", "Zephyr"]


def create_failed_theme() -> Theme:
    """Create a theme that should have been published but could not be downloaded."""
    theme = themes.create_theme(name="Late", role="main", **BY)
    themes.mark_theme_failed(theme.pk, reason="No such host", **BY)
    return Theme.objects.get(pk=theme.pk)


def finish_theme(theme: Theme) -> None:
    themes.retry_theme(theme, **BY)
    files = {asset.key: asset.content for asset in Asset.objects.select_related("content").filter(theme__role="main")}
    themes.install_theme_files(theme.pk, files, **BY)


def test_a_theme_that_failed_is_still_published_by_a_later_try(shop: Shop) -> None:
    with shop_scope(shop):
        theme = create_failed_theme()

        finish_theme(theme)

        assert Theme.objects.get(role="main").pk == theme.pk


def test_publishing_another_theme_concurrently_wins(shop: Shop) -> None:
    """Check that a late retry of a failed theme does not replace a theme that was published later."""
    with shop_scope(shop):
        theme = create_failed_theme()
        selected = themes.duplicate_theme(Theme.objects.get(role="main"), name="New", **BY)
        themes.publish_theme(selected, **BY)

        finish_theme(theme)

        assert Theme.objects.get(role="main").pk == selected.pk
        assert Theme.objects.get(pk=theme.pk).previewable


def test_the_last_requested_of_two_waiting_themes_is_published(shop: Shop) -> None:
    with shop_scope(shop):
        first = themes.create_theme(name="First", role="main", **BY)
        second = themes.create_theme(name="Second", role="main", **BY)
        files = {asset.key: asset.content for asset in Asset.objects.select_related("content").all()}

        themes.install_theme_files(second.pk, files, **BY)
        themes.install_theme_files(first.pk, files, **BY)

        assert Theme.objects.get(role="main").pk == second.pk


SAME_NAME = "The file layout/theme.liquid already exists, and some systems can't tell the names apart"
RESERVED_NAME = "key can't contain a name that Windows reserves, such as “con” or “nul”"
BAD_PART = "key can't contain a folder or file name that is empty or a dot, or starts or ends with a space"
REFUSED = {
    "layout/theme.liquid/x": "The file conflicts with layout/theme.liquid: a path can't be both a file and a folder",
    "Layout/theme.liquid": "key must be a path in one of the folders "
    "assets, blocks, config, layout, locales, sections, snippets, templates",
    "layout/Theme.liquid": SAME_NAME,
    "assets/con.txt": RESERVED_NAME,
    "assets/COM1": RESERVED_NAME,
    "assets/nul/x.css": RESERVED_NAME,
    "assets/a./b.css": None,
    "assets/./b.css": BAD_PART,
    "assets//b.css": BAD_PART,
    "assets/b.css/": BAD_PART,
    "assets/logo@2x.png": None,
    "templates/page.Forms - B2B.json": None,
    "assets/hero (1).jpg": None,
    "assets/Größe.png": None,
    "assets/GRÖSSE.PNG": "The file assets/Größe.png already exists, and some systems can't tell the names apart",
}


def put_file(api: ApiClient, key: str) -> Response:
    return api.put(f"themes/{get_main_theme(api)['id']}/assets.json", {"asset": {"key": key, "value": "{}"}})


def test_a_key_that_no_archive_may_have_is_refused(api: ApiClient) -> None:
    answers = {key: put_file(api, key).json().get("errors", {}).get("asset") for key in REFUSED}

    assert answers == {key: reason and [reason] for key, reason in REFUSED.items()}


def test_a_file_is_no_folder_of_another(api: ApiClient) -> None:
    keys = ("assets/icons/a.svg", "assets/icons", "assets/Icons/b.svg")
    created, file, other_case = (put_file(api, key) for key in keys)

    text = "The file conflicts with assets/icons/a.svg: a path can't be both a file and a folder"
    assert get_errors(file) == {"asset": [text]}
    assert (created.status_code, other_case.status_code) == (200, 200)


def test_every_valid_key_comes_back_from_the_archive_of_its_theme(api: ApiClient, shop: Shop) -> None:
    more = "assets/a.b.c assets/-_.css snippets/x.liquid templates/customers/login.json a x/y"
    used_keys = {key for key in [*REFUSED, *more.split()] if put_file(api, key).status_code == 200}

    with shop_scope(shop):
        theme = Theme.objects.get(role="main")
        with theme_extraction.create_theme_archive(theme) as file:
            stored = theme_extraction.store_archive_files(cast("BinaryIO", file), lambda result, total: None)
        assert stored.blobs.keys() == set(Asset.objects.filter(theme=theme).values_list("key", flat=True))
    assert used_keys <= stored.blobs.keys()
    assert len(used_keys) >= 9


def test_a_theme_grows_no_larger_than_its_archive_may_be(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    small = DEFAULT_LIMITS.__class__(entries=5, unpacked_bytes=10_000)
    monkeypatch.setattr(assets, "DEFAULT_LIMITS", small)
    with shop_scope(shop):
        theme = Theme.objects.get(role="main")
        Asset.objects.filter(theme=theme).exclude(key=LAYOUT).delete()

        def save(key: str, size: int) -> None:
            assets.save_asset(theme, key, blob_store.store_blob(bytes(size)), **BY)

        with pytest.raises(assets.AssetRefused, match="With this file, the theme would be larger than"):
            save("assets/a.png", 10_000)
        for number in range(4):
            save(f"assets/{number}.png", number)
        with pytest.raises(assets.AssetRefused, match="The theme already has the maximum of 5 files"):
            save("assets/5.png", 1)
        save("assets/3.png", 2)

        assert Asset.objects.filter(theme=theme).count() == 5


def test_an_archive_without_a_layout_is_no_theme(shop: Shop) -> None:
    files = {key: data for key, data in SMALL_THEME.items() if key != LAYOUT}
    with shop_scope(shop), pytest.raises(ArchiveRefused, match=r"no layout/theme\.liquid"):
        theme_extraction.store_archive_files(io.BytesIO(create_zip(files)), lambda result, total: None)
