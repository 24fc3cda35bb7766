"""Merging a customer into another: everything goes to the one who stays, and the other is deleted.

What apps above keep of customers (orders, say) is registered here. Of few rows all is done in one transaction. Of many
a worker moves them in batches, each a transaction after which both customers show what they have; the customers
themselves follow in the last one. What comes for the one who goes meanwhile is moved like the rest, and a worker that
is killed leaves the rest to the next, which finds it by the rows themselves.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from apps.customers.domain import consents, merged
from apps.customers.domain.aggregate import BeingErased, refuse_while_erased
from apps.customers.domain.consents import Channel, consent_of
from apps.customers.domain.customers import tell_tags
from apps.customers.domain.merged import Choices, MergeRefused, Side
from apps.customers.domain.search_text import places_of, renew
from apps.customers.models import PERSONAL, SEARCHED, Address, ConsentChange, Customer, Invitation
from apps.events.domain.changes import assign
from apps.events.domain.recording import record_event
from apps.events.models import Event
from apps.ground.errors import Gone
from apps.ground.retelling import tells
from apps.jobs.domain import queue
from apps.jobs.models import Job
from apps.metafields.domain import moving
from apps.metafields.domain.owners import owner_of

MERGE, TOPIC = "customers.merge", "customers/merge"
# More rows than this are for a worker, who moves so many at once.
AT_ONCE = 250
_UNFINISHED = (Job.State.WAITING, Job.State.RUNNING)

Rows = Callable[[int], QuerySet[Any]]
# Gives rows that are held to a customer, ``(rows, keep_id, other_id, actor, at)``; both customers are held, too.
Move = Callable[[Sequence[Any], int, int, str, datetime], None]


@dataclass(frozen=True, slots=True)
class _Part:
    rows: Rows
    move: Move


_MERGED = tells(gettext_noop("Customer {merged} was merged into customer {number}"))


class MergeUnderWay(MergeRefused):
    """A worker is merging one of the two."""

    code = "merge_under_way"

    def __init__(self) -> None:
        """One wording for all of them."""
        super().__init__(_("One of the two customers is being merged already; try again once that is done."))


class _CameMeanwhile(Exception):
    """There are more rows to hold than there were before the customers were held."""


_parts: dict[str, _Part] = {}


def register(name: str, *, rows: Rows, move: Move) -> None:
    """Add what an app keeps of customers.

    Args:
        name: The part's key, e.g. ``orders``.
        rows: Those of a customer, by id; they are locked before customers.
        move: Gives some of them to another customer, records it, and lets both customers show it.
    """
    _parts[name] = _Part(rows, move)


def merge(keep: Customer, other: Customer, choices: Choices, *, actor: str, at: datetime) -> bool:
    """Merge a customer into another: now where there is little, else by a worker; gives whether it is done.

    A merge that was done before is done.

    Args:
        keep: Who stays.
        other: Who goes.
        choices: By field, whose value stays where both have one; see ``merged.FIELDS``.
        actor: Who wants it.
        at: When.

    Raises:
        BeingErased: A worker is erasing the personal data of one.
        Gone: One was deleted meanwhile.
        MergeRefused: The two are the same, the data of one was erased, or choices or values do not fit.
        MergeUnderWay: A worker is merging one of the two.
    """
    merged.check(choices)
    if keep.pk == other.pk:
        raise MergeRefused(_("A customer cannot be merged with itself."))
    if all(part.rows(other.pk).count() <= AT_ONCE for part in _parts.values()):
        _merge(keep.pk, other.pk, choices, actor=actor, at=at)
        return True
    with transaction.atomic():
        held = _locked(keep.pk, other.pk)
        if held is None:
            return True
        _check(*held, choices)
        queue.enqueue(MERGE, actor=actor, keep_id=keep.pk, other_id=other.pk, choices=dict(choices))
    return False


def refuse(keep: Customer, other: Customer, job: Job | None = None) -> None:
    """Say what stands against merging two customers; ``job`` is the one that merges them.

    Raises:
        BeingErased: A worker is erasing the personal data of one.
        MergeRefused: They are the same, or the data of one was erased.
        MergeUnderWay: A worker is merging one of the two.
    """
    if keep.pk == other.pk:
        raise MergeRefused(_("A customer cannot be merged with itself."))
    for customer in (keep, other):
        refuse_while_erased(customer)
        if customer.redacted_at is not None:
            words = _("The personal data of customer {number} was erased: nobody can tell who that was.")
            raise MergeRefused(words.format(number=customer.pk))
    if job is None and (job_of(keep.pk) or job_of(other.pk)):
        raise MergeUnderWay


def job_of(customer_id: int) -> Job | None:
    """The job that merges a customer, either way, if it has not ended."""
    named = Q(arguments__keep_id=customer_id) | Q(arguments__other_id=customer_id)
    found: Job | None = Job.objects.filter(named, state__in=_UNFINISHED, task=MERGE).order_by("pk").first()
    return found


def former_ids(customer_id: int) -> list[int]:
    """The numbers of those who were merged into a customer, also of those merged into them before."""
    found: list[int] = []
    wanted = [customer_id]
    while wanted:
        told = Event.objects.filter(
            topic=TOPIC, subject_type=Customer._meta.label_lower, subject_id__in=wanted
        ).values_list("changes", flat=True)
        wanted = [changes["merged_customer_id"][0] for changes in told if "merged_customer_id" in changes]
        wanted = [pk for pk in wanted if pk not in found]
        found += wanted
    return found


def run(job: Job, **arguments: Any) -> None:
    """Merge what is left; ``keep_id`` and ``other_id`` name the two, ``choices`` say whose values stay.

    Raises:
        GiveUp: It became impossible; what was moved stays moved.
        LeaseLost: The job is not ours any more.
    """
    keep_id, other_id, choices = arguments["keep_id"], arguments["other_id"], arguments["choices"]
    left = sum(part.rows(other_id).count() for part in _parts.values())
    # One more for the customers.
    total = max(job.progress_total, left + 1)
    done = total - left - 1
    try:
        for part in _parts.values():
            last = 0
            while moved := _move_next(job, part, keep_id, other_id, after=last):
                last = moved[-1].pk
                done += len(moved)
                queue.report_progress(job, done=min(done, total), total=total)
        _merge(keep_id, other_id, choices, actor=job.actor, at=timezone.now(), job=job)
    except (BeingErased, Gone, MergeRefused) as refusal:
        raise queue.GiveUp(refusal.sentence) from refusal
    queue.report_progress(job, done=total, total=total)


@transaction.atomic
def _move_next(job: Job, part: _Part, keep_id: int, other_id: int, *, after: int) -> list[Any]:
    """Move the next rows of a part behind an id in a transaction of their own; gives them, none where few are left.

    Without that id a database that goes along the ids would read those that were moved before, with each batch anew.
    """
    queue.hold(job)
    behind = part.rows(other_id).filter(pk__gt=after)
    rows = list(behind.select_for_update(of=("self",)).order_by("pk")[:AT_ONCE])
    held = _locked(keep_id, other_id)
    if held is None or len(rows) < AT_ONCE:
        return []
    refuse(*held, job)
    part.move(rows, keep_id, other_id, job.actor, timezone.now())
    return rows


@transaction.atomic
def _merge(keep_id: int, other_id: int, choices: Choices, *, actor: str, at: datetime, job: Job | None = None) -> None:
    """Move all that is left, make one of the two, and delete the other."""
    rows = _hold(keep_id, other_id, job)
    held = _locked(keep_id, other_id)
    if held is None:
        return
    _check(*held, choices, job)
    for part, own in zip(_parts.values(), rows, strict=True):
        part.move(own, keep_id, other_id, actor, at)
    # As they are after the orders have gone over.
    keep, other = Customer.objects.get(pk=keep_id), Customer.objects.get(pk=other_id)
    _unite(keep, other, choices, actor=actor, at=at)


def _hold(keep_id: int, other_id: int, job: Job | None) -> list[list[Any]]:
    """The rows of the parts, held, and then both customers.

    What was added before the customers were held is held in a second attempt; the first one's locks are let go of.
    """
    # Higher apps register later, and are locked earlier.
    chosen = list(reversed(_parts.values()))
    while True:
        with suppress(_CameMeanwhile), transaction.atomic():
            if job is not None:
                queue.hold(job)
            held = [list(part.rows(other_id).select_for_update(of=("self",)).order_by("pk")) for part in chosen]
            _locked(keep_id, other_id)
            for part, rows in zip(chosen, held, strict=True):
                if part.rows(other_id).exclude(pk__in=[row.pk for row in rows]).exists():
                    raise _CameMeanwhile
            return held[::-1]


def _locked(keep_id: int, other_id: int) -> tuple[Customer, Customer] | None:
    """Both customers as they are now, held; None where the one was merged into the other before.

    Raises:
        Gone: One was deleted.
    """
    rows = Customer.objects.select_for_update(of=("self",)).filter(pk__in=(keep_id, other_id)).order_by("pk")
    found = {row.pk: row for row in rows}
    if len(found) == len({keep_id, other_id}):
        return found[keep_id], found[other_id]
    if keep_id in found and other_id in former_ids(keep_id):
        return None
    raise Gone


def _check(keep: Customer, other: Customer, choices: Choices, job: Job | None = None) -> None:
    """Refuse what cannot be merged, of two who are held."""
    refuse(keep, other, job)
    merged.values(keep, other, choices)


def _unite(keep: Customer, other: Customer, choices: Choices, *, actor: str, at: datetime) -> None:
    """Make one customer of two who are held, once nothing else refers to the other."""
    before = keep.tags
    values = merged.values(keep, other, choices)
    agreed = {channel: merged.consent(channel, keep, other, choices) for channel in Channel}
    default = _take_addresses(keep, other, choices)
    replacing = merged.side_of("metafields", keep, other, choices) is Side.OTHER
    moving.move(owner_of(keep), other.pk, keep.pk, replacing=replacing, actor=actor, at=at)
    for model in (ConsentChange, Invitation):
        model.objects.filter(customer=other).update(customer=keep)
    record_event("customers/delete", other, actor=actor, at=at, changes={"merged_into_id": [None, keep.pk]})
    values |= merged.account(keep, other, choices)
    # Gone before the one who stays takes the e-mail and the phone.
    merged_id = other.pk
    other.delete()
    shown = {name: value for name, value in values.items() if name not in ("email_key", "password", *_LINK)}
    changes = assign(keep, shown, personal=PERSONAL)
    for name, value in values.items():
        setattr(keep, name, value)
    columns = [*values, "default_address", *SEARCHED]
    noted = [channel for channel, consent in agreed.items() if consent != consent_of(keep, channel)]
    for channel in noted:
        columns += consents.put(keep, channel, agreed[channel])
    keep.default_address = default
    renew(keep, places_of(keep))
    keep.save(update_fields=columns)
    for channel in noted:
        consents.note(keep, channel, actor=actor, at=at)
    keep.merged_id = merged_id
    message = _MERGED.format(merged=merged_id, number=keep.pk)
    told = {"merged_customer_id": [merged_id, keep.pk]}
    record_event(TOPIC, keep, actor=actor, at=at, changes=told, message=message)
    record_event("customers/update", keep, actor=actor, at=at, changes=changes)
    tell_tags([(keep, before)], actor=actor, at=at)


_LINK = ("activation_nonce", "activation_expires_at")


def _take_addresses(keep: Customer, other: Customer, choices: Choices) -> Address | None:
    """Give the one who stays the addresses that they do not have; gives the default one of them all."""
    own: dict[tuple[str, ...], Address] = {}
    for row in Address.objects.filter(customer=keep).order_by("-pk"):
        own[merged.same_place(row)] = row
    taken, wanted = [], keep.default_address
    from_other = merged.side_of("default_address", keep, other, choices) is Side.OTHER
    for row in Address.objects.filter(customer=other).order_by("pk"):
        place = merged.same_place(row)
        if place not in own:
            own[place] = row
            taken.append(row.pk)
        if from_other and row.pk == other.default_address_id:
            wanted = own[place]
    Address.objects.filter(pk__in=taken).update(customer=keep)
    return wanted
