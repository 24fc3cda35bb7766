"""Demo data of the catalog: products with images, collections, and stock at every location."""

from apps.catalog.demo.load import load_demo_catalog

__all__ = ["load_demo_catalog"]
