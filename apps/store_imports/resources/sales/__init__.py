"""Import discounts, gift cards and draft orders."""
