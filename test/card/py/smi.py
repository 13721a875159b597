#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether NVML's answers, in CARD_ROWS, and nvidia-smi's are the same.

usage: smi.py FILE    what `nvidia-smi -q -x` printed
"""

import json
import os
import re
import sys
import xml.etree.ElementTree

from rows import fact

MIB = 1 << 20

# NVML's function -> where nvidia-smi says it, and what of NVML's answer that is.
SAME = {
    "nvmlDeviceGetName": ("product_name", lambda said: said),
    "nvmlDeviceGetUUID": ("uuid", lambda said: said),
    "nvmlDeviceGetMinorNumber": ("minor_number", lambda said: said),
    "nvmlDeviceGetPciInfo_v3": ("pci/pci_bus_id", lambda said: said.split()[0]),
    "nvmlDeviceGetMemoryInfo_v2": ("fb_memory_usage/total", lambda said: f"{int(said.split()[1]) // MIB} MiB"),
    "nvmlDeviceGetMigMode": ("mig_mode/current_mig", lambda said: {"0": "Disabled", "1": "Enabled"}.get(said[:1], "N/A")),
    "nvmlDeviceGetRemappedRows": ("remapped_rows/remapped_row_pending", lambda said: {"0": "No", "1": "Yes"}.get(re.sub(r".*pending (\d).*", r"\1", said), "N/A")),
    "nvmlDeviceGetGpuFabricInfo": ("fabric/state", lambda said: {"0": "N/A", "1": "Not Started", "2": "In Progress", "3": "Completed"}.get(said[6:7], "N/A")),
    "nvmlDeviceGetTotalEccErrors uncorrected, volatile": ("ecc_errors/volatile/dram_uncorrectable", lambda said: said),
    "nvmlDeviceGetCurrentClocksThrottleReasons": ("clocks_event_reasons/clocks_event_reason_gpu_idle", lambda said: "Active" if said.endswith("1") else "Not Active"),
    "nvmlDeviceGetPersistenceMode": ("persistence_mode", lambda said: {"0": "Disabled", "1": "Enabled"}.get(said, "N/A")),
    "nvmlDeviceGetComputeMode": ("compute_mode", lambda said: {"0": "Default", "2": "Prohibited", "3": "Exclusive_Process"}.get(said, "N/A")),
}


def main():
    said = {}
    with open(os.environ["CARD_ROWS"], encoding="ascii", errors="replace") as rows:
        for line in rows:
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row.get("kind") == "fact" and row.get("part") == os.environ["CARD_PART"]:
                said[row["name"]] = row["value"]
    log = xml.etree.ElementTree.parse(sys.argv[1]).getroot()
    fact("nvidia-smi: driver", log.findtext("driver_version", "?"))
    fact("nvidia-smi: CUDA", log.findtext("cuda_version", "?"))
    for index, gpu in enumerate(log.iter("gpu")):
        for function, (path, of) in SAME.items():
            name = f"GPU {index}: {function}"
            theirs = gpu.findtext(path)
            if theirs is None or name not in said:
                fact(f"{name} beside nvidia-smi", f"cannot be compared: {path} is {theirs}")
                continue
            failed = said[name].startswith(("error ", "no such "))
            ours = said[name] if failed else of(said[name])
            fact(f"{name} beside nvidia-smi", "the same" if ours == theirs else f"{ours}, and there {theirs}")


main()
