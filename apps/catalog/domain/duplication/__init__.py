"""Duplicate products and collections. A copy refers to the same image files as its original."""
