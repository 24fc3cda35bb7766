"""Say first why an import failed or refused rows, and find the import that a corrected file belongs to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import Http404, HttpRequest
from django.utils.translation import gettext as _

from apps.core.admin.forms.error_display import format_message
from apps.core.i18n import formats
from apps.imports_exports.admin.result_display import RowDisplay
from apps.imports_exports.domain.csv_reader import UnreadableFile
from apps.imports_exports.domain.imports import get_file_columns
from apps.imports_exports.models import Import, ImportedRow

_RESULTS = ImportedRow.Fate


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why an import failed or refused rows, and how many rows were imported and refused."""

    reason: str
    counts: str
    is_failure: bool


def describe_outcome(
    import_job: Import, counts: Mapping[str, int], failures: Sequence[RowDisplay], *, is_preview: bool
) -> Outcome | None:
    """Return the outcome of an import with a problem or refused rows, or None for all other imports."""
    refused = counts.get(_RESULTS.FAILED, 0)
    if not (import_job.problem or refused) or import_job.state in {Import.State.CHECKING, Import.State.IMPORTING}:
        return None
    reason = format_message(import_job.problem) if import_job.problem else _find_main_reason(failures)
    imported = sum(counts.get(result.value, 0) for result in (_RESULTS.NEW, _RESULTS.CHANGED, _RESULTS.SKIPPED))
    if import_job.state == Import.State.FAILED and (is_preview or not imported):
        text = _("Nothing was imported.")
    elif is_preview and not refused:
        text = _("Nothing has been imported yet.")
    elif is_preview:
        text = _("Rows with errors, which will not be imported: {refused} of {total}.")
    else:
        text = _("Rows imported: {imported}. Rows refused: {refused}.")
    numbers = {"imported": imported, "refused": refused, "total": imported + refused}
    return Outcome(
        reason,
        text.format(**{name: formats.format_integer(number) for name, number in numbers.items()}),
        is_failure=import_job.state == Import.State.FAILED or bool(import_job.problem),
    )


def _find_main_reason(failures: Sequence[RowDisplay]) -> str:
    """Return the reason that occurs most often, or the first reason with its line if all reasons differ."""
    if not failures:
        return _("Some rows have errors.")
    ((reason, count),) = Counter(row.reason for row in failures).most_common(1)
    if count == len(failures):
        return reason
    if count > 1:
        return _("The most frequent error: {reason}").format(reason=reason)
    return _("Line {line}: {reason}").format(line=failures[0].line, reason=failures[0].reason)


def get_unmapped_columns(import_job: Import) -> Mapping[str, Sequence[str]]:
    """Return the columns and first values of a table with a problem, which must be mapped before the import."""
    if not (import_job.problem and import_job.has_table):
        return {}
    try:
        return get_file_columns(import_job)
    except UnreadableFile:
        return {}


def find_corrected_import(request: HttpRequest) -> Import | None:
    """Return the import in the query string. The upload corrects the file of this import.

    Raises:
        Http404: If the shop has no such import.
    """
    number = request.GET.get("corrects")
    if number is None:
        return None
    is_id = number.isascii() and number.isdecimal() and len(number) <= 18
    corrected = Import.rows().filter(pk=number).first() if is_id else None
    if corrected is None:
        raise Http404(_("The corrected import no longer exists"))
    return corrected
