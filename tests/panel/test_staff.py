import re
from collections.abc import Callable
from functools import partial

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.exceptions import RowDeleted
from apps.core.tenancy.models import AccessToken, Membership, Shop, User
from apps.core.tenancy.permissions import LABELS, NAMES, PRESETS
from apps.core.tenancy.scope import shop_scope
from apps.staff.domain import memberships
from tests.panel.test_login import make_person
from tests.support import factories
from tests.support.api_client import Response
from tests.support.databases.races import run_unguarded, run_while_uncommitted
from tests.support.panel.client import PASSWORD, Panel, PanelWith, get_membership

pytestmark = pytest.mark.usefixtures("in_shop")

MANAGE = [f"staff_management_{action}" for action in ("create", "update", "delete", "activation")]


@pytest.fixture
def manager_client(admin_client_with: PanelWith) -> Panel:
    """Return a client logged in as a staff member with permissions for staff and orders only."""
    return admin_client_with(*MANAGE, "orders")


def test_every_name_has_words_and_a_group() -> None:
    assert sorted(LABELS) == sorted(NAMES)


def change_permissions(panel: Panel, membership: Membership, *permissions: str, **data: object) -> Response:
    """Submit the permissions of a staff member and reload the membership."""
    response = panel.post("staff_membership_change", membership.pk, permissions=permissions, **data)
    membership.refresh_from_db()
    return response


def test_granting_what_one_holds_is_saved_and_recorded(manager_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop), shop)

    change_permissions(manager_client, index, "orders")

    assert index.permissions == ["orders"]
    event = Event.objects.get(topic="staff/update")
    assert event.changes == {"permissions": [[], ["orders"]]}
    assert event.actor == f"staff:{manager_client.user.pk}"


@pytest.mark.parametrize("name", ["themes", "staff_audit_log_view"])
def test_staff_cannot_grant_permissions_they_lack(manager_client: Panel, shop: Shop, name: str) -> None:
    index = get_membership(factories.make_member(shop), shop)

    page = change_permissions(manager_client, index, "orders", name)

    assert b"cannot be granted or revoked because you do not have them" in page.content
    assert index.permissions == []


def test_permissions_that_the_editor_lacks_are_unchanged(manager_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop, "themes", "orders", "a_name_of_tomorrow"), shop)

    change_permissions(manager_client, index)

    assert index.permissions == ["a_name_of_tomorrow", "themes"]


def test_staff_cannot_change_their_own_permissions(manager_client: Panel, shop: Shop) -> None:
    index = get_membership(manager_client.user, shop)
    before = sorted(index.permissions)

    page = change_permissions(manager_client, index, "orders")

    assert b"You can&#x27;t change your own permissions" in page.content
    assert sorted(index.permissions) == before


@pytest.mark.parametrize("page", ["change", "delete", "activation"])
def test_an_owners_place_is_beyond_staff(manager_client: Panel, shop: Shop, page: str) -> None:
    index = get_membership(factories.make_member(shop, owner=True), shop)

    manager_client.post(f"staff_membership_{page}", index.pk, permissions=["orders"])

    index.refresh_from_db()
    assert (index.account_owner, index.permissions, index.user.is_active) == (True, [], True)


def test_staff_cannot_make_themselves_or_others_owners(manager_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop), shop)

    change_permissions(manager_client, index, "orders", account_owner="on")

    assert not index.account_owner


def test_the_last_owner_stays_even_for_the_operator(operator_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop, owner=True), shop)

    operator_client.post("staff_membership_delete", index.pk)
    page = change_permissions(operator_client, index)

    assert b"needs at least one account owner" in page.content
    assert index.account_owner


def test_the_operator_hands_ownership_on(operator_client: Panel, shop: Shop) -> None:
    first = get_membership(factories.make_member(shop, owner=True), shop)
    second = get_membership(factories.make_member(shop), shop)

    change_permissions(operator_client, second, account_owner="on")
    change_permissions(operator_client, first)

    assert (first.account_owner, second.account_owner) == (False, True)


def test_a_change_applies_from_the_next_request(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("themes")
    assert panel.get("content_scripttag_changelist").status_code == 200

    Membership.objects.filter(user=panel.user).update(permissions=[])

    assert panel.get("content_scripttag_changelist").status_code == 403


def test_removing_staff_ends_access_and_tokens(owner_client: Panel, admin_client_with: PanelWith, shop: Shop) -> None:
    other = admin_client_with("themes")
    factories.make_token(factories.make_installation(shop))
    AccessToken.objects.update(user=other.user)

    owner_client.post("staff_membership_delete", get_membership(other.user, shop).pk)

    assert other.get().status_code == 404
    assert AccessToken.objects.get().revoked_at is not None
    assert Event.objects.get(topic="staff/remove").actor == f"staff:{owner_client.user.pk}"


def test_deactivating_staff_ends_the_session(owner_client: Panel, admin_client_with: PanelWith, shop: Shop) -> None:
    other = admin_client_with("themes")

    owner_client.post("staff_membership_activation", get_membership(other.user, shop).pk)

    assert other.get().headers["Location"].startswith("/accounts/login/")


def test_staff_of_several_shops_are_deactivated_only_by_the_operator(
    owner_client: Panel, admin_client_with: PanelWith, shop: Shop, other_shop: Shop
) -> None:
    other = admin_client_with("themes")
    with shop_scope(other_shop):
        Membership.objects.create(shop=other_shop, user=other.user)

    owner_client.post("staff_membership_activation", get_membership(other.user, shop).pk)

    other.user.refresh_from_db()
    assert other.user.is_active


def invite_person(panel: Panel, **data: object) -> None:
    values = {"email": "New@Example.com", "first_name": "Nia", "permissions": ["orders"], **data}
    panel.post("staff_membership_add", **values)


def test_an_invited_person_chooses_a_password_and_is_in(manager_client: Panel, shop: Shop) -> None:
    invite_person(manager_client)

    user = User.objects.get(email="new@example.com")
    assert get_membership(user, shop).permissions == ["orders"]
    assert [message.to for message in mail.outbox] == [["new@example.com"]]
    link = re.search(rf"{settings.BASE_URL}(/accounts/password/reset/key/\S+)", str(mail.outbox[0].body))
    assert link
    browser = Client()
    form = browser.get(link[1], follow=True)
    browser.post(form.redirect_chain[-1][0], {"password1": PASSWORD, "password2": PASSWORD})
    response = browser.post("/accounts/login/", {"login": "new@example.com", "password": PASSWORD}, follow=True)
    assert (response.redirect_chain[-1][0], response.status_code) == ("/s/acme/admin/", 200)


def test_people_with_an_account_get_no_email(manager_client: Panel, shop: Shop, other_shop: Shop) -> None:
    user = make_person(other_shop, "new@example.com")

    invite_person(manager_client)

    assert get_membership(user, shop).permissions == ["orders"]
    assert mail.outbox == []


def test_inviting_a_person_twice_is_refused_on_the_field(manager_client: Panel, shop: Shop) -> None:
    factories.make_member(shop, email="new@example.com")

    page = manager_client.post("staff_membership_add", email="new@example.com", first_name="Nia")

    assert page.context["form"].errors == {"email": ["is already a staff member of this shop"]}


def test_an_invitation_with_permissions_one_lacks_is_refused(manager_client: Panel) -> None:
    invite_person(manager_client, permissions=["themes"])

    assert not User.objects.filter(email="new@example.com").exists()
    assert mail.outbox == []


def build_ownership_works(shop: Shop) -> list[Callable[[], None]]:
    """Create two account owners; return a function for each owner that revokes the ownership."""
    operator = factories.UserFactory.create(is_superuser=True)

    def lose(owner: User) -> None:
        memberships.set_owner(get_membership(owner, shop), owner=False, by=operator, at=timezone.now())

    return [partial(lose, factories.make_member(shop, owner=True)) for _ in range(2)]


def count_owners(shop: Shop) -> int:
    with shop_scope(shop):
        return Membership.objects.filter(account_owner=True).count()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.race(control="test_both_of_the_last_two_owners_leave_without_the_lock")
def test_one_of_the_last_two_owners_stays() -> None:
    shop = factories.make_shop()
    first, second = build_ownership_works(shop)

    with pytest.raises(memberships.LastOwner):
        run_while_uncommitted(shop, first, second)

    assert count_owners(shop) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_both_of_the_last_two_owners_leave_without_the_lock() -> None:
    """Show what goes wrong without the lock: each transaction still sees the other owner."""
    shop = factories.make_shop()
    first, second = build_ownership_works(shop)

    run_unguarded(shop, first, second, locks={"staff_membership"})

    assert count_owners(shop) == 0


def test_a_staff_member_removed_by_another_user_is_not_found(manager_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop), shop)
    Membership.objects.filter(pk=index.pk).delete()

    with pytest.raises(RowDeleted):
        memberships.remove_member(index, by=manager_client.user, at=timezone.now())


# --- levels ---


def test_viewing_is_granted_and_recorded(manager_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop, "orders"), shop)

    change_permissions(manager_client, index, "orders:view")

    assert (index.permissions, index.view_only) == ([], ["orders"])
    event = Event.objects.get(topic="staff/update")
    assert event.changes == {"permissions": [["orders"], []], "view_only": [[], ["orders"]]}


def test_viewers_grant_nothing_beyond_viewing(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with(*MANAGE, view_only=["orders"])
    index = get_membership(factories.make_member(shop), shop)

    refused = change_permissions(panel, index, "orders")
    assert b"cannot be granted or revoked because you do not have them: orders" in refused.content
    assert (index.permissions, index.view_only) == ([], [])

    change_permissions(panel, index, "orders:view")
    assert (index.permissions, index.view_only) == ([], ["orders"])


def test_viewers_cannot_revoke_full_permissions(admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with(*MANAGE, view_only=["orders"])
    index = get_membership(factories.make_member(shop, "orders"), shop)

    change_permissions(panel, index)
    refused = change_permissions(panel, index, "orders:view")

    assert b"cannot be granted or revoked because you do not have them: orders" in refused.content
    assert (index.permissions, index.view_only) == (["orders"], [])


def test_a_name_at_both_levels_is_held_fully(manager_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop), shop)

    change_permissions(manager_client, index, "orders", "orders:view")

    assert (index.permissions, index.view_only) == (["orders"], [])


def test_an_invitation_can_be_for_viewing(manager_client: Panel, shop: Shop) -> None:
    invite_person(manager_client, permissions=["orders:view"])

    index = get_membership(User.objects.get(email="new@example.com"), shop)
    assert (index.permissions, index.view_only) == ([], ["orders"])


def test_the_list_names_the_presets(owner_client: Panel, shop: Shop) -> None:
    preset = PRESETS["Fulfillment"]
    full = [name for name in preset if not name.endswith(":view")]
    view_only = [name.removesuffix(":view") for name in preset if name.endswith(":view")]
    factories.make_member(shop, *full, view_only=view_only)
    page = owner_client.get("staff_membership_changelist").content
    factories.make_member(shop, *full, "customers", view_only=view_only)
    changed = owner_client.get("staff_membership_changelist").content

    assert b"Fulfillment" in page
    assert b"Fulfillment, changed" not in page
    assert b"Fulfillment, changed" in changed


def test_the_list_says_how_many_are_for_viewing(owner_client: Panel, shop: Shop) -> None:
    factories.make_member(shop, "orders", view_only=["themes", "pages"])
    factories.make_member(shop, view_only=["themes", "pages"])

    page = owner_client.get("staff_membership_changelist").content
    assert b"3 permissions, 2 view only" in page
    assert b"View only (2 areas)" in page


def test_a_level_changed_by_another_user_is_not_overwritten(owner_client: Panel, shop: Shop) -> None:
    index = get_membership(factories.make_member(shop, view_only=["orders"]), shop)
    seen = owner_client.get("staff_membership_change", index.pk).context["seen"]
    Membership.objects.filter(pk=index.pk).update(view_only=["themes"])

    response = change_permissions(owner_client, index, "orders", seen=seen)

    assert b"changed this in the meantime" in response.content
    assert (index.permissions, index.view_only) == ([], ["themes"])


@pytest.mark.parametrize("name", ["staff_membership_add", "staff_membership_change"])
def test_the_form_offers_no_more_than_one_holds(name: str, admin_client_with: PanelWith, shop: Shop) -> None:
    panel = admin_client_with(*MANAGE, view_only=["orders"])
    args = (get_membership(factories.make_member(shop), shop).pk,) if name.endswith("change") else ()

    lines = {line.name: line for _, lines in panel.get(name, *args).context["form"].groups for line in lines}

    assert [choice.is_locked for choice in lines["orders"].choices] == [False, False, True]
    assert not lines["orders"].is_locked
    assert lines["themes"].is_locked
