"""Read and write the file formats of tables: the encodings of CSV files, and .xlsx workbooks."""
