"""One thread at a time in NumPy's reader of headers.

NumPy has an array's header parsed by Python's own parser. Before Python 3.11.8, two threads in it at once may raise a
`SystemError` (python/cpython#106905), and a sound file would be told as damaged.
"""

from __future__ import annotations

import threading

HEADER_LOCK = threading.RLock()
"""Held wherever NumPy reads a ``.npy`` header: `numpy.load`, `numpy.lib.format.read_array`, ``read_array_header_*``.

It may be taken again by the thread that holds it: the interpreter may run other code in the middle.
"""
