# What a Python value has to show besides text: pictures, tables, HTML. `write(kind, name, bytes)` takes what comes, which is
# bounded here. Used by rich.py for a whole program and by the driver of contexts (cells/contexts) for each call.
def showing(write):
    import posix
    import sys

    most, most_bytes, most_together = 32, 8 << 20, 16 << 20
    most_rows, most_pixels = 1000, 40_000_000
    count, together, number = 0, 0, 0

    def begin():
        nonlocal count, together, number
        count, together, number = 0, 0, 0

    def put(kind, name, content):
        nonlocal count, together
        data = content.encode("utf-8", "replace") if isinstance(content, str) else bytes(content)
        if count >= most:
            return
        if len(data) > most_bytes or together + len(data) > most_together:
            bound = "one may have 8 MiB" if len(data) > most_bytes else "all may have 16 MiB together"
            kind, data = "text", f"{name} is left out: it has {len(data)} bytes; {bound}".encode()
        elif count == most - 1:
            kind, name, data = "text", "left-out.txt", f"more is left out: there may be {most} outputs".encode()
        count, together = count + 1, together + len(data)
        write(kind, name, data)

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

    def take_over(pyplot):
        """plt.show() shows: there is nobody to close the windows, so they are closed when it returns."""

        def show(*args, **kwargs):
            put_figures()
            pyplot.close("all")

        pyplot.show = show

    class PyplotFinder:

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
                take_over(module)

            spec.loader.exec_module = exec_module
            return spec

    # A Python that waited may have it already, by the profile's `preimport`.
    if "matplotlib.pyplot" in sys.modules:
        attempt(take_over, sys.modules["matplotlib.pyplot"])
    else:
        sys.meta_path.insert(0, PyplotFinder)
    return begin, put_value, put_figures, attempt


