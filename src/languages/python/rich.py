# Runs a program so that it shows more than text: python3 -c THIS NOTES FILE ARGS. The program is compiled under its own
# name from its own file, as __main__, with nothing before its first line; the value of its last expression is kept.
# What it has to show (show.py, which stands before this) is appended to NOTES (languages/common/notes.h), which is not there
# until there is something.
def run():
    import _ast
    import _frozen_importlib_external as loaders
    import posix
    import sys

    notes, path = sys.argv[1:3]
    sys.argv[:] = sys.argv[2:]
    sys.orig_argv[1:] = sys.argv
    sys.path[0] = path.rpartition("/")[0]
    ours, process = sys._getframe().f_globals, posix.getpid()
    write, open_file, close = posix.write, posix.open, posix.close
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_NOFOLLOW | posix.O_CLOEXEC

    def note(kind, name, data):
        if posix.getpid() != process:
            return
        file = open_file(notes, flags, 0o600)
        try:
            data = memoryview(f"{kind} {name} {len(data)}\n".encode() + data)
            while data:
                data = data[write(file, data):]
        finally:
            close(file)

    def without_us(trace):
        while trace is not None and trace.tb_frame.f_globals is ours:
            trace = trace.tb_next
        return trace

    _, put_value, put_figures, attempt = showing(note)
    before = sys.modules["__main__"]  # kept: the interpreter has only borrowed it
    main = sys.modules["__main__"] = type(sys)("__main__")
    space = main.__dict__
    space.update(__file__=path, __cached__=None, __builtins__=sys.modules["builtins"], __annotations__={},
                 __loader__=loaders.SourceFileLoader("__main__", path))
    try:
        with open(path, "rb") as file:
            source = file.read()
        tree = compile(source, path, "exec", 0x400, dont_inherit=True)  # PyCF_ONLY_AST
        last = tree.body[-1] if tree.body and isinstance(tree.body[-1], _ast.Expr) else None
        if last is not None:
            # All of it is compiled first, so that what is wrong with it is said before any of it runs.
            compile(tree, path, "exec", dont_inherit=True)
            tree.body.pop()
            if not tree.body and isinstance(last.value, _ast.Constant) and isinstance(last.value.value, str):
                space["__doc__"] = last.value.value
            last = compile(_ast.Expression(last.value), path, "eval", dont_inherit=True)
        code = compile(tree, path, "exec", dont_inherit=True)
        del source, tree
        exec(code, space)
        value = eval(last, space) if last is not None else None
        if value is not None:
            attempt(put_value, value)
        del value
    except BaseException:
        attempt(put_figures)
        hook = sys.excepthook

        def excepthook(kind, value, trace):
            sys.excepthook = hook
            trace = without_us(trace)
            value.__traceback__ = trace
            hook(kind, value, trace)

        sys.excepthook = excepthook
        raise
    attempt(put_figures)
    return before


if __name__ == "__main__":  # not yet, in a Python that waited (warm.py): there the interpreter calls it
    run()
