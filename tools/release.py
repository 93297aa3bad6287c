#!/usr/bin/env python3
"""release.py - archives of a release whose bits depend on nothing but their content

    release.py zip OUT FOLDER
        a zip of a folder
    release.py wheel OUT LINUX FOLDER
        a wheel for Windows: that of Linux with the files of FOLDER in place of its
        program and libraries
    release.py sbom OUT VERSION ARTEFACTS PACKAGES
        what the artefacts carry, as SPDX 2.3

Times are those of SOURCE_DATE_EPOCH. PACKAGES has a line for each library:
`artefact name version licence`.
"""

import base64
import hashlib
import json
import os
import re
import sys
import time
import zipfile
from pathlib import Path

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
LIBRARIES = ".clattn.mesonpy.libs/clattn/lib/"


def write_zip(out: Path, files: dict[str, tuple[bytes, bool]]) -> None:
    """files  name: content, and whether it is a program"""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, (content, program) in sorted(files.items()):
            entry = zipfile.ZipInfo(name, time.gmtime(EPOCH)[:6])
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if program else 0o100644) << 16
            made.writestr(entry, content)


def content_of(folder: Path) -> dict[str, tuple[bytes, bool]]:
    return {
        str(file.relative_to(folder)): (file.read_bytes(), os.access(file, os.X_OK))
        for file in folder.rglob("*")
        if file.is_file()
    }


def pack(out: Path, folder: Path) -> None:
    write_zip(out, content_of(folder))


def record(files: dict[str, tuple[bytes, bool]], name: str) -> bytes:
    rows = []
    for file, (content, _) in sorted(files.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
        rows.append(f"{file},sha256={digest.decode()},{len(content)}")
    return ("\n".join([*rows, f"{name},,"]) + "\n").encode()


def wheel(out: Path, linux: Path, folder: Path) -> None:
    files: dict[str, tuple[bytes, bool]] = {}
    with zipfile.ZipFile(linux) as made:
        for entry in made.infolist():
            if entry.is_dir() or entry.filename.startswith(LIBRARIES):
                continue
            program = bool(entry.external_attr >> 16 & 0o111)
            files[entry.filename] = (made.read(entry), program)
    for name, content in content_of(folder).items():
        files[LIBRARIES + name] = content
    (tags,) = (name for name in files if name.endswith(".dist-info/WHEEL"))
    text = re.sub(
        r"(?m)^Tag: (.*-none)-.*$", r"Tag: \1-win_amd64", files[tags][0].decode()
    )
    files[tags] = (text.encode(), False)
    listing = tags.replace("/WHEEL", "/RECORD")
    files.pop(listing)
    files[listing] = (record(files, listing), False)
    write_zip(out, files)


def identifier(*words: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", "-".join(words))


def package(name: str, version: str, licence: str, key: str) -> dict[str, object]:
    return {
        "SPDXID": key,
        "name": name,
        "versionInfo": version,
        "licenseConcluded": licence,
        "licenseDeclared": licence,
        "copyrightText": "NOASSERTION",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
    }


def sbom(out: Path, version: str, artefacts: Path, carried: Path) -> None:
    product = identifier("clattn", version)
    packages = [package("clattn", version, "MIT", product)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", product)]
    sums = {}
    for file in sorted(artefacts.iterdir()):
        if file == out or file.name == "SHA256SUMS":
            continue
        key = identifier("file", file.name)
        sums[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
        made = package(file.name, version, "NOASSERTION", key)
        made["packageFileName"] = file.name
        made["checksums"] = [{"algorithm": "SHA256", "checksumValue": sums[file.name]}]
        packages.append(made)
        relations.append((key, "GENERATED_FROM", product))
    known = set()
    for line in sorted(set(carried.read_text().splitlines())):
        artefact, name, number, licence = line.split(" ", 3)
        key = identifier(name, number)
        if key not in known:
            packages.append(package(name, number, licence, key))
            known.add(key)
        relations.append((identifier("file", artefact), "CONTAINS", key))
    digest = hashlib.sha256(json.dumps(sums).encode()).hexdigest()
    text = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"clattn-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/clattn-{version}-{digest[:32]}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH)),
            "creators": ["Tool: clattn-release.py"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
            for a, kind, b in relations
        ],
    }
    out.write_text(json.dumps(text, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    match sys.argv[1:]:
        case ["zip", out, folder]:
            pack(Path(out), Path(folder))
        case ["wheel", out, linux, folder]:
            wheel(Path(out), Path(linux), Path(folder))
        case ["sbom", out, version, artefacts, carried]:
            sbom(Path(out), version, Path(artefacts), Path(carried))
        case _:
            sys.exit(__doc__)


main()
