"""String operators: against ONNX Runtime where it has them, else against Python's own functions."""

import re

import numpy as np
import pytest

from one_node import check, fails

OPSET = 20


def strings(*items):
    return np.array(items, object)


@pytest.mark.parametrize("x,y", [
    (strings("a", "b"), strings("x", "")), (strings("é", "日本"), np.array("!", object)),
    (strings("a", "b").reshape(2, 1), strings("1", "2", "3")), (strings(), strings())])
def test_concat(x, y):
    check("StringConcat", [x, y], OPSET)


@pytest.mark.parametrize("how", [
    {}, {"delimiter": ""}, {"delimiter": ","}, {"delimiter": "ab"}, {"maxsplit": 1},
    {"maxsplit": 0}, {"delimiter": ",", "maxsplit": 2}, {"delimiter": ",", "maxsplit": 0}])
@pytest.mark.parametrize("x", [
    strings("a,b,c", ",", "", "a"), strings(" a b  c  ", "  ", "one", "ab ab,,ab"),
    strings("é,日本 ,x", "abababa", ",,", "x y").reshape(2, 2), strings()], ids=range(4))
def test_split(how, x):
    check("StringSplit", [x], OPSET, how, 2)


def test_split_at_any_white_space():
    """As Python does; ONNX Runtime takes blanks only."""
    words = [" a\tb\n", "\t\n", "c\u3000d\u00a0e"]
    split = [w.split() for w in words]
    want = np.array([s + [""] * (3 - len(s)) for s in split], object)
    check("StringSplit", [strings(*words)], OPSET, n_outputs=2,
          expected=[want, np.array([len(s) for s in split])])


def normalize(words, how):
    """What the operator's text says."""
    change = {"LOWER": str.lower, "UPPER": str.upper, "NONE": str}[
        how.get("case_change_action", "NONE")]
    same = str if how.get("is_case_sensitive") else str.lower
    stops = {same(w) for w in how.get("stopwords", [])}
    return [change(w) for w in words if same(w) not in stops] or [""]


@pytest.mark.parametrize("action", ["NONE", "LOWER", "UPPER"])
@pytest.mark.parametrize("sensitive", [0, 1])
@pytest.mark.parametrize("stops", [[], ["Monday"], ["monday", "ÄÖ"], ["Monday", "tue", "", "äÖ"]])
def test_normalize(action, sensitive, stops):
    words = ["Monday", "tue", "MONDAY", "", "äÖ", "Éa", "Ωδ", "Жд"]
    how = {"case_change_action": action, "is_case_sensitive": sensitive}
    if stops:
        how["stopwords"] = stops
    want = strings(*normalize(words, how))
    check("StringNormalizer", [strings(*words)], 10, expected=[want], **how)
    check("StringNormalizer", [strings(*words)[None]], 10, expected=[want[None]], **how)


def test_normalize_refuses():
    message = fails("StringNormalizer", [strings("a")], 17, case_change_action="SMALL")
    assert "case_change_action" in message
    assert "shape" in fails("StringNormalizer", [np.array([[["a"]]], object)], 17)
    assert "shape" in fails("StringNormalizer", [np.array([["a"], ["b"]], object)], 17)


# Patterns that mean the same in RE2 and in Python.
PATTERNS = [
    r"", r"a", r"a*", r"[a-c]+\d{2,3}", r"(?:ab|cd)*e?", r"\w+@\w+\.(com|org)", r".*b.*",
    r"[^x]*", r"(a|b)*abb", r"a{2}b{0,2}", r"(?i)ABC.*", r"\S+\s\S+", r"[\w.+-]+", r"x?y?z?",
    r"(a+)+b", r"\bab\b.*", r"[é日]+", r"a.c", r"(?s)a.c", r"[[\]]+"]
TEXTS = ["", "a", "aa", "abc12", "abc123", "abc1234", "ababcde", "me@x.com", "me@x.net", "xby",
         "aabb", "abababb", "aab", "ABCxyz", "two words", "a.b+c-d", "xz", "aaaaaaaaaaaac", "ab cd",
         "é日é", "a\nc", "[][]"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_full_match(pattern):
    flags = re.ASCII if "é" not in pattern else 0
    want = np.array([re.fullmatch(pattern, text, flags) is not None for text in TEXTS])
    check("RegexFullMatch", [strings(*TEXTS)], OPSET, pattern=pattern, expected=[want])
    check("RegexFullMatch", [strings(*TEXTS).reshape(2, -1)], OPSET, pattern=pattern)


@pytest.mark.parametrize("pattern,what", [("(", "missing ')'"), ("a**", "repetition"),
                                          (r"\pL", "not supported"), (r"(a)\1", "back reference")])
def test_bad_pattern(pattern, what):
    assert what in fails("RegexFullMatch", [strings("a")], OPSET, pattern=pattern)


TOKENS = np.array([[1, 1, 3, 3, 3, 7], [8, 6, 7, 5, 6, 8]], np.int32)
POOL = dict(ngram_counts=[0, 4], ngram_indexes=[0, 1, 2, 3, 4, 5, 6],
            pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7])


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("skip", [0, 1, 5])
@pytest.mark.parametrize("weights", [None, [2, 3, 4, 5, 6, 7, 8]])
def test_ngrams(mode, lengths, skip, weights):
    how = dict(POOL, mode=mode, min_gram_length=lengths[0], max_gram_length=lengths[1],
               max_skip_count=skip)
    if weights:
        how["weights"] = [float(w) for w in weights]
    for x in [TOKENS, TOKENS[0], TOKENS.astype(np.int64)[:1], np.zeros(0, np.int64)]:
        check("TfIdfVectorizer", [x], 9, **how)


def test_ngrams_of_strings_and_three():
    words = strings("a", "bc", "a", "bc", "d", "a")
    how = dict(mode="TF", min_gram_length=1, max_gram_length=3, max_skip_count=1,
               ngram_counts=[0, 2, 6], ngram_indexes=[5, 0, 2, 1, 3],
               pool_strings=["a", "d", "a", "bc", "bc", "d", "a", "bc", "a"])
    check("TfIdfVectorizer", [words], 9, **how)
    # Tokens that would look alike if they were just put together.
    check("TfIdfVectorizer", [strings("ab", "c", "a", "bc")], 9, dict(
        how, min_gram_length=2, max_gram_length=2, max_skip_count=0, ngram_counts=[0, 0],
        ngram_indexes=[0], pool_strings=["a", "bc"]))


@pytest.mark.parametrize("change,what", [
    ({"mode": "TFI"}, "mode"), ({"min_gram_length": 3}, "min_gram_length"),
    ({"ngram_counts": [0, 40]}, "ngram_counts"), ({"ngram_indexes": [-1]}, "ngram_indexes"),
    ({"ngram_indexes": [0, 1]}, "ngram_indexes"), ({"weights": [1.0]}, "weights")])
def test_bad_ngram_attributes(change, what):
    how = dict(POOL, mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0)
    how.update(change)
    assert what in fails("TfIdfVectorizer", [TOKENS], 9, **how)
