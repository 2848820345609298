"""The front end: values that record each operation on them as a step."""
