"""Random programs in plain Python, staged: their answers and derivatives are those that the programs have unstaged.

`generation` writes a program, `check` calls it in turns with its staged form, `shrinking` makes a counterexample small,
and `python -m tests.staging.programs 2000 --seed 7` looks at any number of programs.
"""
