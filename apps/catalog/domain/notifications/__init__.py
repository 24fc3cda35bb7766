"""Tell apps and other parts of the product about changes to products that they could not notice themselves."""
