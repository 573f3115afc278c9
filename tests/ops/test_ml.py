"""ai.onnx.ml against ONNX Runtime."""

import numpy as np
import pytest
from onnx import TensorProto, helper

import one_node

ML = "ai.onnx.ml"
POSTS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]
rng = np.random.default_rng(3)


def compare(op, inputs, n_outputs=1, opset=3, **how):
    if not isinstance(inputs, list):
        inputs = [inputs]
    return one_node.check(op, inputs, opset, n_outputs=n_outputs, domain=ML, **how)


def fails(op, inputs, **attrs):
    return one_node.fails(op, inputs, 3, domain=ML, **attrs)


def f32(*shape):
    return rng.normal(size=shape).astype(np.float32)


# ---- plain features ----

@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(3, 5), (5,), (2, 3, 5)])
def test_array_feature_extractor(dtype, shape):
    x = (rng.normal(size=shape) * 10).astype(dtype)
    compare("ArrayFeatureExtractor", [x, np.array([[4, 0, 2]], np.int64)])


def test_array_feature_extractor_strings():
    x = np.array([["a", "b"], ["c", "d"]], dtype=object)
    compare("ArrayFeatureExtractor", [x, np.array([1], np.int64)])


def test_binarizer():
    compare("Binarizer", f32(3, 4), threshold=0.25)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
def test_normalizer(norm, dtype):
    x = (rng.normal(size=(4, 5)) * 9).astype(dtype)
    x[2] = 0
    compare("Normalizer", x, norm=norm)
    compare("Normalizer", x[0], norm=norm)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("n", [1, 4])
def test_scaler(dtype, n):
    x = (rng.normal(size=(3, 4)) * 9).astype(dtype)
    compare("Scaler", x, offset=f32(n).tolist(), scale=f32(n).tolist())


@pytest.mark.parametrize("replaced", [0.0, float("nan"), 2.5])
@pytest.mark.parametrize("n", [1, 4])
def test_imputer_floats(replaced, n):
    x = f32(3, 4)
    x[0, 1], x[1, 2], x[2, 0] = np.nan, 0, 2.5
    compare("Imputer", x, imputed_value_floats=f32(n).tolist(), replaced_value_float=replaced)


def test_imputer_ints():
    x = np.array([[1, 2, 3], [2, 2, 5]], np.int64)
    compare("Imputer", x, imputed_value_int64s=[7, 8, 9], replaced_value_int64=2)


def test_feature_vectorizer():
    a, b, c = f32(3, 2), np.arange(9).reshape(3, 3).astype(np.int64), f32(3, 4).astype(np.float64)
    compare("FeatureVectorizer", [a], inputdimensions=[2])
    compare("FeatureVectorizer", [a, b, c], inputdimensions=[3, 3, 2], expected=[
        np.concatenate([np.pad(a, ((0, 0), (0, 1))), b.astype(np.float32),
                        c[:, :2].astype(np.float32)], axis=1)])


@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_one_hot_encoder(shape):
    x = rng.integers(0, 5, shape)
    for dtype in (np.int64, np.float32, np.float64):
        compare("OneHotEncoder", x.astype(dtype), cats_int64s=[3, 1, 2])
    words = np.array(["", "one", "two", "three", "four"], dtype=object)[x]
    compare("OneHotEncoder", words, cats_strings=["three", "one", "two"])


def test_one_hot_encoder_unknown_is_an_error():
    x = np.array([1, 2], np.int64)
    compare("OneHotEncoder", x, cats_int64s=[2, 1], zeros=0)
    assert fails("OneHotEncoder", [x], cats_int64s=[2], zeros=0)


# ---- labels and maps ----

def test_label_encoder_1():
    words = np.array([["b", "x"], ["a", "c"]], dtype=object)
    compare("LabelEncoder", words, opset=1, classes_strings=["a", "b", "c"], default_int64=-5)
    numbers = np.array([2, 0, 9, -1], np.int64)
    compare("LabelEncoder", numbers, opset=1, classes_strings=["a", "b", "c"], default_string="?")


KEYS = {"strings": ["a", "b", "", "c", "b"], "int64s": [5, -3, 12, 7, 5],
        "floats": [0.5, -2.0, float("nan"), 7.25, 1e20]}
VALUES = {"strings": ["v", "w", "x", "y", "z"], "int64s": [4, 3, 2, 1, 0],
          "floats": [1.5, 2.5, -3.5, 4.5, 5.5]}
DEFAULTS = {"strings": {"default_string": "none"}, "int64s": {"default_int64": -99},
            "floats": {"default_float": -7.5}}


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", VALUES)
def test_label_encoder_2(key, value):
    x = {"strings": np.array([["c", "b", "q"], ["", "a", "a"]], dtype=object),
         "int64s": np.array([[5, 6, 7], [12, -3, 0]], np.int64),
         "floats": np.array([[0.5, 1, 7.25], [np.nan, 1e20, -2]], np.float32)}[key]
    compare("LabelEncoder", x, opset=2, **{f"keys_{key}": KEYS[key], f"values_{value}": VALUES[value]},
            **DEFAULTS[value])


@pytest.mark.parametrize("key,value", [
    (np.float64, np.float64), (np.float64, object), (object, np.float64), (np.int64, np.int64),
    (np.float32, np.float32), (object, np.int16), (np.int32, np.float32), (np.int16, object)])
def test_label_encoder_4(key, value):
    def tensor(name, dtype, numbers):
        if dtype is object:
            return helper.make_tensor(name, TensorProto.STRING, [len(numbers)],
                                      [str(n) for n in numbers])
        return helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)),
                                  [len(numbers)], np.array(numbers, dtype))
    keys, values = [1, 2, 30], [7, 8, 9]
    x = np.array([[1, 30], [2, 4]])
    x = x.astype(str).astype(object) if key is object else x.astype(key)
    table = dict(zip(map(str, keys), values))
    out = [table.get(str(int(v)), 42) for v in x.reshape(-1)]
    want = np.array([str(v) for v in out] if value is object else out,
                    object if value is object else value).reshape(x.shape)
    compare("LabelEncoder", [x], opset=4, expected=[want], keys_tensor=tensor("k", key, keys),
            values_tensor=tensor("v", value, values), default_tensor=tensor("d", value, [42]))


def test_category_mapper():
    lists = dict(cats_strings=["x", "y", "z"], cats_int64s=[10, 20, 30])
    compare("CategoryMapper", np.array([["y", "q"]], dtype=object), default_int64=-4, **lists)
    compare("CategoryMapper", np.array([30, 10, 11], np.int64), default_string="none", **lists)


@pytest.mark.parametrize("value,want", [
    ({"a": 1.5, "c": 2.5}, np.array([[2.5, 0, 1.5]])),
    ({"a": 3, "zz": 4}, np.array([[0, 0, 3]], np.int64)),
    ({7: 1.5, 1: 2.5}, np.array([[2.5, 0, 1.5]])),
    ({1: "one", 3: "three"}, np.array([["one", "", ""]], dtype=object))])
def test_dict_vectorizer(value, want):
    words = isinstance(next(iter(value)), str)
    how = dict(string_vocabulary=["c", "b", "a"]) if words else dict(int64_vocabulary=[1, 2, 7])
    compare("DictVectorizer", value, expected=[want], **how)


@pytest.mark.parametrize("to", ["TO_FLOAT", "TO_INT64", "TO_STRING"])
def test_cast_map(to):
    value = {5: 1.5, 1: -2.75, 3: 4.0}
    compare("CastMap", value, cast_to=to)
    compare("CastMap", value, cast_to=to, map_form="SPARSE", max_map=7)


@pytest.mark.parametrize("to,want", [
    ("TO_FLOAT", np.array([[-3, 12]], np.float32)), ("TO_INT64", np.array([[-3, 12]], np.int64)),
    ("TO_STRING", np.array([["-3", "12"]], dtype=object))])
def test_cast_map_of_strings(to, want):
    compare("CastMap", {4: "12", 0: "-3"}, cast_to=to, expected=[want])


@pytest.mark.parametrize("labels", [dict(classlabels_int64s=[5, 2, 9]),
                                    dict(classlabels_strings=["x", "y", "z"])])
def test_zip_map(labels):
    compare("ZipMap", f32(4, 3), **labels)


# ---- linear and SVM ----

LABELS = [dict(classlabels_ints=[3, 7, 5]), dict(classlabels_strings=["a", "b", "c"])]


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("labels", LABELS)
def test_linear_classifier(post, labels):
    x, w = f32(6, 4), f32(12).tolist()
    scale = 0.05 if post == "PROBIT" else 1
    w = [v * scale for v in w]
    compare("LinearClassifier", x, 2, coefficients=w, intercepts=[0.5, 0.4, 0.45],
            post_transform=post, atol=2e-3 if post == "PROBIT" else 1e-6, **labels)


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("labels", [dict(classlabels_ints=[3, 7]),
                                    dict(classlabels_strings=["a", "b"])])
def test_linear_classifier_binary(post, labels):
    for dtype in (np.float32, np.float64, np.int64, np.int32):
        x = (rng.normal(size=(6, 4)) * 5).astype(dtype)
        compare("LinearClassifier", x, 2, coefficients=f32(4).tolist(), intercepts=[0.1],
                post_transform=post, **labels)


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("targets", [1, 3])
def test_linear_regressor(post, targets):
    w = [v * 0.05 for v in f32(4 * targets)]
    compare("LinearRegressor", f32(5, 4), coefficients=w, intercepts=[0.5] * targets,
            targets=targets, post_transform=post, atol=2e-3 if post == "PROBIT" else 1e-6)
    compare("LinearRegressor", f32(5, 4), coefficients=w, targets=targets)


KERNELS = ["LINEAR", "POLY", "RBF", "SIGMOID"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("one_class", [0, 1])
def test_svm_regressor(kernel, one_class):
    compare("SVMRegressor", f32(5, 3), kernel_type=kernel, kernel_params=[0.4, 0.3, 3.0],
            n_supports=4, support_vectors=f32(12).tolist(), coefficients=f32(4).tolist(), rho=[0.2],
            one_class=one_class, rtol=1e-4, atol=1e-5)


def test_svm_regressor_linear():
    compare("SVMRegressor", f32(5, 3), kernel_params=[0.4, 0.3, 3.0], coefficients=f32(3).tolist(),
            rho=[0.2])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("proba", [False, True])
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_svm_classifier(kernel, proba, classes, post):
    per_class = [2, 1, 3, 2][:classes]
    n, pairs = sum(per_class), classes * (classes - 1) // 2
    how = dict(prob_a=(-1 - rng.random(pairs)).tolist(), prob_b=f32(pairs).tolist()) if proba else {}
    compare("SVMClassifier", f32(7, 3), 2, kernel_type=kernel, kernel_params=[0.4, 0.3, 3.0],
            vectors_per_class=per_class, support_vectors=f32(n * 3).tolist(),
            coefficients=f32((classes - 1) * n).tolist(), rho=f32(pairs).tolist(),
            classlabels_ints=[9, 4, 6, 1][:classes], post_transform=post, rtol=1e-4, atol=1e-5,
            **how)


def test_svm_classifier_strings():
    compare("SVMClassifier", f32(7, 3), 2, kernel_type="RBF", kernel_params=[0.4, 0.3, 3.0],
            vectors_per_class=[1, 2], support_vectors=f32(9).tolist(), coefficients=f32(3).tolist(),
            rho=[0.3], classlabels_strings=["no", "yes"], atol=1e-5)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("positive", [False, True])
def test_svm_classifier_linear(classes, positive):
    w = f32(classes * 3)
    compare("SVMClassifier", f32(7, 3), 2, kernel_params=[0.4, 0.3, 3.0],
            coefficients=(abs(w) if positive else w).tolist(), rho=[0.1],
            classlabels_ints=[9, 4, 6][:classes], atol=1e-5)


# ---- trees ----

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def forest(kind, trees, depth, targets, features=4, modes=("BRANCH_LEQ",), ids=None, scale=1.0,
           positive=False, missing=False, per_leaf=1, by_tree=False):
    """Random complete trees as attributes of the classifier or regressor."""
    a = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids",
                         "falsenodeids", "missing_value_tracks_true")}
    w = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    inner = 2 ** depth - 1
    for t in range(trees):
        for n in range(2 * inner + 1):
            leaf = n >= inner
            a["treeids"].append(t)
            a["nodeids"].append(n)
            a["featureids"].append(0 if leaf else int(rng.integers(features)))
            a["values"].append(0.0 if leaf else float(np.float32(rng.integers(-2, 3) / 2)))
            a["modes"].append("LEAF" if leaf else modes[int(rng.integers(len(modes)))])
            a["truenodeids"].append(0 if leaf else 2 * n + 1)
            a["falsenodeids"].append(0 if leaf else 2 * n + 2)
            a["missing_value_tracks_true"].append(int(rng.integers(2)) if missing and not leaf else 0)
            if leaf:
                choice = ids if ids is not None else rng.permutation(targets)[:per_leaf]
                choice = [t % targets] if by_tree else choice
                for i in choice:
                    value = float(rng.random() if positive else rng.normal()) * scale
                    for key, v in zip(w, (t, n, int(i), value)):
                        w[key].append(v)
    out = {f"nodes_{k}": v for k, v in a.items()}
    out.update({f"{kind}_{k}": v for k, v in w.items()})
    return out


def grid(rows, dtype=np.float32, nan=False):
    x = (rng.integers(-4, 5, size=(rows, 4)) / 2).astype(dtype)
    if nan:
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("targets", [1, 3])
def test_tree_regressor(how, post, targets):
    base = f32(targets).tolist()
    for x in (grid(9), grid(9, np.float64)):
        compare("TreeEnsembleRegressor", x, n_targets=targets, aggregate_function=how,
                post_transform=post, base_values=base, **forest("target", 3, 3, targets))


@pytest.mark.parametrize("modes", [[m] for m in MODES] + [MODES])
@pytest.mark.parametrize("missing", [False, True])
def test_tree_modes(modes, missing):
    compare("TreeEnsembleRegressor", grid(30, nan=True), n_targets=1,
            **forest("target", 4, 3, 1, modes=modes, missing=missing))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("modes", [[m] for m in MODES[:4]] + [MODES[:2], MODES[2:4], MODES[:4], MODES])
@pytest.mark.parametrize("missing", [False, True])
def test_tree_order(dtype, modes, missing):
    """Tests of order at splits and numbers that are next to each other, zeros of both signs,
    infinities, and NaN of both signs."""
    big = np.finfo(dtype).max
    edges = np.array([0, np.finfo(dtype).smallest_subnormal, np.finfo(dtype).tiny, 1,
                      np.nextafter(dtype(1), dtype(2)), big, np.inf], dtype)
    edges = np.concatenate([edges, -edges])
    a = forest("target", 9, 4, 1, modes=modes, missing=missing)
    splits = rng.choice(edges, len(a.pop("nodes_values"))).astype(dtype)
    if dtype == np.float64:
        a["nodes_values_as_tensor"] = helper.make_tensor("v", TensorProto.DOUBLE, [len(splits)], splits)
        weights = np.array(a.pop("target_weights"))
        a["target_weights_as_tensor"] = helper.make_tensor("w", TensorProto.DOUBLE, [len(weights)],
                                                           weights)
    else:
        a["nodes_values"] = [float(v) for v in splits]
    x = rng.choice(np.concatenate([edges, [np.nan, -np.nan]]), (40, 4)).astype(dtype)
    compare("TreeEnsembleRegressor", x, n_targets=1, **a)


def test_tree_regressor_probit():
    compare("TreeEnsembleRegressor", grid(9), n_targets=1, post_transform="PROBIT", atol=2e-3,
            base_values=[0.3], **forest("target", 2, 2, 1, scale=0.2, positive=True))


def test_tree_regressor_several_weights_in_a_leaf():
    compare("TreeEnsembleRegressor", grid(9), n_targets=4,
            **forest("target", 3, 2, 4, per_leaf=3))


@pytest.mark.parametrize("trees", [2, 7])
def test_trees_of_one_target_each(trees):
    for how in ("SUM", "AVERAGE", "MIN"):
        compare("TreeEnsembleRegressor", grid(9), n_targets=3, aggregate_function=how,
                base_values=f32(3).tolist(), **forest("target", trees, 3, 3, by_tree=True))
    for x in (grid(11), grid(11, np.float64)):
        compare("TreeEnsembleClassifier", x, 2, classlabels_int64s=[3, 1, 2], post_transform="SOFTMAX",
                **forest("class", trees, 3, 3, by_tree=True))


def test_tree_single_leaf():
    compare("TreeEnsembleRegressor", grid(3), n_targets=1, nodes_treeids=[0], nodes_nodeids=[0],
            nodes_featureids=[0], nodes_values=[0.0], nodes_modes=["LEAF"], nodes_truenodeids=[0],
            nodes_falsenodeids=[0], target_treeids=[0], target_nodeids=[0], target_ids=[0],
            target_weights=[2.5])


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("base", [None, 3])
@pytest.mark.parametrize("labels", [dict(classlabels_int64s=[3, 1, 2]),
                                    dict(classlabels_strings=["a", "b", "c"])])
def test_tree_classifier(post, base, labels):
    how = dict(base_values=f32(3).tolist()) if base else {}
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        compare("TreeEnsembleClassifier", grid(11, dtype), 2, post_transform=post, **how, **labels,
                **forest("class", 5, 3, 3, per_leaf=2))


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("base", [0, 1, 2])
@pytest.mark.parametrize("ids", [[0], [1], [0, 1], None])
@pytest.mark.parametrize("positive", [False, True])
def test_tree_classifier_binary(post, base, ids, positive):
    if base and ids is None:
        pytest.skip("ONNX Runtime leaves the second score unset")
    how = dict(base_values=f32(base).tolist()) if base else {}
    for labels in (dict(classlabels_int64s=[5, 7]), dict(classlabels_strings=["n", "p"])):
        compare("TreeEnsembleClassifier", grid(11), 2, post_transform=post, **how, **labels,
                **forest("class", 2, 2, 2, ids=ids, positive=positive))


def test_tree_classifier_one_label():
    compare("TreeEnsembleClassifier", grid(11), 2, classlabels_int64s=[0],
            **forest("class", 2, 2, 1, ids=[0]))


def test_tree_double_tensors():
    a = forest("target", 3, 3, 1)
    for name in ("nodes_values", "target_weights"):
        v = np.array(a.pop(name), np.float64) + 1e-9
        a[name + "_as_tensor"] = helper.make_tensor(name, TensorProto.DOUBLE, [len(v)], v)
    base = helper.make_tensor("b", TensorProto.DOUBLE, [1], [1 / 3])
    compare("TreeEnsembleRegressor", grid(9, np.float64), n_targets=1, base_values_as_tensor=base,
            **a)


def ensemble5(dtype, modes, targets, members=None):
    """One tree of three nodes, one of them a leaf pair, as TreeEnsemble-5."""
    number = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    splits = np.array([0.5, -0.5, 1.0], dtype)
    leaves = np.array([1.5, -2.0, 3.0, 0.25], dtype)
    how = dict(n_targets=targets, tree_roots=[0],
               nodes_modes=helper.make_tensor("m", TensorProto.UINT8, [3], modes),
               nodes_featureids=[0, 1, 2], nodes_splits=helper.make_tensor("s", number, [3], splits),
               nodes_truenodeids=[1, 0, 2], nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[2, 1, 3],
               nodes_falseleafs=[0, 1, 1], leaf_targetids=[i % targets for i in range(4)],
               leaf_weights=helper.make_tensor("w", number, [4], leaves))
    if members is not None:
        how["membership_values"] = helper.make_tensor("v", number, [len(members)],
                                                      np.array(members, dtype))
    return how


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("how", [0, 1, 2, 3])
@pytest.mark.parametrize("targets", [1, 2])
def test_tree_ensemble_5(dtype, how, targets):
    for modes in ([0, 0, 0], [1, 2, 3], [4, 5, 0]):
        compare("TreeEnsemble", grid(12, dtype), opset=5, aggregate_function=how,
                **ensemble5(dtype, modes, targets))


def test_tree_ensemble_5_members():
    nan = float("nan")
    compare("TreeEnsemble", np.floor(grid(40)), opset=5,
            **ensemble5(np.float32, [6, 0, 6], 2, [1, 2, 5, nan, 2, nan]))
    compare("TreeEnsemble", [np.float32([[.5, 0, 0], [.25, 0, .75], [2, 0, 1]])], opset=5,
            expected=[np.float32([[0, -2], [0, .25], [3, 0]])],
            **ensemble5(np.float32, [6, 0, 6], 2, [.5, 1.5, nan, 1, nan]))


@pytest.mark.parametrize("missing", [[0, 0, 0], [1, 1, 1], [1, 0, 1]])
@pytest.mark.parametrize("targets", [1, 2])
def test_tree_ensemble_5_shared(missing, targets):
    """Two trees begin at different nodes of one graph, in which a node and a leaf have two parents."""
    how = ensemble5(np.float32, [0, 1, 3], targets)
    how.update(tree_roots=[0, 2], nodes_truenodeids=[1, 0, 1], nodes_trueleafs=[0, 1, 0],
               nodes_falsenodeids=[2, 1, 1], nodes_falseleafs=[0, 1, 1],
               nodes_missing_value_tracks_true=missing)
    x = np.concatenate([grid(40), grid(40, nan=True)])
    holds = np.stack([x[:, 0] <= .5, x[:, 1] < -.5, x[:, 2] > 1]) | (
        np.isnan(x[:, :3].T) & np.array(missing, bool)[:, None])
    first = np.where(holds[1], 0, 1)
    third = np.where(holds[2], first, 1)
    y = np.zeros((len(x), targets), np.float32)
    for leaf in (np.where(holds[0], first, third), third):
        y[np.arange(len(x)), leaf % targets] += np.float32([1.5, -2, 3, .25])[leaf]
    compare("TreeEnsemble", [x], opset=5, expected=[y], **how)


# ---- no rows ----

def test_no_rows():
    x = grid(0)
    compare("TreeEnsembleClassifier", x, 2, classlabels_int64s=[3, 1, 2],
            **forest("class", 2, 2, 3, per_leaf=2))
    compare("LinearClassifier", x, 2, coefficients=f32(12).tolist(), intercepts=[0.5, 0.4, 0.45],
            classlabels_ints=[1, 2, 3])
    compare("Scaler", x, offset=[1.0], scale=[2.0])
    compare("SVMRegressor", x, kernel_type="RBF", kernel_params=[0.4, 0.3, 3.0], n_supports=4,
            support_vectors=f32(16).tolist(), coefficients=f32(4).tolist(), rho=[0.2])


# ---- what is refused ----

@pytest.mark.parametrize("depths", [[40], [2, 30, 5, 1, 0, 9, 9, 3]])
def test_tree_depths(depths):
    """Trees that are one long way down, to the side of which a leaf hangs from each node."""
    columns = {name: [] for name in ("tree", "node", "mode", "feature", "value", "yes", "no")}
    leaves = []
    for tree, depth in enumerate(depths):
        for node in range(2 * depth + 1):
            is_leaf = node % 2 or node == 2 * depth
            for name, value in zip(columns, (tree, node, "LEAF" if is_leaf else "BRANCH_LEQ", node % 4,
                                             0 if is_leaf else 4 - 6 * node / (2 * depth),
                                             0 if is_leaf else node + 2, 0 if is_leaf else node + 1)):
                columns[name].append(value)
            leaves += [(tree, node)] if is_leaf else []
    trees, nodes = map(list, zip(*leaves))
    compare("TreeEnsembleRegressor", grid(30), n_targets=1, nodes_treeids=columns["tree"],
            nodes_nodeids=columns["node"], nodes_modes=columns["mode"],
            nodes_featureids=columns["feature"], nodes_values=columns["value"],
            nodes_truenodeids=columns["yes"], nodes_falsenodeids=columns["no"],
            target_treeids=trees, target_nodeids=nodes, target_ids=[0] * len(leaves),
            target_weights=[float(1 + i % 7) for i in range(len(leaves))])


def test_tree_cycle():
    a = forest("target", 1, 1, 1)
    a["nodes_modes"] = ["BRANCH_LEQ"] * 3
    a["nodes_truenodeids"], a["nodes_falsenodeids"] = [1, 0, 0], [2, 0, 0]
    assert "cycle" in fails("TreeEnsembleRegressor", [grid(2)], **a)


def test_bad_lists():
    x = [grid(2)]
    assert "post_transform" in fails(
        "LinearRegressor", x, coefficients=[1.0] * 4, post_transform="WHAT")
    assert "kernel_type" in fails(
        "SVMRegressor", x, coefficients=[1.0], rho=[0.0], n_supports=1,
        support_vectors=[1.0] * 4, kernel_type="WHAT")
    a = forest("target", 1, 1, 1)
    a["nodes_values"] = a["nodes_values"][:1]
    assert "nodes_values" in fails("TreeEnsembleRegressor", x, **a)
    a = forest("target", 1, 1, 1)
    a["target_ids"] = [5] * len(a["target_ids"])
    assert "target" in fails("TreeEnsembleRegressor", x, **a)
