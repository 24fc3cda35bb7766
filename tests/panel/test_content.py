"""Tests for blogs, articles, themes, theme code and mobile apps in the panel."""

import io
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from apps.content.domain import articles, assets, blob_store, blogs, themes
from apps.content.models import Article, Asset, AssetVersion, Blog, FileContent, MobilePlatformApplication, Theme
from apps.core.events.models import Event
from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.core.types import Attrs
from apps.metafields.models import Metafield
from tests.support.factories.content import LAYOUT, SMALL_THEME, create_zip
from tests.support.files.images import make_plain_image
from tests.support.panel.client import Panel, PanelWith, read_stream
from tests.support.panel.pages import NO_METAFIELDS

PRINT = ":".join(["AB"] * 32)


@pytest.fixture
def blog(shop: Shop) -> Blog:
    with shop_scope(shop):
        return blogs.create_blog({"title": "News"}, actor="system", at=timezone.now())


@pytest.fixture
def article(shop: Shop, blog: Blog) -> Article:
    attrs = {"title": "Hello", "body_html": "<p>one</p>\n<p>two</p>\n", "published_at": timezone.now(), "tags": "a, b"}
    with shop_scope(shop):
        return articles.create_article(blog.pk, attrs, actor="system", at=timezone.now())


@pytest.fixture
def draft(shop: Shop) -> Theme:
    with shop_scope(shop):
        main = Theme.objects.get(role="main")
        return themes.duplicate_theme(main, name="Draft", actor="system", at=timezone.now())


def build_article_form(panel: Panel, *args: object, **changed: Any) -> Attrs:
    """Return the data that a browser sends for the article form."""
    page = panel.get("content_article_change" if args else "content_article_add", *args)
    form = page.context["adminform"].form
    form_data: Attrs = {}
    for bound in form:
        value = bound.value()
        if bound.name == "published_at":
            if value is not None:
                local = timezone.localtime(value, panel.shop.tzinfo)
                form_data["published_at_0"], form_data["published_at_1"] = f"{local:%Y-%m-%d}", f"{local:%H:%M:%S}"
        elif value is not None and bound.name not in {"picture", "remove_picture"}:
            form_data[bound.name] = re.sub(r"\r\n|\r|\n", "\r\n", value) if isinstance(value, str) else value
    return form_data | NO_METAFIELDS | changed


def get_events(shop: Shop, prefix: str) -> list[tuple[str, str]]:
    with shop_scope(shop):
        return list(
            Event.objects.filter(topic__startswith=prefix, actor__startswith="staff")
            .order_by("id")
            .values_list("topic", "actor")
        )


# --- blogs and articles ---


def test_staff_open_change_and_delete_a_blog(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("pages")
    panel.post(
        "content_blog_add", title="Field notes", commentable="moderate", handle="", template_suffix="", **NO_METAFIELDS
    )
    with shop_scope(shop):
        blog = Blog.objects.get()
    form_fields = {"seen_version": blog.version, **NO_METAFIELDS}
    panel.post("content_blog_change", blog.pk, title="Other", commentable="no", handle="field-notes", **form_fields)
    panel.post("content_blog_delete", blog.pk, post="yes")

    assert (blog.title, blog.handle, blog.commentable) == ("Field notes", "field-notes", "moderate")
    who = f"staff:{panel.user.pk}"
    assert get_events(shop, "blogs/") == [("blogs/create", who), ("blogs/update", who), ("blogs/delete", who)]


def test_an_article_is_written_scheduled_and_pictured(admin_client_with: PanelWith, shop: Shop, blog: Blog) -> None:
    panel = admin_client_with("pages")
    picture = SimpleUploadedFile("My snow.png", make_plain_image("PNG", (5, 4)), "image/png")

    response = panel.post(
        "content_article_add",
        title="First snow",
        blog=blog.pk,
        body_html="<p>Snow</p>\r\n<script>x()</script>",
        summary_html="",
        author=panel.user.get_full_name(),
        tags="winter,Bread",
        published_at_0="2030-01-02",
        published_at_1="12:00:00",
        picture=picture,
        image_alt="Snow",
        **NO_METAFIELDS,
        handle="",
        template_suffix="",
    )

    assert response.status_code == 302, response.context["adminform"].form.errors
    with shop_scope(shop):
        article = Article.objects.get()
    assert (article.title, article.handle, article.tags) == ("First snow", "first-snow", "Bread, winter")
    assert article.body_html == "<p>Snow</p>\n<script>x()</script>"
    assert article.published_at is not None
    assert article.published_at.isoformat() == "2030-01-02T17:00:00+00:00"  # the shop is in New York
    assert (article.user_id, article.image_name, article.image_width) == (panel.user.pk, "My-snow.png", 5)
    assert get_events(shop, "articles/") == [("articles/create", f"staff:{panel.user.pk}")]


def test_saving_the_tags_keeps_the_markup(admin_client_with: PanelWith, shop: Shop, article: Article) -> None:
    panel = admin_client_with("pages")
    markup = "<table id=x class='y'>\n<td style='a:b'>\r\n<iframe src=x></iframe>\r tail"
    with shop_scope(shop):
        Article.objects.filter(pk=article.pk).update(body_html=markup)

    response = panel.post("content_article_change", article.pk, **build_article_form(panel, article.pk, tags="z"))

    assert response.status_code == 302, response.context["adminform"].form.errors
    with shop_scope(shop):
        saved = Article.objects.get()
        assert (saved.body_html, saved.tags) == (markup, "z")
        assert Event.objects.get(topic="articles/update").changes == {"tags": ["a, b", "z"]}


@pytest.mark.parametrize(
    ("field", "value"),
    [("body_html", "<" * 10_001), ("title", ""), ("handle", "not a handle"), ("tags", "x" * 300)],
)
def test_invalid_articles_are_refused(
    admin_client_with: PanelWith, shop: Shop, article: Article, field: str, value: str
) -> None:
    panel = admin_client_with("pages")

    response = panel.post(
        "content_article_change", article.pk, **build_article_form(panel, article.pk, **{field: value})
    )

    assert response.status_code == 200
    assert field in response.context["adminform"].form.errors
    assert not get_events(shop, "articles/update")


def test_a_file_that_is_no_picture_is_refused(admin_client_with: PanelWith, shop: Shop, article: Article) -> None:
    panel = admin_client_with("pages")
    svg = SimpleUploadedFile("a.png", b"<svg onload=alert(1)>", "image/png")

    response = panel.post("content_article_change", article.pk, **build_article_form(panel, article.pk, picture=svg))

    assert response.status_code == 200
    assert "picture" in response.context["adminform"].form.errors
    with shop_scope(shop):
        assert Article.objects.get().image is None


def test_a_preview_is_harmless(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("pages")
    markup = (
        "<p onclick='x()'>Hi</p><script>alert(1)</script><svg onload=alert(1)></svg><a href='javascript:x()'>l</a>"
        "<iframe src=//evil></iframe><form action=//evil><input></form><img src=x onerror=alert(1)>{{7*7}}</title>"
        "<math><mtext></p><style><img src=x onerror=alert(1)></style></math>"
    )

    response = panel.post("content_article_preview", html=markup)

    text = response.content.decode().partition("<body>")[2]
    assert response.status_code == 200
    assert {"sandbox", "default-src 'none'"} <= set(response["Content-Security-Policy"].split("; "))
    assert "<p>Hi</p>" in text
    assert not [
        bad for bad in ("script", "onclick", "onload", "onerror=", "javascript:", "<iframe", "<form") if bad in text
    ]
    assert panel.post("content_article_preview", html="<" * 10_001).status_code == 422
    assert admin_client_with("themes").post("content_article_preview", html="x").status_code == 403


def test_themes_are_cards_with_their_actions(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    panel = admin_client_with("themes")
    with shop_scope(shop):
        themes.create_theme(name="Coming", actor="system", at=timezone.now())
        failed = Theme.objects.create(shop=shop, name="Broken", processing=False, failure="The archive is <damaged>.")

    page = panel.get("content_theme_changelist").content.decode()

    assert [page.index(name) for name in ("Starter", "Broken", "Coming", "Draft")] == sorted(
        page.index(name) for name in ("Starter", "Broken", "Coming", "Draft")
    )
    assert "4 of 20 themes" in page
    assert "The archive is &lt;damaged&gt;." in page
    assert panel.url("content_theme_retry", failed.pk) in page
    assert panel.url("content_theme_publish", draft.pk) in page
    assert panel.url("content_theme_delete", draft.pk) in page


def test_an_uploaded_archive_becomes_a_theme(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("themes")
    archive = SimpleUploadedFile("theme.zip", create_zip(SMALL_THEME), "application/zip")
    key = panel.form_key("content_theme_add")

    payload = {"name": "Dawn", "role": "main", "archive": archive, "form_key": key}
    response = panel.http.post(panel.url("content_theme_add"), payload)
    archive.seek(0)
    second_response = panel.http.post(panel.url("content_theme_add"), payload)
    with shop_scope(shop):
        theme = Theme.objects.get(name="Dawn")
        job = Job.objects.get()
    waiting = panel.get("content_theme_changelist").content.decode()
    jobs.run_job(job.key)

    assert (response.status_code, second_response.status_code) == (302, 302)
    assert f'data-progress="{theme.pk}"' in waiting
    assert "Waiting for the theme files" in waiting
    assert "data-progress" not in panel.get("content_theme_changelist").content.decode()
    with shop_scope(shop):
        assert Theme.objects.get(role="main").pk == theme.pk
    assert get_events(shop, "themes/create") == [("themes/create", f"staff:{panel.user.pk}")]


@pytest.mark.parametrize(
    "fields",
    [{"name": ""}, {"src": "http://127.0.0.1/a.zip"}, {"src": "ftp://x.example/a.zip"}, {"role": "elsewhere"}],
)
def test_invalid_themes_are_refused(admin_client_with: PanelWith, shop: Shop, fields: dict[str, str]) -> None:
    panel = admin_client_with("themes")

    response = panel.http.post(panel.url("content_theme_add"), {"name": "Dawn", "role": "unpublished", **fields})

    assert response.status_code == 200
    assert list(response.context["form"].errors) == list(fields)
    with shop_scope(shop):
        assert Theme.objects.count() == 1


def test_publishing_renaming_duplicating_and_deleting(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    panel = admin_client_with("themes")
    with shop_scope(shop):
        old = Theme.objects.get(role="main")

    response = panel.get("content_theme_publish", draft.pk)
    panel.post("content_theme_publish", draft.pk)
    panel.http.post(panel.url("content_theme_change", draft.pk), {"name": "Dusk"})
    panel.post("content_theme_duplicate", draft.pk)
    refused = panel.post("content_theme_delete", draft.pk)
    panel.post("content_theme_delete", old.pk)

    assert (response.status_code, refused.status_code) == (200, 302)
    with shop_scope(shop):
        assert set(Theme.objects.values_list("name", "role")) == {("Dusk", "main"), ("Copy of Dusk", "unpublished")}


def test_a_theme_is_downloaded_as_an_archive(admin_client_with: PanelWith, other_shop: Shop, draft: Theme) -> None:
    clerk = admin_client_with("orders").get("content_theme_download", draft.pk)
    stranger = admin_client_with("themes", shop=other_shop).get("content_theme_download", draft.pk)
    page = admin_client_with("themes").get("content_theme_download", draft.pk)

    data = read_stream(page)
    page.close()
    assert (clerk.status_code, stranger.status_code) == (403, 404)
    assert page["Content-Disposition"] == f'attachment; filename="theme-{draft.pk}.zip"'
    assert io.BytesIO(data).read(2) == b"PK"


def test_a_failed_theme_is_tried_again(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("themes")
    with shop_scope(shop):
        theme = Theme.objects.create(shop=shop, name="Broken", processing=False, failure="x", publish_when_ready=True)

    panel.post("content_theme_retry", theme.pk)

    with shop_scope(shop):
        jobs.run_job(Job.objects.get().key)
        assert Theme.objects.get(pk=theme.pk).role == "main"


def test_the_jobs_screen_retries_a_theme_too(shop: Shop) -> None:
    with shop_scope(shop):
        theme = themes.create_theme(name="Late", actor="system", at=timezone.now())
        job = Job.objects.get()
        Theme.objects.filter(pk=theme.pk).update(processing=False, failure="x")
        Job.objects.update(state=Job.State.FAILED)
        jobs.retry_job(job)
    jobs.run_job(job.key)

    with shop_scope(shop):
        assert Theme.objects.get(pk=theme.pk).previewable


# --- article versions ---


def test_an_earlier_text_is_compared_and_restored(admin_client_with: PanelWith, shop: Shop, article: Article) -> None:
    panel = admin_client_with("pages")
    panel.post("content_article_change", article.pk, **build_article_form(panel, article.pk, body_html="<p>new</p>"))
    panel.post("content_article_change", article.pk, **build_article_form(panel, article.pk, tags="c"))
    page = panel.get("content_article_change", article.pk)
    ((version, who),) = page.context["versions"]

    compared = panel.get("content_article_version", article.pk, version.pk)
    restored = panel.post("content_article_version", article.pk, version.pk)

    assert who == panel.user.get_full_name()
    assert [(label, now, earlier) for label, _, now, earlier in compared.context["parts"]] == [
        ("Content", "<p>new</p>", "<p>one</p>\n<p>two</p>\n"),
    ]
    assert restored.status_code == 302
    with shop_scope(shop):
        article.refresh_from_db()
        assert (article.body_html, article.tags) == ("<p>one</p>\n<p>two</p>\n", "c")
        assert article.text_versions.latest("id").body_html == "<p>new</p>"
    assert panel.get("content_article_version", article.pk, version.pk + 100).status_code == 404


def test_versions_of_other_articles_are_hidden(admin_client_with: PanelWith, shop: Shop, article: Article) -> None:
    with shop_scope(shop):
        other = articles.create_article(article.blog_id, {"title": "Other"}, actor="system", at=timezone.now())
        articles.update_article(other, {"title": "Otherwise"}, actor="app:1", at=timezone.now())
        version = other.text_versions.get()
    panel = admin_client_with("pages")

    assert panel.get("content_article_version", article.pk, version.pk).status_code == 404
    assert panel.post("content_article_version", article.pk, version.pk).status_code == 404


# --- code ---


def test_a_file_is_edited_compared_and_restored(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    panel = admin_client_with("themes")
    page = panel.get("content_theme_code", draft.pk, key=LAYOUT)
    before = page.context["text"]

    saved = panel.post(
        "content_theme_code",
        draft.pk,
        key=LAYOUT,
        expected=page.context["asset"].content.md5,
        text=before.replace("\n", "\r\n") + "<!-- new -->",
    )
    with shop_scope(shop):
        asset = Asset.objects.select_related("content").get(theme=draft, key=LAYOUT)
        version = AssetVersion.objects.get(theme=draft)
    compared = panel.get("content_theme_version", draft.pk, version.pk)
    panel.post("content_theme_version", draft.pk, version.pk)

    assert saved.status_code == 302
    assert blob_store.read_blob(asset.content).decode() == before + "<!-- new -->"
    assert asset.actor == f"staff:{panel.user.pk}"
    assert (compared.context["current"], compared.context["earlier"]) == (before + "<!-- new -->", before)
    with shop_scope(shop):
        restored = Asset.objects.select_related("content").get(theme=draft, key=LAYOUT)
        assert blob_store.read_blob(restored.content).decode() == before


def test_overwriting_another_users_save_is_confirmed(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    panel = admin_client_with("themes")
    md5 = panel.get("content_theme_code", draft.pk, key=LAYOUT).context["asset"].content.md5
    with shop_scope(shop):
        assets.save_asset(draft, LAYOUT, blob_store.store_blob(b"theirs"), actor="app:1", at=timezone.now())

    refused = panel.post("content_theme_code", draft.pk, key=LAYOUT, expected=md5, text="mine")
    with shop_scope(shop):
        blob = blob_store.read_blob(Asset.objects.select_related("content").get(theme=draft, key=LAYOUT).content)
    current = refused.context["asset"].content.md5
    insisted = panel.post("content_theme_code", draft.pk, key=LAYOUT, expected=current, text="mine")

    assert refused.status_code == 409
    assert (blob, refused.context["theirs"], refused.context["text"]) == (b"theirs", "theirs", "mine")
    assert insisted.status_code == 302


@pytest.mark.parametrize(
    ("key", "text"), [("../x.liquid", "x"), ("unknown/x.liquid", "x"), ("config/a.json", "{"), ("", "x")]
)
def test_invalid_theme_files_are_refused(
    admin_client_with: PanelWith, shop: Shop, draft: Theme, key: str, text: str
) -> None:
    with shop_scope(shop):
        before = FileContent.objects.count()

    response = admin_client_with("themes").post("content_theme_code", draft.pk, key=key, expected="", text=text)

    assert response.status_code == 422
    assert response.context["text"] == text
    with shop_scope(shop):
        assert FileContent.objects.count() == before


def test_binary_files_are_replaced_and_deleted(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    panel = admin_client_with("themes")
    key = "assets/logo.png"
    data = make_plain_image("PNG", (3, 3))
    upload = SimpleUploadedFile("logo.png", data, "image/png")

    response = panel.post("content_theme_code", draft.pk, key=key, expected="", file=upload)
    page = panel.get("content_theme_code", draft.pk, key=key)
    served = panel.http.get(page.context["picture"])
    deleted = panel.post("content_theme_delete_file", draft.pk, key=key)
    layout = panel.post("content_theme_delete_file", draft.pk, key=LAYOUT)

    assert [server_response.status_code for server_response in (response, deleted, layout)] == [302] * 3
    assert served.content == data
    with shop_scope(shop):
        assert not Asset.objects.filter(theme=draft, key=key).exists()
        assert AssetVersion.objects.filter(theme=draft, key=key).exists()
        assert Asset.objects.filter(theme=draft, key=LAYOUT).exists()


def test_a_deleted_file_is_found_and_restored(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    panel = admin_client_with("themes")
    key = "assets/theme.css"
    before = panel.get("content_theme_code", draft.pk, key=key).context["text"]

    deleted = panel.post("content_theme_delete_file", draft.pk, key=key)
    page = panel.http.get(deleted["Location"])
    ((version, _),) = page.context["versions"]
    panel.post("content_theme_version", draft.pk, version.pk)

    assert page.status_code == 200
    assert list(page.context["deleted"]) == [key]
    assert b"was deleted. You can restore an earlier version" in page.content
    second_response = panel.get("content_theme_code", draft.pk, key=key)
    assert (second_response.context["text"], list(second_response.context["deleted"])) == (before, [])


def test_typed_content_survives_a_deletion(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    panel = admin_client_with("themes")
    key = "assets/theme.css"
    md5 = panel.get("content_theme_code", draft.pk, key=key).context["asset"].content.md5
    with shop_scope(shop):
        assets.delete_asset(draft, key, actor="app:1", at=timezone.now())

    refused = panel.post("content_theme_code", draft.pk, key=key, expected=md5, text="mine")
    insisted = panel.post("content_theme_code", draft.pk, key=key, expected="", text="mine")

    assert refused.status_code == 409
    assert b"This file was deleted while you were editing it" in refused.content
    assert b"\nmine</textarea>" in refused.content
    assert insisted.status_code == 302


def test_a_new_file_does_not_replace_an_existing_one(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    panel = admin_client_with("themes")

    refused = panel.post("content_theme_code", draft.pk, key=LAYOUT, expected="")
    empty = panel.post(
        "content_theme_code",
        draft.pk,
        key="assets/theme.css",
        expected=panel.get("content_theme_code", draft.pk, key="assets/theme.css").context["asset"].content.md5,
    )

    assert [refused.status_code, empty.status_code] == [422, 422]
    assert b"layout/theme.liquid already exists" in refused.content
    with shop_scope(shop):
        assert not AssetVersion.objects.exists()


def test_theme_files_are_found_by_key(admin_client_with: PanelWith, shop: Shop, draft: Theme, other_shop: Shop) -> None:
    def search_files(*permissions: str) -> list[tuple[str, str, str]]:
        results = admin_client_with(*permissions).get("search", s="theme.liq").context["results"]
        return [(result.title, result.description, result.link) for result in results]

    with shop_scope(shop):
        main = Theme.objects.get(role="main")
    assert search_files("themes") == [
        (LAYOUT, f"File in {theme}", f"/s/acme/admin/content/theme/{theme.pk}/code/?key=layout%2Ftheme.liquid")
        for theme in (main, draft)
    ]
    assert search_files("pages") == []


def test_the_question_before_publishing_says_when_customers_see_it(admin_client_with: PanelWith, shop: Shop) -> None:
    with shop_scope(shop):
        theme = themes.create_theme(name="Late", actor="system", at=timezone.now())

    page = admin_client_with("themes").get("content_theme_publish", theme.pk)

    assert b"The theme will be published when the installation is complete" in page.content


def test_a_shop_at_its_theme_limit_sees_the_reason(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    with shop_scope(shop):
        for _ in range(18):
            themes.duplicate_theme(draft, actor="system", at=timezone.now())

    page = admin_client_with("themes").get("content_theme_changelist").content

    assert b"20 of 20 themes" in page
    assert b"To add a theme, delete another theme first" in page
    assert b">Add theme<" not in page


def test_search_finds_lines_in_files(admin_client_with: PanelWith, draft: Theme) -> None:
    page = admin_client_with("themes").get("content_theme_code", draft.pk, q="CONTENT_FOR_layout")

    assert [(hit.key, hit.text) for hit in page.context["hits"]] == [(LAYOUT, "<main>{{ content_for_layout }}</main>")]


def test_theme_text_is_shown_as_text(admin_client_with: PanelWith, shop: Shop, draft: Theme) -> None:
    evil = b"</textarea><script>alert(1)</script>{{7*7}}"
    with shop_scope(shop):
        assets.save_asset(draft, "snippets/evil.liquid", blob_store.store_blob(evil), actor="app:1", at=timezone.now())

    page = (
        admin_client_with("themes").get("content_theme_code", draft.pk, key="snippets/evil.liquid", q="alert").content
    )

    assert b"<script>alert(1)" not in page
    assert b"{{7*7}}" in page


# --- mobile apps ---


def test_mobile_apps_are_held_to_their_platform(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with("preferences")
    android = {"platform": "android", "application_id": "example.app", "enabled_universal_or_app_links": "on"}

    wrong = panel.post("content_mobileplatformapplication_add", **android, sha256_cert_fingerprints="AA:BB")
    ios = panel.post(
        "content_mobileplatformapplication_add",
        platform="ios",
        application_id="X.y",
        sha256_cert_fingerprints=PRINT,
    )
    right = panel.post(
        "content_mobileplatformapplication_add", **android, sha256_cert_fingerprints=f"{PRINT.lower()}\r\n{PRINT}"
    )

    assert [response.status_code for response in (wrong, ios, right)] == [200, 200, 302]
    with shop_scope(shop):
        app = MobilePlatformApplication.objects.get()
    assert app.sha256_cert_fingerprints == [PRINT]
    displayed_response = panel.get("content_mobileplatformapplication_change", app.pk)
    assert b"delegate_permission/common.handle_all_urls" in displayed_response.content
    assert get_events(shop, "mobile_platform_applications/")[0][0] == "mobile_platform_applications/create"


# --- permissions ---

PAGES = [
    ("content_blog_changelist", "pages", None),
    ("content_blog_change", "pages", Blog),
    ("content_article_changelist", "pages", None),
    ("content_article_change", "pages", Article),
    ("content_theme_changelist", "themes", None),
    ("content_theme_add", "themes", None),
    ("content_theme_change", "themes", Theme),
    ("content_theme_code", "themes", Theme),
    ("content_theme_publish", "themes", Theme),
    ("content_theme_delete", "themes", Theme),
]


@pytest.mark.parametrize("name", ["publish", "duplicate", "retry", "delete", "delete_file", "code"])
def test_themes_are_not_changed_without_permission_or_from_another_shop(
    admin_client_with: PanelWith, shop: Shop, other_shop: Shop, draft: Theme, name: str
) -> None:
    with shop_scope(shop):
        before = list(Theme.objects.order_by("id").values_list("pk", "role", "version"))
    data = {"key": "assets/theme.css", "text": "x", "expected": ""}

    clerk = admin_client_with("orders").post(f"content_theme_{name}", draft.pk, **data)
    stranger = admin_client_with("themes", shop=other_shop).post(f"content_theme_{name}", draft.pk, **data)

    assert (clerk.status_code, stranger.status_code) == (403, 404)
    with shop_scope(shop):
        assert list(Theme.objects.order_by("id").values_list("pk", "role", "version")) == before


def test_metafields_are_edited_with_their_article(admin_client_with: PanelWith, shop: Shop, article: Article) -> None:
    panel = admin_client_with("pages")
    field = {"namespace": "reading", "key": "minutes", "type": "number_integer", "value": "7", "description": ""}
    payload = build_article_form(panel, article.pk) | {"metafields-TOTAL_FORMS": "1"}

    response = panel.post(
        "content_article_change",
        article.pk,
        **payload,
        **{f"metafields-0-{name}": text for name, text in field.items()},
    )

    assert response.status_code == 302
    with shop_scope(shop):
        assert Metafield.objects.get(owner_resource="article", owner_id=article.pk).value == "7"
