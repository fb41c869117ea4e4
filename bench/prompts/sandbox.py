"""Jinja for untrusted templates: they can run no code, and cannot use up time or memory.

Every operation of a template costs a fixed price plus the size of its inputs and outputs. A rendering that
spends more than its budget ends in TemplateRuntimeError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import wraps
from typing import Any

from jinja2 import StrictUndefined, Template, nodes, pass_context
from jinja2.exceptions import TemplateRuntimeError
from jinja2.runtime import Context, LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

BUDGET = 3_000_000
"""Work that a rendering may do: about as many characters, or a twentieth as many steps."""
SHARE = 40
"""How often a rendering may handle every character of its variables beyond that."""
STEP = 20
"""Price of an operation."""
LARGEST = 20_000_000
"""Largest value that one operation may make, as estimated before it is done."""
MOST_BITS = 10_000
"""Size limit of an integer."""

# fmt: off
FILTERS = frozenset((
    "abs", "batch", "capitalize", "center", "count", "d", "default", "dictsort", "e", "escape", "first",
    "float", "format", "groupby", "indent", "int", "items", "join", "last", "length", "list", "lower",
    "map", "max", "min", "reject", "rejectattr", "replace", "reverse", "round", "select", "selectattr",
    "slice", "sort", "string", "sum", "title", "tojson", "trim", "truncate", "unique", "upper",
    "wordcount", "wordwrap",
))
METHODS: dict[type, frozenset[str]] = {
    str: frozenset((
        "capitalize", "casefold", "center", "count", "endswith", "find", "format", "index", "isalnum",
        "isalpha", "isdecimal", "isdigit", "islower", "isnumeric", "isspace", "istitle", "isupper",
        "join", "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace",
        "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith",
        "strip", "swapcase", "title", "upper", "zfill",
    )),
    dict: frozenset(("get", "items", "keys", "values")),
    list: frozenset(("count", "index")),
    tuple: frozenset(("count", "index")),
    int: frozenset(),
    float: frozenset(("is_integer",)),
}
# fmt: on
"""Methods of built-in types that templates may call; other types have no methods that need a limit."""
PADDING = frozenset({"batch", "center", "indent", "ljust", "rjust", "round", "slice", "zfill"})
"""Filters and methods that lengthen their input by a number that they are given."""
MOST_PADDING = 10_000
_FIELD = re.compile(r"%(?:\([^)]*\))?[^a-zA-Z%]*|\{[^}]*\}?")
"""A placeholder of ``'...' % value`` or ``'...'.format(value)``."""
_NUMBER = re.compile(r"\d+")
_NESTED = re.compile(r"\{[^}]*\{")


class _Meter:
    """What a rendering with ``variables`` may still spend."""

    def __init__(self, variables: Mapping[str, object]) -> None:
        self.left = BUDGET
        self._variables: Mapping[str, object] | None = variables

    def spend(self, *values: object) -> int:
        """Charge for one operation with ``values``. Returns their size, at most what was left."""
        size = 1 + len(values)
        for value in values:
            size += 1 + len(value) if type(value) is str else _size(value, self.left)
        if size > self.left and self._raised():
            return self.spend(*values)
        self.charge(size)
        return size

    def charge(self, size: int) -> None:
        """Charge for one operation on values of a known size."""
        self.left -= STEP + size
        if self.left < 0 and not (self._raised() and self.left >= 0):
            raise TemplateRuntimeError("the template does too much: its loops or texts are too long")

    def _raised(self) -> bool:
        """Add the share of the variables, unless it is added already. Few renderings need to know it."""
        if self._variables is None:
            return False
        self.left += SHARE * _size(self._variables, LARGEST * SHARE)
        self._variables = None
        return True


_METER: ContextVar[_Meter] = ContextVar("meter")


def _size(value: object, most: int) -> int:
    """Characters, digits and entries in ``value``, counted until there are more than ``most``. A list or the
    like takes as long as an operation.

    Every call of a model renders prompts, so the usual types come first: abstract ones are slow to check.
    """
    size, stack = 0, [value]
    while stack and size <= most:
        item = stack.pop()
        size += 1 if isinstance(item, (str, int)) else STEP
        if isinstance(item, (str, bytes, range)):
            size += len(item)
        elif isinstance(item, int):
            size += item.bit_length() // 8
        elif isinstance(item, (dict, Mapping)):
            size += _size_of_texts((*item.keys(), *item.values()), stack)
        elif isinstance(item, (tuple, list, Collection)) and not isinstance(item, StrictUndefined):
            size += len(item) + _size_of_texts(item, stack)
        elif isinstance(item, Namespace):
            stack.append(object.__getattribute__(item, "_Namespace__attrs"))
        elif isinstance(item, LoopContext):
            stack.append(item._iterable)
    return size


def _size_of_texts(items: Collection[object], others: list[object]) -> int:
    """The size of the texts among ``items``, and of None; the rest is added to ``others``."""
    texts = [item for item in items if type(item) is str]
    rest = [item for item in items if type(item) is not str and item is not None]
    others += rest
    return len(items) - len(rest) + sum(map(len, texts))


def _check_growth(name: str, subject: Any, arguments: Sequence[Any], size: int) -> None:
    """Raise TemplateRuntimeError if the result of a filter or method could be too large.

    Args:
        name: What is called.
        subject: The value that it is called on.
        arguments: All others.
        size: The size of all values together.
    """
    numbers = [value for value in arguments if isinstance(value, (int, float))]
    copies = 1
    if name == "format":
        fields = _FIELD.findall(str(subject))
        copies += len(fields)
        if not any("*" in field for field in fields):
            numbers = []  # they are printed, and pad nothing
        numbers += [int(digits[:9]) for digits in _NUMBER.findall(" ".join(fields))]
        if _NESTED.search(str(subject).replace("{{", "")):
            raise TemplateRuntimeError("a field of format() may not hold another")
    elif name == "replace" and arguments:
        copies += str(subject).count(str(arguments[0]))
    elif name in ("join", "indent", "wordwrap"):
        texts = [*arguments, subject] if name == "join" else arguments
        copies += min((len(value) for value in texts if isinstance(value, str)), default=0)
    elif name == "tojson" and arguments:
        raise TemplateRuntimeError("the filter 'tojson' takes no indent")
    elif name == "sum" and not all(isinstance(value, str) for value in arguments):
        raise TemplateRuntimeError("the filter 'sum' takes only the name of an attribute")
    padding = max(map(abs, numbers), default=0) if name in PADDING or name == "format" else 0
    lines = str(subject).count("\n") + 1 if name == "indent" else copies
    if padding > MOST_PADDING or copies * size + lines * padding > LARGEST:
        raise TemplateRuntimeError(f"{name!r} would make a text that is too long")


def _metered(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The filter or test ``function``, charged for what goes in and comes out."""

    @wraps(function)  # keeps Jinja's marks, which say whether it is passed the context
    def metered(*args: Any, **kwargs: Any) -> Any:
        passed = 1 if hasattr(function, "jinja_pass_arg") else 0
        values = [list(value) if isinstance(value, Iterator) else value for value in args[passed:]]
        size = _METER.get().spend(*values, *kwargs.values())
        _check_growth(name, values[0], [*values[1:], *kwargs.values()], size)
        result = function(*args[:passed], *values, **kwargs)
        if isinstance(result, Iterator):
            result = list(result)
        _METER.get().spend(result)
        return result

    return metered


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of prompt templates. :meth:`template` compiles one, :meth:`rendered` renders it."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "**", "%"})

    def __init__(self, filters: Mapping[str, Callable[..., Any]]) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False, optimized=False, finalize=_shown)
        kept = {name: self.filters[name] for name in FILTERS} | dict(filters)
        self.filters = {name: _metered(name, function) for name, function in kept.items()}
        self.filters |= {"_counted": _counted, "_weighed": _weighed, "_joined": _joined}
        tests: dict[str, Any] = self.tests
        self.tests = {name: _metered(name, function) for name, function in tests.items()}
        self.globals = {name: self.globals[name] for name in ("range", "dict", "namespace")}

    def template(self, text: str) -> Template:
        """Compile a template. Raises TemplateError."""
        try:
            return self.from_string(_charged(self.parse(text)))
        except (RecursionError, MemoryError, SyntaxError, ValueError) as error:
            raise TemplateRuntimeError(f"too complex: {type(error).__name__}") from None

    def rendered(self, template: Template, variables: Mapping[str, object]) -> str:
        """The text of a template. Raises TemplateError, or what its operations raise."""
        token = _METER.set(_Meter(variables))
        try:
            text = template.render(variables)
            text.encode()
        except UnicodeEncodeError:
            raise TemplateRuntimeError("the text has half of a surrogate pair, such as '\\ud800'") from None
        except (RecursionError, MemoryError):
            raise TemplateRuntimeError("the template calls itself too often") from None
        except AssertionError as error:  # by which some filters refuse their arguments
            raise TemplateRuntimeError(str(error)) from None
        finally:
            _METER.reset(token)
        assert isinstance(text, str)
        return text

    def concat(self, parts: Iterable[str]) -> str:
        """Join the output of a template, macro or block; Jinja calls this in place of ``"".join``."""
        meter, pieces = _METER.get(), []
        for part in parts:
            meter.left -= STEP + len(part)
            if meter.left < 0:
                meter.charge(0)
            pieces.append(part)
        return "".join(pieces)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        size = _METER.get().spend(left, right)
        if isinstance(left, (int, float)) and isinstance(right, (int, float)):
            if isinstance(left, int) and operator == "**" and left.bit_length() * abs(right) > MOST_BITS:
                raise TemplateRuntimeError(f"the number {left} ** {right} is too large")
        elif operator == "*":
            times = right if isinstance(right, int) else left
            if isinstance(times, int) and size * abs(times) > LARGEST:
                raise TemplateRuntimeError("'*' would make a text or list that is too long")
        elif operator == "%":
            _check_growth("format", left, [*right] if isinstance(right, tuple) else [right], size)
        result = super().call_binop(context, operator, left, right)
        if isinstance(result, int) and result.bit_length() > MOST_BITS:
            raise TemplateRuntimeError("a number is too large")
        _METER.get().spend(result)
        return result

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        allowed = next((names for kind, names in METHODS.items() if isinstance(obj, kind)), None)
        return super().is_safe_attribute(obj, attr, value) and (allowed is None or attr in allowed)

    def getitem(self, obj: Any, argument: Any) -> Any:
        if not isinstance(argument, (str, int, slice)):
            _METER.get().spend(argument)  # before it is hashed
        result = super().getitem(obj, argument)
        if isinstance(argument, slice):
            _METER.get().spend(result)
        return result

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        method = getattr(__obj, "__wrapped__", __obj)  # Jinja wraps str.format
        subject = getattr(method, "__self__", None)
        size = _METER.get().spend(subject, *args, *kwargs.values())
        if subject is not None:
            _check_growth(method.__name__.removesuffix("_map"), subject, [*args, *kwargs.values()], size)
        result = super().call(__context, __obj, *args, **kwargs)
        _METER.get().spend(result)
        return result


def _counted(values: Iterable[Any]) -> Any:
    """What a loop runs over, charged for every round."""
    rounds = values if isinstance(values, Collection) else list(values)
    meter = _METER.get()
    meter.left -= STEP * len(rounds)
    meter.spend()
    return rounds


def _weighed(value: Any) -> Any:
    """A value that is compared or hashed, charged for its size."""
    _METER.get().spend(value)
    return value


@pass_context  # so that Jinja does not call it while compiling
def _shown(context: Context, value: Any) -> Any:
    """A value that is printed, charged for its size before it becomes a text; texts are charged as output."""
    if not isinstance(value, str):
        _METER.get().spend(value)
    return value


def _joined(values: list[Any]) -> str:
    """The values of ``a ~ b ~ c`` as one text."""
    _METER.get().spend(*values)
    return "".join(map(str, values))


def _charged(node: Any) -> Any:
    """``node`` of a template with a charge on what Jinja has no hook for: loops, ``~``, comparisons, keys."""
    if isinstance(node, list):
        return [_charged(child) for child in node]
    if not isinstance(node, nodes.Node):
        return node
    for name, value in node.iter_fields():
        setattr(node, name, _charged(value))
    if isinstance(node, nodes.For):
        if node.recursive:
            raise TemplateRuntimeError(f"line {node.lineno}: recursive loops are not supported in prompts")
        node.iter = _filtered("_counted", node.iter)
    elif isinstance(node, (nodes.Compare, nodes.Operand)):
        node.expr = _filtered("_weighed", node.expr)
    elif isinstance(node, nodes.Pair) and not isinstance(node.key, nodes.Const):
        node.key = _filtered("_weighed", node.key)
    elif isinstance(node, nodes.Concat):
        parts = nodes.List(node.nodes, lineno=node.lineno, environment=node.environment)
        return _filtered("_joined", parts)
    return node


def _filtered(name: str, node: Any) -> nodes.Filter:
    new = nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
    new.environment = node.environment
    return new
