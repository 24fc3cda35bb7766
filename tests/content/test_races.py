"""Races on PostgreSQL, with real threads and real commits.

Rule: reliability, M11.
"""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError
from django.http import HttpResponse
from django.utils import timezone

from apps.content.domain import articles, blogs, contents, themes
from apps.content.models import Article, FileContent, Theme
from apps.events.models import Event
from apps.ground.errors import DomainError
from apps.ground.tenancy import shop_scope
from apps.shops.models import Shop
from tests import factories
from tests.conftest import ApiClient
from tests.races import at_once

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

ROUNDS = 50


def drafts(shop: Shop, count: int) -> list[Theme]:
    with shop_scope(shop):
        main = Theme.objects.get(role="main")
        return [themes.duplicate(main, name=f"Draft {n}", actor="staff:1", at=timezone.now()) for n in range(count)]


def publish(theme: Theme) -> Callable[[], Any]:
    return lambda: themes.publish(Theme.objects.get(pk=theme.pk), actor="staff:1", at=timezone.now())


def test_two_publishes_at_once_always_leave_exactly_one_published_theme() -> None:
    shop = factories.make_shop()
    one, two = drafts(shop, 2)

    for _ in range(ROUNDS):
        results = at_once(shop, publish(one), publish(two))

        assert results == [None, None]
        with shop_scope(shop):
            assert Theme.objects.filter(role="main").count() == 1
            assert Theme.objects.get(role="main").pk in {one.pk, two.pk}


def test_without_the_lock_the_index_still_allows_one_published_theme_only(monkeypatch: Any) -> None:
    shop = factories.make_shop()
    monkeypatch.setattr(themes, "lock_shop", lambda: shop)
    refused = 0

    for _ in range(ROUNDS):
        one, two = drafts(shop, 2)
        results = at_once(shop, publish(one), publish(two), refusals=IntegrityError)
        refused += sum(isinstance(result, IntegrityError) for result in results)
        with shop_scope(shop):
            assert Theme.objects.filter(role="main").count() == 1
            Theme.objects.exclude(role="main").delete()

    assert refused, "the control must show the race"


def test_publishing_and_deleting_one_theme_at_once_never_deletes_the_published_one() -> None:
    shop = factories.make_shop()

    for _ in range(ROUNDS // 2):
        (draft,) = drafts(shop, 1)
        results = at_once(
            shop,
            publish(draft),
            lambda pk=draft.pk: themes.delete_theme(Theme.objects.get(pk=pk), actor="staff:1", at=timezone.now()),
            refusals=(DomainError, Theme.DoesNotExist),
        )
        assert any(isinstance(result, DomainError | Theme.DoesNotExist) for result in results)
        with shop_scope(shop):
            assert Theme.objects.filter(role="main").count() == 1
            Theme.objects.exclude(role="main").delete()


def test_ten_creates_at_once_stop_at_twenty_themes() -> None:
    shop = factories.make_shop()
    drafts(shop, 14)

    results = at_once(
        shop, *[lambda: themes.create_theme(name="New", actor="staff:1", at=timezone.now()) for _ in range(10)]
    )

    assert sum(isinstance(result, themes.TooManyThemes) for result in results) == 5
    with shop_scope(shop):
        assert Theme.objects.count() == 20


# --- what one request found and another one deletes ---


@pytest.fixture
def api() -> ApiClient:
    installation = factories.make_installation(factories.make_shop())
    return ApiClient(factories.make_token(installation), installation)


def statuses(api: ApiClient, *requests: Callable[[], HttpResponse]) -> list[int]:
    return [answer.status_code for answer in at_once(api.installation.shop, *requests)]


def deletions(shop: Shop, topic: str, subject: int) -> int:
    with shop_scope(shop):
        return Event.objects.filter(topic=topic, subject_id=subject).count()


def test_deleting_a_blog_while_others_write_into_it_leaves_no_trace_of_it(api: ApiClient) -> None:
    shop = api.installation.shop
    for number in range(ROUNDS // 2):
        with shop_scope(shop):
            blog = blogs.create_blog({"title": f"Blog {number}"}, actor="system", at=timezone.now())
        path, body = f"blogs/{blog.pk}/articles.json", {"article": {"title": "Hello", "tags": "a"}}

        first, deleted, second = statuses(
            api,
            lambda path=path, body=body: api.post(path, body),
            lambda pk=blog.pk: api.delete(f"blogs/{pk}.json"),
            lambda path=path, body=body: api.post(path, body),
        )

        assert ({first, second} <= {201, 404}, deleted) == (True, 200)
        with shop_scope(shop):
            assert not Article.objects.exists()


def test_an_article_is_deleted_once_and_not_changed_afterwards(api: ApiClient) -> None:
    shop = api.installation.shop
    with shop_scope(shop):
        blog = blogs.create_blog({"title": "News"}, actor="system", at=timezone.now())
    for _ in range(ROUNDS // 2):
        with shop_scope(shop):
            article = articles.create_article(blog.pk, {"title": "Hello"}, actor="system", at=timezone.now())
        path = f"blogs/{blog.pk}/articles/{article.pk}.json"

        changed, *deleted = statuses(
            api,
            lambda path=path: api.put(path, {"article": {"title": "Again", "tags": "b"}}),
            lambda path=path: api.delete(path),
            lambda path=path: api.delete(path),
        )

        assert changed in {200, 404}
        assert sorted(deleted) == [200, 404]
        assert deletions(shop, "articles/delete", article.pk) == 1


def test_a_theme_is_deleted_once_whatever_else_is_done_to_it(api: ApiClient) -> None:
    shop = api.installation.shop
    for _ in range(ROUNDS // 2):
        (theme,) = drafts(shop, 1)
        path, files = f"themes/{theme.pk}.json", f"themes/{theme.pk}/assets.json"

        renamed, saved, removed, *deleted = statuses(
            api,
            lambda path=path: api.put(path, {"theme": {"name": "Other"}}),
            lambda files=files: api.put(files, {"asset": {"key": "assets/a.css", "value": "a{}"}}),
            lambda files=files: api.delete(f"{files}?asset[key]=assets/theme.css"),
            lambda path=path: api.delete(path),
            lambda path=path: api.delete(path),
        )

        assert {renamed, saved, removed} <= {200, 404}
        assert sorted(deleted) == [200, 404]
        assert deletions(shop, "themes/delete", theme.pk) == 1


def test_two_whole_themes_sent_back_with_the_published_role_do_not_block_each_other(api: ApiClient) -> None:
    shop = api.installation.shop
    one, two = drafts(shop, 2)
    for number in range(ROUNDS // 2):
        bodies = {theme.pk: {"theme": {"role": "main", "name": f"{theme} {number}"}} for theme in (one, two)}

        found = statuses(api, *[lambda pk=pk, b=body: api.put(f"themes/{pk}.json", b) for pk, body in bodies.items()])

        assert found == [200, 200]


def test_articles_of_one_title_written_at_once_get_different_handles() -> None:
    shop = factories.make_shop()
    with shop_scope(shop):
        blog = blogs.create_blog({"title": "News"}, actor="system", at=timezone.now())

    def write() -> Article:
        attrs = {"title": "Hello", "tags": "a, b"}
        return articles.create_article(blog.pk, attrs, actor="staff:1", at=timezone.now())

    results = at_once(shop, *[write] * 8)

    assert {result.handle for result in results} == {"hello", *(f"hello-{number}" for number in range(1, 8))}
    with shop_scope(shop):
        blog.refresh_from_db()
    assert blog.tags == "a, b"


def test_the_same_bytes_stored_at_once_are_one_content() -> None:
    shop = factories.make_shop()
    datas = [f"text {number}".encode() for number in range(40)]

    results = at_once(shop, *[lambda: contents.store_many(datas), lambda: contents.store_many(datas[::-1])] * 4)

    assert {tuple(sorted(row.pk for row in rows)) for rows in results} == {tuple(sorted(row.pk for row in results[0]))}
    with shop_scope(shop):
        assert FileContent.objects.filter(sha256__in=[row.sha256 for row in results[0]], stored=True).count() == 40


def test_contents_that_are_wanted_again_are_not_cleared_from_under_a_writer() -> None:
    shop = factories.make_shop()

    for number in range(ROUNDS // 2):
        data = f"wanted {number}".encode()
        with shop_scope(shop):
            FileContent.objects.filter(pk=contents.store(data).pk).update(used_at=timezone.now() - contents.GRACE * 2)

        def clear() -> int:
            return contents.clear_unused(timezone.now())

        stored, _ = at_once(shop, lambda data=data: contents.store(data), clear)

        with shop_scope(shop):
            assert contents.read(FileContent.objects.get(pk=stored.pk, stored=True)) == data
