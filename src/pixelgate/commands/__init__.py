"""The subcommands of ``pixelgate``, one module each.

Every module has ``add(commands)``, which declares the subcommand and its options, and a ``run`` function that
is called with the parsed arguments and returns the exit status. Nothing heavy is imported before ``run``.
"""
