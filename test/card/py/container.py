#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Looks whether a CDI document names what is there, and starts programs in a root of their own that has what
it names and else libc alone: by chroot, and by runc where there is one. A file system of this machine that
CARD_ALSO names is seen there as well. With TESSERA_ROOT_PREFIX the machine's files are below it.

usage: container.py DOCUMENT
"""

import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

from rows import fact, trouble

PREFIX = os.environ.get("TESSERA_ROOT_PREFIX", "")
SCRATCH = pathlib.Path(os.environ["CARD_SCRATCH"])
ROOT = SCRATCH / "root"
LIBC = ["libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"]
LOADER = "/lib64/ld-linux-x86-64.so.2"
FILE_LIST = "/usr/share/nvidia/files.d/sandboxutils-filelist.json"  # the driver's own
PROGRAMS = {
    "nvidia-smi": ["nvidia-smi", "-L"],
    "a CUDA program": ["/spin", "view", "run", "200000", "300"],
}


def on_host(path):
    return PREFIX + path


class Edits:
    """What the document does to a container that gets its first device."""

    def __init__(self, path):
        document = json.loads(pathlib.Path(path).read_text())
        self.device = document["devices"][0]["name"]
        parts = [document.get("containerEdits", {}), document["devices"][0]["containerEdits"]]
        for kind in ("deviceNodes", "mounts", "env", "hooks"):
            setattr(self, kind, [entry for part in parts for entry in part.get(kind, [])])

    def library_path(self):
        directories = {os.path.dirname(mount["containerPath"]) for mount in self.mounts if ".so" in mount["containerPath"]}
        return ":".join(sorted(directories))


def check_nodes(edits):
    wrong = []
    for node in edits.deviceNodes:
        path = on_host(node.get("hostPath", node["path"]))
        try:
            number = os.stat(path).st_rdev
        except OSError as error:
            wrong.append(f"{path}: {error.strerror}")
            continue
        if (os.major(number), os.minor(number)) != (node["major"], node["minor"]):
            wrong.append(f"{path} is {os.major(number)}:{os.minor(number)}")
    fact("CDI: device nodes", ", ".join(f"{n['path']} {n['major']}:{n['minor']}" for n in edits.deviceNodes))
    fact("CDI: device nodes that are wrong", ", ".join(wrong) or "none")


def check_libraries(edits):
    gone = [mount["hostPath"] for mount in edits.mounts if not os.path.exists(on_host(mount["hostPath"]))]
    fact("CDI: files that are not there", ", ".join(gone) or "none")
    mounted = {os.path.basename(mount["hostPath"]) for mount in edits.mounts}
    fact("CDI: files", ", ".join(sorted(mounted)))
    cuda = next((name for name in mounted if name.startswith("libcuda.so.")), "libcuda.so.?")
    version = cuda.removeprefix("libcuda.so.")
    fact("CDI: the driver's version", version)
    cache = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    directories = {os.path.dirname(line.split(" => ")[1]) for line in cache.splitlines() if "x86-64" in line and " => " in line}
    installed = {path.name for directory in directories for path in pathlib.Path(on_host(directory)).glob(f"*.so.{version}")}
    fact("CDI: libraries of that version that it does not name", ", ".join(sorted(installed - mounted)) or "none")
    try:
        text = pathlib.Path(on_host(FILE_LIST)).read_text()
    except OSError:
        fact("CDI: the driver's own list of files", "there is none")
        return
    listed = {os.path.basename(word) for word in text.split('"') if ".so" in word}
    fact("CDI: libraries of the driver's own list that it does not name", ", ".join(sorted(listed - mounted)) or "none")


def make_root():
    """libc, and the program."""
    for directory in ("dev", "proc", "sys", "tmp"):
        (ROOT / directory).mkdir(parents=True)
    libc = next(path for path in ("/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64") if os.path.exists(f"{path}/libc.so.6"))
    for path in [LOADER] + [f"{libc}/{name}" for name in LIBC]:
        if os.path.exists(path):
            target = ROOT / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    shutil.copy(os.environ["CARD_HOME"] + "/bin/spin", ROOT / "spin")


def binds(edits):
    """(source, target) of each mount, and of each device node."""
    also = os.environ.get("CARD_ALSO", "")
    return (
        [(on_host(mount["hostPath"]), mount["containerPath"]) for mount in edits.mounts]
        + [(on_host(node.get("hostPath", node["path"])), node["path"]) for node in edits.deviceNodes]
        + ([(also, also)] if also else [])
    )


def environment(edits):
    kept = {name: value for name, value in os.environ.items() if name.startswith("TESSERA_FAKE_")}
    # What the hooks would do for the container's loader.
    return {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": edits.library_path(), **kept, **dict(entry.split("=", 1) for entry in edits.env)}


def say(how, what, result):
    lines = " / ".join((result.stdout + result.stderr).split("\n")).strip(" /")
    fact(f"{how}: {what}", f"exit {result.returncode}: {lines}"[:600])


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False, **options)


def by_chroot(edits):
    """In a mount namespace of its own: nothing stays mounted."""
    script = ["set -e"]
    for source, target in binds(edits) + [("/proc", "/proc")]:
        inside = shlex.quote(str(ROOT) + target)
        make = f"mkdir -p {inside}" if os.path.isdir(source) else f"mkdir -p {inside.rpartition('/')[0]}; touch {inside}"
        script.append(f"{make}; mount --bind {shlex.quote(source)} {inside}")
    for what, command in PROGRAMS.items():
        words = " ".join(shlex.quote(word) for word in ["chroot", str(ROOT), *command])
        result = run(["unshare", "--mount", "bash", "-c", "\n".join([*script, "exec " + words])],
                     env={**environment(edits), "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"})
        say("in a chroot by the CDI document", what, result)


def by_runc(edits):
    if shutil.which("runc") is None:
        fact("in a container by runc", "there is no runc")
        return
    bundle = SCRATCH / "bundle"
    bundle.mkdir()
    devices = [{"path": node["path"], "type": "c", "major": node["major"], "minor": node["minor"], "fileMode": 0o666, "uid": 0, "gid": 0}
               for node in edits.deviceNodes]
    allowed = [{"allow": False, "access": "rwm"}] + [
        {"allow": True, "type": "c", "major": node["major"], "minor": node["minor"], "access": "rw"} for node in edits.deviceNodes]
    nodes = {node["path"] for node in edits.deviceNodes}
    mounts = [{"destination": "/proc", "type": "proc", "source": "proc"},
              {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]}]
    mounts += [{"destination": target, "source": source, "type": "bind", "options": ["rbind", "rprivate"]}
               for source, target in binds(edits) if target not in nodes]
    for what, command in PROGRAMS.items():
        spec = {
            "ociVersion": "1.0.2",
            "root": {"path": str(ROOT)},
            "process": {"cwd": "/", "args": command, "user": {"uid": 0, "gid": 0},
                        "env": [f"{name}={value}" for name, value in environment(edits).items()]},
            "mounts": mounts,
            "linux": {"namespaces": [{"type": kind} for kind in ("mount", "pid", "ipc", "uts")],
                      "devices": devices, "resources": {"devices": allowed}},
        }
        (bundle / "config.json").write_text(json.dumps(spec))
        result = run(["runc", "--root", str(SCRATCH / "runc"), "run", "--bundle", str(bundle), f"tessera-card-{os.getpid()}"])
        say("in a container by runc", what, result)


def main():
    edits = Edits(sys.argv[1])
    check_nodes(edits)
    check_libraries(edits)
    fact("CDI: hooks", ", ".join(" ".join(hook.get("args", [])[1:2]) for hook in edits.hooks) or "none")
    if os.geteuid() != 0:
        trouble("a container by the CDI document", "only root makes one")
        return
    make_root()
    for way in (by_chroot, by_runc):
        try:
            way(edits)
        except (OSError, subprocess.SubprocessError) as error:
            trouble(f"a container, {way.__name__}", error)


main()
