"""``python -m ctpwa``: the command line."""

from ctpwa.cli.main import app

if __name__ == "__main__":
    app()
