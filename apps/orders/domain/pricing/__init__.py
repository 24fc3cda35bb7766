"""Calculate the amounts of orders: prices, discounts, taxes and totals."""
