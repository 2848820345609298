"""Delta terms, Fig. 7 and 8; their cost is in test_cost."""

from shiftreset_ad.formulations.krawiec.delta import Add, DeltaNumber, OneHot, Scale, Zero, eval_delta, grad


def evaluated(delta, n, y_bar=1.0):
    x_bar = [0.0] * n
    eval_delta(y_bar, delta, x_bar)
    return x_bar


def test_evaluation():
    assert evaluated(Zero(), 2) == [0.0, 0.0]
    assert evaluated(OneHot(1), 2, 5.0) == [0.0, 5.0]
    assert evaluated(Scale(3.0, OneHot(0)), 2, 5.0) == [15.0, 0.0]
    assert evaluated(Scale(2.0, Add(Scale(3.0, OneHot(0)), Add(OneHot(1), OneHot(0)))), 2) == [8.0, 2.0]


def test_gradient_is_added_to():
    x_bar = [1.0, 2.0]
    eval_delta(1.0, OneHot(0), x_bar)
    assert x_bar == [2.0, 2.0]


def test_term_of_a_product():
    x, y = DeltaNumber(2.0, OneHot(0), 0), DeltaNumber(3.0, OneHot(1), 0)
    term = (x * y).delta
    assert isinstance(term, Add)
    assert (term.left.r, term.left.delta) == (3.0, x.delta)
    assert (term.right.r, term.right.delta) == (2.0, y.delta)


def test_a_result_that_is_used_twice_is_in_the_term_twice():
    x = DeltaNumber(2.0, OneHot(0), 0)
    y = x * x
    assert (y * y).delta.left.delta is (y * y).delta.right.delta
    assert grad(lambda x: (x * x) * (x * x))(2.0) == 32.0
