from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FormSummary:
    """What a form will do, in words: the title, one line for each term, and a hint. See panel/form_summary.html."""

    title: str
    terms: Sequence[str] = ()
    hint: str = ""
