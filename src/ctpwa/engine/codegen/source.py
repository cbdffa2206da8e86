"""Generated modules on disk: readable, named by content, safe with several processes."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from ctpwa.errors import CtpwaError


def cache_folder() -> Path:
    """Where generated code is kept: ``$CTPWA_CACHE``, else the user's cache folder."""
    given = os.environ.get("CTPWA_CACHE")
    base = Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ctpwa"
    return base / "kernels"


def load_generated(name: str, text: str) -> ModuleType:
    """Import generated source; the file is written whole or not at all, and found again by its content.

    Args:
        name:  what the module is for
        text:  its source
    """
    digest = hashlib.sha256(text.encode()).hexdigest()[:20]
    module_name = f"ctpwa_{name}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    path = cache_folder() / f"{module_name}.py"
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        try:
            _write_whole(path, text)
        except OSError as error:
            what = f"cannot write generated kernels to {str(path.parent)!r}: {error.strerror or error}"
            raise CtpwaError(f"{what}\n fix: set CTPWA_CACHE to a folder that can be written") from None
    spec = importlib.util.spec_from_file_location(module_name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module


def _write_whole(path: Path, text: str) -> None:
    """The file is there with all its text or not at all, whatever other processes do."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
