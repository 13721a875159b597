#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""JAX in a container with a limit of memory: it takes three quarters of what it sees at its start."""

from framework import LIMIT, fill, found, step
from rows import fact, trouble

jax, jnp = found("jax", "jax.numpy")

with step("jax: start"):
    fact("jax: version", jax.__version__)
    device = jax.devices()[0]
    fact("jax: device", f"{device.platform} {device.device_kind}")
    if device.platform not in ("gpu", "cuda"):
        trouble("jax", "not installed: it sees no GPU")
        raise SystemExit(0)
    held = (device.memory_stats() or {}).get("bytes_limit", 0)
    fact("jax: it holds of the limit", f"{held / LIMIT:.2f}")
with step("jax: fill"):
    fill("jax", lambda size: jax.block_until_ready(jnp.zeros(size, jnp.uint8)),
         lambda error: "RESOURCE_EXHAUSTED" in str(error))
with step("jax: going on"):
    fact("jax: goes on", "yes" if int(jnp.arange(1000).sum()) == 499_500 else "wrong")
