#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a directory as an OCI image archive of one layer (OCI image-spec 1.1): same input, same bytes.
usage: tools/oci.py DIRECTORY DOCKERFILE ARCHITECTURE SECONDS ARCHIVE
The start configuration and labels are those of the Dockerfile's last stage and of the stages that it is made from.
SECONDS since 1970: the time of all files. Prints the image's digest and size."""
import datetime, gzip, hashlib, io, json, os, re, sys, tarfile


def configuration(dockerfile):
    """ENV, LABEL, USER, ENTRYPOINT and CMD of the last stage, with ARG's defaults filled in."""
    text = re.sub(r"\\\n", " ", open(dockerfile).read())
    stages, arguments, current, name = {}, {}, {}, ""
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        rest = re.sub(r"\$\{(\w+)\}", lambda found: arguments.get(found[1], ""), rest.strip())
        if word == "ARG":
            key, _, value = rest.partition("=")
            arguments[key] = value
        elif word == "FROM":
            base, _, name = rest.partition(" AS ")
            current = json.loads(json.dumps(stages.get(base, {})))
        elif word in ("ENV", "LABEL"):
            for key, quoted, plain in re.findall(r'([\w.]+)=(?:"([^"]*)"|(\S*))', rest):
                current.setdefault(word, {})[key] = quoted or plain
        elif word in ("ENTRYPOINT", "CMD"):
            current[word] = json.loads(rest)
        elif word == "USER":
            current[word] = rest
        stages[name] = current
    made = {"User": current.get("USER"), "Env": [f"{key}={value}" for key, value in sorted(current.get("ENV", {}).items())],
            "Entrypoint": current.get("ENTRYPOINT"), "Cmd": current.get("CMD"), "Labels": current.get("LABEL")}
    return {key: value for key, value in made.items() if value}


def layer(directory, seconds):
    """The directory as a tar, in the order of names, owned by root."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        paths = [os.path.join(at, name) for at, folders, files in os.walk(directory) for name in folders + files]
        for path in sorted(paths):
            entry = tar.gettarinfo(path, os.path.relpath(path, directory))
            if entry.islnk():  # a second name on this machine alone
                entry.type, entry.size = tarfile.REGTYPE, os.path.getsize(path)
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = seconds
            with open(path, "rb") if entry.isreg() else io.BytesIO() as content:
                tar.addfile(entry, content if entry.isreg() else None)
    return packed.getvalue()


def main(directory, dockerfile, architecture, seconds, archive):
    seconds = int(seconds)
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    created = created.strftime("%Y-%m-%dT%H:%M:%SZ")
    blobs = {}

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        blobs["blobs/sha256/" + digest] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": "sha256:" + digest, "size": len(content)}

    def document(value, kind):
        return blob(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), kind + "+json")

    plain = layer(directory, seconds)
    packed = blob(gzip.compress(plain, mtime=0), "layer.v1.tar+gzip")
    setup = document({"created": created, "architecture": architecture, "os": "linux", "config": configuration(dockerfile),
                      "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(plain).hexdigest()]},
                      "history": [{"created": created, "created_by": "tools/image"}]}, "config.v1")
    version = configuration(dockerfile).get("Labels", {}).get("org.opencontainers.image.version", "0")
    image = document({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": setup,
                      "layers": [packed]}, "manifest.v1")
    image |= {"platform": {"architecture": architecture, "os": "linux"},
              "annotations": {"org.opencontainers.image.ref.name": version,
                              "io.containerd.image.name": f"docker.io/library/tessera:{version}"}}
    blobs["index.json"] = json.dumps({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
                                      "manifests": [image]}, sort_keys=True).encode()
    blobs["oci-layout"] = b'{"imageLayoutVersion":"1.0.0"}'
    with tarfile.open(archive, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(blobs.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(content), seconds
            tar.addfile(entry, io.BytesIO(content))
    print(f"{archive}: {image['digest']}, {packed['size'] / 1e6:.1f} MB packed, {len(plain) / 1e6:.1f} MB on a node")


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    main(*sys.argv[1:])
