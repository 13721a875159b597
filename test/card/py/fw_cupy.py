#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""CuPy in a container with a limit of memory."""

from framework import LIMIT, fill, found, step
from rows import fact

(cupy,) = found("cupy")

with step("cupy: start"):
    fact("cupy: version", cupy.__version__)
    free, total = cupy.cuda.runtime.memGetInfo()
    fact("cupy: total is the limit", "yes" if total == LIMIT else f"{total} of {LIMIT}")
    fact("cupy: free at the start", free)
with step("cupy: fill"):
    fill("cupy", lambda size: cupy.empty(size, dtype=cupy.uint8),
         lambda error: isinstance(error, cupy.cuda.memory.OutOfMemoryError))
with step("cupy: going on"):
    cupy.get_default_memory_pool().free_all_blocks()
    x = cupy.arange(1000)
    fact("cupy: goes on", "yes" if int((x * 2).sum()) == 999_000 else "wrong")
