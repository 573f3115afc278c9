"""Real models of the set `ci` against ONNX Runtime; `make models` runs all of them."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def test_models_of_set_ci():
    done = subprocess.run([sys.executable, os.path.join(HERE, "models", "compare.py"), "ci"],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith("0 refused by both, 0 failed"), done.stdout
