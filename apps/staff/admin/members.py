from datetime import datetime
from typing import cast

from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.core.admin.forms.error_display import add_domain_errors, format_errors
from apps.core.admin.forms.idempotency import get_post_data, submit_once_or_redirect
from apps.core.admin.forms.optimistic_lock import EDIT_CONFLICT, compute_fingerprint, has_changed_since_render
from apps.core.admin.menu import MenuItem
from apps.core.admin.model_admin.base import ShopOwnedAdmin
from apps.core.admin.model_admin.extra_views import row_view
from apps.core.admin.permissions import has_permission, require_permission
from apps.core.admin.staff_request import Context, as_staff_request
from apps.core.admin.theme import attribute_column, display
from apps.core.exceptions import DomainError
from apps.core.tenancy.models import Membership, User
from apps.core.tenancy.permissions import allow, allow_custom, find_preset, grants
from apps.staff.admin.forms import InviteForm, PermissionsForm
from apps.staff.domain import memberships
from apps.staff.emails import send_invitation

VIEW, ADD, CHANGE = "staff.view_membership", "staff.add_membership", "staff.change_membership"
DELETE, ACTIVATE = "staff.delete_membership", "staff.activate_membership"

for _name, _actions in (("create", "va"), ("update", "vc"), ("delete", "vd"), ("activation", "v")):
    grants.add(allow(f"staff_management_{_name}", _actions, "staff.membership"))
grants.add(allow_custom("staff_management_activation", ACTIVATE, reads=False))


@admin.register(Membership)
class MembershipAdmin(ShopOwnedAdmin[Membership]):
    """The model admin for staff members. The services check which staff members a user may change."""

    menu = MenuItem("Settings", "group", 20, gettext_lazy("Staff"))
    add_title = gettext_lazy("Invite staff member")
    search_terms = pgettext_lazy(
        "search",
        "team, employee, staff member, user, people, colleague, permission, rights, role, access, invite, "
        "invitation, administrator",
    )
    intro = gettext_lazy("Staff members of this shop and their permissions. Changes take effect immediately.")
    list_display = ("person", "role", "two_factor", "last_login", "status")
    mobile_hide_labels = ("role",)
    list_display_links = ("person",)
    list_select_related = ("user",)
    search_fields = ("user__email__istartswith", "user__first_name__istartswith", "user__last_name__istartswith")
    ordering = ("-account_owner", "user__first_name", "user__email")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        factors = Authenticator.objects.filter(user=OuterRef("user")).exclude(type=Authenticator.Type.RECOVERY_CODES)
        return super().get_queryset(request).select_related("user").annotate(has_factor=Exists(factors))

    @display(description=gettext_lazy("Name"), ordering="user__first_name")
    def person(self, membership: Membership) -> SafeString:
        return format_html(
            '<span class="bo-two"><strong>{}</strong> <span>{}</span></span>', membership.user, membership.user.email
        )

    @display(description=gettext_lazy("Role"))
    def role(self, membership: Membership) -> str:
        if membership.account_owner:
            return _("Account owner")
        preset, is_changed = find_preset(membership.permissions, membership.view_only)
        if preset:
            return _("{preset}, changed").format(preset=_(preset)) if is_changed else _(preset)
        viewing = len(membership.view_only)
        count = len(membership.permissions) + viewing
        if not viewing:
            return ngettext("{count} permission", "{count} permissions", count).format(count=count)
        if viewing == count:
            return ngettext("View only ({count} area)", "View only ({count} areas)", count).format(count=count)
        template = ngettext(
            "{count} permission, {viewing} view only", "{count} permissions, {viewing} view only", count
        )
        return template.format(count=count, viewing=viewing)

    two_factor = attribute_column("has_factor", gettext_lazy("Two-factor"), boolean=True)

    @display(description=gettext_lazy("Last login"), ordering="user__last_login")
    def last_login(self, membership: Membership) -> datetime | str:
        return membership.user.last_login or _("never")

    @display(description=gettext_lazy("Status"), label={"active": "success", "invited": "info", "off": "danger"})
    def status(self, membership: Membership) -> tuple[str, str]:
        if not membership.user.is_active:
            return "off", _("Deactivated")
        return ("active", _("Active")) if membership.user.has_usable_password() else ("invited", _("Invited"))

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        require_permission(request, ADD)
        by = as_staff_request(request).user
        preset = request.POST.get("preset", "")
        form = InviteForm(
            None if preset else get_post_data(request),
            grantable=memberships.get_grantable_levels(by),
            preset=preset,
            initial={name: request.POST.get(name, "") for name in InviteForm.text_fields},
        )
        invited_users: list[User] = []

        def invite() -> HttpResponse:
            membership = memberships.invite_member(self.shop(request), by=by, at=timezone.now(), **form.values)
            invited_users.append(membership.user)
            return HttpResponseRedirect(self.url("changelist"))

        if request.method == "POST" and not preset and form.is_valid():
            try:
                response = submit_once_or_redirect(request, invite)
            except DomainError as error:
                add_domain_errors(form, error)
            else:
                # The mail server can be slow, so the email is sent after the transaction.
                for user in invited_users:
                    send_invitation(request, user)
                    self.message_user(
                        request, _("Invitation sent to {email}.").format(email=user.email), messages.SUCCESS
                    )
                return cast("HttpResponse", response)
        return self.page(request, "panel/staff/invite.html", _("Invite staff member"), form=form)

    @row_view("change/", VIEW, CHANGE, name="change")
    def detail_view(self, request: HttpRequest, membership: Membership) -> HttpResponse:
        by = as_staff_request(request).user
        editable = has_permission(request, CHANGE) and (
            by.is_superuser or not (membership.account_owner or membership.user_id == by.pk)
        )
        preset = request.POST.get("preset", "")
        form = PermissionsForm(
            None if preset else get_post_data(request),
            current_levels=memberships.get_levels(membership),
            grantable=memberships.get_grantable_levels(by) if editable else {},
            preset=preset if editable else "",
        )
        if request.method == "POST":
            require_permission(request, CHANGE)
        if request.method == "POST" and not preset:
            if form.is_valid() and has_changed_since_render(request, *_get_displayed_values(membership)):
                form.add_error(None, EDIT_CONFLICT)
            if form.is_valid() and self._save(request, membership, form):
                return HttpResponseRedirect(self.url("change", membership.pk))
        return self.page(
            request,
            "panel/staff/member.html",
            str(membership.user),
            original=membership,
            form=form,
            seen=compute_fingerprint(*_get_displayed_values(membership)),
            editable=editable,
            is_owner_checked="account_owner" in request.POST if preset else membership.account_owner,
            is_self=membership.user_id == by.pk,
            may_activate=has_permission(request, ACTIVATE) and membership.user_id != by.pk,
            may_remove=has_permission(request, DELETE) and membership.user_id != by.pk,
            may_invite=has_permission(request, ADD) and _is_invited(membership.user),
        )

    def _save(self, request: HttpRequest, membership: Membership, form: PermissionsForm) -> bool:
        by, now = as_staff_request(request).user, timezone.now()
        # The page of an owner has no permissions to choose from, so the stored permissions are kept.
        keeps_permissions = by.is_superuser and membership.account_owner
        try:
            if by.is_superuser:
                memberships.set_owner(membership, owner=request.POST.get("account_owner") == "on", by=by, at=now)
            if not keeps_permissions:
                memberships.change_permissions(membership, **form.service_kwargs, by=by, at=now)
        except DomainError as error:
            add_domain_errors(form, error)
            return False
        self.message_user(
            request, _("Permissions for {person} saved.").format(person=membership.user), messages.SUCCESS
        )
        return True

    @row_view("delete/", DELETE, name="delete")
    def remove_view(self, request: HttpRequest, membership: Membership) -> HttpResponse:
        if request.method == "POST":
            try:
                memberships.remove_member(membership, by=as_staff_request(request).user, at=timezone.now())
            except DomainError as error:
                self.message_user(request, format_errors(error), messages.ERROR)
                return HttpResponseRedirect(self.url("change", membership.pk))
            text = _("{person} was removed from this shop.").format(person=membership.user)
            self.message_user(request, text, messages.SUCCESS)
            return HttpResponseRedirect(self.url("changelist"))
        title = _("Remove {person}").format(person=membership.user)
        return self.page(request, "panel/staff/remove.html", title, original=membership)

    @row_view("activation/", ACTIVATE, post_only=True)
    def activation_view(self, request: HttpRequest, membership: Membership) -> HttpResponse:
        active = request.POST.get("active") == "on"
        try:
            memberships.set_active(membership, active=active, by=as_staff_request(request).user, at=timezone.now())
        except DomainError as error:
            self.message_user(request, format_errors(error), messages.ERROR)
        else:
            template = _("{person} can log in again.") if active else _("{person} can no longer log in.")
            self.message_user(request, template.format(person=membership.user), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", membership.pk))

    @row_view("invitation/", ADD, post_only=True)
    def invitation_view(self, request: HttpRequest, membership: Membership) -> HttpResponse:
        send_invitation(request, membership.user)
        text = _("Invitation sent to {email}.").format(email=membership.user.email)
        self.message_user(request, text, messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", membership.pk))


def _is_invited(user: User) -> bool:
    """Return True if the user has not chosen a password yet. A deactivated user can't choose one."""
    return user.is_active and not user.has_usable_password()


def _get_displayed_values(membership: Membership) -> tuple[object, ...]:
    return membership.permissions, membership.view_only, membership.account_owner
