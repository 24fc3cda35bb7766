"""Read order tables of other systems, which contain totals and dates instead of transactions, taxes and refunds."""
