"""The image of the Dockerfile beside this file, without a daemon: for scripts/package --image.

usage: image.py packages             prints the Debian packages that the last stage installs
       image.py commands             prints its other commands, for a shell in the root file system
       image.py pack ROOT.tar TIME   writes the archive that `docker load` reads to stdout

The layer is ROOT.tar as it is. TIME is in seconds since 1970."""

import datetime
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

DOCKERFILE = pathlib.Path(__file__).with_name("Dockerfile")
TAG = "pawl:latest"
SECOND_NS = 1_000_000_000


def last_stage():
    """The instructions of the last stage, as pairs of a word and its argument."""
    text = re.sub(r"(?m)^#.*\n", "", DOCKERFILE.read_text()).replace("\\\n", " ")
    stage = text.split("\nFROM ")[-1].splitlines()[1:]
    return [tuple(line.split(None, 1)) for line in stage if line.strip()]


def run_commands():
    return [part.strip() for word, argument in last_stage() if word == "RUN" for part in argument.split("&&")]


def packages():
    install = next(command for command in run_commands() if "apt-get install" in command)
    return [word for word in install.split("apt-get install")[1].split() if not word.startswith("-")]


def commands():
    return [command for command in run_commands() if "apt-get" not in command and "/var/lib/apt" not in command]


def argument_of(name):
    return next(argument for word, argument in last_stage() if word == name)


def health_check():
    """Dockerfile's words in the form of the archive: times in nanoseconds."""
    options, command = argument_of("HEALTHCHECK").split("CMD", 1)
    values = dict(re.findall(r"--([a-z-]+)=(\d+)", options))
    return {
        "Test": ["CMD", *json.loads(command)],
        "Interval": int(values["interval"]) * SECOND_NS,
        "Timeout": int(values["timeout"]) * SECOND_NS,
        "StartPeriod": int(values["start-period"]) * SECOND_NS,
        "Retries": int(values["retries"]),
    }


def config(layer_digest, created_s):
    created = datetime.datetime.fromtimestamp(created_s, datetime.timezone.utc).isoformat()
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True)
    return {
        "architecture": architecture.stdout.strip(),
        "os": "linux",
        "created": created,
        "config": {
            "User": argument_of("USER"),
            "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
            "ExposedPorts": {f"{argument_of('EXPOSE')}/tcp": {}},
            "Volumes": {argument_of("VOLUME"): {}},
            "Entrypoint": json.loads(argument_of("ENTRYPOINT")),
            "Cmd": json.loads(argument_of("CMD")),
            "Healthcheck": health_check(),
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        "history": [{"created": created, "created_by": "scripts/package --image"}],
    }


def add(archive, name, content, size, created_s):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = size, created_s, 0o644
    archive.addfile(entry, content)


def pack(layer, created_s, to):
    with open(layer, "rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    text = json.dumps(config(digest, created_s), sort_keys=True).encode()
    name = hashlib.sha256(text).hexdigest() + ".json"
    manifest = json.dumps([{"Config": name, "RepoTags": [TAG], "Layers": [f"{digest}/layer.tar"]}]).encode()
    with tarfile.open(fileobj=to, mode="w|", format=tarfile.GNU_FORMAT) as archive, open(layer, "rb") as content:
        add(archive, name, io.BytesIO(text), len(text), created_s)
        add(archive, f"{digest}/layer.tar", content, os.path.getsize(layer), created_s)
        add(archive, "manifest.json", io.BytesIO(manifest), len(manifest), created_s)


if __name__ == "__main__":
    if sys.argv[1:] == ["packages"]:
        print(",".join(packages()))
    elif sys.argv[1:] == ["commands"]:
        print(" && ".join(commands()))
    elif len(sys.argv) == 4 and sys.argv[1] == "pack":
        pack(sys.argv[2], int(sys.argv[3]), sys.stdout.buffer)
    else:
        sys.exit(__doc__)
