import io
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress

from django.http import FileResponse
from django.utils.cache import add_never_cache_headers

from apps.core.sanitizing import SafeCsvWriter


def create_csv_response(name: str, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> FileResponse:
    """Write a CSV file to disk and return it, because a file with a million rows would need too much memory."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
    try:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
        writer = SafeCsvWriter(text, columns)
        for row in rows:
            writer.write(row)
        text.detach()
        file.seek(0)
    except BaseException:
        # The file has no name, so that closing it frees its space on a full disk.
        with suppress(OSError):
            file.close()
        raise
    response = FileResponse(file, as_attachment=True, filename=name)
    response["Content-Type"] = "text/csv; charset=utf-8"
    add_never_cache_headers(response)
    return response
