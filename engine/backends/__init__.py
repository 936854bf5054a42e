"""The engines that run plans, DuckDB and Spark; the algorithms are in `transforms`."""
