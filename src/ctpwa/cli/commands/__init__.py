"""One file per command: its module holds a ``Command`` called ``COMMAND``, and has its name."""
