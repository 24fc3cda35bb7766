from apps.store_imports.models.connections import StoreConnection
from apps.store_imports.models.store_imports import ImportProblem, MappedId, StoreImport, StreamState
