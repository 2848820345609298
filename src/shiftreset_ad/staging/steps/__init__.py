"""Steps: values that record each operation on them, and the trace of all steps of a run."""
