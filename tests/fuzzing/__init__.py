"""Random programs of NumPy's users, and the derivatives of each by many routes: do all of them agree?

`python tests/fuzzing 20000 --seed 1 --processes 2` looks at that many programs. What is found is shrunk, and printed as
a program that can be pasted and run. `test_fuzzing.py` looks at a few hundred, and has broken rules found.

*   `programs.py`: a program is a list of statements in Python, which can be run, printed and taken apart;
*   `operations.py`: the table of all statements; `blocks.py`: those of several lines, with functions in them;
*   `generation.py`: statements are drawn, and kept if NumPy can run them;
*   `plain.py`: what the library's functions are in plain NumPy; `differences.py`: derivatives from values alone;
*   `routes.py`: the ways to a derivative; `thresholds.py`: the sizes from which the library goes another way;
*   `check.py` compares; `shrinking.py` takes away what a counterexample does not need.
"""
