"""Print the summary of ``import_store --verify``, and write its findings to a file.

Values can be personal data, so they are only in the file, which only its owner can read.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields

from django.core.management.base import CommandError, OutputWrapper

from apps.core.sanitizing import SafeCsvWriter
from apps.store_imports.domain.source_client import SourceClient, SourceObject
from apps.store_imports.domain.verification import Finding, FindingKind, verify_import
from apps.store_imports.models import StoreImport

MAX_SHOWN_FINDINGS = 100
_COLUMNS = [field.name for field in fields(Finding)]


def verify_and_print(
    output: OutputWrapper, store_import: StoreImport, client: SourceClient, shop: SourceObject, *, report: str | None
) -> None:
    """Compare the shop with the store. Raise ``CommandError`` if there are differences that are not listed limits."""
    shown = 0

    def show(finding: Finding) -> None:
        nonlocal shown
        if finding.kind != FindingKind.NOT_COMPARED:
            shown += 1
        if finding.kind == FindingKind.NOT_COMPARED or shown <= MAX_SHOWN_FINDINGS:
            output.write(_describe(finding))

    with _open_report(report) as write:

        def record(finding: Finding) -> None:
            write(finding)
            show(finding)

        summaries = list(verify_import(store_import, client, shop, record))
    if shown > MAX_SHOWN_FINDINGS:
        where = "in the report" if report else "with --report FILE"
        output.write(f"… and {shown - MAX_SHOWN_FINDINGS} more, {where}")
    for summary in summaries:
        output.write(
            f"{summary.name}: {summary.equal} equal, {summary.differing} differing, {summary.missing} missing here, "
            f"{summary.deleted} deleted here, {summary.more} more here, {summary.limits} listed limits"
        )
    if total := sum(summary.differences for summary in summaries):
        raise CommandError(f"{total} {'object differs' if total == 1 else 'objects differ'}.")
    output.write("The shop is equal to the store, except for the listed limits.")


def _describe(finding: Finding) -> str:
    """Return a line without the values."""
    if finding.kind == FindingKind.NOT_COMPARED:
        return f"{finding.stream}: not compared: {finding.field}{': ' if finding.field else ''}{finding.reason}"
    number = finding.source_id if finding.source_id is not None else f"(this shop's {finding.target_id})"
    where = f" in {finding.field}" if finding.field else ""
    why = f": {finding.reason}" if finding.reason else ""
    return f"{finding.stream} {number}: {finding.kind}{where}{why}"


@contextmanager
def _open_report(path: str | None) -> Iterator[Callable[[Finding], None]]:
    """Yield a function that writes a finding to a file, if there is a path."""
    if not path:
        yield lambda finding: None
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.fchmod(descriptor, 0o600)
    except OSError as error:
        raise CommandError(f"The report {path} can't be written: {error.strerror}.") from None
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        if not path.lower().endswith(".csv"):
            yield lambda finding: print(json.dumps(finding.as_row(), ensure_ascii=False, default=str), file=file)
            return
        table = SafeCsvWriter(file, _COLUMNS)
        yield lambda finding: table.write({name: _to_cell(value) for name, value in finding.as_row().items()})


def _to_cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict | list) else value
