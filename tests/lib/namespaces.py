"""A network, and mounts, of a test's own."""

import os
import sys


def enter(*options):
    """Begins again in new namespaces of the network and of mounts, and of the kinds in options. Skips the test where
    that is not allowed."""
    if os.environ.get("PAWL_NAMESPACES"):
        return
    os.environ["PAWL_NAMESPACES"] = "1"
    again = [sys.executable, "-B", *sys.argv]
    for user in ([], ["--map-root-user"]):
        unshare = ["unshare", *user, "--net", "--mount", *options]
        if os.spawnvp(os.P_WAIT, "unshare", [*unshare, "true"]) == 0:
            os.execvp("unshare", [*unshare, *again])
    print("skipped: this machine allows no network namespace")
    sys.exit(77)


def replace_file(path, content, folder):
    """The file has this content, for processes of the namespace. The folder keeps it."""
    copy = os.path.join(folder, os.path.basename(path))
    is_mounted = os.path.exists(copy)
    with open(copy, "w", encoding="utf-8") as file:
        file.write(content)
    if is_mounted:
        return
    if os.system("ip link set lo up") != 0 or os.system(f"mount --bind {copy} {path}") != 0:
        sys.exit(f"cannot replace {path}")
