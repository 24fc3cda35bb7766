import io
import re
import unicodedata
import zipfile
from datetime import UTC, datetime
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
from apps.core.types import Attrs
from apps.metafields.models import Metafield
from tests.support.api_client import Response
from tests.support.factories.content import LAYOUT, SMALL_THEME, create_zip, make_blog
from tests.support.files.images import make_plain_image
from tests.support.panel.client import Panel, PanelWith, read_stream
from tests.support.panel.pages import NO_METAFIELDS

pytestmark = pytest.mark.usefixtures("in_shop")

STYLES = "assets/theme.css"


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("pages", "themes", "preferences")


@pytest.fixture
def blog(shop: Shop) -> Blog:
    return blogs.create_blog({"title": "News"}, actor="system", at=timezone.now())


@pytest.fixture
def article(shop: Shop, blog: Blog) -> Article:
    attrs = {"title": "Hello", "body_html": "<p>one</p>\n<p>two</p>\n", "published_at": timezone.now(), "tags": "a, b"}
    return articles.create_article(blog.pk, attrs, actor="system", at=timezone.now())


@pytest.fixture
def draft(shop: Shop) -> Theme:
    main = Theme.objects.get(role="main")
    return themes.duplicate_theme(main, name="Draft", actor="system", at=timezone.now())


def build_article_form(panel: Panel, article_id: int, **changed: Any) -> Attrs:
    form_data: Attrs = {}
    for bound in panel.get("content_article_change", article_id).context["adminform"].form:
        value = bound.value()
        if bound.name == "published_at":
            form_data[bound.name] = f"{value.replace(tzinfo=UTC).astimezone(panel.shop.tzinfo):%Y-%m-%dT%H:%M}"
        elif value is not None and bound.name not in {"picture", "remove_picture"}:
            form_data[bound.name] = re.sub(r"\r\n|\r|\n", "\r\n", value) if isinstance(value, str) else value
    return form_data | NO_METAFIELDS | changed


def save_article(panel: Panel, article: Article, **changed: Any) -> Response:
    return panel.post("content_article_change", article.pk, **build_article_form(panel, article.pk, **changed))


@pytest.mark.parametrize("published_at", ["2026-11-01T05:30:15.25Z", "2026-11-01T06:30:15.25Z"])
def test_a_time_that_occurs_twice_is_kept_and_shows_its_offset(
    panel: Panel, article: Article, published_at: str
) -> None:
    """Both are 01:30 in New York: the clocks are turned back at two o'clock."""
    Shop.objects.update(timezone="America/New_York")
    moment = datetime.fromisoformat(published_at)
    Article.objects.update(published_at=moment)

    page = panel.get("content_article_change", article.pk).content.decode()
    saved = save_article(panel, article, title="Changed")

    article.refresh_from_db()
    assert (saved.status_code, article.title, article.published_at) == (302, "Changed", moment)
    assert f"This is 01:30 (UTC-0{4 if moment.hour == 5 else 5}:00)." in page


def test_a_new_time_may_occur_twice_but_must_occur(panel: Panel, article: Article) -> None:
    Shop.objects.update(timezone="America/New_York")

    twice = save_article(panel, article, published_at="2031-11-02T01:30")
    article.refresh_from_db()
    never = save_article(panel, article, published_at="2031-03-09T02:30")

    # In the future, the first of both is closer.
    assert (twice.status_code, article.published_at) == (302, datetime(2031, 11, 2, 5, 30, tzinfo=UTC))
    assert never.status_code == 200
    assert "The clocks are turned forward, so this time does not occur." in never.content.decode()


def save_code(panel: Panel, theme: Theme, key: str, **data: object) -> Response:
    return panel.post("content_theme_code", theme.pk, key=key, **data)


def get_md5(panel: Panel, theme: Theme, key: str) -> str:
    return str(panel.get("content_theme_code", theme.pk, key=key).context["asset"].content.md5)


def read_asset(theme: Theme, key: str) -> bytes:
    return blob_store.read_blob(Asset.objects.select_related("content").get(theme=theme, key=key).content)


def get_events(prefix: str) -> list[tuple[str, str]]:
    events = Event.objects.filter(topic__startswith=prefix, actor__startswith="staff").order_by("id")
    return list(events.values_list("topic", "actor"))


def test_the_blog_of_an_article_is_chosen_without_a_window(panel: Panel) -> None:
    url = panel.url("content_blog_add")
    without = panel.get("content_article_add").content.decode()
    make_blog()
    page = panel.get("content_article_add").content.decode()

    assert f'<a href="{url}">No blogs yet. Create a blog to write articles.</a>' in without
    assert "No blogs yet" not in page
    assert '<select name="blog"' in page
    assert "related-widget-wrapper-link" not in page


def test_staff_open_change_and_delete_a_blog(panel: Panel) -> None:
    panel.post(
        "content_blog_add", title="Field notes", commentable="moderate", handle="", template_suffix="", **NO_METAFIELDS
    )
    blog = Blog.objects.get()
    changed = {"title": "Other", "commentable": "no", "handle": "field-notes", "seen_version": blog.version}
    panel.post("content_blog_change", blog.pk, **changed, **NO_METAFIELDS)
    panel.post("content_blog_delete", blog.pk, post="yes")

    assert (blog.title, blog.handle, blog.commentable) == ("Field notes", "field-notes", "moderate")
    who = f"staff:{panel.user.pk}"
    assert get_events("blogs/") == [("blogs/create", who), ("blogs/update", who), ("blogs/delete", who)]


def test_an_article_is_written_scheduled_and_pictured(panel: Panel, blog: Blog) -> None:
    picture = SimpleUploadedFile("My snow.png", make_plain_image("PNG", (5, 4)), "image/png")

    response = panel.post(
        "content_article_add",
        title="First snow",
        blog=blog.pk,
        body_html="<p>Snow</p>\r\n<script>x()</script>",
        summary_html="",
        author=panel.user.get_full_name(),
        tags="winter,Bread",
        visibility="visible",
        published_at="2030-01-02T12:00",
        picture=picture,
        image_alt="Snow",
        **NO_METAFIELDS,
        handle="",
        template_suffix="",
    )

    assert response.status_code == 302, response.context["adminform"].form.errors
    article = Article.objects.get()
    assert (article.title, article.handle, article.tags) == ("First snow", "first-snow", "Bread, winter")
    assert article.body_html == "<p>Snow</p>\n<script>x()</script>"
    assert article.published_at is not None
    assert article.published_at.isoformat() == "2030-01-02T17:00:00+00:00"  # the shop is in New York
    assert (article.user_id, article.image_name, article.image_width) == (panel.user.pk, "My-snow.png", 5)
    assert get_events("articles/") == [("articles/create", f"staff:{panel.user.pk}")]


def test_saving_the_tags_keeps_the_markup(panel: Panel, article: Article) -> None:
    markup = "<table id=x class='y'>\n<td style='a:b'>\r\n<iframe src=x></iframe>\r tail"
    Article.objects.filter(pk=article.pk).update(body_html=markup)

    response = save_article(panel, article, tags="z")

    assert response.status_code == 302, response.context["adminform"].form.errors
    saved = Article.objects.get()
    assert (saved.body_html, saved.tags) == (markup, "z")
    assert Event.objects.get(topic="articles/update").changes == {"tags": ["a, b", "z"]}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("body_html", "<" * 10_001),
        ("title", ""),
        ("handle", "not a handle"),
        ("tags", "x" * 300),
        ("picture", SimpleUploadedFile("a.png", b"<svg onload=alert(1)>", "image/png")),
    ],
)
def test_invalid_articles_are_refused(panel: Panel, article: Article, field: str, value: object) -> None:
    response = save_article(panel, article, **{field: value})

    assert response.status_code == 200
    assert field in response.context["adminform"].form.errors
    assert not get_events("articles/update")
    assert Article.objects.get().image is None


def test_a_preview_is_harmless(panel: Panel) -> None:
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
    assert not re.findall("script|onclick|onload|onerror=|javascript:|<iframe|<form", text)
    assert panel.post("content_article_preview", html="<" * 10_001).status_code == 422


def test_themes_are_cards_with_their_actions(panel: Panel, shop: Shop, draft: Theme) -> None:
    themes.create_theme(name="Coming", actor="system", at=timezone.now())
    failed = Theme.objects.create(shop=shop, name="Broken", processing=False, failure="The archive is <damaged>.")

    page = panel.get("content_theme_changelist").content.decode()

    places = [page.index(name) for name in ("Starter", "Broken", "Coming", "Draft")]
    assert places == sorted(places)
    addresses = [panel.url(f"content_theme_{name}", draft.pk) for name in ("publish", "delete")]
    expected = ("4 of 20 themes", "The archive is &lt;damaged&gt;.", panel.url("content_theme_retry", failed.pk))
    assert [text for text in (*expected, *addresses) if text not in page] == []


def test_an_uploaded_archive_becomes_a_theme(panel: Panel) -> None:
    archive = SimpleUploadedFile("theme.zip", create_zip(SMALL_THEME), "application/zip")
    payload = {"name": "Dawn", "role": "main", "archive": archive, "form_key": panel.form_key("content_theme_add")}
    response = panel.http.post(panel.url("content_theme_add"), payload)
    theme = Theme.objects.get(name="Dawn")
    waiting = panel.get("content_theme_changelist").content.decode()
    jobs.run_job(Job.objects.get().key)

    assert response.status_code == 302
    assert f'data-progress="{theme.pk}"' in waiting
    assert "Waiting for the theme files" in waiting
    assert "data-progress" not in panel.get("content_theme_changelist").content.decode()
    assert Theme.objects.get(role="main").pk == theme.pk
    assert get_events("themes/create") == [("themes/create", f"staff:{panel.user.pk}")]


@pytest.mark.parametrize(
    "fields",
    [{"name": ""}, {"src": "http://127.0.0.1/a.zip"}, {"src": "ftp://x.example/a.zip"}, {"role": "elsewhere"}],
)
def test_invalid_themes_are_refused(panel: Panel, fields: dict[str, str]) -> None:
    response = panel.http.post(panel.url("content_theme_add"), {"name": "Dawn", "role": "unpublished", **fields})

    assert response.status_code == 200
    assert list(response.context["form"].errors) == list(fields)
    assert Theme.objects.count() == 1


def test_publishing_renaming_duplicating_and_deleting(panel: Panel, draft: Theme) -> None:
    old = Theme.objects.get(role="main")

    response = panel.get("content_theme_publish", draft.pk)
    panel.post("content_theme_publish", draft.pk)
    panel.http.post(panel.url("content_theme_change", draft.pk), {"name": "Dusk"})
    panel.post("content_theme_duplicate", draft.pk)
    refused = panel.post("content_theme_delete", draft.pk)
    panel.post("content_theme_delete", old.pk)

    assert (response.status_code, refused.status_code) == (200, 302)
    assert set(Theme.objects.values_list("name", "role")) == {("Dusk", "main"), ("Copy of Dusk", "unpublished")}


def test_a_theme_is_downloaded_as_an_archive(panel: Panel, draft: Theme) -> None:
    page = panel.get("content_theme_download", draft.pk)

    assert read_stream(page)[:2] == b"PK"
    page.close()
    assert page["Content-Disposition"] == f'attachment; filename="theme-{draft.pk}.zip"'


def test_the_page_of_a_theme_shows_failures_and_changes(panel: Panel) -> None:
    def upload(files: dict[str, bytes | str]) -> str:
        upload = blob_store.store_blob(create_zip(files))
        theme = themes.create_theme(name="Dawn", upload=upload, actor="system", at=timezone.now())
        jobs.run_job(Job.objects.order_by("-id")[0].key)
        return panel.get("content_theme_change", theme.pk).content.decode()

    good: dict[str, bytes | str] = {LAYOUT: "x", "assets/a.css": "\ufeffa{}", "<b>.md": "x"}
    failed = upload(good | {"locales/de.json": "{", "config/a.json": "["})
    changed = upload(good)
    clean = upload({LAYOUT: "x"})

    assert "<li>The file locales/de.json is not valid JSON: Expecting property name" in failed
    assert "<li>The file config/a.json is not valid JSON: Expecting value" in failed
    assert "<li>Not part of a theme and left out (1): “&lt;b&gt;.md”</li>" in changed
    assert "<li>Removed the byte order mark (1): “assets/a.css”</li>" in changed
    assert [page.count('class="bo-note') for page in (failed, changed, clean)] == [1, 1, 0]


@pytest.mark.parametrize("key", ["assets/hero (1) & more@2x.css", "assets/Größe 100%.css", "templates/a?b=c#d.json"])
def test_theme_files_with_any_name_are_edited_and_downloaded(panel: Panel, draft: Theme, key: str) -> None:
    saved = save_code(panel, draft, unicodedata.normalize("NFD", key), expected="", text='"ä"')
    page = panel.http.get(saved["Location"])
    again = save_code(panel, draft, key, expected=get_md5(panel, draft, key), text='"ö"')
    packed = panel.get("content_theme_download", draft.pk)
    with zipfile.ZipFile(io.BytesIO(read_stream(packed))) as archive:
        data = archive.read(key)
    deleted = panel.post("content_theme_delete_file", draft.pk, key=unicodedata.normalize("NFD", key))

    assert (saved.status_code, page.context["text"], again.status_code) == (302, '"ä"', 302)
    assert 'aria-current="page"' in page.content.decode()
    assert data.decode() == '"ö"'
    assert panel.http.get(deleted["Location"]).context["missing"]
    packed.close()


def test_a_converted_upload_is_saved_with_a_note(panel: Panel, draft: Theme) -> None:
    file = SimpleUploadedFile("a.css", "a{content: 'ä'}".encode("cp1252"), "text/css")

    saved = save_code(panel, draft, "assets/a.css", expected="", file=file)
    page = panel.http.get(saved["Location"])

    assert page.context["text"] == "a{content: 'ä'}"
    assert "Converted from Windows-1252 to UTF-8 (1): “assets/a.css”." in page.content.decode()


def test_a_failed_theme_is_tried_again(panel: Panel, shop: Shop) -> None:
    theme = Theme.objects.create(shop=shop, name="Broken", processing=False, failure="x", publish_when_ready=True)

    panel.post("content_theme_retry", theme.pk)

    jobs.run_job(Job.objects.get().key)
    assert Theme.objects.get(pk=theme.pk).role == "main"


def test_the_jobs_screen_retries_a_theme_too() -> None:
    theme = themes.create_theme(name="Late", actor="system", at=timezone.now())
    job = Job.objects.get()
    Theme.objects.filter(pk=theme.pk).update(processing=False, failure="x")
    Job.objects.update(state=Job.State.FAILED)
    jobs.retry_job(job)
    jobs.run_job(job.key)

    assert Theme.objects.get(pk=theme.pk).previewable


def test_an_earlier_text_is_compared_and_restored(panel: Panel, article: Article) -> None:
    save_article(panel, article, body_html="<p>new</p>")
    save_article(panel, article, tags="c")
    ((version, who),) = panel.get("content_article_change", article.pk).context["versions"]

    compared = panel.get("content_article_version", article.pk, version.pk)
    restored = panel.post("content_article_version", article.pk, version.pk)

    assert who == panel.user.get_full_name()
    assert [(label, now, earlier) for label, _, now, earlier in compared.context["parts"]] == [
        ("Content", "<p>new</p>", "<p>one</p>\n<p>two</p>\n"),
    ]
    assert restored.status_code == 302
    article.refresh_from_db()
    assert (article.body_html, article.tags) == ("<p>one</p>\n<p>two</p>\n", "c")
    assert article.text_versions.latest("id").body_html == "<p>new</p>"
    assert panel.get("content_article_version", article.pk, version.pk + 100).status_code == 404


def test_versions_of_other_articles_are_hidden(panel: Panel, article: Article) -> None:
    other = articles.create_article(article.blog_id, {"title": "Other"}, actor="system", at=timezone.now())
    articles.update_article(other, {"title": "Otherwise"}, actor="app:1", at=timezone.now())
    arguments = "content_article_version", article.pk, other.text_versions.get().pk

    assert (panel.get(*arguments).status_code, panel.post(*arguments).status_code) == (404, 404)


def test_a_file_is_edited_compared_and_restored(panel: Panel, draft: Theme) -> None:
    page = panel.get("content_theme_code", draft.pk, key=LAYOUT)
    before = page.context["text"]

    typed = {"expected": page.context["asset"].content.md5, "text": before.replace("\n", "\r\n") + "<!-- new -->"}
    assert save_code(panel, draft, LAYOUT, **typed).status_code == 302
    assert read_asset(draft, LAYOUT).decode() == before + "<!-- new -->"
    assert Asset.objects.get(theme=draft, key=LAYOUT).actor == f"staff:{panel.user.pk}"
    version = AssetVersion.objects.get(theme=draft)
    compared = panel.get("content_theme_version", draft.pk, version.pk)
    panel.post("content_theme_version", draft.pk, version.pk)

    assert (compared.context["current"], compared.context["earlier"]) == (before + "<!-- new -->", before)
    assert read_asset(draft, LAYOUT).decode() == before


def test_overwriting_another_users_save_is_confirmed(panel: Panel, draft: Theme) -> None:
    md5 = get_md5(panel, draft, LAYOUT)
    assets.save_asset(draft, LAYOUT, blob_store.store_blob(b"theirs"), actor="app:1", at=timezone.now())

    refused = save_code(panel, draft, LAYOUT, expected=md5, text="mine")
    blob = read_asset(draft, LAYOUT)
    insisted = save_code(panel, draft, LAYOUT, expected=refused.context["asset"].content.md5, text="mine")

    assert (refused.status_code, insisted.status_code) == (409, 302)
    assert (blob, refused.context["theirs"], refused.context["text"]) == (b"theirs", "theirs", "mine")


@pytest.mark.parametrize(
    ("key", "text"), [("../x.liquid", "x"), ("unknown/x.liquid", "x"), ("config/a.json", "{"), ("", "x")]
)
def test_invalid_theme_files_are_refused(panel: Panel, draft: Theme, key: str, text: str) -> None:
    before = FileContent.objects.count()

    response = save_code(panel, draft, key, expected="", text=text)

    assert (response.status_code, response.context["text"]) == (422, text)
    assert FileContent.objects.count() == before


def test_binary_files_are_replaced_and_deleted(panel: Panel, draft: Theme) -> None:
    key, data = "assets/logo.png", make_plain_image("PNG", (3, 3))

    saved = save_code(panel, draft, key, expected="", file=SimpleUploadedFile("logo.png", data, "image/png"))
    served = panel.http.get(panel.get("content_theme_code", draft.pk, key=key).context["picture"])
    deleted = panel.post("content_theme_delete_file", draft.pk, key=key)
    layout = panel.post("content_theme_delete_file", draft.pk, key=LAYOUT)

    assert [response.status_code for response in (saved, deleted, layout)] == [302] * 3
    assert served.content == data
    assert not Asset.objects.filter(theme=draft, key=key).exists()
    assert AssetVersion.objects.filter(theme=draft, key=key).exists()
    assert Asset.objects.filter(theme=draft, key=LAYOUT).exists()


def test_a_deleted_file_is_found_and_restored(panel: Panel, draft: Theme) -> None:
    before = panel.get("content_theme_code", draft.pk, key=STYLES).context["text"]

    deleted = panel.post("content_theme_delete_file", draft.pk, key=STYLES)
    page = panel.http.get(deleted["Location"])
    ((version, _),) = page.context["versions"]
    panel.post("content_theme_version", draft.pk, version.pk)

    assert (page.status_code, list(page.context["deleted"])) == (200, [STYLES])
    assert b"was deleted. You can restore an earlier version" in page.content
    restored = panel.get("content_theme_code", draft.pk, key=STYLES).context
    assert (restored["text"], list(restored["deleted"])) == (before, [])


def test_typed_content_survives_a_deletion(panel: Panel, draft: Theme) -> None:
    md5 = get_md5(panel, draft, STYLES)
    assets.delete_asset(draft, STYLES, actor="app:1", at=timezone.now())

    refused = save_code(panel, draft, STYLES, expected=md5, text="mine")
    insisted = save_code(panel, draft, STYLES, expected="", text="mine")

    assert (refused.status_code, insisted.status_code) == (409, 302)
    assert b"This file was deleted while you were editing it" in refused.content
    assert b"\nmine</textarea>" in refused.content


def test_a_new_file_does_not_replace_an_existing_one(panel: Panel, draft: Theme) -> None:
    refused = save_code(panel, draft, LAYOUT, expected="")
    empty = save_code(panel, draft, STYLES, expected=get_md5(panel, draft, STYLES))

    assert [refused.status_code, empty.status_code] == [422, 422]
    assert b"layout/theme.liquid already exists" in refused.content
    assert not AssetVersion.objects.exists()


def test_theme_files_are_found_by_key(admin_client_with: PanelWith, draft: Theme) -> None:
    def search_files(*permissions: str) -> list[tuple[str, str, str]]:
        results = admin_client_with(*permissions).get("search", s="theme.liq").context["results"]
        return [(result.title, result.description, result.link) for result in results]

    main = Theme.objects.get(role="main")
    assert search_files("themes") == [
        (LAYOUT, f"File in {theme}", f"/s/acme/admin/content/theme/{theme.pk}/code/?key=layout%2Ftheme.liquid")
        for theme in (main, draft)
    ]
    assert search_files("pages") == []


def test_the_question_before_publishing_says_when_customers_see_it(panel: Panel) -> None:
    theme = themes.create_theme(name="Late", actor="system", at=timezone.now())

    page = panel.get("content_theme_publish", theme.pk)

    assert b"The theme will be published when the installation is complete" in page.content


def test_a_shop_at_its_theme_limit_sees_the_reason(panel: Panel, draft: Theme) -> None:
    for _ in range(18):
        themes.duplicate_theme(draft, actor="system", at=timezone.now())

    page = panel.get("content_theme_changelist").content

    assert b"20 of 20 themes" in page
    assert b"To add a theme, delete another theme first" in page
    assert b">Add theme<" not in page


def test_search_finds_lines_in_files(panel: Panel, draft: Theme) -> None:
    page = panel.get("content_theme_code", draft.pk, q="CONTENT_FOR_layout")

    assert [(hit.key, hit.text) for hit in page.context["hits"]] == [(LAYOUT, "<main>{{ content_for_layout }}</main>")]


def test_theme_text_is_shown_as_text(panel: Panel, draft: Theme) -> None:
    evil = b"</textarea><script>alert(1)</script>{{7*7}}"
    assets.save_asset(draft, "snippets/evil.liquid", blob_store.store_blob(evil), actor="app:1", at=timezone.now())

    page = panel.get("content_theme_code", draft.pk, key="snippets/evil.liquid", q="alert").content

    assert b"<script>alert(1)" not in page
    assert b"{{7*7}}" in page


def test_mobile_apps_are_held_to_their_platform(panel: Panel) -> None:
    add, fingerprint = "content_mobileplatformapplication_add", ":".join(["AB"] * 32)
    android = {"platform": "android", "application_id": "example.app", "enabled_universal_or_app_links": "on"}

    wrong = panel.post(add, **android, sha256_cert_fingerprints="AA:BB")
    ios = panel.post(add, platform="ios", application_id="X.y", sha256_cert_fingerprints=fingerprint)
    right = panel.post(add, **android, sha256_cert_fingerprints=f"{fingerprint.lower()}\r\n{fingerprint}")

    assert [response.status_code for response in (wrong, ios, right)] == [200, 200, 302]
    app = MobilePlatformApplication.objects.get()
    assert app.sha256_cert_fingerprints == [fingerprint]
    page = panel.get("content_mobileplatformapplication_change", app.pk)
    assert b"delegate_permission/common.handle_all_urls" in page.content
    assert get_events("mobile_platform_applications/")[0][0] == "mobile_platform_applications/create"


def test_metafields_are_edited_with_their_article(panel: Panel, article: Article) -> None:
    field = {"namespace": "reading", "key": "minutes", "type": "number_integer", "value": "7", "description": ""}
    typed = {f"metafields-0-{name}": text for name, text in field.items()} | {"metafields-TOTAL_FORMS": "1"}

    assert save_article(panel, article, **typed).status_code == 302
    assert Metafield.objects.get(owner_resource="article", owner_id=article.pk).value == "7"
