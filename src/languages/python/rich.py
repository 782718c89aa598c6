# Runs a program so that it shows more than text: python3 -c THIS NOTES FILE ARGS. The program is compiled under its own
# name from its own file, as __main__, with nothing before its first line; the value of its last expression is kept.
# What it has to show is appended to NOTES (languages/common/notes.h), which is not there until there is something.
def run():
    import _ast
    import _frozen_importlib_external as loaders
    import posix
    import sys

    most, most_bytes, most_together = 32, 8 << 20, 16 << 20
    most_rows, most_pixels = 1000, 40_000_000
    notes, path = sys.argv[1:3]
    sys.argv[:] = sys.argv[2:]
    sys.orig_argv[1:] = sys.argv
    sys.path[0] = path.rpartition("/")[0]
    ours, process, count, together, number = sys._getframe().f_globals, posix.getpid(), 0, 0, 0
    write, open_file, close = posix.write, posix.open, posix.close
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_NOFOLLOW | posix.O_CLOEXEC

    def put(kind, name, content):
        nonlocal count, together
        data = content.encode("utf-8", "replace") if isinstance(content, str) else bytes(content)
        if count >= most or posix.getpid() != process:
            return
        if len(data) > most_bytes or together + len(data) > most_together:
            bound = "one may have 8 MiB" if len(data) > most_bytes else "all may have 16 MiB together"
            kind, data = "text", f"{name} is left out: it has {len(data)} bytes; {bound}".encode()
        elif count == most - 1:
            kind, name, data = "text", "left-out.txt", f"more is left out: there may be {most} outputs".encode()
        count, together = count + 1, together + len(data)
        file = open_file(notes, flags, 0o600)
        try:
            data = memoryview(f"{kind} {name} {len(data)}\n".encode() + data)
            while data:
                data = data[write(file, data):]
        finally:
            close(file)

    def put_figure(figure):
        nonlocal number
        import io

        number += 1
        file, dpi = io.BytesIO(), figure.get_dpi()
        width, height = figure.get_size_inches()
        if width * height * dpi * dpi > most_pixels:
            dpi = (most_pixels / (width * height)) ** 0.5
        figure.savefig(file, format="png", dpi=dpi)
        put("png", f"figure-{number}.png", file.getbuffer())

    def put_figures():
        helpers = sys.modules.get("matplotlib._pylab_helpers")
        for manager in helpers.Gcf.get_all_fig_managers() if helpers else ():
            if count < most:
                attempt(put_figure, manager.canvas.figure)

    # What a program's own methods do wrong is not an error of the program: it would have ended well without us.
    def attempt(function, *arguments):
        try:
            return function(*arguments)
        except BaseException:
            return None

    def put_table(table):
        import json

        put("html", "value.html", table.to_html(max_rows=200, max_cols=100))
        whole = json.loads(table.head(most_rows).to_json(orient="split", date_format="iso", default_handler=str))
        put("json", "value.json", json.dumps({**whole, "rows": len(table)}))

    def put_json(value):
        import json

        put("json", "value.json", json.dumps(value))

    def put_value(value):
        pandas = sys.modules.get("pandas")
        tables = (pandas.DataFrame, pandas.Series) if hasattr(pandas, "Series") else ()
        figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", ())
        if isinstance(value, tables):
            attempt(put_table, value if isinstance(value, tables[0]) else value.to_frame())
        elif isinstance(value, figure):
            if not hasattr(value, "number"):  # otherwise pyplot has it, and it comes with the others
                attempt(put_figure, value)
        else:
            for kind in ("png", "svg", "html", "json"):
                method = getattr(type(value), f"_repr_{kind}_", None)
                shown = attempt(method, value) if method else None
                if isinstance(shown, tuple):
                    shown = shown[0]  # the rest is about the data
                if kind == "json" and shown is not None:
                    attempt(put_json, shown)
                elif isinstance(shown, bytes if kind == "png" else str):
                    put(kind, "value." + kind, shown)
        try:
            text = repr(value)
        except BaseException as error:
            text = f"<{type(value).__name__}: its repr raised {type(error).__name__}>"
        put("text", "value.txt", text)

    # Pictures without a screen. What Debian keeps of it in /etc is not in a cell, and would be missed on stderr.
    def prepare_matplotlib():
        environ = sys.modules["os"].environ
        folder = environ.setdefault("MPLCONFIGDIR", environ.get("TMPDIR", "/tmp") + "/.matplotlib")
        environ.setdefault("MPLBACKEND", "Agg")
        environ.setdefault("MATPLOTLIBRC", "/usr/share/matplotlib/mpl-data/matplotlibrc")
        if "FONTCONFIG_FILE" not in environ:
            posix.mkdir(folder, 0o700)
            with open(folder + "/fonts.conf", "w") as file:
                file.write(f"<fontconfig><dir>/usr/share/fonts</dir><cachedir>{folder}</cachedir></fontconfig>\n")
            environ["FONTCONFIG_FILE"] = folder + "/fonts.conf"

    class PyplotFinder:
        """plt.show() shows: there is nobody to close the windows, so they are closed when it returns."""

        @staticmethod
        def find_spec(name, where=None, target=None):
            if name == "matplotlib":
                attempt(prepare_matplotlib)
            if name != "matplotlib.pyplot":
                return None
            sys.meta_path.remove(PyplotFinder)
            found = (f.find_spec(name, where, target) for f in sys.meta_path)
            spec = next((s for s in found if s is not None), None)
            if spec is None:
                return None
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)

                def show(*args, **kwargs):
                    put_figures()
                    module.close("all")

                module.show = show

            spec.loader.exec_module = exec_module
            return spec

    def without_us(trace):
        while trace is not None and trace.tb_frame.f_globals is ours:
            trace = trace.tb_next
        return trace

    sys.meta_path.insert(0, PyplotFinder)
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


run()
