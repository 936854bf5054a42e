"""From bytes to columns of text and back: CSV, Parquet, CSVW, stores."""
