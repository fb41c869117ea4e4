"""Sites built once for all tests that only look at them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.results import ResultsTree
from bench.site.build import build_site
from bench.site.labels import SuiteLabel
from bench.site.serve import site_server
from bench.site.shell import Stage1, build_shells
from tests.site.browsing import CHROMIUM, FLAGS, Watched
from tests.site.hostile import BOOM, hostile_tree
from tests.synthetic import make_tree

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Request


@pytest.fixture(scope="session", autouse=True)
def shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """MkDocs takes seconds, so it runs once for each set of boards, over all tests and worker processes."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder

    def cached(*args: Any, **options: Any) -> Stage1:
        key = hashlib.sha256(repr((args, sorted(options.items()))).encode()).hexdigest()
        path = folder / f"shells-{key}"
        with (folder / "shells.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                path.write_bytes(pickle.dumps(build_shells(*args, **options)))
        stage1 = pickle.loads(path.read_bytes())
        assert isinstance(stage1, Stage1)
        return stage1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bench.site.build.build_shells", cached)
        yield


@pytest.fixture(scope="session")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    """Three players, two languages, nine scenes, with failures and refusals; and one conversation missing."""
    root = tmp_path_factory.mktemp("small") / "results"
    made = make_tree(
        root,
        players=3,
        languages=("en", "ru"),
        characters=3,
        situations=3,
        failure_rate=0.2,
        refusal_rate=0.3,
        seed=3,
    )
    folder = made.tree.player_folder(made.suite, "en", made.players[0])
    for path in folder.rglob("character-2.situation-2.json"):
        path.unlink()
    return made.tree


@pytest.fixture(scope="session")
def small_site(small_tree: ResultsTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the small tree; its suite is a demonstration."""
    output = tmp_path_factory.mktemp("small-site") / "site"
    label = SuiteLabel("Made by a script", "Stock sentences.", demonstration=True)
    build_site(small_tree, output=output, labels={"synthetic": label})
    return output


@pytest.fixture(scope="session")
def hostile_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hostile results in ``results`` and their site in ``deep/er/site``."""
    root = tmp_path_factory.mktemp("hostile")
    tree = hostile_tree(root / "results")
    evil = f"</title><script>{BOOM}</script>"
    label = SuiteLabel(evil, evil, demonstration=True)
    build_site(tree, output=root / "deep" / "er" / "site", labels={"hostile": label})
    return root


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS.split())
        yield started
        started.close()


@pytest.fixture
def watch(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A page in a fresh context; parametrise indirectly with options of the context."""
    options = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    context = browser.new_context(**options)
    context.set_default_timeout(120_000)  # a busy machine is no fault of the page
    watched = Watched(context.new_page(), "", bool(options.get("java_script_enabled", True)))

    def asked(call: Request) -> None:
        if not call.url.startswith((watched.base, "data:", "blob:", "about:")):
            watched.faults.append(f"request to {call.url}")

    def dismissed(dialog: Dialog) -> None:
        watched.faults.append("dialog")
        dialog.dismiss()

    page = watched.page
    page.on("request", asked)
    page.on("console", lambda m: watched.faults.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: watched.faults.append(str(error)))
    page.on("dialog", dismissed)
    page.on("popup", lambda _: watched.faults.append("popup"))
    yield watched
    context.close()


def _served(site: Path) -> Iterator[str]:
    with site_server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def small_url(small_site: Path) -> Iterator[str]:
    yield from _served(small_site)


@pytest.fixture(scope="module")
def hostile_url(hostile_root: Path) -> Iterator[str]:
    yield from _served(hostile_root / "deep" / "er" / "site")
