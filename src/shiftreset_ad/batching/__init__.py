"""Batches: a function of one row is carried out for all rows at once.

*   `vmap`: the operator; `axes`: arguments taken apart into rows, and answers put together;
*   `recorder`: the function is recorded for one row, as `staged` does it; `closures`: numbers that it closes over;
*   `within`: `vmap` in a function that is itself being recorded;
*   `program`: the recorded steps, carried out for all rows; `writing`: steps that write in place;
*   `rows`: the values of all rows; `ways`: how functions work on them, with `table`, `along`, `elements`,
    `products`, `shapes`.
"""

from shiftreset_ad.batching.vmap import Batched, vmap

__all__ = ["Batched", "vmap"]
