"""The stub names what the library has, and each class has the same members."""

import ast
import pathlib

import weir
from weir import _weir

stub = ast.parse(pathlib.Path(weir.__file__).with_name("_weir.pyi").read_text())
functions = {it.name for it in stub.body if isinstance(it, ast.FunctionDef)}
classes = {it.name: it for it in stub.body if isinstance(it, ast.ClassDef)}
public = {name for name in vars(_weir) if not name.startswith("__")}
assert public == functions | set(classes), public ^ (functions | set(classes))
for name, stubbed in classes.items():
    there = getattr(_weir, name)
    members = {it.name for it in stubbed.body if isinstance(it, ast.FunctionDef)}
    built = {it for it in vars(there) if not it.startswith("__") or it in ("__len__", "__getitem__", "__arrow_c_stream__", "__arrow_c_schema__")}
    if issubclass(there, Exception):
        continue
    assert members == built, (name, members ^ built)
    assert there.__doc__ and all(getattr(there, it).__doc__ for it in built), name
for name in weir.__all__:
    assert hasattr(weir, name), name
    assert name == "__version__" or getattr(weir, name).__doc__, name
