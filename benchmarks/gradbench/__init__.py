"""GradBench's twelve evals, written with this library, and a runner that compares it with other tools.

README.md of this folder says how to run it.
"""
