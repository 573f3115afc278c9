"""MatMul, Gemm, Einsum and Det."""

import hone_ctypes
import numpy as np
import pytest
from one_node import check, feeds_of, node_model

F32 = np.float32
RNG = np.random.default_rng(2)


def normal(*shape, dtype=F32):
    return RNG.standard_normal(shape).astype(dtype)


def integers(*shape):
    return RNG.integers(-9, 9, shape).astype(np.int32)


@pytest.mark.parametrize("a,b", [
    ((3, 4), (4, 5)), ((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (2, 4, 5)), ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((2, 3, 4), (1, 4, 5))])
def test_matmul(a, b):
    for opset in (1, 9, 13):
        check("MatMul", [normal(*a), normal(*b)], opset)
    check("MatMul", [integers(*a), integers(*b)], 9)


def test_matmul_of_half_sums_in_single():
    a, b = normal(3, 400).astype(np.float16), normal(400, 5).astype(np.float16)
    expected = (a.astype(F32) @ b.astype(F32)).astype(np.float16)
    check("MatMul", [a, b], 13, expected=[expected], rtol=2e-3)


@pytest.mark.parametrize("c", [None, (3, 5), (5,), (1, 5), (3, 1), (1,), ()])
@pytest.mark.parametrize("trans_a", [0, 1])
@pytest.mark.parametrize("trans_b", [0, 1])
def test_gemm(trans_a, trans_b, c):
    a = normal(*((4, 3) if trans_a else (3, 4)))
    b = normal(*((5, 4) if trans_b else (4, 5)))
    inputs = [a, b] + ([] if c is None else [np.asarray(normal(*c))])
    attrs = {"transA": trans_a, "transB": trans_b}
    check("Gemm", inputs, 13, attrs | {"alpha": 0.5, "beta": 2.0})
    if c is None:
        return
    for opset in (7, 9, 11):
        check("Gemm", inputs, opset, attrs)
    product = (a.T if trans_a else a) @ (b.T if trans_b else b)
    for opset in (1, 6):
        check("Gemm", inputs, opset, attrs | {"broadcast": 1, "alpha": 0.5},
              expected=[F32(0.5) * product + inputs[2]])


EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)), ("ii->i", (3, 3)),
    ("ii", (3, 3)), ("ii->", (3, 3)), ("...ii->...i", (2, 3, 3)),
    ("...ij,...jk->...ik", (2, 3, 4), (2, 4, 5)), ("...ij,...jk", (2, 3, 4), (2, 4, 5)),
    ("ij->ji", (3, 4)), ("ji", (3, 4)), ("i,i", (3,), (3,)), ("i,j", (3,), (4,)), (",->", (), ()),
    ("ij,->ij", (3, 4), ()), ("ij->", (3, 4)), ("i...->...", (3, 4, 5)), ("...", (3, 4)),
    ("bhwc,hkc->bhwk", (2, 3, 4, 5), (3, 6, 5)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("ij,jk,kl", (2, 3), (3, 4), (4, 5)), ("iij->ij", (3, 3, 4)), ("iji->j", (3, 4, 3)),
    ("iijj->ij", (2, 2, 3, 3)), ("iii->i", (3, 3, 3)), ("i j , j k -> i k", (2, 3), (3, 4)),
    ("ab,ab->", (2, 3), (2, 3)), ("ab,ab->ba", (2, 3), (2, 3)),
    ("a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)), ("a,b,c->cab", (2,), (3,), (4,)),
    ("bn,anm,bm->ba", (2, 3), (4, 3, 5), (2, 5)), ("...a,...b->...ab", (2, 1, 4), (2, 3, 5)),
    ("...a,...b->...ab", (3, 4), (2, 3, 5)), ("ij,ij->ij", (1, 3), (2, 3)),
    ("ab,b->a", (0, 3), (3,)), ("ab,bc->ac", (2, 0), (0, 3)),
]


@pytest.mark.parametrize("equation,shapes", [(e, s) for e, *s in EQUATIONS])
def test_einsum(equation, shapes):
    inputs = [np.asarray(normal(*s)) for s in shapes]
    expected = np.asarray(np.einsum(equation.replace(" ", ""), *inputs))
    check("Einsum", inputs, 12, {"equation": equation}, expected=[expected], rtol=1e-4, atol=1e-5)


def test_einsum_of_integers_and_capital_letters():
    a, b = integers(3, 4), integers(4, 5)
    check("Einsum", [a, b], 12, {"equation": "aB,Bc->ca"}, expected=[(a @ b).T])


@pytest.mark.parametrize("equation", [
    "ij,jk", "ij->k", "i->i", "ij->ii", "i1->i", "ij->ij->", "(", "ij,", "", "..ij->ij", "ij-ji"])
def test_einsum_refuses_bad_equations(equation):
    x = normal(3, 4)
    with pytest.raises(hone_ctypes.HoneError, match="equation"):
        hone_ctypes.run(node_model("Einsum", [x], 12, {"equation": equation}), feeds_of([x]))


@pytest.mark.parametrize("shape", [
    (3, 3), (2, 4, 4), (2, 3, 5, 5), (1, 1), (0, 0), (2, 0, 0), (0, 3, 3), (8, 8)])
def test_det(shape):
    x = normal(*shape)
    expected = np.asarray(np.linalg.det(x.astype(np.float64))).astype(F32)
    check("Det", [x], 11, expected=[expected], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("matrix,expected", [
    ([[0, 1], [1, 0]], -1), ([[1, 2], [2, 4]], 0), ([[0, 0], [0, 0]], 0), ([[0, 0], [0, 5]], 0)])
def test_det_needs_exchanges_or_is_zero(matrix, expected):
    check("Det", [np.array(matrix, F32)], 22, expected=[np.array(expected, F32)])
