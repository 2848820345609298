"""The other back end: steps become native code, by LLVM, where they have a form in it.

*   `llvm`: how the code of a step is written; `operations`: the code of each step; `mathematics`: NumPy's own loops;
    `program`: all steps, in functions of a bearable size.
*   `entry`: how Python calls the code; `machine`: the compiler, and whether this machine is one that is known;
    `cache`: compiled code on disk; `compiled`: native code of a way, from its text to its calls.
"""
