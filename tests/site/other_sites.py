"""A site with boards of the protocols that the synthetic results do not have."""

from __future__ import annotations

import shutil
from pathlib import Path

from bench.site.build import build_site
from tests.other_benches import make_long, played
from tests.spoken_bench import make_spoken, recorded

ROOT = Path(__file__).resolve().parents[2]
COMMITTED = ("card-probes/en/*/*/baba-yaga.[aist]*", "demo-v1/en", "human-likeness-demo/en/*/*/jun.*")
"""Of the committed results, what shows the other protocols."""


def make_other_site(root: Path) -> None:
    """Build ``site`` in ``root``: spoken and long conversations, probes, version 1, human likeness."""
    tree = recorded(make_spoken(root / "spoken"))
    shutil.move(played(make_long(root / "long"), ("bard", "actor")).root / "tiny-long", tree.root)
    committed = ROOT / "results"
    for pattern in COMMITTED:
        for path in committed.glob(pattern):
            for file in [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]:
                _copy(file, tree.root / file.relative_to(committed))
    for board in ("card-probes", "human-likeness-demo"):
        for file in committed.glob(f"{board}/en/*/player.json"):
            _copy(file, tree.root / file.relative_to(committed))
    build_site(tree, output=root / "site", jobs=1)


def _copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(file, to)
