"""The other back end: steps become native code, by LLVM, where they have a form in it.

*   `llvm`: how code is written; `operations`: the code of steps on numbers; `mathematics`: NumPy's own loops.
*   `fusion`, `loops`, `sharing`: elementwise steps on arrays; `arrays`, `indexing`, `additions`: other steps on arrays;
    `storage`: all of them in the order of the program; `layouts`, `memory`: where their elements lie.
*   `program`, `slots`: all steps, in functions of a bearable size; `alike`: those that are alike are compiled once.
*   `control`, `tape`, `frames`: loops and branches; `types`, `tags`: whether a number is Python's or NumPy's in each
    round.
*   `entry`: how Python calls the code; `gate`, `structures`, `comparisons`: whether a call may go there; `callables`:
    how a call begins in C; `machine`: the compiler, and whether this machine is one that is known; `cache`: compiled
    code on disk; `compiled`: the native code of a way, from its text to its calls.
"""
