from apps.imports_exports.models.files import (
    ENCODING_NAMES,
    EXPORTS,
    IMPORTS,
    TABLES,
    Encoding,
    Export,
    Format,
    Import,
    ImportedRow,
    SavedMapping,
    resource_labels,
)
