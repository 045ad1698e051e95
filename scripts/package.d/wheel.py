"""Makes the wheel of the client for Python, without setuptools: the same bytes each time.
usage: wheel.py VERSION FOLDER"""

import base64
import hashlib
import pathlib
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
INFO = f"pawl_client-{VERSION}.dist-info"
METADATA = f"""Metadata-Version: 2.1
Name: pawl-client
Version: {VERSION}
Summary: Client of the lock service Pawl: locks with fencing tokens
License: MIT
Requires-Python: >=3.9
Description-Content-Type: text/markdown

"""
WHEEL = "Wheel-Version: 1.0\nGenerator: pawl\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def read(path):
    return (ROOT / path).read_bytes()


def digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


files = {"pawl.py": read("api/client/python/pawl.py"),
         f"{INFO}/METADATA": METADATA.encode() + read("api/client/python/README.md"),
         f"{INFO}/WHEEL": WHEEL.encode(), f"{INFO}/LICENSE": read("LICENSE")}
record = [f"{name},{digest(content)},{len(content)}\n" for name, content in files.items()]
files[f"{INFO}/RECORD"] = "".join([*record, f"{INFO}/RECORD,,\n"]).encode()
with zipfile.ZipFile(FOLDER / f"pawl_client-{VERSION}-py3-none-any.whl", "w") as wheel:
    for name, content in files.items():
        entry = zipfile.ZipInfo(name)  # of 1980
        entry.external_attr, entry.create_system = 0o644 << 16, 3
        wheel.writestr(entry, content, zipfile.ZIP_DEFLATED)
