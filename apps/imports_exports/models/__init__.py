from apps.imports_exports.models.files import (
    EXPORTS,
    IMPORTS,
    Export,
    Format,
    Import,
    ImportedRow,
    resource_labels,
)
