# SPDX-License-Identifier: MIT
"""Stand-in for `pip install SOURCE --target FOLDER`: modules, name, version and entry points."""
import pathlib
import shutil
import sys
import tomllib


def install(source, folder):
    source, folder = pathlib.Path(source), pathlib.Path(folder)
    config = tomllib.loads((source / "pyproject.toml").read_text())
    project = config["project"]
    for module in config["tool"]["setuptools"]["py-modules"]:
        shutil.copy(source / (module + ".py"), folder)
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project.get("entry-points", {})
    (info / "entry_points.txt").write_text("".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in groups.items()))


if __name__ == "__main__":
    install(sys.argv[1], sys.argv[2])
