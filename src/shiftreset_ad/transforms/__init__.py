"""The operators: each makes a function of a function."""
