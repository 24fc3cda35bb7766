"""Names and pages of discounts, codes and batches in the audit log."""

from collections.abc import Collection

from django.utils.translation import gettext as _

from apps.core.admin.display.subjects import SubjectName, SubjectNames, subject_names
from apps.discounts.models import CodeBatch, DiscountCode, PriceRule


def _name_rules(ids: Collection[int]) -> dict[int, SubjectName]:
    return {row.pk: SubjectName(row.title, row.pk) for row in PriceRule.rows().filter(pk__in=ids)}


def _name_codes(ids: Collection[int]) -> dict[int, SubjectName]:
    return {row.pk: SubjectName(row.code, row.rule_id) for row in DiscountCode.rows().filter(pk__in=ids)}


def _name_batches(ids: Collection[int]) -> dict[int, SubjectName]:
    rows = CodeBatch.rows().filter(pk__in=ids).select_related("rule").defer("results")
    return {
        row.pk: SubjectName(_("{title}: {count} codes").format(title=row.rule, count=row.codes_count), row.rule_id)
        for row in rows
    }


subject_names.add(SubjectNames(PriceRule, PriceRule, _name_rules))
subject_names.add(SubjectNames(DiscountCode, PriceRule, _name_codes))
subject_names.add(SubjectNames(CodeBatch, PriceRule, _name_batches))
