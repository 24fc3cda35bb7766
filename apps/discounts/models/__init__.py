from apps.discounts.models.codes import CodeBatch, DiscountCode, DiscountUse
from apps.discounts.models.price_rules import PriceRule, PriceRuleItem

__all__ = ["CodeBatch", "DiscountCode", "DiscountUse", "PriceRule", "PriceRuleItem"]
