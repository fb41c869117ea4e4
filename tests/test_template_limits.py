"""Templates from others: none may use up time or memory, whatever operation it tries."""

# ruff: noqa: E501

from __future__ import annotations

import resource
import time
from pathlib import Path

import pytest

from bench.errors import CatalogError
from bench.prompts import PromptSet, sandbox
from tests.lengths import of_long
from tests.tiny import said

HUGE = "10000000000"
DOUBLED = (
    "{% set n = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set n.x = @ %}{% endfor %}{{ n.x }}"
)
SHARED = "{% set n = namespace(x=['a']) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
ATTACKS = [
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "{% for a in range(99999) if a > 99998 %}{% for b in range(99999) if b < 0 %}{% endfor %}{% endfor %}",
    "{% for a in range(300) %}{% for b in range(300) %}{% for c in range(300) %}{% endfor %}{% endfor %}{% endfor %}",
    "{% for a in [[1]] recursive %}{{ loop(a) }}{% endfor %}",
    "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% else %}aaaa{% endif %}{% endmacro %}{{ m(28) }}",
    "{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{% call m() %}x{% endcall %}",
    "{{ range(10**9) | list }}",
    "{{ range(10**9) | length }}",
    "{{ range(99999) | map('string') | join('x' * 100000) }}",
    "{{ 'a' * 20000000000 }}",
    "{{ 20000000000 * 'a' }}",
    "{{ ['a'] * 20000000000 }}",
    "{{ ('a',) * 20000000000 }}",
    "{{ 'a' * 3000000 * 3000000 }}",
    "{{ 10 ** 10000000000 }}",
    "{{ 2 ** 9000 ** 2 }}",
    "{% set n = namespace(x=7) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}{{ n.x }}",
    DOUBLED.replace("@", "n.x + n.x"),
    DOUBLED.replace("@", "n.x ~ n.x"),
    DOUBLED.replace("@", "[n.x, n.x] | join"),
    DOUBLED.replace("@", "''.join([n.x, n.x])"),
    DOUBLED.replace("@", "'%s%s' % (n.x, n.x)"),
    DOUBLED.replace("@", "'%s%s' | format(n.x, n.x)"),
    DOUBLED.replace("@", "'{0}{0}'.format(n.x)"),
    DOUBLED.replace("@", "n.x.replace('a', 'aa')"),
    DOUBLED.replace("@", "n.x | replace('a', 'aa')"),
    DOUBLED.replace("@", "n.x | indent(n.x | length, first=true)"),
    DOUBLED.replace("aaaaaaaa", "&&&&").replace("@", "n.x | e ~ n.x"),
    DOUBLED.replace("@", "n.x | list | string"),
    "{% set x = 'aaaaaaaa' %}" + "{% set x %}{{ x }}{{ x }}{% endset %}" * 40 + "{{ x }}",
    SHARED + "{{ n.x }}",
    SHARED + "{{ n.x | string }}",
    SHARED + "{{ n.x | tojson }}",
    SHARED + "{{ n.x ~ '' }}",
    SHARED + "{{ '%s' % [n.x] }}",
    SHARED + "{{ '{}'.format(n.x) }}",
    SHARED + "{% set m = namespace(x=['a']) %}{% for i in range(60) %}{% set m.x = [m.x, m.x] %}{% endfor %}"
    "{{ n.x == m.x }}",
    *(
        SHARED + text
        for text in (
            "{{ n }}",
            "{{ n | string }}",
            "{{ n ~ '' }}",
            "{{ '%s' % n }}",
            "{{ '{.x}'.format(n) }}",
            "{{ [n, n] | unique(attribute='x') | list }}",
            "{% for i in [n.x] %}{{ '{.first}{._iterable}'.format(loop, loop) }}{% endfor %}",
            "{% for i in [n.x, 1] %}{{ '{.previtem}'.format(loop) }}{% endfor %}",
        )
    ),
    *(
        SHARED.replace("[", "(").replace("])", ",))").replace("]", ")") + text
        for text in ("{{ {n.x: 1} }}", "{{ {}[n.x] }}", "{{ dict(**{n.x: 1}) }}", "{{ {}.get(n.x) }}")
    ),
    "{{ '\\ud800' }}",
    "{{ '%c' % 55296 }}",
    "{% set n = namespace(x=1) %}{% for i in range(99999) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x }}",
    *(f"{{{{ 'a'.{name}({HUGE}) }}}}" for name in ("center", "ljust", "rjust", "zfill", "expandtabs")),
    "{{ ('\\t' * 1000000).expandtabs(1000000) }}",
    *(
        f"{{{{ {value} | {name}({HUGE}) }}}}"
        for value, name in (
            ("'a'", "center"),
            ("'a'", "indent"),
            ("'a\nb'", "indent"),
            ("[1]", "slice"),
            ("1.5", "round"),
            ("['a']", "tojson"),
            ("1", "tojson"),
        )
    ),
    "{{ [1] | batch(10000000000, 'a') | list }}",
    "{{ 1.5 | round(1000000000, 'ceil') }}",
    "{{ '%10000000000d' % 1 }}",
    "{{ '%*d' % (10000000000, 1) }}",
    "{{ '%.10000000000f' % 1.5 }}",
    "{{ '%(a)10000000000d' % {'a': 1} }}",
    "{{ '%10000000000d' | format(1) }}",
    "{{ '%*d' | format(10000000000, 1) }}",
    "{{ '{:10000000000}'.format(1) }}",
    "{{ '{:*>10000000000}'.format(1) }}",
    "{{ '{:{}}'.format(1, 10000000000) }}",
    "{{ '{0:{1[0]}}'.format(1, [10000000000]) }}",
    "{{ '{{{0:{1[0]}}}}'.format(1, [10000000000]) }}",
    "{{ '{a:10000000000}'.format_map({'a': 1}) }}",
    "{% set f = 'x'['format'] %}{{ f() }}{{ '{:10000000000}'['format'](1) }}",
    "{{ ('%(a)s' * 100000) % {'a': 'a' * 100000} }}",
    "{{ ('{0}' * 100000).format('a' * 100000) }}",
    "{{ ('a' * 100000).replace('a', 'b' * 100000) }}",
    "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
    "{{ ('a' * 100000) | wordwrap(1, wrapstring='b' * 100000) }}",
    "{{ ('a' * 100000) | join('b' * 100000) }}",
    "{{ ('b' * 100000).join('a' * 100000) }}",
    "{{ ('a' * 1000).translate({97: 'b' * 1000000000}) }}",
    "{{ (5).to_bytes(10000000000, 'big') }}",
    "{{ [[1]] * 100000 | sum(start=[]) }}",
    "{{ ([[1]] * 100000) | sum(start=[]) | length }}",
    "{{ lipsum(100000000) }}",
    "{% set b = 'ab' * 1000000 %}{% for i in range(99999) %}{% if b[:-1] == 'a' %}{% endif %}{% endfor %}",
    "{% set b = 'ab' * 1000000 %}{% for i in range(99999) %}{% if 'aa' in b %}{% endif %}{% endfor %}",
    "{% set b = 'ab' * 1000000 %}{% for i in range(99999) %}{% if b is in(b) %}{% endif %}{% endfor %}",
    "{% set b = 'ab' * 1000000 %}{% for i in range(99999) %}{% set c = b.upper() %}{% endfor %}",
    "{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% set n.x = n.x + ['a' * 1000000 ~ i] %}{% endfor %}",
    "{% set n = namespace(x=[]) %}{% for i in range(9999) %}{% set n.x = n.x + [range(99999) | list] %}{% endfor %}",
    "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "{{ " + "+".join(["1"] * 20000) + " }}",
    "{% for a in [1] %}" * 200 + "{% endfor %}" * 200,
    "{% if 1 %}" * 5000 + "{% endif %}" * 5000,
    "{{ " + "9" * 100000 + " }}",
    "{% include 'x' %}",
    "{{ ''.__class__.__mro__ }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ [].append(1) }}",
    "{{ 'abc abc' | truncate(2, true, 'xxxx') }}",
    "{{ [[[[]]]] * 1000000 }}",
]


def rendered(tmp_path: Path, template: str) -> str:
    folder = tmp_path / "prompts" / "theirs"
    folder.mkdir(parents=True)
    (folder / "judge.jinja").write_text(template, encoding="utf-8")
    messages = [message.model_dump() for message in said("Hello?", "Mind the step.")]
    return PromptSet(folder, "en", ["judge"]).render("judge", messages=messages, char_name="Anna")


PARTS_OF_BUDGET = of_long(10, 1)
"""In the short form a template may spend a tenth of the budget."""


@pytest.mark.long
@pytest.mark.parametrize("template", ATTACKS, ids=lambda text: text[:60])
def test_a_greedy_template_ends_in_an_error_at_once(
    tmp_path: Path, template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "BUDGET", sandbox.BUDGET // PARTS_OF_BUDGET)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    with pytest.raises(CatalogError) as caught:
        rendered(tmp_path, template)
    assert time.process_time() - started < 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000
    assert "judge.jinja" in caught.value.where
    assert caught.value.hint


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{% for m in messages %}{{ loop.index }}/{{ loop.length }} {{ m.content }};{% endfor %}", None),
        ("{% for m in messages if m.role == 'user' %}{{ m.content }}{% else %}none{% endfor %}", "Hello?"),
        ("{{ messages | map(attribute='content') | join(' ') }}", "Hello? Mind the step."),
        ("{{ messages | selectattr('role', 'equalto', 'user') | list | length }}", "1"),
        ("{{ messages | rejectattr('role', 'eq', 'user') | map(attribute='role') | first }}", "assistant"),
        ("{% set n = namespace(k=0) %}{% for m in messages %}{% set n.k = n.k + 2 %}{% endfor %}{{ n.k }}", "4"),
        ("{% macro who(m, n=1) %}{{ m.role ~ ':' ~ n }}{% endmacro %}{{ who(messages[0]) }}", "user:1"),
        ("{% macro b() %}[{{ caller() }}]{% endmacro %}{% call b() %}x{% endcall %}", "[x]"),
        ("{% set t %}{{ char_name }}!{% endset %}{{ t * 2 }}", "Anna!Anna!"),
        ("{{ 'x'.center(5) }}|{{ 'x' | center(3) }}|{{ 'x'.ljust(3) }}|{{ '7'.zfill(3) }}", "  x  | x |x  |007"),
        ("{{ '%05.2f %s' % (1.5, 'a') }} {{ '%s' | format('b') }} {{ '{:>3}|{n}'.format(1, n=2) }}", None),
        ("{{ 'a-b'.split('-') | join('+') | upper }} {{ 'aXa' | replace('X', char_name) }}", "A+B aAnnaa"),
        ("{{ 'a\nb' | indent(2) }}|{{ 'a b c' | wordwrap(2) }}|{{ {'a': [1, none]} | tojson }}", None),
        ("{{ char_name | default('?') }}{{ missing | default('?') }}{{ missing is defined }}", "Anna?False"),
        ("{{ [3, 1, 2] | sort | first }}{{ [1, 2] | sum }}{{ 7.25 | round(1) }}{{ 2 ** 10 }}", "137.21024"),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}{{ v }}{% endfor %}{{ {'a': 1} | dictsort }}", "a1[('a', 1)]"),
        ("{{ 1 < 2 <= 2 }}{{ 'n' in char_name }}{{ 3 is odd }}{{ char_name is not string }}", "TrueTrueTrueFalse"),
        ("{{ 'In 1989 and 20000, %s' % char_name }}{{ 'a' 'b' }}{{ '{{}} {}'.format(1) }}", None),
        ("{{ '%d' % 20000 }} {{ '{:,}'.format(20000) }} {{ '%s' | format(20000.5) }}", "20000 20,000 20000.5"),
        ("{% filter upper %}{{ char_name[:2] }}{% endfilter %}{# note #}{% raw %}{{ x }}{% endraw %}", "AN{{ x }}"),
    ],
)  # fmt: skip
def test_an_ordinary_template_renders_as_in_jinja(tmp_path: Path, template: str, text: str | None) -> None:
    from jinja2 import Environment

    messages = [message.model_dump() for message in said("Hello?", "Mind the step.")]
    plain = Environment(autoescape=False).from_string(template)
    assert rendered(tmp_path, template) == plain.render(messages=messages, char_name="Anna")
    assert text in (None, rendered(tmp_path / "again", template))


def test_a_long_conversation_is_not_too_much(tmp_path: Path) -> None:
    folder = tmp_path / "prompts" / "theirs"
    folder.mkdir(parents=True)
    loop = "{% for m in messages %}Turn {{ loop.index }}: {{ m.content | quoted }}\n{% endfor %}"
    (folder / "judge.jinja").write_text(loop * 2, encoding="utf-8")
    text = PromptSet(folder, "en", ["judge"]).render("judge", messages=[{"content": "a b\n" * 2_500}] * 128)
    assert len(text) > 2 * 128 * 10_000
