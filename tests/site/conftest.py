"""Sites built once for all tests that only look at them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from bench.agreement.report import agreement_of
from bench.results import ResultsTree
from bench.site.build import build_site
from bench.site.labels import SuiteLabel
from bench.site.serve import site_server
from tests.agreement.made_study import study_tree
from tests.sharing import made_once
from tests.site.browsing import CHROMIUM, FLAGS, Watched
from tests.site.hostile import BOOM, hostile_tree
from tests.synthetic import make_tree
from tests.synthetic_pairs import add_comparisons
from tests.tiny import CARD, SITUATION, SUITE, TEMPLATES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Playwright, Request


RESAMPLES = 100
"""Of the agreement on pages of studies."""


@pytest.fixture(scope="session", autouse=True)
def quick(quick_sites: None) -> None:
    """Every site here is built in the quick way."""


@pytest.fixture(scope="module")
def quick_agreement() -> Iterator[None]:
    """Few resamples and no random orders, for pages of studies whose intervals and p no test looks at."""
    with pytest.MonkeyPatch.context() as patch:
        _few_resamples(patch)
        yield


def _few_resamples(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("bench.site.human_pages.agreement_of", partial(agreement_of, resamples=RESAMPLES))
    patch.setattr("bench.agreement.coefficients.MANY", 10)


@pytest.fixture(scope="session")
def study_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the ``results`` of a human study, and their ``site`` without charts."""
    return made_once(tmp_path_factory, "study", _make_study)


def _make_study(root: Path) -> None:
    tree = study_tree(root / "results", failure_rate=0.1, refusal_rate=0.2).tree
    with pytest.MonkeyPatch.context() as patch:
        _few_resamples(patch)
        patch.setattr("bench.site.chart_pages._charts", lambda context: iter(()))
        build_site(tree, output=root / "site")


@pytest.fixture(scope="session")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    """Three players, two languages, nine scenes, with failures and refusals; and one conversation missing."""
    return ResultsTree(made_once(tmp_path_factory, "small-results", _make_small_tree))


def _make_small_tree(root: Path) -> None:
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


@pytest.fixture(scope="session")
def mini_tree(tmp_path_factory: pytest.TempPathFactory) -> ResultsTree:
    """Two players and four scenes in English, for sites that a test builds itself."""
    return ResultsTree(
        made_once(
            tmp_path_factory,
            "mini-results",
            lambda root: make_tree(root, players=2, languages=("en",), characters=2, situations=2),
        )
    )


@pytest.fixture(scope="session")
def small_site(small_tree: ResultsTree, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the small tree; its suite is a demonstration."""
    label = SuiteLabel("Made by a script", "Stock sentences.", demonstration=True)
    return made_once(
        tmp_path_factory,
        "small-site",
        lambda folder: build_site(small_tree, output=folder / "site", labels={"synthetic": label}),
    ).joinpath("site")


@pytest.fixture(scope="session")
def hostile_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with hostile results in ``results`` and their site in ``deep/er/site``."""
    return made_once(tmp_path_factory, "hostile", _make_hostile)


def _make_hostile(root: Path) -> None:
    tree = hostile_tree(root / "results")
    evil = f"</title><script>{BOOM}</script>"
    label = SuiteLabel(evil, evil, demonstration=True)
    build_site(tree, output=root / "deep" / "er" / "site", labels={"hostile": label})


@pytest.fixture(scope="session")
def full_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``results``, ``prompts`` and a ``site`` that has pages which the small one lacks.

    Its situations have kinds, its players stand in the list of another benchmark and met in pairs, one of
    them has a hostile name, and the addresses of the site and of its source are known.
    """
    return made_once(tmp_path_factory, "full", _make_full)


def _make_full(root: Path) -> None:
    made = make_tree(root / "results", players=4, characters=2, situations=2, seed=5)
    add_comparisons(made, most=5)
    path = root / "results/synthetic/en/player-01/player.json"
    name = f"</svg><script>{BOOM}</script>&lt;"
    path.write_text(json.dumps({**json.loads(path.read_text()), "name": name}))
    external = root / "results/external"
    external.mkdir()
    lines = "".join(f"Other,1,M{n},{n},https://example.invalid/list,2024\n" for n in range(1, 5))
    (external / "other.csv").write_text(f"benchmark,version,model,score,source,date\n{lines}")
    aliases = "".join(f'["M{n}"]\nids = ["player-0{n}"]\nother = "M{n}"\n' for n in range(1, 5))
    (external / "aliases.toml").write_text(aliases)
    suite = SUITE.replace('"strict"', '"judge-01", "judge-02"').replace(
        '"anna", "bruno"', '"character-1", "character-2"'
    )
    suite = suite.replace('"hello", "storm"', '"situation-1", "situation-2"')
    texts = {"pingpong_v2/synthetic.toml": suite}
    for n, kind in enumerate(("common", "attack"), start=1):
        texts[f"characters/en/character-{n}.toml"] = CARD.format(name=f"Keeper {n}")
        text = SITUATION.format(title=f"Storm {n}", turns=4)
        texts[f"situations/en/situation-{n}.toml"] = text.replace('"common"', f'"{kind}"')
    for template in TEMPLATES.glob("*.jinja"):
        texts[f"pingpong_v2/{template.name}"] = template.read_text()
    for inside, text in texts.items():
        file = root / "prompts" / inside
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    build_site(
        made.tree,
        output=root / "site",
        prompts=root / "prompts",
        site_url="https://example.invalid/roles/",
        source_url="https://example.invalid/results/",
    )


class _Chromium:
    """The browser of this process, and its pages by the options of their contexts.

    Starting it takes more than a second and a window more than a page, so tests share it as long as the next
    one needs it. Then it has to close: while it runs, nothing else in this process can run an event loop.
    """

    def __init__(self) -> None:
        self.running = ExitStack()
        self.browser: Browser | None = None
        self.pages: dict[str, Watched] = {}

    def started(self) -> Browser:
        if self.browser is None:
            sync_api = pytest.importorskip(
                "playwright.sync_api", reason="Playwright for Python is not installed"
            )
            playwright: Playwright = self.running.enter_context(sync_api.sync_playwright())
            self.browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS.split())
            self.running.callback(self.browser.close)
        return self.browser

    def close(self) -> None:
        self.pages.clear()
        self.browser = None
        self.running.close()


_CHROMIUM = _Chromium()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Close the browser unless the next test needs it."""
    if nextitem is None or nextitem.get_closest_marker("browser") is None:
        _CHROMIUM.close()


@pytest.fixture(scope="session")
def other_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site with boards of the other protocols: spoken, long, probes, version 1, human likeness."""
    return made_once(tmp_path_factory, "other-kinds", _make_others) / "site"


def _make_others(root: Path) -> None:
    from tests.site.other_sites import make_other_site

    _CHROMIUM.close()  # some conversations are played, in an event loop
    make_other_site(root)


@pytest.fixture
def browser() -> Browser:
    """Chromium."""
    return _CHROMIUM.started()


@pytest.fixture
def watch(browser: Browser, request: pytest.FixtureRequest) -> Watched:
    """An empty page; parametrise indirectly with options of its context."""
    options = {"viewport": {"width": 1280, "height": 900}, **getattr(request, "param", {})}
    watched = _CHROMIUM.pages.get(repr(options))
    if watched is None:
        watched = _CHROMIUM.pages[repr(options)] = _watched_page(browser, options)
    watched.base = ""  # until the test sets it, nothing that is asked for is a fault
    page = watched.page
    page.goto("about:blank")
    page.set_viewport_size(options["viewport"])
    page.emulate_media(media="null", color_scheme="null")
    watched.faults.clear()
    return watched


def _watched_page(browser: Browser, options: dict[str, Any]) -> Watched:
    context = browser.new_context(**options)
    context.set_default_timeout(120_000)  # a busy machine is no fault of the page
    page = context.new_page()
    watched = Watched(page, "", bool(options.get("java_script_enabled", True)))

    def asked(call: Request) -> None:
        if not call.url.startswith((watched.base, "data:", "blob:", "about:")):
            watched.faults.append(f"request to {call.url}")

    def dismissed(dialog: Dialog) -> None:
        watched.faults.append("dialog")
        dialog.dismiss()

    page.on("request", asked)
    page.on("console", lambda m: watched.faults.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: watched.faults.append(str(error)))
    page.on("dialog", dismissed)
    page.on("popup", lambda _: watched.faults.append("popup"))
    return watched


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
def full_url(full_root: Path) -> Iterator[str]:
    yield from _served(full_root / "site")


@pytest.fixture(scope="module")
def study_url(study_root: Path) -> Iterator[str]:
    yield from _served(study_root / "site")


@pytest.fixture(scope="module")
def hostile_url(hostile_root: Path) -> Iterator[str]:
    yield from _served(hostile_root / "deep" / "er" / "site")
