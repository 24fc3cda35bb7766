import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Dialog, FilePayload, Locator, Page, Route, expect

from apps.content.domain import articles, assets, blob_store, blogs, themes
from apps.content.models import Article, Asset, StoreFile, Theme
from apps.core.admin.reverse import get_panel_url
from apps.core.tenancy.models import Shop, User
from tests.support.browser.pages import BrowserPage, Open
from tests.support.factories.content import LAYOUT
from tests.support.files.images import make_plain_image

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
_PHRASE = re.compile(r'\.phrase\((?:[\w.$]+\?)?"([^"]+)"(?::"([^"]+)")?')
EVIL = "<p>Hello</p><script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>{{7*7}}</textarea>"


@pytest.fixture
def draft(committed_shop: Shop) -> Theme:
    main = Theme.objects.get(role="main")
    return themes.duplicate_theme(main, name="Draft", actor="system", at=timezone.now())


@pytest.fixture
def article(committed_shop: Shop) -> Article:
    blog = blogs.create_blog({"title": "News"}, actor="system", at=timezone.now())
    attrs = {"title": "Hello", "body_html": EVIL, "tags": "winter"}
    return articles.create_article(blog.pk, attrs, actor="system", at=timezone.now())


def watch_dialogs(page: Page) -> list[str]:
    messages: list[str] = []

    def accept(dialog: Dialog) -> None:
        messages.append(dialog.message)
        dialog.accept()

    page.on("dialog", accept)
    return messages


def get_editor(page: Page, name: str) -> Locator:
    """Wait until the editor has replaced the plain text field, and return the editor."""
    return page.locator(".cm-content").and_(page.get_by_role("textbox", name=name))


def read_content(theme: Theme, key: str = LAYOUT) -> str:
    return blob_store.read_blob(Asset.objects.select_related("content").get(theme=theme, key=key).content).decode()


def save_theirs(theme: Theme) -> None:
    assets.save_asset(theme, LAYOUT, blob_store.store_blob(b"<p>theirs</p>"), actor="system", at=timezone.now())


def open_layout(window: BrowserPage, theme: Theme) -> Page:
    return window.open(f"{get_panel_url(window.shop, 'admin:content_theme_code', theme.pk)}?key={LAYOUT}")


def test_a_file_is_edited_by_keyboard(window: BrowserPage, draft: Theme) -> None:
    page = window.go("content_theme_code", draft.pk)
    before = read_content(draft)
    page.get_by_label("Find a file").fill("theme.liq")
    expect(page.get_by_role("link", name="templates/index.liquid")).to_be_hidden()
    page.get_by_role("link", name=LAYOUT).click()

    get_editor(page, f"Content of {LAYOUT}").press("Control+End")
    page.keyboard.type("<!-- mine -->")
    expect(page.get_by_text("Unsaved changes.")).to_be_visible()
    page.keyboard.press("Control+s")
    expect(page.get_by_text(f"Saved {LAYOUT}.")).to_be_visible()

    assert read_content(draft) == before + "<!-- mine -->"
    page.get_by_role("region", name="Earlier versions").get_by_role("link").first.click()
    expect(page.get_by_role("textbox", name="Differences")).to_be_visible()
    page.get_by_role("button", name="Restore this version").click()
    expect(page.get_by_text(f"Restored {LAYOUT}.")).to_be_visible()
    assert read_content(draft) == before


def test_the_second_save_shows_a_conflict(
    logged_in_page: Open, committed_shop: Shop, owner: User, draft: Theme
) -> None:
    window = logged_in_page(owner, committed_shop)
    page = open_layout(window, draft)
    save_theirs(draft)

    page.get_by_role("textbox", name=f"Content of {LAYOUT}").press("Control+a")
    page.keyboard.type("<p>mine")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("saved this file while you were editing it")).to_be_visible()

    assert read_content(draft) == "<p>theirs</p>"
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text(f"Saved {LAYOUT}.")).to_be_visible()
    assert "mine" in read_content(draft)
    # The browser logs the 409 response in the console.
    assert [problem for problem in window.problems if "409" not in problem] == []


def test_leaving_unsaved_work_asks(logged_in_page: Open, committed_shop: Shop, owner: User, draft: Theme) -> None:
    window = logged_in_page(owner, committed_shop)
    page = open_layout(window, draft)
    dialogs = watch_dialogs(page)

    get_editor(page, f"Content of {LAYOUT}").press("Control+End")
    page.keyboard.type("x")
    page.get_by_role("link", name="Back to themes").click()
    page.wait_for_url("**/content/theme/")

    assert len(dialogs) == 1


def test_switching_files_keeps_typed_text(window: BrowserPage, draft: Theme) -> None:
    page = open_layout(window, draft)
    dialogs = watch_dialogs(page)
    tabs = page.get_by_role("navigation", name="Open files")
    before = read_content(draft)

    get_editor(page, f"Content of {LAYOUT}").press("Control+End")
    page.keyboard.type("<!-- mine -->")
    expect(tabs.get_by_text("not saved")).to_be_visible()
    page.get_by_role("navigation", name="Files", exact=True).get_by_role("link", name="assets/theme.css").click()
    expect(page.get_by_role("heading", name="assets/theme.css")).to_be_visible()
    assert read_content(draft) == before
    tabs.get_by_role("link", name="theme.liquid").click()
    expect(page.get_by_text("Unsaved changes.")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text(f"Saved {LAYOUT}.")).to_be_visible()

    assert read_content(draft) == before + "<!-- mine -->"
    expect(tabs.get_by_text("not saved")).to_have_count(0)
    tabs.get_by_role("button", name="Close assets/theme.css").click()
    expect(tabs.get_by_role("link")).to_have_count(1)
    tabs.get_by_role("button", name=f"Close {LAYOUT}").click()
    expect(page.get_by_text("Choose a file.")).to_be_visible()
    assert dialogs == []


def test_another_users_save_is_noticed(logged_in_page: Open, committed_shop: Shop, owner: User, draft: Theme) -> None:
    window = logged_in_page(owner, committed_shop)
    page = open_layout(window, draft)
    get_editor(page, f"Content of {LAYOUT}").press("Control+End")
    page.keyboard.type("mine")
    page.get_by_role("navigation", name="Files", exact=True).get_by_role("link", name="assets/theme.css").click()
    expect(page.get_by_role("heading", name="assets/theme.css")).to_be_visible()
    save_theirs(draft)

    page.get_by_role("navigation", name="Open files").get_by_role("link", name="theme.liquid").click()
    expect(page.get_by_text("Unsaved changes.")).to_be_visible()
    page.get_by_role("button", name="Save", exact=True).click()

    expect(page.get_by_text("saved this file while you were editing it")).to_be_visible()
    assert read_content(draft) == "<p>theirs</p>"


def test_the_article_preview_runs_no_scripts(
    logged_in_page: Open, committed_shop: Shop, owner: User, article: Article
) -> None:
    window = logged_in_page(owner, committed_shop)
    page = window.go("content_article_change", article.pk)
    dialogs = watch_dialogs(page)

    page.get_by_role("button", name="Show preview").click()
    frame = page.frame_locator("iframe[title='Content preview']")
    expect(frame.get_by_text("Hello")).to_be_visible()
    page.get_by_label("Title").fill("Hello again")
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/content/article/")

    assert dialogs == []
    saved = Article.objects.get(pk=article.pk)
    assert (saved.title, saved.body_html) == ("Hello again", EVIL)
    assert [problem for problem in window.problems if "img-src" not in problem and "404" not in problem] == []


def test_tags_are_completed(window: BrowserPage, article: Article) -> None:
    page = window.go("content_article_add")

    page.get_by_label("Tags").press_sequentially("snow, win")

    values = page.locator("#tags-known option").evaluate_all("options => options.map(option => option.value)")
    assert values == ["snow, winter"]


@pytest.mark.parametrize("width", [pytest.param(1400, marks=[pytest.mark.soak, pytest.mark.timeout(0)]), 390])
@pytest.mark.usefixtures("axe")
def test_the_content_pages_are_accessible(  # noqa: PLR0917 - fixtures
    logged_in_page: Open, committed_shop: Shop, owner: User, draft: Theme, article: Article, width: int
) -> None:
    assets.save_asset(draft, LAYOUT, blob_store.store_blob(b"<p>two</p>"), actor="system", at=timezone.now())
    version = draft.asset_versions.get()
    Theme.objects.create(shop=committed_shop, name="Broken", processing=False, failure="The archive is damaged.")
    articles.update_article(article, {"body_html": "<p>Two</p>"}, actor="system", at=timezone.now())
    former = article.text_versions.get()
    window = logged_in_page(owner, committed_shop, viewport={"width": width, "height": 900})
    code = window.go("content_theme_code", draft.pk).url.removeprefix(window.server)
    pages: list[tuple[str, tuple[object, ...]]] = [
        ("content_theme_changelist", ()),
        ("content_theme_add", ()),
        ("content_theme_version", (draft.pk, version.pk)),
        ("content_article_changelist", ()),
        ("content_article_change", (article.pk,)),
        ("content_article_duplicate", (article.pk,)),
        ("content_article_version", (article.pk, former.pk)),
        ("content_blog_changelist", ()),
        ("content_mobileplatformapplication_add", ()),
    ]
    problems: dict[str, object] = {}

    for name, args in pages:
        window.go(name, *args)
        problems[name] = (window.barriers(), window.unreachable())
    window.open(f"{code}?key=assets/theme.css")
    window.open(f"{code}?key={LAYOUT}&q=two")
    problems["code"] = (window.barriers(), window.unreachable())

    assert {name: result for name, result in problems.items() if result != ([], [])} == {}


BROKEN = "<p>{% if product %}</p>"


def test_broken_liquid_needs_a_second_confirmation(window: BrowserPage) -> None:
    main = Theme.objects.get(role="main")
    before = read_content(main)
    page = window.go("content_theme_code", main.pk)
    page.get_by_role("link", name=LAYOUT).click()
    get_editor(page, f"Content of {LAYOUT}").press("Control+End")
    page.keyboard.insert_text(BROKEN)

    page.get_by_role("button", name="Save", exact=True).click()
    warning = page.get_by_role("alert").filter(has_text="has an error")
    expect(warning).to_contain_text("tag {% if product %} is never closed")
    assert read_content(main) == before

    page.get_by_role("button", name="Save anyway").click()
    expect(page.get_by_text(f"Saved {LAYOUT}.")).to_be_visible()
    assert read_content(main) == before + BROKEN


def test_valid_liquid_is_saved_at_once(window: BrowserPage, draft: Theme) -> None:
    main = Theme.objects.get(role="main")
    for theme, text in ((main, "{% section 'a' %}{% form 'x' %}{{ a | b: 1 }}{% endform %}"), (draft, BROKEN)):
        page = window.go("content_theme_code", theme.pk)
        page.get_by_role("link", name="templates/index.liquid").first.click()
        get_editor(page, "Content of templates/index.liquid").press("Control+End")
        page.keyboard.insert_text(text)
        page.keyboard.press("Control+s")
        expect(page.get_by_text("Saved templates/index.liquid.")).to_be_visible()
        assert read_content(theme, "templates/index.liquid").endswith(text)


def test_the_editor_is_translated(window: BrowserPage, owner: User, draft: Theme) -> None:
    owner.language = "de"
    owner.save()
    page = window.go("content_theme_code", draft.pk)
    page.get_by_role("link", name=LAYOUT).click()
    code = page.locator(".cm-content")

    code.press("Control+f")
    panel = page.locator(".cm-search")
    expect(panel.get_by_placeholder("Suchen")).to_be_visible()
    expect(panel.get_by_placeholder("Ersetzen durch")).to_be_visible()
    assert panel.get_by_role("button").all_inner_texts() == [
        *("Nächster Treffer", "Voriger Treffer", "Alle auswählen", "Ersetzen", "Alle ersetzen", "×"),
    ]
    assert panel.locator("label").all_inner_texts() == ["Groß-/Kleinschreibung", "Regulärer Ausdruck", "Ganze Wörter"]
    panel.get_by_placeholder("Suchen").press("Escape")

    code.press("Control+Alt+g")
    expect(page.locator(".cm-gotoLine, .cm-panel").get_by_text("Zur Zeile")).to_be_visible()
    page.keyboard.press("Escape")


def test_every_phrase_of_the_editor_is_translated() -> None:
    """Check all phrases in the built script, because a new version of the editor may add phrases."""
    script = (Path(settings.BASE_DIR) / "static" / "panel" / "editor.js").read_text()
    translated = (Path(settings.BASE_DIR) / "frontend" / "phrases.js").read_text()
    phrases = {phrase for groups in _PHRASE.findall(script) for phrase in groups if phrase}

    phrases -= {"Accept", "Reject"}  # Buttons of the editor's merge view, which the panel does not use.
    assert len(phrases) > 10
    assert [phrase for phrase in sorted(phrases) if f'"{phrase}": translate(' not in translated] == []


@pytest.mark.parametrize("width", [1400, 390])
def test_each_chosen_image_is_listed_and_uploaded_on_its_own(
    logged_in_page: Open, owner: User, committed_shop: Shop, width: int
) -> None:
    window = logged_in_page(owner, committed_shop, viewport={"width": width, "height": 844})
    page = window.go("content_storefile_add")
    red, blue = (make_plain_image("PNG", (40, 30), color=color) for color in ("red", "blue"))
    files: list[FilePayload] = [
        {"name": "red.png", "mimeType": "image/png", "buffer": red},
        {"name": "blue.png", "mimeType": "image/png", "buffer": blue},
        {"name": "broken.png", "mimeType": "image/png", "buffer": b"no image"},
        {"name": "terms.pdf", "mimeType": "application/pdf", "buffer": b"%PDF"},
    ]

    page.get_by_label("Choose images").set_input_files(files)
    rows = page.get_by_role("list", name="Chosen images").get_by_role("listitem")
    expect(rows).to_have_count(4)
    expect(rows.nth(3)).to_contain_text("The file must be in one of the formats PNG, JPEG, GIF, WebP, AVIF.")
    assert (window.barriers(), window.unreachable()) == ([], [])
    page.get_by_role("button", name="Remove blue.png").press("Enter")
    page.get_by_role("button", name="Upload", exact=True).press("Enter")

    expect(rows.filter(has_text="red.png")).to_contain_text("Uploaded")
    expect(rows.filter(has_text="broken.png")).to_contain_text("Image must be in one of the formats")
    expect(page.get_by_role("button", name="Copy URL")).to_have_count(1)
    expect(page.get_by_text("Uploaded: 1 of 2.")).to_be_visible()
    assert [file.name for file in StoreFile.objects.all()] == ["red.png"]
    assert (window.barriers(), window.unreachable()) == ([], [])


def test_files_can_be_added_and_removed_while_others_are_uploaded(window: BrowserPage) -> None:
    page = window.go("content_storefile_add")
    field = page.get_by_label("Choose images")
    red, blue, lime = (
        FilePayload(name=f"{color}.png", mimeType="image/png", buffer=make_plain_image("PNG", (40, 30), color=color))
        for color in ("red", "blue", "lime")
    )
    held: list[Route] = []
    page.route("**/pick/", lambda route: held.append(route), times=1)  # noqa: PLW0108 - playwright marks the function
    field.set_input_files([red, blue])
    with page.expect_request("**/pick/"):
        page.get_by_role("button", name="Upload", exact=True).click()

    page.get_by_role("button", name="Remove blue.png").click()
    field.set_input_files([lime])
    held[0].continue_()

    expect(page.get_by_text("Uploaded: 2 of 2.")).to_be_visible()
    assert sorted(file.name for file in StoreFile.objects.all()) == ["lime.png", "red.png"]


def test_a_wrong_archive_of_a_theme_is_refused_before_the_upload(window: BrowserPage) -> None:
    page = window.go("content_theme_add")
    page.get_by_label("Name").fill("Winter")
    field = page.get_by_label("Choose ZIP archive")
    field.set_input_files({"name": "theme.txt", "mimeType": "text/plain", "buffer": b"no archive"})
    expect(page.get_by_text("The file must be in one of the formats ZIP.")).to_be_visible()

    page.get_by_role("button", name="Add theme").press("Enter")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Remove theme.txt").press("Enter")
    page.get_by_role("button", name="Add theme").press("Enter")

    expect(page.get_by_text("The files of Winter are being installed.")).to_be_visible()
