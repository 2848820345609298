"""Minima, saddle points and equations over structures of variables, and two ways to differentiate through them.

`minima` has `minimize` and its kin. `implicit` has the derivative of a solution, and `parameters` finds what it depends
on. A method is a generator of rounds, and `methods` has their names; `running` says when they end.

>>> from shiftreset_ad import grad, optimize
>>> round(grad(lambda p: optimize.argmin(lambda x: (x - p**2) ** 2, 0.0))(3.0), 6)
6.0
"""

from shiftreset_ad.optimize.constraints import Box, Simplex
from shiftreset_ad.optimize.descent import Armijo, GradientDescent, ProjectedGradient
from shiftreset_ad.optimize.equations import Anderson, Iteration, Newton
from shiftreset_ad.optimize.games import Extragradient, Optimistic
from shiftreset_ad.optimize.linear import linear_solve
from shiftreset_ad.optimize.minima import argmax, argmin, maximize, minimize
from shiftreset_ad.optimize.mirrors import Mirror, MirrorDescent
from shiftreset_ad.optimize.newton import NewtonCG
from shiftreset_ad.optimize.quasi_newton import BFGS, LBFGS
from shiftreset_ad.optimize.results import Iterate, NotConvergedError, Result, reason
from shiftreset_ad.optimize.ridges import FollowTheRidge
from shiftreset_ad.optimize.roots import fixed_point, root
from shiftreset_ad.optimize.saddles import Saddle, minimax
from shiftreset_ad.optimize.schedules import cosine_decay, exponential_decay, warmup
from shiftreset_ad.optimize.scipy_methods import Scipy
from shiftreset_ad.optimize.training import adam, sgd
from shiftreset_ad.optimize.vectors import ravel

__all__ = [
    "BFGS",
    "LBFGS",
    "Anderson",
    "Armijo",
    "Box",
    "Extragradient",
    "FollowTheRidge",
    "GradientDescent",
    "Iterate",
    "Iteration",
    "Mirror",
    "MirrorDescent",
    "Newton",
    "NewtonCG",
    "NotConvergedError",
    "Optimistic",
    "ProjectedGradient",
    "Result",
    "Saddle",
    "Scipy",
    "Simplex",
    "adam",
    "argmax",
    "argmin",
    "cosine_decay",
    "exponential_decay",
    "fixed_point",
    "linear_solve",
    "maximize",
    "minimax",
    "minimize",
    "ravel",
    "reason",
    "root",
    "sgd",
    "warmup",
]
