"""Panel pages for themes, where staff upload, publish, duplicate, rename, download and delete themes."""

from collections.abc import Callable
from typing import cast

from django import forms
from django.contrib import admin, messages
from django.core.files.uploadedfile import UploadedFile
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
)
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.content.admin.theme_editor import ThemeEditorPages, get_image_path
from apps.content.domain import blob_store, theme_extraction, themes
from apps.content.domain.script_tags import is_vintage
from apps.content.domain.theme_archive import DEFAULT_LIMITS
from apps.content.domain.theme_files.keys import DIRECTORIES, LAYOUT
from apps.content.domain.theme_files.palettes import find_palettes
from apps.content.domain.theme_files.screenshots import find_screenshots
from apps.content.models import Asset, Theme
from apps.core.admin.forms.error_display import format_errors
from apps.core.admin.forms.idempotency import submit_once_or_redirect
from apps.core.admin.forms.optimistic_lock import EDIT_CONFLICT, compute_fingerprint, has_changed_since_render
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context
from apps.core.exceptions import DomainError, RowDeleted
from apps.core.http.ssrf_guard import UrlRefused, check_url
from apps.core.i18n import formats
from apps.core.i18n.error_messages import format_bytes, larger_than
from apps.core.i18n.messages import as_message, get_items, translate
from apps.core.jobs.metrics import find_stall
from apps.core.jobs.models import Job
from apps.core.media.storage import StorageFailed
from apps.core.tenancy.permissions import allow, grants

grants.add(allow("themes", "vacd", "content.theme", "content.asset"))

VIEW, ADD, CHANGE, DELETE = (f"content.{verb}_theme" for verb in ("view", "add", "change", "delete"))
WHEN_READY = gettext_lazy(
    "The files of this theme are still being installed. The theme will be published when the installation is complete."
)
CONFIRM_TITLES = {"publish": gettext_lazy("Publish {name}?"), "delete": gettext_lazy("Delete {name}?")}
CONFIRM_BUTTONS = {"publish": gettext_lazy("Publish {name}"), "delete": gettext_lazy("Delete {name}")}
CONFIRM_TEXTS = {
    "publish": gettext_lazy("Customers will see this theme immediately. The current theme will become a draft."),
    "delete": gettext_lazy("This will permanently delete the theme, its files and all earlier versions of the files."),
}


class ThemeForm(forms.Form):
    name = forms.CharField(max_length=255, label=gettext_lazy("Name"))
    archive = forms.FileField(
        label=gettext_lazy("ZIP archive"),
        required=False,
        help_text=format_lazy(
            gettext_lazy("Up to {packed} and {files} files, and up to {unpacked} when unpacked."),
            packed=format_bytes(DEFAULT_LIMITS.packed_bytes),
            unpacked=format_bytes(DEFAULT_LIMITS.unpacked_bytes),
            files=lazy(formats.format_integer, str)(DEFAULT_LIMITS.entries),
        ),
    )
    src = forms.CharField(
        label=gettext_lazy("Or URL"),
        required=False,
        max_length=4096,
        widget=forms.URLInput,
        help_text=gettext_lazy(
            "The URL of a ZIP archive. Without an archive or URL, the theme starts with a few basic files."
        ),
    )
    role = forms.ChoiceField(
        label=gettext_lazy("Role"),
        choices=[
            (Theme.Role.UNPUBLISHED, gettext_lazy("Draft")),
            (Theme.Role.MAIN, gettext_lazy("Publish when the files are ready")),
            (Theme.Role.DEVELOPMENT, gettext_lazy("Development (can't be published)")),
            (Theme.Role.DEMO, gettext_lazy("Demo (can't be published)")),
        ],
    )

    def clean_src(self) -> str:
        src: str = self.cleaned_data["src"]
        if src:
            try:
                check_url(src, schemes=("http", "https"))
            except UrlRefused as error:
                raise forms.ValidationError(_("The URL {refusal}.").format(refusal=translate(str(error)))) from None
        return src

    def clean_archive(self) -> UploadedFile[bytes] | None:
        archive: UploadedFile[bytes] | None = self.cleaned_data["archive"]
        if archive is not None and (archive.size or 0) > DEFAULT_LIMITS.packed_bytes:
            raise forms.ValidationError(
                _("The archive is {size}.").format(size=translate(larger_than(DEFAULT_LIMITS.packed_bytes)))
            )
        return archive


class NameForm(forms.Form):
    name = forms.CharField(max_length=255, label=gettext_lazy("Name"))


@admin.register(Theme)
class ThemeAdmin(ThemeEditorPages):
    menu = MenuItem("Online store", "palette", 10)
    search_terms = pgettext_lazy(
        "search",
        "design, look, appearance, template, layout, logo, colours, colors, font, website, storefront, html, "
        "css, liquid, brand",
    )
    search_fields = ("name__icontains",)
    list_display = ("name", "role")
    ordering = ("name", "id")

    def changelist_view(self, request: HttpRequest, extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, VIEW, CHANGE)
        rows = sorted(
            self.get_queryset(request), key=lambda theme: (theme.role != Theme.Role.MAIN, theme.name, theme.pk)
        )
        screenshots = find_screenshots([theme.pk for theme in rows])
        palettes = find_palettes([theme.pk for theme in rows if theme.pk not in screenshots])
        return self.page(
            request,
            "panel/themes/list.html",
            _("Themes"),
            cards=[
                {
                    **self._card(request, theme, len(rows), screenshots.get(theme.pk)),
                    "palette": palettes.get(theme.pk, []),
                }
                for theme in rows
            ],
            count=len(rows),
            limit=themes.MAX_THEMES,
            may_add=has_permission(request, ADD),
            full=len(rows) >= themes.MAX_THEMES,
        )

    def _card(self, request: HttpRequest, theme: Theme, count: int, screenshot: Asset | None) -> Context:
        job = _get_job(theme) if theme.processing else None
        return {
            "theme": theme,
            "screenshot": get_image_path(self.shop(request), screenshot) if screenshot else "",
            "kind": _get_badge(theme),
            "job": job,
            "waits": find_stall(job),
            "vintage": theme.previewable and is_vintage(theme),
            "may_change": has_permission(request, CHANGE),
            "may_add": has_permission(request, ADD),
            "may_delete": has_permission(request, DELETE),
            "publish_refusal": _get_publish_problem(theme),
            "duplicate_refusal": _get_duplicate_problem(theme, count),
            "delete_refusal": _get_delete_problem(theme),
        }

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, ADD)
        form = ThemeForm(request.POST or None, request.FILES or None, initial={"name": request.GET.get("name", "")})
        if request.method == "POST" and form.is_valid():
            try:
                return cast(
                    "HttpResponse",
                    submit_once_or_redirect(request, lambda: self._add(request, form.cleaned_data), keyed=True),
                )
            except DomainError as error:
                form.add_error(None, format_errors(error))
        return self.page(
            request,
            "panel/themes/add.html",
            _("Add theme"),
            form=form,
            max_bytes=DEFAULT_LIMITS.packed_bytes,
            max_size=format_bytes(DEFAULT_LIMITS.packed_bytes),
            layout=LAYOUT,
            folders=sorted(DIRECTORIES),
            text_size=format_bytes(DEFAULT_LIMITS.text_bytes),
            binary_size=format_bytes(DEFAULT_LIMITS.binary_bytes),
        )

    def _add(self, request: HttpRequest, values: Context) -> HttpResponse:
        archive = values["archive"]
        theme = themes.create_theme(
            name=values["name"],
            role=values["role"],
            src="" if archive else values["src"],
            upload=blob_store.store_blob(archive.read()) if archive else None,
            actor=self.actor(request),
            at=timezone.now(),
        )
        self.message_user(request, _("The files of {theme} are being installed.").format(theme=theme))
        return HttpResponseRedirect(self.url("changelist"))

    @row_view("change/", VIEW, CHANGE, name="change")
    def detail_view(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        form = NameForm(request.POST or None, initial={"name": theme.name})
        if request.method == "POST":
            require_permission(request, CHANGE)
            if form.is_valid() and has_changed_since_render(request, theme.name):
                form.add_error("name", EDIT_CONFLICT)
            if form.is_valid():
                themes.rename_theme(theme, form.cleaned_data["name"], **self.event_kwargs(request))
                self.message_user(request, _("Theme renamed to {theme}.").format(theme=theme), messages.SUCCESS)
                return HttpResponseRedirect(self.url("changelist"))
        may_change = has_permission(request, CHANGE)
        screenshot = find_screenshots([theme.pk]).get(theme.pk)
        form.fields["name"].disabled = not may_change
        return self.page(
            request,
            "panel/themes/detail.html",
            theme.name,
            original=theme,
            form=form,
            seen=compute_fingerprint(theme.name),
            screenshot=get_image_path(self.shop(request), screenshot) if screenshot else "",
            palette=[] if screenshot else find_palettes([theme.pk]).get(theme.pk, []),
            may_change=may_change,
            may_add=has_permission(request, ADD),
            problems=_split_messages(theme.failure),
            notes=_split_messages(theme.notes),
        )

    @row_view("delete/", DELETE, name="delete")
    def remove_view(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        return self._confirm(request, theme, "delete", themes.delete_theme)

    @row_view("download/", VIEW, CHANGE)
    def download_view(self, request: HttpRequest, theme: Theme) -> FileResponse | HttpResponse:
        if not theme.previewable:
            self.message_user(request, _("A theme without files can't be downloaded."), messages.ERROR)
            return HttpResponseRedirect(self.url("changelist"))
        try:
            archive = theme_extraction.create_theme_archive(theme)
        except StorageFailed as failure:
            self.message_user(
                request,
                _("The theme can't be downloaded. {refusal}").format(refusal=format_errors(failure)),
                messages.ERROR,
            )
            return HttpResponseRedirect(self.url("changelist"))
        return FileResponse(archive, as_attachment=True, filename=f"theme-{theme.pk}.zip")

    @row_view("publish/", CHANGE)
    def publish_view(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        return self._confirm(request, theme, "publish", themes.publish_theme)

    @row_view("duplicate/", ADD, post_only=True)
    def duplicate_view(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        return self._run_service(request, theme, themes.duplicate_theme)

    @row_view("retry/", CHANGE, post_only=True)
    def retry_view(self, request: HttpRequest, theme: Theme) -> HttpResponse:
        return self._run_service(request, theme, themes.retry_theme)

    def _confirm(self, request: HttpRequest, theme: Theme, verb: str, service: Callable[..., object]) -> HttpResponse:
        """Ask for confirmation. On POST, call the service function."""
        if request.method == "POST":
            return self._run_service(request, theme, service)
        is_pending = verb == "publish" and theme.processing
        context = {
            "original": theme,
            "is_deletion": verb == "delete",
            "does": CONFIRM_BUTTONS[verb].format(name=theme),
            "consequence": WHEN_READY if is_pending else CONFIRM_TEXTS[verb],
        }
        return self.page(request, "panel/themes/confirm.html", CONFIRM_TITLES[verb].format(name=theme), **context)

    def _run_service(self, request: HttpRequest, theme: Theme, service: Callable[..., object]) -> HttpResponse:
        name = theme.name
        try:
            service(theme, **self.event_kwargs(request))
        except (RowDeleted, Theme.DoesNotExist):
            raise Http404 from None
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            self.message_user(request, _("Done: {name}.").format(name=name), messages.SUCCESS)
        return HttpResponseRedirect(self.url("changelist"))


def _split_messages(text: str) -> list[str]:
    return [message.localize() for message in get_items(as_message(text))] if text else []


def _get_badge(theme: Theme) -> str:
    if theme.role == Theme.Role.MAIN:
        return "success"
    return "danger" if theme.failed else "warning" if theme.processing else "info"


def _get_job(theme: Theme) -> Job | None:
    return Job.rows().filter(task=themes.EXTRACT_TASK, arguments={"theme_id": theme.pk}).order_by("-id").first()


def _get_publish_problem(theme: Theme) -> str:
    if theme.role == Theme.Role.MAIN:
        return _("This theme is published.")
    if theme.role not in themes.PUBLISHABLE:
        return _("Themes of the type “{kind}” can't be published.").format(kind=theme.get_role_display())
    return _("A theme without files can't be published.") if theme.failed else ""


def _get_duplicate_problem(theme: Theme, count: int) -> str:
    if not theme.previewable:
        return _("This theme has no files yet.")
    return (
        _("The shop already has the maximum of {number} themes. Delete a theme first.").format(number=count)
        if count >= themes.MAX_THEMES
        else ""
    )


def _get_delete_problem(theme: Theme) -> str:
    if theme.processing:
        return _("The theme can't be deleted while its files are being installed.")
    return _("This theme is published and can't be deleted.") if theme.role == Theme.Role.MAIN else ""
