"""The kinds of notifications, registered in ``extensions``. A member needs the permission of a kind to get it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

from django_stubs_ext import StrOrPromise

from apps.core.registry import Registry
from apps.core.tenancy.models import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of notification.

    Attributes:
        permission: The Django permission that members need.
        list_page: The name of the list's URL in the panel. The menu shows the badge at this list.
        list_query: The query string of links to the list.
        object_page: The name of the URL of an object, or an empty string if emails only link to the list.
        get_text: Returns the text for a number of notifications, such as "3 new orders". The second argument is the
            number as text, such as "99+".
        get_names: Returns the names of objects by id, without deleted objects that have no name any more.
        find_pages: Returns the ids of objects that have a page.
    """

    name: str
    label: StrOrPromise
    permission: str
    list_page: str
    list_query: str = ""
    object_page: str = ""
    get_text: Callable[[int, str], str]
    get_names: Callable[[Sequence[int]], Mapping[int, str]]
    find_pages: Callable[[Sequence[int]], Collection[int]] = list


kinds = Registry[str, Kind]("kinds of notifications", get_key=attrgetter("name"))


def get_allowed_kinds(user: User) -> list[Kind]:
    """Return the kinds that a staff member of the current shop may get now."""
    return [kind for kind in kinds.values() if user.has_perm(kind.permission)]
