"""Dense vectors, Fig. 5 and 6."""

from shiftreset_ad.formulations.krawiec.dense import DenseNumber, Vector, grad


def test_vectors():
    assert Vector.zero(3).components == [0.0, 0.0, 0.0]
    assert Vector.one_hot(3, 1).components == [0.0, 1.0, 0.0]
    assert (Vector.one_hot(2, 0).scale(3.0) + Vector.one_hot(2, 1)).components == [3.0, 1.0]


def test_a_number_has_the_whole_gradient():
    x, y = (DenseNumber(v, Vector.one_hot(2, i), 0) for i, v in enumerate((2.0, 3.0)))
    assert (x * y + x).vector.components == [4.0, 2.0]


def test_one_run():
    calls = []

    def f(x):
        calls.append(x)
        return x[0] * x[1] * x[2]

    assert grad(f)((2.0, 3.0, 5.0)) == (15.0, 10.0, 6.0)
    assert len(calls) == 1
