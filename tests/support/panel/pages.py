import io

from django.db.models import Model

from apps.core.jobs import queue as jobs
from apps.core.jobs.models import Job
from apps.core.tenancy.models import Shop
from apps.core.tenancy.scope import shop_scope
from apps.orders.models import Order
from tests.support.api_client import Response
from tests.support.panel.client import Panel
from tests.support.panel.html_forms import get_form
from tests.support.types import JsonObject

GRID = "inventory_inventoryitem_changelist"
UPLOAD = "imports_exports_import_upload"
NEW, CALCULATION = "refunds_refund_new", "refunds_refund_calculation"


def open_form(panel: Panel, order: Order, **query: str) -> dict[str, list[str]]:
    return get_form(panel.get(NEW, order.pk, **query).content, "note").data


def review_refund(panel: Panel, order: Order, typed: JsonObject) -> Response:
    return panel.http.post(panel.url(NEW, order.pk), {**open_form(panel, order), **typed, "step": "look"})


def confirm_refund(panel: Panel, order: Order, look: Response) -> Response:
    data = get_form(look.content, "seen").data
    return panel.http.post(panel.url(NEW, order.pk), {**data, "step": "refund"}, follow=True)


def refund_by_form(panel: Panel, order: Order, typed: JsonObject) -> Response:
    return confirm_refund(panel, order, review_refund(panel, order, typed))


def get_row_ids(order: Order) -> tuple[list[int], list[int]]:
    with shop_scope(order.shop):
        lines = order.line_items.order_by("pk").values_list("pk", flat=True)
        payments = order.transactions.filter(kind="sale").order_by("pk").values_list("pk", flat=True)
        return list(lines), list(payments)


def get_messages(response: Response) -> str:
    return " ".join(str(message) for message in response.context["messages"])


def build_cell(item: Model, location: Model, quantity: object, displayed: object = "") -> dict[str, str]:
    return {f"cell-{item.pk}-{location.pk}-{displayed}": str(quantity)}


def save_grid(panel: Panel, reason: str = "count", **cells: str) -> Response:
    return panel.http.post(panel.url(GRID), {"reason": reason, **cells}, follow=True)


def upload_file(panel: Panel, content: bytes, name: str = "in.jsonl") -> Response:
    file = io.BytesIO(content)
    file.name = name
    return panel.post(UPLOAD, form_key=panel.form_key(UPLOAD), file=file)


def run_latest_job(shop: Shop, task: str) -> None:
    with shop_scope(shop):
        key = Job.objects.filter(task=task).latest("pk").key
    assert jobs.run_job(key)


NO_METAFIELDS = {"metafields-TOTAL_FORMS": "0", "metafields-INITIAL_FORMS": "0"}
