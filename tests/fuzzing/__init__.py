"""Random programs of NumPy's users, and the derivatives of each by many routes: do all of them agree?

`python -m tests.fuzzing 20000 --seed 1 --processes 2` looks at that many programs. What is found is shrunk, and printed
as a program that can be pasted and run. `test_fuzzing.py` looks at a few hundred, and has broken rules found.
"""
