"""Tests for themes over REST: creating from archives, publishing, deleting, the limit."""

from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from apps.content.domain import theme_extraction, themes
from apps.content.models import Asset, FileContent, Theme
from apps.events.models import Event
from apps.ground.tenancy import shop_scope
from apps.jobs.models import Job
from apps.media.storage import get_content_storage
from apps.shops.models import Shop
from tests.conftest import ApiClient, ClientWith
from tests.content.conftest import LAYOUT, SMALL_THEME, FileServer, create_zip
from tests.wire_tables import assert_fits

RunJobs = Callable[[], list[Job]]


def get_main_theme(api: ApiClient) -> dict[str, Any]:
    return api.get("themes.json", role="main").json()["themes"][0]


def post_theme(api: ApiClient, **fields: object) -> dict[str, Any]:
    response = api.post("themes.json", {"theme": {"name": "Dawn", **fields}})
    assert response.status_code == 201, response.content
    return response.json()["theme"]


def get_theme(api: ApiClient, theme: dict[str, Any]) -> dict[str, Any]:
    return api.get(f"themes/{theme['id']}.json").json()["theme"]


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
    listed_themes = api.get("themes.json").json()["themes"]

    assert [(theme["role"], theme["processing"], theme["previewable"]) for theme in listed_themes] == [
        ("main", False, True)
    ]
    keys = [asset["key"] for asset in api.get(f"themes/{listed_themes[0]['id']}/assets.json").json()["assets"]]
    assert LAYOUT in keys
    assert "templates/index.liquid" in keys


def test_a_theme_comes_out_of_an_archive_byte_for_byte(
    api: ApiClient, file_server: FileServer, run_jobs: RunJobs
) -> None:
    src = file_server.offer("/theme.zip", create_zip({f"dawn-1.0/{key}": data for key, data in SMALL_THEME.items()}))
    theme = post_theme(api, src=src)

    jobs = run_jobs()

    result = get_theme(api, theme)
    assert (theme["role"], theme["previewable"], theme["processing"]) == ("unpublished", False, True)
    assert (result["role"], result["previewable"], result["processing"]) == ("unpublished", True, False)
    assert "src" not in theme
    assert [(job.state, job.progress_done, job.progress_total) for job in jobs] == [("done", 4, 4)]
    assets = api.get(f"themes/{theme['id']}/assets.json").json()["assets"]
    assert [asset["key"] for asset in assets] == sorted(SMALL_THEME)
    single = api.get(f"themes/{theme['id']}/assets.json", **{"asset[key]": LAYOUT}).json()["asset"]
    assert single["value"] == SMALL_THEME[LAYOUT]


def test_a_theme_without_a_source_is_filled_with_a_minimal_one(api: ApiClient, run_jobs: RunJobs) -> None:
    theme = post_theme(api)

    run_jobs()

    assert get_theme(api, theme)["previewable"] is True
    assert len(api.get(f"themes/{theme['id']}/assets.json").json()["assets"]) >= 5


def test_role_main_publishes_when_the_files_are_there_and_not_before(
    api: ApiClient, file_server: FileServer, run_jobs: RunJobs
) -> None:
    old = get_main_theme(api)
    theme = post_theme(api, src=file_server.offer("/theme.zip", create_zip(SMALL_THEME)), role="main")
    before = get_main_theme(api)

    run_jobs()

    assert theme["role"] == "unpublished"
    assert before["id"] == old["id"]
    assert get_main_theme(api)["id"] == theme["id"]
    assert get_theme(api, old)["role"] == "unpublished"


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
    assert [(event.topic, event.subject_id) for event in reversed(events)] == [
        ("themes/update", old["id"]),
        ("themes/publish", theme["id"]),
        ("themes/update", theme["id"]),
    ]


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
        ({"name": "a" * 256}, {"name": ["is too long (maximum is 255 characters)"]}),
    ],
)
def test_create_refuses_what_does_not_fit(api: ApiClient, shop: Shop, body: object, errors: object) -> None:
    response = api.post("themes.json", {"theme": body})

    assert (response.status_code, response.json()) == (422, {"errors": errors})
    with shop_scope(shop):
        assert Theme.objects.count() == 1
        assert not Job.objects.exists()


@pytest.mark.parametrize("role", ["demo", "development"])
def test_demo_and_development_themes_cannot_be_published(
    api: ApiClient, shop: Shop, run_jobs: RunJobs, role: str
) -> None:
    with shop_scope(shop):
        theme = themes.create_theme(name="Trial", role=role, actor="staff:1", at=timezone.now())
    run_jobs()

    response = api.put(f"themes/{theme.pk}.json", {"theme": {"role": "main"}})
    renamed = api.put(f"themes/{theme.pk}.json", {"theme": {"role": role, "name": "Bought"}})

    assert (response.status_code, list(response.json()["errors"])) == (422, ["role"])
    assert renamed.json()["theme"] | {"updated_at": ""} == get_theme(api, {"id": theme.pk}) | {"updated_at": ""}
    assert (renamed.json()["theme"]["name"], renamed.json()["theme"]["role"]) == ("Bought", role)


def test_the_published_theme_cannot_be_unpublished_by_itself(api: ApiClient) -> None:
    main = get_main_theme(api)

    response = api.put(f"themes/{main['id']}.json", {"theme": {"role": "unpublished"}})

    assert (response.status_code, list(response.json()["errors"])) == (422, ["role"])
    assert get_main_theme(api)["id"] == main["id"]


def test_delete_answers_the_theme_and_refuses_the_published_and_the_processing(
    api: ApiClient, shop: Shop, run_jobs: RunJobs
) -> None:
    main, theme = get_main_theme(api), post_theme(api)
    path = f"themes/{theme['id']}.json"

    refused = [api.delete(path), api.delete(f"themes/{main['id']}.json")]
    run_jobs()
    before = get_theme(api, theme)
    deleted = api.delete(path)

    assert [response.status_code for response in refused] == [422, 422]
    assert all(list(response.json()["errors"]) == ["base"] for response in refused)
    assert (deleted.status_code, deleted.json()) == (200, before)
    assert api.get(path).status_code == 404
    with shop_scope(shop):
        assert not Asset.objects.filter(theme_id=theme["id"]).exists()
        assert Event.objects.filter(topic="themes/delete", subject_id=theme["id"]).count() == 1


def test_the_21st_theme_is_refused(api: ApiClient, shop: Shop) -> None:
    for _ in range(19):
        post_theme(api)

    response = api.post("themes.json", {"theme": {"name": "Too much"}})

    assert (response.status_code, list(response.json()["errors"])) == (422, ["base"])
    with shop_scope(shop):
        assert Theme.objects.count() == 20
        with pytest.raises(themes.TooManyThemes):
            themes.duplicate_theme(Theme.objects.get(role="main"), actor="staff:1", at=timezone.now())


def test_an_archive_that_is_missing_fails_the_theme_and_a_retry_helps(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    theme = post_theme(api, src=file_server.url("/theme.zip"), role="main")

    jobs = run_jobs()
    failed = get_theme(api, theme)
    with shop_scope(shop):
        row = Theme.objects.get(pk=theme["id"])
        assert row.failure == "Could not download the archive: status 404."
        themes.retry_theme(row, actor="staff:1", at=timezone.now())
        with pytest.raises(themes.NotRetryable):
            themes.retry_theme(row, actor="staff:1", at=timezone.now())
    file_server.offer("/theme.zip", create_zip(SMALL_THEME))
    run_jobs()

    assert [job.state for job in jobs] == ["failed"]
    assert (failed["processing"], failed["previewable"], failed["role"]) == (False, False, "unpublished")
    assert get_theme(api, theme)["role"] == "main"


def test_a_failed_theme_cannot_be_published_duplicated_or_written_to(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    theme = post_theme(api, src=file_server.url("/none.zip"))
    run_jobs()
    path = f"themes/{theme['id']}"

    published = api.put(f"{path}.json", {"theme": {"role": "main"}})
    response = api.put(f"{path}/assets.json", {"asset": {"key": "assets/a.css", "value": "a{}"}})

    assert [server_response.status_code for server_response in (published, response)] == [422, 422]
    with shop_scope(shop), pytest.raises(themes.NotCopyable):
        themes.duplicate_theme(Theme.objects.get(pk=theme["id"]), actor="staff:1", at=timezone.now())
    assert api.delete(f"{path}.json").status_code == 200


def test_a_copy_takes_rows_and_no_contents(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    theme = post_theme(api, src=file_server.offer("/theme.zip", create_zip(SMALL_THEME)))
    run_jobs()

    with shop_scope(shop):
        before = FileContent.objects.count()
        copy = themes.duplicate_theme(Theme.objects.get(pk=theme["id"]), actor="staff:1", at=timezone.now())
        pairs = [set(Asset.objects.filter(theme_id=pk).values_list("key", "content")) for pk in (theme["id"], copy.pk)]

    assert (copy.name, copy.role, copy.previewable) == ("Copy of Dawn", "unpublished", True)
    assert len(pairs[0]) == len(SMALL_THEME)
    assert pairs[0] == pairs[1]
    with shop_scope(shop):
        assert FileContent.objects.count() == before


def test_a_downloaded_theme_is_an_archive_that_can_be_uploaded_again(
    api: ApiClient, shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    theme = post_theme(api, src=file_server.offer("/theme.zip", create_zip(SMALL_THEME)))
    run_jobs()

    with shop_scope(shop), theme_extraction.create_theme_archive(Theme.objects.get(pk=theme["id"])) as file:
        packed = file.read()
    file_server.offer("/again.zip", packed)
    second_theme = post_theme(api, src=file_server.url("/again.zip"))
    run_jobs()

    with shop_scope(shop):
        pairs = [
            set(Asset.objects.filter(theme_id=first["id"]).values_list("key", "content"))
            for first in (theme, second_theme)
        ]
    assert pairs[0] == pairs[1] != set()


def test_equal_contents_are_stored_once_per_shop(
    api: ApiClient, shop: Shop, other_shop: Shop, file_server: FileServer, run_jobs: RunJobs
) -> None:
    files = {LAYOUT: "same", "snippets/a.liquid": "same", "assets/a.txt": "same"}
    post_theme(api, src=file_server.offer("/theme.zip", create_zip(files)))
    run_jobs()

    with shop_scope(shop):
        rows = FileContent.objects.filter(size=4)
        assert rows.count() == 1
        name = rows.get().name
    assert name.startswith(f"shops/{shop.pk}/content/")
    with get_content_storage().open(name) as file:
        assert file.read() == b"same"
    with shop_scope(other_shop):
        assert not FileContent.objects.filter(size=4).exists()


def test_another_shops_theme_does_not_exist(api: ApiClient, other_shop_api: ApiClient) -> None:
    main = get_main_theme(api)
    path = f"themes/{main['id']}"

    answers = [
        other_shop_api.get(f"{path}.json"),
        other_shop_api.put(f"{path}.json", {"theme": {"name": "Mine"}}),
        other_shop_api.delete(f"{path}.json"),
        other_shop_api.get(f"{path}/assets.json"),
        other_shop_api.put(f"{path}/assets.json", {"asset": {"key": "assets/a.css", "value": "a{}"}}),
        other_shop_api.delete(f"{path}/assets.json?asset[key]=assets/theme.css"),
    ]

    assert [response.status_code for response in answers] == [404] * 6
    assert get_theme(api, main) == main


def test_themes_are_listed_by_name(api: ApiClient) -> None:
    post_theme(api, name="Zephyr")
    post_theme(api, name="Alpine")

    names = [theme["name"] for theme in api.get("themes.json").json()["themes"]]

    assert names == ["Alpine", "Starter", "Zephyr"]


@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_the_same_queries_however_many_rows(
    api: ApiClient, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(count - 1):
        post_theme(api)
    api.get("shop.json")

    with django_assert_num_queries(3):  # Queries: token, page, rows.
        response = api.get("themes.json")

    assert len(response.json()["themes"]) == count


def test_reading_themes_is_not_writing_them(client_with: ClientWith) -> None:
    reader = client_with("read_themes")

    assert reader.get("themes.json").status_code == 200
    assert reader.post("themes.json", {"theme": {"name": "x"}}).status_code == 403


def create_failed_theme(shop: Shop) -> Theme:
    """Create a theme that should have been published but could not be downloaded."""
    theme = themes.create_theme(name="Late", role="main", actor="system", at=timezone.now())
    themes.mark_theme_failed(theme.pk, reason="No such host", actor="system", at=timezone.now())
    return Theme.objects.get(pk=theme.pk)


def finish_theme(theme: Theme) -> None:
    themes.retry_theme(theme, actor="system", at=timezone.now())
    files = {asset.key: asset.content for asset in Asset.objects.select_related("content").filter(theme__role="main")}
    themes.install_theme_files(theme.pk, files, actor="system", at=timezone.now())


def test_a_theme_that_failed_is_still_published_by_a_later_try(shop: Shop) -> None:
    with shop_scope(shop):
        theme = create_failed_theme(shop)

        finish_theme(theme)

        assert Theme.objects.get(role="main").pk == theme.pk


def test_publishing_another_theme_concurrently_wins(shop: Shop) -> None:
    """Check that a late retry of a failed theme does not replace a theme that was published later."""
    with shop_scope(shop):
        theme = create_failed_theme(shop)
        selected = themes.duplicate_theme(Theme.objects.get(role="main"), name="New", actor="system", at=timezone.now())
        themes.publish_theme(selected, actor="staff:1", at=timezone.now())

        finish_theme(theme)

        assert Theme.objects.get(role="main").pk == selected.pk
        assert Theme.objects.get(pk=theme.pk).previewable


def test_of_two_themes_that_wait_the_one_asked_for_last_is_published(shop: Shop) -> None:
    with shop_scope(shop):
        first = themes.create_theme(name="First", role="main", actor="system", at=timezone.now())
        second = themes.create_theme(name="Second", role="main", actor="system", at=timezone.now())
        files = {asset.key: asset.content for asset in Asset.objects.select_related("content").all()}

        themes.install_theme_files(second.pk, files, actor="system", at=timezone.now())
        themes.install_theme_files(first.pk, files, actor="system", at=timezone.now())

        assert Theme.objects.get(role="main").pk == second.pk
