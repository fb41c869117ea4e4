"""What MkDocs renders, shared by all sites that tests build: it takes seconds and hardly depends on boards.

MkDocs runs once for each shape of a navigation, on stand-ins for the boards' names, which are then replaced.
"""

from __future__ import annotations

import fcntl
import hashlib
import pickle
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.site.shell import NavBoard, Shell, Stage1, build_shells

SUITE, LANGUAGE, TITLE = "rcsuite{}rc", "rclanguage{}rc", "RCBOARD{:04d}RC"
_STAND_IN = re.compile(r"rcsuite\d+rc|rclanguage\d+rc|RCBOARD\d{4}RC")


def shells_in(folder: Path, *args: Any, **options: Any) -> Stage1:
    """What :func:`bench.site.shell.build_shells` returns for these arguments; ``folder`` keeps its output."""
    site_dir, mkdocs_yml, boards, site_url = args
    asked, names = _with_stand_ins(boards)
    key = hashlib.sha256(repr((site_dir, mkdocs_yml, asked, site_url, sorted(options.items()))).encode())
    path = folder / f"shells-{key.hexdigest()}"
    with (folder / "shells.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            made = build_shells(site_dir, mkdocs_yml, asked, site_url, **options)
            path.write_bytes(pickle.dumps(made))
    stage1 = pickle.loads(path.read_bytes())
    assert isinstance(stage1, Stage1)
    return _named(stage1, names, site_url)


def _with_stand_ins(boards: Sequence[NavBoard]) -> tuple[Sequence[NavBoard], Mapping[str, str]]:
    """The boards under other names, and the name for each stand-in.

    Boards with a title that HTML has to escape stay as they are, so that the site's own escaping is tested.
    """
    if not all(re.fullmatch(r"[\w ,.-]*", board.title) for board in boards):
        return boards, {}
    names: dict[str, str] = {}
    asked = []
    for n, board in enumerate(boards):
        top, suite, language, page = board.path.split("/")
        stand_ins = [_stand_in(names, form, name) for form, name in ((SUITE, suite), (LANGUAGE, language))]
        names[TITLE.format(n)] = board.title
        path = "/".join([top, *stand_ins, page])
        asked.append(NavBoard(path=path, suite=stand_ins[0], title=TITLE.format(n)))
    return asked, names


def _stand_in(names: dict[str, str], form: str, name: str) -> str:
    """The stand-in of ``form`` for a name, which is added to ``names`` if it is new."""
    start = form.partition("{")[0]
    mine = [stand_in for stand_in in names if stand_in.startswith(start)]
    for stand_in in mine:
        if names[stand_in] == name:
            return stand_in
    names[form.format(len(mine))] = name
    return form.format(len(mine))


def _named(stage1: Stage1, names: Mapping[str, str], site_url: str) -> Stage1:
    """``stage1`` with the boards' own names in place of the stand-ins."""
    if not names:
        return stage1

    def own(text: str) -> str:
        return _STAND_IN.sub(lambda match: names[match.group()], text)

    return Stage1(
        files=stage1.files,
        pages={own(name): own(page) for name, page in stage1.pages.items()},
        shells={kind: Shell(own(shell.page), site_url) for kind, shell in stage1.shells.items()},
        board_shells={
            own(name): Shell(own(shell.page), site_url) for name, shell in stage1.board_shells.items()
        },
    )
