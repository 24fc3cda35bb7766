"""The staff of a shop as staff see it: who works here, what each may do, inviting and removing."""

from datetime import datetime
from typing import TypeAlias, TypedDict, cast

from allauth.mfa.models import Authenticator
from django.contrib import admin, messages
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django_stubs_ext import WithAnnotations

from apps.ground.errors import DomainError
from apps.panel import home
from apps.panel.access import may, require
from apps.panel.menu import Menu
from apps.panel.once import once_or_back, posted
from apps.panel.requests import Context, in_shop
from apps.panel.screens.bases import ShopOwnedAdmin
from apps.panel.seen import MEANWHILE, changed_meanwhile, mark
from apps.panel.theme import display
from apps.panel.wording import in_words
from apps.staff.admin.forms import InviteForm, PermissionsForm
from apps.staff.domain import memberships
from apps.staff.domain.permissions import grant, grant_custom
from apps.staff.mails import send_invitation
from apps.staff.models import Membership, User

VIEW, ADD, CHANGE = "staff.view_membership", "staff.add_membership", "staff.change_membership"
DELETE, ACTIVATE = "staff.delete_membership", "staff.activate_membership"

for _name, _actions in (("create", "va"), ("update", "vc"), ("delete", "vd"), ("activation", "v")):
    grant(f"staff_management_{_name}", _actions, "staff.membership")
grant_custom("staff_management_activation", ACTIVATE, reads=False)


class _Factors(TypedDict):
    has_factor: bool


Listed: TypeAlias = "WithAnnotations[Membership, _Factors]"


@admin.register(Membership)
class MembershipAdmin(ShopOwnedAdmin[Membership]):
    """Places in this shop; the rules are the services'."""

    menu = Menu(
        "Settings",
        "group",
        20,
        gettext_lazy("Staff"),
        words=pgettext_lazy(
            "search",
            "team, employee, staff member, user, people, colleague, permission, rights, role, access, invite, "
            "invitation, administrator",
        ),
    )
    intro = gettext_lazy(
        "The people who work in this shop, and what each may do. A change applies from their next click."
    )
    list_display = ("person", "role", "two_factor", "last_login", "status")
    list_self_evident = ("role",)
    list_display_links = ("person",)
    list_select_related = ("user",)
    search_fields = ("user__email__istartswith", "user__first_name__istartswith", "user__last_name__istartswith")
    ordering = ("-account_owner", "user__first_name", "user__email")
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """With whether each has a second factor."""
        factors = Authenticator.objects.filter(user=OuterRef("user")).exclude(type=Authenticator.Type.RECOVERY_CODES)
        return super().get_queryset(request).select_related("user").annotate(has_factor=Exists(factors))

    @display(description=gettext_lazy("Person"), header=True, ordering="user__first_name")
    def person(self, place: Membership) -> tuple[str, str]:
        """Name and address."""
        return str(place.user), place.user.email

    @display(description=gettext_lazy("Role"))
    def role(self, place: Membership) -> str:
        """Owner, or how many permissions."""
        if place.account_owner:
            return _("Account owner")
        viewing = len(place.view_only)
        count = len(place.permissions) + viewing
        if not viewing:
            return ngettext("{count} permission", "{count} permissions", count).format(count=count)
        said = ngettext("{count} permission, {viewing} view only", "{count} permissions, {viewing} view only", count)
        return said.format(count=count, viewing=viewing)

    @display(description=gettext_lazy("Two-factor"), boolean=True)
    def two_factor(self, place: Listed) -> bool:
        """Whether their login asks for a code."""
        return place.has_factor

    @display(description=gettext_lazy("Last login"), ordering="user__last_login")
    def last_login(self, place: Membership) -> datetime | str:
        """When they were here last."""
        return place.user.last_login or _("never")

    @display(description=gettext_lazy("Status"), label={"active": "success", "invited": "info", "off": "danger"})
    def status(self, place: Membership) -> tuple[str, str]:
        """Whether they can log in."""
        if not place.user.is_active:
            return "off", _("Deactivated")
        return ("active", _("Active")) if place.user.has_usable_password() else ("invited", _("Invited"))

    def get_urls(self) -> list[URLPattern]:
        """Activation and a new invitation, besides Django's own."""
        return [
            self.action_url("<path:object_id>/activation/", self.activation_view, "activation"),
            self.action_url("<path:object_id>/invitation/", self.invitation_view, "invitation"),
            *super().get_urls(),
        ]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Context | None = None) -> HttpResponse:
        """Invite somebody."""
        require(request, ADD)
        by = in_shop(request).user
        form = InviteForm(posted(request), grantable=memberships.grantable(by))
        invited: list[User] = []

        def invite() -> HttpResponse:
            place = memberships.invite(self.shop(request), by=by, at=timezone.now(), **form.values)
            invited.append(place.user)
            return HttpResponseRedirect(self.url("changelist"))

        if request.method == "POST" and form.is_valid():
            try:
                answer = once_or_back(request, invite)
            except DomainError as refusal:
                form.refuse(refusal)
            else:
                # The mail server is asked after the transaction: it may take its time.
                for user in invited:
                    send_invitation(request, user)
                    self.message_user(request, _("{email} is invited.").format(email=user.email), messages.SUCCESS)
                return cast("HttpResponse", answer)
        return self.page(request, "panel/staff/invite.html", _("Invite to the staff"), form=form)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Context | None = None
    ) -> HttpResponse:
        """One person: the permission matrix, and what else can be done."""
        require(request, VIEW, CHANGE)
        place = self.row_or_404(request, object_id)
        by = in_shop(request).user
        editable = may(request, CHANGE) and (by.is_superuser or not (place.account_owner or place.user_id == by.pk))
        form = PermissionsForm(
            posted(request),
            held=memberships.levels_of(place),
            grantable=memberships.grantable(by) if editable else {},
        )
        if request.method == "POST":
            require(request, CHANGE)
            if form.is_valid() and changed_meanwhile(request, *_shown(place)):
                form.add_error(None, MEANWHILE)
            if form.is_valid() and self._save(request, place, form):
                return HttpResponseRedirect(self.url("change", place.pk))
        return self.page(
            request,
            "panel/staff/member.html",
            str(place.user),
            original=place,
            form=form,
            seen=mark(*_shown(place)),
            editable=editable,
            is_self=place.user_id == by.pk,
            may_activate=may(request, ACTIVATE) and place.user_id != by.pk,
            may_remove=may(request, DELETE) and place.user_id != by.pk,
            may_invite=may(request, ADD) and not place.user.has_usable_password(),
        )

    def _save(self, request: HttpRequest, place: Membership, form: PermissionsForm) -> bool:
        by, now = in_shop(request).user, timezone.now()
        try:
            if by.is_superuser:
                memberships.set_owner(place, owner=request.POST.get("account_owner") == "on", by=by, at=now)
            memberships.change_permissions(place, **form.chosen, by=by, at=now)
        except DomainError as refusal:
            form.refuse(refusal)
            return False
        self.message_user(request, _("What {person} may do is saved.").format(person=place.user), messages.SUCCESS)
        return True

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Context | None = None) -> HttpResponse:
        """Remove somebody, after asking."""
        require(request, DELETE)
        place = self.row_or_404(request, object_id)
        if request.method == "POST":
            try:
                memberships.remove(place, by=in_shop(request).user, at=timezone.now())
            except DomainError as refusal:
                self.message_user(request, in_words(refusal), messages.ERROR)
                return HttpResponseRedirect(self.url("change", place.pk))
            done = _("{person} no longer works in this shop.").format(person=place.user)
            self.message_user(request, done, messages.SUCCESS)
            return HttpResponseRedirect(self.url("changelist"))
        title = _("Remove {person}").format(person=place.user)
        return self.page(request, "panel/staff/remove.html", title, original=place)

    def activation_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Let somebody log in, or no longer."""
        require(request, ACTIVATE)
        place = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        active = request.POST.get("active") == "on"
        try:
            memberships.set_active(place, active=active, by=in_shop(request).user, at=timezone.now())
        except DomainError as refusal:
            self.message_user(request, in_words(refusal), messages.ERROR)
        else:
            done = _("{person} can log in again.") if active else _("{person} can no longer log in.")
            self.message_user(request, done.format(person=place.user), messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", place.pk))

    def invitation_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send the invitation once more."""
        require(request, ADD)
        place = self.row_or_404(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        send_invitation(request, place.user)
        done = _("The invitation is sent to {email}.").format(email=place.user.email)
        self.message_user(request, done, messages.SUCCESS)
        return HttpResponseRedirect(self.url("change", place.pk))


def _shown(place: Membership) -> tuple[object, ...]:
    """What the page of a member shows that its form overwrites."""
    return place.permissions, place.view_only, place.account_owner


def _members(request: HttpRequest) -> home.Figure:
    return home.Figure(Membership.rows().count(), _("work here"))


home.add_card(home.Card(gettext_lazy("Staff"), "group", VIEW, Membership, _members, order=70))
