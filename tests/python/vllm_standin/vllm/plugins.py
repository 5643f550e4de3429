# SPDX-License-Identifier: MIT
"""Stand-in: loads plugins as vLLM does, once in a process; an exception of one ends the server."""
import os
from importlib.metadata import entry_points

_loaded = False


def load_general_plugins():
    global _loaded
    if _loaded:
        return
    _loaded = True
    allowed = os.environ.get("VLLM_PLUGINS")
    for point in entry_points(group="vllm.general_plugins"):
        if allowed is None or point.name in allowed.split(","):
            point.load()()
