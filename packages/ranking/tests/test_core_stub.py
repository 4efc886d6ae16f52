"""The stub `_core.pyi` says what the built module has: the same names, the same signatures."""

import ast
import inspect
from pathlib import Path

import pytest

from for_each import for_each
from salon_ranking import _core

STUB = ast.parse(Path(_core.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))


def stub_signature(function: ast.FunctionDef) -> list[tuple[str, object]]:
    arguments = function.args.args
    defaults = [inspect.Parameter.empty] * (len(arguments) - len(function.args.defaults))
    defaults += [ast.literal_eval(default) for default in function.args.defaults]
    return [
        (argument.arg, default)
        for argument, default in zip(arguments, defaults, strict=True)
        if argument.arg not in {"self", "cls"}
    ]


def built_signature(function: object) -> list[tuple[str, object]]:
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.default) for parameter in parameters if parameter.name != "self"]


FUNCTIONS = [node for node in STUB.body if isinstance(node, ast.FunctionDef)]
CLASSES = [node for node in STUB.body if isinstance(node, ast.ClassDef)]


def test_the_stub_names_everything_that_the_module_has():
    built = {name for name in dir(_core) if not name.startswith("_")}
    assert {node.name for node in [*FUNCTIONS, *CLASSES]} == built


@for_each("node", FUNCTIONS)
def test_functions_have_the_stubs_signature(node: ast.FunctionDef):
    assert stub_signature(node) == built_signature(getattr(_core, node.name))


@pytest.mark.parametrize("node", CLASSES, ids=lambda node: node.name)
def test_classes_have_the_stubs_members(node: ast.ClassDef):
    built = getattr(_core, node.name)
    members = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")}
    assert set(members) == {name for name in vars(built) if not name.startswith("_")}
    for name, member in members.items():
        if not member.decorator_list:  # properties have no signature
            assert stub_signature(member) == built_signature(getattr(built, name)), name
