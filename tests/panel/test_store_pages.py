import pytest
from django.utils import timezone

from apps.content.domain import comments
from apps.content.models import Comment, Redirect
from apps.core.tenancy.models import Shop
from tests.support.factories.content import make_article, make_comment, make_page, make_redirect
from tests.support.panel.add_forms import get_edit_form
from tests.support.panel.client import Panel, PanelWith


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    return admin_client_with("pages")


def test_comments_are_moderated_in_bulk_and_one_by_one(panel: Panel, in_shop: Shop) -> None:
    article = make_article(commentable="moderate")
    first, second, third = (make_comment(article) for _ in range(3))
    comments.mark_as_spam(third, actor="system", at=timezone.now())

    page = panel.post(
        "content_comment_changelist",
        action="approve_comments",
        _selected_action=[comment.pk for comment in (first, second, third)],
    )
    panel.post("content_comment_moderate", second.pk, "remove")

    assert page.status_code == 302
    statuses = dict(Comment.objects.values_list("pk", "status"))
    assert statuses == {first.pk: "published", second.pk: "removed", third.pk: "spam"}
    buttons = panel.get("content_comment_change", second.pk).content
    assert panel.url("content_comment_moderate", second.pk, "restore").encode() in buttons
    assert panel.url("content_comment_moderate", second.pk, "approve").encode() not in buttons


def test_comments_waiting_for_approval_are_a_view(panel: Panel, in_shop: Shop) -> None:
    article = make_article(commentable="moderate")
    waiting, approved = make_comment(article), make_comment(article)
    comments.approve_comment(approved, actor="system", at=timezone.now())

    page = panel.get("content_comment_changelist", view="unapproved")

    assert [row.pk for row in page.context["cl"].result_list] == [waiting.pk]


@pytest.mark.parametrize("chosen", [True, False])
def test_a_new_handle_redirects_the_old_url_if_chosen(
    admin_client_with: PanelWith, in_shop: Shop, chosen: bool
) -> None:
    panel, page = admin_client_with("pages", "links"), make_page(title="About")
    form = get_edit_form(panel, "content_page", page.pk)
    data = form.data | {"handle": ["about-us"]}
    data.pop("redirect_old_url")

    panel.http.post(panel.url("content_page_change", page.pk), data | ({"redirect_old_url": ["on"]} if chosen else {}))

    page.refresh_from_db()
    assert page.handle == "about-us"
    rows = list(Redirect.objects.values_list("path", "target"))
    assert rows == ([("/pages/about", "/pages/about-us")] if chosen else [])


def test_the_redirect_form_explains_loops(admin_client_with: PanelWith, in_shop: Shop) -> None:
    panel = admin_client_with("links")
    make_redirect("/a", "/b")
    form = get_edit_form(panel, "content_redirect")

    page = panel.http.post(panel.url("content_redirect_add"), form.data | {"path": ["/b"], "target": ["/a"]})

    assert "Creates a loop: /b → /a → /b." in page.content.decode()
    assert Redirect.objects.count() == 1
    assert panel.get("content_redirect_changelist").status_code == 200
    assert panel.get("content_page_changelist").status_code == 403


def test_lists_offer_imports_and_exports(admin_client_with: PanelWith, in_shop: Shop) -> None:
    panel = admin_client_with("pages", "links")

    for screen, kind in (("content_page", "pages"), ("content_redirect", "redirects")):
        page = panel.get(f"{screen}_changelist").content.decode()
        assert f"{panel.url('imports_exports_export_new')}?kind={kind}" in page
        assert panel.url("imports_exports_import_upload") in page
