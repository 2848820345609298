"""The operators, by family: each file enters its functions in the table."""
