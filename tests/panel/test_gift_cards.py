"""Gift cards in the panel: the list, the page of a card, and the pages that issue, adjust and disable cards."""

import re
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core import mail
from django.utils import timezone

from apps.core.events.models import Event
from apps.core.jobs import queue
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.customers.domain import merge
from apps.customers.models import Customer
from apps.gift_cards.domain import codes, states
from apps.gift_cards.domain.gift_cards import create_card_without_code, disable_gift_card
from apps.gift_cards.models import GiftCard, GiftCardAdjustment
from apps.notifications.models import Notification
from tests.support import factories
from tests.support.api_client import Response
from tests.support.factories.customers import make_customer
from tests.support.factories.gift_cards import adjust, make_gift_card
from tests.support.panel.client import Panel, PanelWith
from tests.support.panel.html_forms import get_form

pytestmark = pytest.mark.usefixtures("in_shop")

LIST, ISSUE, CARD, ADJUST, DISABLE, CODE = (
    f"gift_cards_giftcard_{name}" for name in ("changelist", "add", "change", "adjust", "disable", "code")
)
YESTERDAY = timezone.now().date() - timedelta(days=1)
TOMORROW = str(timezone.now().date() + timedelta(days=2))


@pytest.fixture
def panel(admin_client_with: PanelWith) -> Panel:
    """Return a client for a staff member who may only manage gift cards."""
    return admin_client_with("gift_cards")


def read_code(response: Response) -> str:
    assert response.status_code == 201
    found = re.search(r'id="code" value="([^"]+)"', response.content.decode())
    assert found
    return found[1]


def list_ids(panel: Panel, **query: str) -> list[int]:
    return [row.pk for row in panel.get(LIST, **query).context["cl"].result_list]


def read_errors(response: Response) -> list[str]:
    assert response.status_code == 200
    return [str(error) for errors in response.context["form"].errors.values() for error in errors]


def run_job() -> Job:
    job = Job.objects.get(task="gift_cards.send_code")
    queue.run_job(job.key)
    job.refresh_from_db()
    return job


def fail_job(monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr("django.core.mail.EmailMessage.send", refuse)
    monkeypatch.setattr(queue, "MAX_ATTEMPTS", 1)
    job = run_job()
    monkeypatch.undo()
    return job


def refuse(*_: object) -> None:
    raise ConnectionRefusedError("The mail server is down")


def find_text(text: str) -> Iterator[str]:
    """Yield the tables that contain a text in any column."""
    for model in (GiftCard, GiftCardAdjustment, Event, Job, Notification):
        if any(text in str(row) for row in model._base_manager.values()):
            yield model.__name__


def test_a_card_is_issued_shown_once_adjusted_and_disabled(panel: Panel) -> None:
    customer = make_customer(first_name="Ada", email="ada@example.com")
    page = get_form(panel.get(ISSUE).content, "initial_value")
    typed = {"initial_value": "50", "customer_email": "ADA@example.com", "expires_on": TOMORROW, "note": "Birthday"}
    issued = panel.http.post(panel.url(ISSUE), page.data | typed)
    code = read_code(issued)
    card = GiftCard.objects.get()

    assert (card.balance, card.customer, card.note) == (Decimal(50), customer, "Birthday")
    assert str(card.expires_on) == TOMORROW
    assert card.code_digest == codes.calculate_digest(codes.normalize_code(code))
    assert "no-store" in issued["Cache-Control"]
    assert Job.objects.filter(task="gift_cards.send_code").count() == 0
    repeated = panel.http.post(panel.url(ISSUE), page.data | typed, follow=True)
    assert "shown only once" in repeated.content.decode()
    assert code not in repeated.content.decode()
    assert GiftCard.objects.count() == 1

    page = get_form(panel.get(ADJUST, card.pk).content, "amount")
    for _ in range(2):
        panel.http.post(panel.url(ADJUST, card.pk), page.data | {"amount": "12.50", "note": "Paid in the shop"})
    card.refresh_from_db()
    assert card.balance == Decimal("37.50")
    shown = panel.get(CARD, card.pk).content.decode()
    assert all(text in shown for text in ("37.50 USD", "-12.50", "Paid in the shop", "Balance changed by", "Ada"))

    assert "37.50 USD" in panel.get(DISABLE, card.pk).content.decode()
    panel.forge(DISABLE, card.pk)
    shown = panel.get(CARD, card.pk).content.decode()
    assert "Disabled" in shown
    assert "Adjust balance…" not in shown
    assert code not in shown
    assert [*find_text(codes.normalize_code(code)), *find_text(code)] == []


@pytest.mark.parametrize("typed", ["CODE CODE-aaaa", ""])
def test_the_code_of_a_moved_card_is_set_once(panel: Panel, typed: str) -> None:
    values = {"initial_value": Decimal(50)}
    card = create_card_without_code(values, "aaaa", actor="system", at=timezone.now())
    assert "Set code…" in panel.get(CARD, card.pk).content.decode()
    url, page = panel.url(CODE, card.pk), get_form(panel.get(CODE, card.pk).content, "code")
    wrong = panel.http.post(url, page.data | {"code": "codecode-bbbb"})
    assert read_errors(wrong) == ["Must end with aaaa."]

    response = panel.http.post(url, get_form(wrong.content, "code").data | {"code": typed})

    code = codes.normalize_code(read_code(response))
    assert code == "codecodeaaaa" if typed else len(code) == 16
    card.refresh_from_db()
    assert (card.code_digest, card.last_characters) == (codes.calculate_digest(code), code[-4:])
    assert list(find_text(code)) == []
    assert "Set code…" not in panel.get(CARD, card.pk).content.decode()
    again = panel.http.post(url, get_form(panel.get(CODE, card.pk).content, "code").data)
    assert read_errors(again) == ["Is already set."]


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ({}, "This field is required."),
        ({"initial_value": "0"}, "Must be greater than 0."),
        ({"initial_value": "1.005"}, "This amount has too many decimal places for USD."),
        ({"code": "short"}, "Must have 8 to 20 letters and digits."),
        ({"code": "TAKEN-0001"}, "Has already been taken."),
        ({"expires_on": str(YESTERDAY - timedelta(days=1))}, "Must not be in the past."),
        ({"expires_on": "soon"}, "Enter a valid date."),
        ({"customer_email": "nobody@example.com"}, "No customer has this email address. Add the customer first."),
        ({"sends_email": "on"}, "Enter the email address of a customer."),
        ({"recipient_email": "nobody@example.com"}, "No customer has this email address. Add the customer first."),
        (
            {"message": "Happy birthday"},
            "Select this option, or clear the recipient, the message and the date of the email.",
        ),
    ],
)
def test_invalid_values_are_explained_and_issue_nothing(panel: Panel, typed: dict[str, str], error: str) -> None:
    make_gift_card(code="taken0001")
    values = typed if not typed or "initial_value" in typed else {"initial_value": "5.00", **typed}

    response = panel.forge(ISSUE, **values)

    assert read_errors(response) == [error]
    assert GiftCard.objects.count() == 1


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ({"amount": "200", "note": "Used"}, "Is more than the balance of 100.00 USD."),
        ({"amount": "0", "note": "Used"}, "Must not be 0."),
        ({"amount": "5"}, "This field is required."),
        ({"amount": "999999999999", "kind": "add", "note": "Gift"}, "Makes the balance too large."),
    ],
)
def test_an_invalid_adjustment_changes_nothing(panel: Panel, typed: dict[str, str], error: str) -> None:
    card = make_gift_card()

    assert read_errors(panel.forge(ADJUST, card.pk, **{"kind": "subtract", **typed})) == [error]
    assert GiftCardAdjustment.objects.count() == 1


def test_amounts_are_added_and_disabled_cards_refuse_them(panel: Panel) -> None:
    card = make_gift_card()

    panel.forge(ADJUST, card.pk, kind="add", amount="5.50", note="Apology")
    disable_gift_card(card, actor="system", at=timezone.now())
    refused = panel.forge(ADJUST, card.pk, kind="add", amount="5.50", note="Apology")
    ledger = panel.get(CARD, card.pk).context["ledger"].rows

    assert ledger[0][1:3] == ("Apology", str(panel.user))
    assert "so its balance cannot be changed" in str(read_errors(refused))
    assert GiftCard.objects.get().balance == Decimal("105.50")


def test_a_long_ledger_has_pages(panel: Panel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.gift_cards.admin.gift_cards.ROWS_PER_PAGE", 2)
    card = make_gift_card("40.00")
    for amount in ("1.00", "2.00"):
        adjust(card.pk, amount)

    pages = [panel.get(CARD, card.pk, p=number) for number in (1, 2)]

    amounts = [[row[3] for row in page.context["ledger"].rows] for page in pages]
    assert amounts == [["2.00", "1.00"], ["40.00"]]
    assert 'href="?p=2"' in pages[0].content.decode()


def test_the_summary_says_what_issuing_the_card_does(panel: Panel) -> None:
    make_customer(first_name="Ada", email="ada@example.com")
    assert panel.get(ISSUE).context["summary"].title == "Gift card without a value yet"
    wrong = panel.post(ISSUE, initial_value="-5", step="summary").context["summary"]
    assert wrong.title == "Gift card with an invalid value"
    typed = {
        "initial_value": "50",
        "customer_email": "ada@example.com",
        "sends_email": "on",
        "expires_on": "2030-12-03",
    }

    summary = panel.post(ISSUE, **typed, step="summary").context["summary"]

    assert summary.title == "Gift card with a value of 50.00 USD"
    code = "With a new code, which is shown once"
    assert summary.terms == ["For Ada", code, "The code is sent to ada@example.com at once.", "Valid until 3 Dec 2030"]
    assert not GiftCard.objects.exists()


def test_note_expiry_and_customer_are_edited_with_a_conflict_check(panel: Panel) -> None:
    card, customer = make_gift_card(), make_customer(email="ada@example.com")
    page = get_form(panel.get(CARD, card.pk).content, model="giftcard")
    typed = page.data | {"note": "VIP", "expires_on": TOMORROW, "customer_email": "ada@example.com"}

    assert panel.http.post(panel.url(CARD, card.pk), typed).status_code == 302
    card.refresh_from_db()
    assert (card.note, str(card.expires_on), card.customer) == ("VIP", TOMORROW, customer)

    late = panel.http.post(panel.url(CARD, card.pk), {**page.data, "note": "Late", "form_key": ""})
    assert "changed this" in late.content.decode()
    assert "customer_email" not in get_form(panel.get(CARD, card.pk).content, model="giftcard").names
    assert GiftCard.objects.get().note == "VIP"


def test_views_agree_with_the_states_of_cards(panel: Panel) -> None:
    cards = {
        "active": make_gift_card(),
        "used": make_gift_card("5.00"),
        "expired": make_gift_card(),
        "disabled": make_gift_card(),
    }
    adjust(cards["used"].pk, "-5.00")
    disable_gift_card(cards["disabled"], actor="system", at=timezone.now())
    GiftCard.objects.filter(pk__in=(cards["expired"].pk, cards["disabled"].pk)).update(
        expires_on=YESTERDAY - timedelta(days=1)
    )

    assert {view: list_ids(panel, view=view) for view in cards} == {view: [card.pk] for view, card in cards.items()}
    assert len(list_ids(panel)) == 4
    for state, card in cards.items():
        card.refresh_from_db()
        assert states.get_state(card) == state
        assert list(GiftCard.objects.filter(states.build_state_condition(state))) == [card]


def test_cards_are_found_by_code_last_characters_and_customer(panel: Panel) -> None:
    customer = make_customer(first_name="Grace", last_name="Hopper")
    first = make_gift_card(code="ABCD EFGH IJKL MNOP", customer_id=customer.pk)
    second = make_gift_card(code="lunch2026", balance="5.00")
    second_ids = [second.pk]

    assert list_ids(panel, q="abcd-efgh-ijkl-mnop") == [first.pk]
    assert list_ids(panel, q="ABCD EFGH IJKL MNOP") == [first.pk]
    assert list_ids(panel, q="mnop") == [first.pk]
    assert list_ids(panel, q="Hopper") == [first.pk]
    assert list_ids(panel, q="LUNCH2026") == second_ids
    assert list_ids(panel, q="2026") == second_ids
    assert list_ids(panel, q="abcdefghijklmnox") == []
    assert list_ids(panel, balance_from="1000") == []


def test_view_only_staff_change_nothing(admin_client_with: PanelWith) -> None:
    panel, card = admin_client_with(view_only=["gift_cards"]), make_gift_card(note="VIP")

    page = panel.get(CARD, card.pk).content.decode()

    assert "VIP" in page
    assert "Adjust balance…" not in page
    assert panel.get(ISSUE).status_code == 403
    for name, values in ((ADJUST, {"kind": "add", "amount": "5", "note": "x"}), (DISABLE, {})):
        assert panel.forge(name, card.pk, **values).status_code == 403
    card.refresh_from_db()
    assert (card.balance, card.disabled_at) == (Decimal(100), None)


def test_cards_and_customers_of_other_shops_do_not_exist(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("customers", "gift_cards")
    other = factories.make_shop()
    with shop_scope(other):
        card = make_gift_card(code="abcdefghijklmnop")
        customer = make_customer(email="ada@example.com")

    for name in (CARD, ADJUST, DISABLE):
        assert panel.get(name, card.pk).status_code == 404
    assert panel.forge(DISABLE, card.pk).status_code == 404
    assert list_ids(panel, q="abcdefghijklmnop") == list_ids(panel) == []
    assert panel.get(ISSUE, customer=customer.pk).status_code == 404
    assert panel.get(ISSUE, customer="x").status_code == 404
    assert read_errors(panel.forge(ISSUE, initial_value="5", customer_email="ada@example.com"))


def test_the_customer_page_shows_cards_and_issues_one_for_the_customer(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("customers", "gift_cards")
    customer = make_customer(first_name="Ada", email="ada@example.com")
    make_gift_card("40.00", code="abcdefghijklmnop", customer_id=customer.pk)

    page = panel.get("customers_customer_change", customer.pk).content.decode()
    assert "Gift card ending in mnop" in page
    assert "40.00 USD" in page
    assert re.search(r">\s*Active\s*<", page)
    url = f"{panel.url(ISSUE)}?customer={customer.pk}"
    assert url in page

    form = get_form(panel.open(url).content, "initial_value")
    assert "customer_email" not in form.names
    read_code(panel.http.post(url, form.data | {"initial_value": "7.00"}))
    assert GiftCard.objects.get(initial_value=7).customer == customer

    assert admin_client_with("gift_cards").open(url).status_code == 403
    only_customers = admin_client_with("customers").get("customers_customer_change", customer.pk).content.decode()
    assert "ending in mnop" not in only_customers
    assert url not in only_customers


def test_merged_customers_keep_their_cards_on_the_page(admin_client_with: PanelWith) -> None:
    panel = admin_client_with("customers", "gift_cards")
    keep, other = make_customer(first_name="Ada"), make_customer(first_name="A.")
    make_gift_card(code="abcdefghijklmnop", customer_id=other.pk)

    merge.merge_customers(keep, other, {}, actor="system", at=timezone.now())

    assert "ending in mnop" in panel.get("customers_customer_change", keep.pk).content.decode()


def issue_with_email(panel: Panel, shop: Shop) -> str:
    make_customer(first_name="Ada", email="ada@example.com")
    values = {"customer_email": "ada@example.com", "sends_email": "on", "expires_on": TOMORROW}
    response = panel.forge(ISSUE, initial_value="50.00", **values)
    assert "is being sent to ada@example.com" in response.content.decode()
    return read_code(response)


def test_the_email_has_the_code_and_the_database_does_not(panel: Panel, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(primary_locale="de")
    code = issue_with_email(panel, shop)
    assert [*find_text(codes.normalize_code(code)), *find_text(code)] == []

    job = run_job()

    [message] = mail.outbox
    assert message.to == ["ada@example.com"]
    assert code in message.body
    assert "50,00 USD" in message.body
    assert "Geschenkgutschein" in message.subject
    card = GiftCard.objects.get()
    assert (job.state, job.arguments) == ("done", {"card_id": card.pk})
    assert "Code sent to the recipient by email" in panel.get(CARD, card.pk).content.decode()
    queue.retry_job(job)
    assert len(mail.outbox) == 1


def test_a_failed_email_is_reported_and_can_be_retried(
    panel: Panel, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = issue_with_email(panel, shop)

    job = fail_job(monkeypatch)

    assert (job.state, len(mail.outbox)) == ("failed", 0)
    assert code not in f"{job.error} {job.arguments}"
    card = GiftCard.objects.get()
    assert "The email with the code could not be sent" in panel.get(CARD, card.pk).content.decode()
    assert Notification.objects.filter(kind="failed_gift_card_email", subject_id=card.pk).count() == 1

    assert queue.retry_job(job)
    assert run_job().state == "done"
    assert code in mail.outbox[0].body


def test_cards_without_recipient_or_disabled_cards_send_nothing(panel: Panel, shop: Shop) -> None:
    issue_with_email(panel, shop)
    card = GiftCard.objects.get()
    Customer.objects.update(email="", email_key="")
    assert run_job().state == "failed"

    disable_gift_card(card, actor="system", at=timezone.now())
    queue.retry_job(Job.objects.get(task="gift_cards.send_code"))
    job = run_job()

    assert (job.state, job.arguments, mail.outbox) == ("done", {"card_id": card.pk}, [])


def test_a_card_is_sent_to_another_customer_on_a_day(panel: Panel, shop: Shop) -> None:
    Shop.objects.filter(pk=shop.pk).update(timezone="Europe/Berlin")
    make_customer(first_name="Ada", email="ada@example.com")
    recipient = make_customer(first_name="Bo", email="bo@example.com")
    day = timezone.now().date() + timedelta(days=30)
    typed = {
        "initial_value": "25.00",
        "customer_email": "ada@example.com",
        "sends_email": "on",
        "recipient_email": "bo@example.com",
        "message": "Happy <birthday>!\nAda",
    }

    late = panel.forge(ISSUE, **typed, send_on=str(day + timedelta(days=61)))
    assert read_errors(late) == ["Must be within 90 days."]
    expired = panel.forge(ISSUE, **typed, send_on=str(day), expires_on=TOMORROW)
    assert read_errors(expired) == ["Must not be after the expiry date."]
    past = panel.forge(ISSUE, **typed, send_on=str(day - timedelta(days=32)))
    assert read_errors(past) == ["This time is in the past. Leave the field blank to send the email at once."]
    assert not GiftCard.objects.exists()
    response = panel.forge(ISSUE, **typed, send_on=str(day))

    code, card = read_code(response), GiftCard.objects.get()
    assert "The code will be sent to bo@example.com on" in response.content.decode()
    assert (card.recipient, card.message) == (recipient, "Happy <birthday>!\nAda")
    local = Job.objects.get(task="gift_cards.send_code").due_at.astimezone(Shop.objects.get(pk=shop.pk).tzinfo)
    assert (local.date(), local.hour, local.minute) == (day, 8, 0)
    shown = panel.get(CARD, card.pk).content.decode()
    assert all(text in shown for text in ("Recipient", "Bo", "Email scheduled for", "Happy &lt;birthday&gt;!"))
    assert [*find_text(codes.normalize_code(code))] == []

    run_job()
    assert mail.outbox == []
    Job.objects.update(due_at=timezone.now())
    for _ in range(2):
        run_job()

    [message] = mail.outbox
    assert message.to == ["bo@example.com"]
    assert all(text in message.body for text in ("Hello Bo,", "Happy <birthday>!\nAda", code))


def test_the_new_code_can_be_copied_and_printed(panel: Panel) -> None:
    page = panel.forge(ISSUE, initial_value="5.00").content.decode()

    assert 'data-copy="code"' in page
    assert "data-print" in page.partition("bo-printed")[2]
