"""Programs that people differentiate, in several libraries: `python -m benchmarks.programs`.

Each program of `losses` is written once, over the NumPy that it is given. In one run the libraries take turns, on one
thread; before they are timed, they have to agree on the value and on the derivative, and with finite differences.
"""
