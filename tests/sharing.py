"""What is made once in a run of the tests, by whichever worker process needs it first."""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import ParamSpec, TypeVar

import pytest

P = ParamSpec("P")
R = TypeVar("R")


def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all worker processes of this run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def made_once(tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that the first worker process to need it fills. Tests only read it."""
    root = shared_folder(tmp_path_factory)
    folder, done = root / name, root / f"{name}.done"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            make(folder)
            done.touch()
    return folder


def computed_once(folder: Path, function: Callable[P, R]) -> Callable[P, R]:
    """``function``, called once for equal arguments by all worker processes. Its results are only read."""
    computed: dict[str, R] = {}
    label = getattr(function, "__qualname__", repr(function))

    def once(*args: P.args, **options: P.kwargs) -> R:
        content = pickle.dumps([label, *map(_content, args), _content(options)])
        name = f"computed-{hashlib.sha256(content).hexdigest()}"
        if name not in computed:
            path = folder / name
            if path.exists():
                computed[name] = pickle.loads(path.read_bytes())
            else:
                computed[name] = function(*args, **options)
                whole = path.with_suffix(f".{os.getpid()}")
                whole.write_bytes(pickle.dumps(computed[name]))
                whole.rename(path)
        return computed[name]

    return once


def _content(value: object) -> object:
    """``value`` for a comparison: of data classes the fields alone, not what they have computed from them.

    Of a function its name and the values that it has captured.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(field.name, _content(getattr(value, field.name))) for field in dataclasses.fields(value)]
        return [type(value).__qualname__, *fields]
    if isinstance(value, FunctionType):
        captured = [_content(cell.cell_contents) for cell in value.__closure__ or ()]
        return [value.__qualname__, value.__code__.co_firstlineno, *captured]
    return value
