"""Imports that import-linter does not see: modules imported by name, and names that a package exports lazily."""

import ast
from pathlib import Path

BY_NAME = {"import_module", "__import__"}


def modules(package):
    """Map the dotted name of every module of a package folder to its file."""
    files = {}
    for path in sorted(Path(package).rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return files


def imported_by_statement(tree, known):
    """Names of the modules that import statements name, wherever they stand in the file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if name in known else node.module


def imported_by_name(tree, known):
    """Names of the modules that a file may import by a string.

    A literal argument of ``import_module`` counts. Where the argument is computed, each string of the file that names a
    module of the package counts, such as those in a table of lazily exported names, and so do all modules of a package
    whose ``__path__`` the file reads.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node) in BY_NAME and node.args]
    for call in calls:
        if isinstance(call.args[0], ast.Constant):
            yield call.args[0].value
    if all(isinstance(call.args[0], ast.Constant) for call in calls):
        return
    packages = {name.rpartition(".")[2]: name for name in imported_by_statement(tree, known)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "__path__" and isinstance(node.value, ast.Name):
            yield from (name for name in known if name.startswith(f"{packages.get(node.value.id)}."))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value.partition(":")[0]
            if name in known and "." in name:  # the name of the package alone is a word
                yield name


def graph_of(package):
    """The modules that each module imports, in any way."""
    known = modules(package)
    graph = {}
    for name, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = {*imported_by_statement(tree, known), *imported_by_name(tree, known)}
        graph[name] = (found & set(known)) - {name}
    return graph


def write_as_statements(package):
    """Append an import statement to each file for every module that it imports by name."""
    known = modules(package)
    for name, path in known.items():
        text = path.read_text(encoding="utf-8")
        found = sorted(set(imported_by_name(ast.parse(text), known)) - {name})
        if found:
            path.write_text(text + "\n\ndef _imported_by_name():\n" + "".join(f"    import {one}\n" for one in found))


def _called(call):
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
