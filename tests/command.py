"""The command under test, for tests of what it prints and how it ends.

It is $HONE_BUILD_DIR/hone, else build/release/hone."""

import os
import pathlib
import signal
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("HONE_BUILD_DIR", ROOT / "build" / "release"))
HONE = BUILD / "hone"


def hone(*words, code=None, env=None, timeout=300, **settings):
    """Runs `hone WORDS`, and gives how it ended and what it printed. `code`: how it has to end, if
    that is not left open; `env` joins the variables that there are."""
    done = subprocess.run([HONE, *map(str, words)], capture_output=True, text=True, errors="replace",
                          timeout=timeout, env={**os.environ, **(env or {})}, **settings)
    said = done.stdout[-3000:] + done.stderr[-3000:]
    assert done.returncode >= 0, f"died of {signal.Signals(-done.returncode).name}: {said}"
    assert code is None or done.returncode == code, said
    return done
