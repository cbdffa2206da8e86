"""One file per command: its module defines a ``Command`` called ``COMMAND``, and is named after it."""
