"""What a page showed of a thing without a version, so that saving overwrites nothing that came meanwhile.

The page carries a mark of it in the field ``seen``; ``apps.panel.screens.forms`` does the same for rows with a version.
"""

import hashlib

from django.http import HttpRequest
from django.utils.translation import gettext_lazy

MEANWHILE = gettext_lazy("Somebody changed this meanwhile. Nothing of yours is saved yet: look at it, then save again.")


def mark(*shown: object) -> str:
    """A mark of what is shown: equal for equal values."""
    return hashlib.sha256(repr(shown).encode()).hexdigest()[:20]


def changed_meanwhile(request: HttpRequest, *stored: object) -> bool:
    """Whether the submitted page showed something other than what is stored now."""
    seen = request.POST.get("seen", "")
    return bool(seen) and seen != mark(*stored)
