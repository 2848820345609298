"""Plain Python is rewritten by its syntax tree, so that tests of staged values become branches and loops.

*   `source`: the tree of a function, proved to be what runs. `names`, `liveness`: what a block binds, reads and leaves.
    `private`: the whole names of variables that are private to a class.
*   `generators`, `comparisons`, `jumps`: rewriting that is done first. `rewriting`: tests, loops and calls. `facts`:
    what these tell one another.
*   `running`: what rewritten code calls. `sites`: a test takes over when it is staged; `blocks` are its functions, on
    the variables of `frames`, and `sequences` are what a loop goes over. `effects`, `contents`: what a block changes.
*   `session`: what the front end knows of staged values, which is a stand-in in its tests. `writing`: the one that
    records. `refusals`: why a site asks instead. `users`: which functions are followed.
"""
