"""Benches keep farlink.py and pytest_farlink.py beside their tests, or on
PYTHONPATH; these lie one above."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

pytest_plugins = ["pytest_farlink", "pytester"]
