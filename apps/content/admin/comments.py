"""The moderation of comments: a list with bulk actions, and the page of a comment."""

from collections.abc import Callable

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django_stubs_ext import StrOrPromise

from apps.content.domain import comments
from apps.content.models import Comment
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.forms import PanelForm
from apps.core.admin.lists.filters import Choices, Screen, ViewsFilter
from apps.core.admin.lists.selection import get_selected_ids
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.pages import dashboard
from apps.core.admin.permissions import has_permission
from apps.core.admin.staff_request import Context
from apps.core.admin.theme import display
from apps.core.exceptions import DomainError
from apps.core.tenancy.permissions import allow, grants

grants.add(allow("pages", "vcd", "content.comment"))

CHANGE = "content.change_comment"
# The maximum number of comments that an action changes at once.
MAX_MODERATED = 1_000
Status = Comment.Status
COLORS: dict[str, str] = {"published": "success", "unapproved": "warning", "spam": "danger", "removed": "danger"}
# The functions and labels of the actions, and the statuses in which the page of a comment offers them.
ACTIONS: dict[str, tuple[Callable[..., None], StrOrPromise, frozenset[str]]] = {
    "approve": (comments.approve_comment, gettext_lazy("Approve"), frozenset({Status.UNAPPROVED})),
    "not_spam": (comments.mark_as_not_spam, gettext_lazy("Not spam"), frozenset({Status.SPAM})),
    "restore": (comments.restore_comment, gettext_lazy("Restore"), frozenset({Status.REMOVED})),
    "spam": (comments.mark_as_spam, gettext_lazy("Mark as spam"), frozenset({Status.UNAPPROVED, Status.PUBLISHED})),
    "remove": (
        comments.remove_comment,
        gettext_lazy("Remove"),
        frozenset({Status.UNAPPROVED, Status.PUBLISHED, Status.SPAM}),
    ),
}


class ViewFilter(ViewsFilter):
    def lookups(self, request: HttpRequest, model_admin: Screen) -> Choices:
        return [("all", _("All")), *((status.value, str(status.label)) for status in Status)]

    def filter_view(self, queryset: QuerySet[Comment], view: str) -> QuerySet[Comment]:
        return queryset.filter(status=view)


class CommentForm(PanelForm[Comment]):
    """Form to correct the author and the text of a comment."""


@admin.register(Comment)
class CommentAdmin(ShopOwnedAdmin[Comment]):
    form = CommentForm
    menu = MenuItem("Content", "forum", 22)
    search_terms = pgettext_lazy("search", "moderation, spam, approve, reader, discussion, blog")
    intro = gettext_lazy(
        "The comments of readers on your articles. Spam and removed comments are deleted after 30 days."
    )
    empty_text = gettext_lazy("No comments yet. For each blog, you choose whether readers can comment.")
    change_form_template = "panel/comments/change_form.html"
    list_display = ("excerpt", "author", "article", "state", "created_at")
    mobile_hide_labels = ("author", "article")
    list_filter = (ViewFilter, "status", "blog")
    list_filter_submit = True
    list_select_related = ("article",)
    search_fields = ("author__icontains", "email__icontains", "body__icontains")
    ordering = ("-id",)
    actions = ("approve_comments", "mark_as_spam", "mark_as_not_spam", "remove_comments", "restore_comments")
    fields = ("article", "body", "author", "email", "status", "published_at", "ip", "user_agent", "created_at")
    readonly_fields = ("article", "status", "published_at", "ip", "user_agent", "created_at")

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    @display(description=gettext_lazy("Comment"), ordering="body")
    def excerpt(self, comment: Comment) -> str:
        return comment.body if len(comment.body) <= 100 else f"{comment.body[:100]}…"

    @display(description=gettext_lazy("Status"), label=COLORS)
    def state(self, comment: Comment) -> tuple[str, str]:
        return comment.status, comment.get_status_display()

    @admin.action(description=gettext_lazy("Approve"), permissions=["change"])
    def approve_comments(self, request: HttpRequest, queryset: QuerySet[Comment]) -> None:
        self._moderate_all(request, queryset, "approve")

    @admin.action(description=gettext_lazy("Mark as spam"), permissions=["change"])
    def mark_as_spam(self, request: HttpRequest, queryset: QuerySet[Comment]) -> None:
        self._moderate_all(request, queryset, "spam")

    @admin.action(description=gettext_lazy("Not spam"), permissions=["change"])
    def mark_as_not_spam(self, request: HttpRequest, queryset: QuerySet[Comment]) -> None:
        self._moderate_all(request, queryset, "not_spam")

    @admin.action(description=gettext_lazy("Remove"), permissions=["change"])
    def remove_comments(self, request: HttpRequest, queryset: QuerySet[Comment]) -> None:
        self._moderate_all(request, queryset, "remove")

    @admin.action(description=gettext_lazy("Restore"), permissions=["change"])
    def restore_comments(self, request: HttpRequest, queryset: QuerySet[Comment]) -> None:
        self._moderate_all(request, queryset, "restore")

    def _moderate_all(self, request: HttpRequest, queryset: QuerySet[Comment], action: str) -> None:
        """Change the selected comments if their status allows the action. The message counts the other comments."""
        moderate, _label, statuses = ACTIONS[action]
        ids = get_selected_ids(request, queryset, limit=MAX_MODERATED)
        selected = list(Comment.rows().filter(pk__in=ids).order_by("pk"))
        changed = [comment for comment in selected if comment.status in statuses]
        for comment in changed:
            moderate(comment, **self.event_kwargs(request))
        count, skipped = len(changed), len(selected) - len(changed)
        sentences = [ngettext("{count} comment changed.", "{count} comments changed.", count).format(count=count)]
        if skipped:
            text = ngettext(
                "The status of {count} comment does not allow this.",
                "The status of {count} comments does not allow this.",
                skipped,
            )
            sentences.append(text.format(count=skipped))
        self.message_user(request, " ".join(sentences), messages.SUCCESS if changed else messages.WARNING)

    @row_view("moderate/<slug:action>/", CHANGE, post_only=True)
    def moderate_view(self, request: HttpRequest, comment: Comment, action: str) -> HttpResponse:
        if action not in ACTIONS:
            raise Http404
        try:
            ACTIONS[action][0](comment, **self.event_kwargs(request))
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            text = _("The status of the comment is now: {status}.")
            self.message_user(request, text.format(status=comment.get_status_display()), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", comment.pk))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        comment = self.get_object(request, object_id)
        offered = [
            (self.url("moderate", comment.pk, name), label)
            for name, (_moderate, label, statuses) in ACTIONS.items()
            if comment is not None and comment.status in statuses and has_permission(request, CHANGE)
        ]
        return super().change_view(request, object_id, form_url, {**(extra_context or {}), "moderation": offered})

    def save_model(self, request: HttpRequest, obj: Comment, form: CommentForm, change: bool) -> None:
        attrs = {name: value for name, value in form.values_to_store.items() if name in {"body", "author", "email"}}
        comments.update_comment(Comment.objects.get(pk=obj.pk), attrs, **self.event_kwargs(request))

    def delete_model(self, request: HttpRequest, obj: Comment) -> None:
        comments.delete_comment(obj, **self.event_kwargs(request))


dashboard.tasks.add(
    dashboard.Task(
        gettext_lazy("Comments"),
        gettext_lazy("waiting for approval"),
        Comment,
        f"view={Status.UNAPPROVED}",
        lambda request: Comment.rows().filter(status=Comment.Status.UNAPPROVED),
        order=70,
    )
)
