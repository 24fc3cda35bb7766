"""Columns that hold no words of customers: what files are.

See ``apps.ground.personal``.
"""

from apps.ground.personal import Places

IMPERSONAL: Places = {
    "exchange.Export": ("kind", "key", "file", "parts"),
    "exchange.Import": ("digest", "key", "actor", "counts", "passed_over"),
    "exchange.ImportedRow": ("kind",),
}
