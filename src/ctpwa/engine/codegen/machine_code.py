"""Machine code of kernels, from the text of LLVM or from where another process has kept it.

A file is read only if this user has written it into a private folder, and if a hash says that it is whole. Its name says for which text,
which machine and which version of LLVM it is.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from ctpwa.engine.codegen.kept_files import keep, read_kept

HASH_BYTES = 32


def code_path(module: ModuleType, name: str) -> Path | None:
    """The beginning of the names of files with machine code of a function of a generated module; None if nothing can be kept."""
    path = Path(str(module.__file__))
    return path.with_suffix(f".{name}") if path.is_absolute() else None


@dataclass(frozen=True)
class MachineCode:
    """A function that can be called.

    Attributes:
        address:  where it is
        kept:     whether it was on disk
    """

    address: int
    kept: bool
    _engine: Any = field(repr=False)  # whose memory it is in


def machine_code(text: str, entry: str, path: Path | None) -> MachineCode:
    """The code of a function.

    Args:
        text:   a module in the language of LLVM
        entry:  the function
        path:   where it is kept: the beginning of the names of files; None: nowhere
    """
    file = None if path is None else Path(f"{path}.{hashlib.sha256(repr((_machine().about, text)).encode()).hexdigest()[:20]}.bin")
    content = None if file is None else _read(file)
    found = _compiled(text) if content is None else content
    if file is not None and content is None:
        keep(file, hashlib.sha256(found).digest() + found)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine().target())
    engine.add_object_file(llvm.ObjectFileRef.from_data(found))
    engine.finalize_object()
    return MachineCode(engine.get_function_address(entry), content is not None, engine)


def _read(file: Path) -> bytes | None:
    """What was kept; None if there is none, or if it is damaged."""
    content = read_kept(file)
    if content is None or content[:HASH_BYTES] != hashlib.sha256(content[HASH_BYTES:]).digest():
        return None
    return content[HASH_BYTES:]


def _compiled(text: str) -> bytes:
    """An object file."""
    module, target = llvm.parse_assembly(text), _machine().target()
    module.verify()
    passes = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    passes.getModulePassManager().run(module, passes)
    found: bytes = target.emit_object(module)
    return found


@dataclass(frozen=True)
class _Machine:
    """The processor for which code is made."""

    cpu: str
    features: str

    @property
    def about(self) -> tuple[object, ...]:
        """All that machine code depends on besides its text."""
        return llvm.get_process_triple(), self.cpu, self.features, llvm.llvm_version_info, llvmlite.__version__

    def target(self) -> Any:
        """LLVM for this processor."""
        target = llvm.Target.from_triple(llvm.get_process_triple())
        return target.create_target_machine(cpu=self.cpu, features=self.features, opt=3, codemodel="jitdefault", jit=True)


@cache
def _machine() -> _Machine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return _Machine(llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
