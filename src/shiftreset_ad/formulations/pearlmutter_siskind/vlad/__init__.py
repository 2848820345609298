"""The language of Pearlmutter and Siskind 2008 to the letter of section 4: lambda calculus, with tags on values.

The modules around this package have the paper's idea in a practical form, in which reals carry no tags, and pairs and
sums are values. Here the only structures are closures, and `J r` is a tagged real:

1.  `expressions`: variables with tags and their order, free variables F, base free variables B, A-normal form;
2.  `encoding`: programs of the core language without pairs, constants and conditionals: CONS, CAR, CDR;
3.  `values`: values, `conforms`, `matches`, `zero`, `plus`, `J`, `J_inverse`;
4.  `transform`: phi, rho, and the reverse transform of a lambda expression;
5.  `basis`: the top-level environment, with the primitives and their transforms;
6.  `evaluator`: E and A.

An encoded pair is a closure, so its sensitivity is the list of the sensitivities of its two parts. The paper writes a
pair there, where it has the transform of a binary primitive; its implementation has pairs of its own, and both agree.

>>> from shiftreset_ad.formulations.language import parse
>>> from shiftreset_ad.formulations.pearlmutter_siskind.vlad import run
>>> run(parse("snd ((snd ((J (fun x -> x * x)) (J 3.0))) 1.0)"))
np.float64(6.0)
"""

from shiftreset_ad.formulations.pearlmutter_siskind.vlad.basis import value_of
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.evaluator import run
from shiftreset_ad.formulations.pearlmutter_siskind.vlad.values import TopLevel

__all__ = ["run"]

# `J` of a closure needs the environment, and the environment has `J` in it. This circle is closed here.
TopLevel.value_of = value_of
