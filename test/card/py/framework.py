# SPDX-License-Identifier: Apache-2.0
"""What the scripts of frameworks share: the limit that they were started with, and the steps of each."""

import contextlib
import importlib
import os
import sys
import traceback

from rows import fact, trouble

NAME = os.path.basename(sys.argv[0])[3:-3]  # of fw_NAME.py
LIMIT = int(os.environ["CUDA_DEVICE_MEMORY_LIMIT_0"].rstrip("m")) << 20
PIECE = LIMIT // 16


def found(*modules):
    """The modules, or the end of the script, with a row."""
    try:
        return [importlib.import_module(module) for module in modules]
    except ModuleNotFoundError as error:
        trouble(NAME, f"not installed: {error}")
    except Exception as error:
        trouble(NAME, f"cannot be loaded: {error}")
    sys.exit(0)


@contextlib.contextmanager
def step(name):
    """A step that fails is a row; the next one is tried."""
    try:
        yield
    except Exception as error:
        traceback.print_exc()
        trouble(name, f"{type(error).__name__}: {error}")


def fill(name, allocate, is_own):
    """Takes pieces until it is refused: how much that was, by which error, and whether it goes on after that."""
    taken = []
    try:
        while len(taken) * PIECE <= 2 * LIMIT:
            taken.append(allocate(PIECE))
    except Exception as error:
        text = str(error).strip().partition("\n")[0][:200]
        fact(f"{name}: past the limit", f"{'its own' if is_own(error) else 'another'} error: {type(error).__name__}", text)
    else:
        trouble(f"{name}: past the limit", f"{len(taken)} pieces of {PIECE >> 20} MiB and no end")
    fact(f"{name}: of sixteen parts of the limit it got", len(taken))
    taken.clear()
