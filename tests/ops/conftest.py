"""The modules next door (hone_ctypes) can be imported by the tests here."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
