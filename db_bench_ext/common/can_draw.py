#!/usr/bin/env python3
"""Ends with an error if this machine cannot draw; takes next to no time."""

import importlib.util
import sys

for module in ("matplotlib", "numpy"):
    if importlib.util.find_spec(module) is None:
        sys.exit(f"cannot draw: no module {module} for {sys.executable}")
