"""Stacks: many tangents or cotangents at once, along a new first axis."""
