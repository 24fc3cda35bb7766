from apps.documents.models.documents import DocumentCounter, IssuedDocument, Kind
from apps.documents.models.settings import DocumentLogo, DocumentSettings, Language
