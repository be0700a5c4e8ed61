#!/usr/bin/env python3
"""rpd_trim as a Python script, as RPD has it."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from sonde_dropin.main import main  # noqa: E402

sys.exit(main("rpd_trim", sys.argv[1:]))
