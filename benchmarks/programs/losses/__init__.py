"""The programs, a module for each.

A module has `arguments(rng, small)`, which makes the parameters and the data, and `loss(np, parameters, data)`,
over the NumPy of a library. Where it has `loss_in_place`, too, which writes to arrays, our library takes this one. Its
`DERIVATIVE` is "hvp" where the product of the Hessian with a vector is wanted instead of the gradient. The libraries
that cannot run it are in `WITHOUT`, and its docstring says why.
"""
