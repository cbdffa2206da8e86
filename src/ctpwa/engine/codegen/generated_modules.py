"""Generated modules: their text is run as it was generated, and kept on disk to be read, and for what is compiled of it."""

from __future__ import annotations

import hashlib
import linecache
import sys
import threading
from types import ModuleType

from ctpwa.engine.codegen.kept_files import keep, mark_used, read_kept, usable_folder

_loading = threading.Lock()


def load_generated(name: str, text: str) -> ModuleType:
    """The module of generated source. Nothing on disk is run: neither the file of its text, nor bytecode.

    Args:
        name:  what the module is for
        text:  its source
    """
    module_name = f"ctpwa_{name}_{hashlib.sha256(text.encode()).hexdigest()[:20]}"
    with _loading:
        if module_name not in sys.modules:
            _run(module_name, text, _file_of(module_name, text))
        return sys.modules[module_name]


def _file_of(module_name: str, text: str) -> str:
    """The file with this text; a name that is no path if nothing can be kept."""
    folder = usable_folder()
    if folder is None:
        return f"<{module_name}>"
    path, content = folder / f"{module_name}.py", text.encode()
    if read_kept(path) == content:
        mark_used(path)
    else:
        keep(path, content)
    return str(path)


def _run(module_name: str, text: str, file: str) -> None:
    module = ModuleType(module_name)
    module.__file__ = file
    # Triton, and what prints tracebacks, take the text from here; without a time it is never read again from disk
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    sys.modules[module_name] = module
    try:
        exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    except BaseException:
        del sys.modules[module_name]
        raise
