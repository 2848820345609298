"""The benchmark programs of Pearlmutter and Siskind's system, as tests of the library itself.

The programs and their answers are in the authors' public repository Functional-AutoDiff/STALINGRAD, in the folders
examples/automatic and examples/examples2009. Two more of them, `saddle` and `particle` in all mixes of forward and
reverse mode, are `examples/nested_modes.py`.
"""
