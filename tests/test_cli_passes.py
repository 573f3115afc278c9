"""hone dump with passes: which run, what they leave, and what they say they did."""

from command import ROOT, hone

CASES = ROOT / "tests" / "passes"


def dump(*words, code=0):
    return hone("dump", *words, code=code)


def test_one_pass_makes_its_golden_file():
    case = CASES / "movement" / "heads.hg"
    want = case.with_suffix(".want.hg").read_text()
    assert dump(case, "--pass", "movement", "--full").stdout == want


def test_a_pass_can_be_left_out():
    case = CASES / "movement" / "heads.hg"
    assert "permute" in dump(case).stdout
    assert "permute" not in dump(case, "--passes", "--no-pass", "fuse").stdout
    assert "permute" in dump(case, "--no-pass", "movement", "--no-pass", "fuse").stdout


def test_what_passes_did_names_nodes_of_the_model():
    done = dump(CASES / "fold" / "weights.hg", "--pass", "fold", "--explain-passes")
    assert "folded" in done.stderr
    assert "fc (Gemm)" in done.stderr
    assert done.stdout.startswith("hone-graph")


def test_a_pass_that_there_is_not():
    done = dump(CASES / "fold" / "weights.hg", "--pass", "fold-all", code=1)
    assert "there is no pass 'fold-all'" in done.stderr
    assert "movement" in done.stderr  # says which there are


def test_fast_math_is_asked_for():
    case = CASES / "arithmetic" / "fast.hg"
    assert "pow" in dump(case, "--pass", "arithmetic").stdout
    assert "pow" not in dump(case, "--pass", "arithmetic", "--fast-math").stdout
