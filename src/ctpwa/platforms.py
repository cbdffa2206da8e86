"""Where ctpwa runs: systems with POSIX file locks and owners of files. Nothing is imported here that others do not have."""

import sys

REFUSED = {"win32": "Windows", "cygwin": "Cygwin"}


def refuse_other_systems(platform: str = sys.platform) -> None:
    """Stop with one message where the libraries below would stop with another one each.

    Args:
        platform:  as ``sys.platform`` has it
    """
    if platform in REFUSED:
        raise ImportError(
            f"ctpwa does not run on {REFUSED[platform]}: it needs Linux or macOS\n"
            " fix: install it in the Windows Subsystem for Linux (WSL), or in a Linux container"
        )
