"""Redirect the paths that objects have in the store to their paths in this shop.

The paths differ if the handle of an object has changed since it was imported, or can't be used in this shop.
"""

from collections.abc import Sequence
from dataclasses import replace

from apps.content.domain.online_store.redirect_paths import InvalidRedirectPath, build_path_key
from apps.content.domain.online_store.redirects import find_redirects, redirect_renamed_path
from apps.core.exceptions import DomainError
from apps.core.i18n.messages import define_message
from apps.store_imports.domain.source_client import SourceObject, refuse_malformed
from apps.store_imports.domain.streams import ACTOR, ObjectResult, Outcome, Source, Stream

_PATH_IN_USE = define_message(
    "store_imports.path_in_use",
    "There is no redirect from {path}, the path in the store, because another object of this shop has this path.",
)


def redirect_source_paths(
    source: Source, stream: Stream, objects: Sequence[SourceObject], results: Sequence[ObjectResult]
) -> list[ObjectResult]:
    """Create redirects for written objects with other paths in the store. Return the results with added notes."""
    noted = list(results)
    written = {
        index: result.target_id
        for index, result in enumerate(results)
        if result.target_id is not None and result.outcome != Outcome.FAILED
    }
    if not stream.path_prefix or not written:
        return noted
    rows = stream.model._default_manager.all()
    ours = stream.get_paths(rows.filter(pk__in=written.values()).order_by())
    moved: dict[int, tuple[str, str]] = {}
    for index, target_id in written.items():
        with refuse_malformed(stream.name, objects[index]):
            path = stream.get_source_path(objects[index])
        if target_id in ours and build_path_key(path) != build_path_key(ours[target_id]):
            moved[index] = (path, ours[target_id])
    if not moved:
        return noted
    handles = {path.rpartition("/")[2] for path, _ in moved.values()}
    used = set(map(build_path_key, stream.get_paths(rows.filter(handle__in=handles).order_by()).values()))
    existing = find_redirects([build_path_key(path) for path, _ in moved.values()])
    for index, (path, target) in moved.items():
        key = build_path_key(path)
        if key in existing and existing[key].target_key == build_path_key(target):
            continue
        result = results[index]
        if key in used:
            noted[index] = replace(result, problem=result.problem or _PATH_IN_USE(path=path))
            continue
        try:
            redirect_renamed_path(path, target, actor=ACTOR, at=source.at)
        except (DomainError, InvalidRedirectPath) as error:
            problem = error.sentence if isinstance(error, DomainError) else error.args[0]
            noted[index] = replace(result, problem=result.problem or problem)
    return noted
