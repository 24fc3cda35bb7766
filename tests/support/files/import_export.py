import io
import json
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.utils import timezone

from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop, User
from apps.core.tenancy.scope import shop_scope
from apps.imports_exports.domain import exports
from apps.imports_exports.models import Export, ImportedRow
from tests.support.types import JsonObject


def export_text(shop: Shop, user: User, kind: str, form: str, **filters: object) -> str:
    return export_bytes(shop, user, kind, form, **filters).decode("utf-8-sig")


def export_bytes(shop: Shop, user: User, kind: str, form: str, **filters: object) -> bytes:
    with shop_scope(shop):
        export = exports.create_export(
            kind=kind, format=form, filters=filters, user=user, actor="system", at=timezone.now()
        )
        job = Job.objects.get(task=exports.EXPORT, arguments={"export_id": export.pk})
    jobs.run_job(job.key)
    with shop_scope(shop):
        export.refresh_from_db()
    assert export.state == Export.State.READY
    with default_storage.open(export.path) as file:
        return file.read()


def import_text(shop: Shop, text: str, tmp_path: Path, name: str = "in.jsonl", **options: Any) -> str:
    """Import a text with the import command; return the command's output, even if rows fail."""
    return import_bytes(shop, text.encode(), tmp_path, name, **options)


def import_bytes(shop: Shop, content: bytes, tmp_path: Path, name: str, **options: Any) -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return import_file(shop, path, **options)


def import_file(shop: Shop, path: Path, **options: object) -> str:
    """Import a file with the import command; return the command's output, even if rows fail."""
    out = io.StringIO()
    try:
        call_command("import_orders", str(path), shop=shop.domain, stdout=out, **options)
    except CommandError as error:
        if not str(error).endswith("failed."):
            raise
    return out.getvalue()


def to_json_lines(*rows: JsonObject) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def get_row_results(shop: Shop) -> list[tuple[int, str, str]]:
    with shop_scope(shop):
        return list(ImportedRow.objects.filter(dry=False).order_by("line").values_list("line", "fate", "reason"))
