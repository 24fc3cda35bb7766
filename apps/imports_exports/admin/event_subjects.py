"""Names of imports in the audit log: the names of the files."""

from collections.abc import Collection

from apps.core.admin.display.subjects import SubjectName, SubjectNames, subject_names
from apps.imports_exports.models import Import


def _name_imports(ids: Collection[int]) -> dict[int, SubjectName]:
    return {row.pk: SubjectName(str(row), row.pk) for row in Import.rows().filter(pk__in=ids).only("name")}


subject_names.add(SubjectNames(Import, Import, _name_imports))
