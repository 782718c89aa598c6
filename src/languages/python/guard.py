# sitecustomize of a Python whose profile lists modules: it says no, with the fix, to what is not on the list, however
# it is asked for. Advice, not a wall: a program that means to can get around it, and meets the kernel's walls then. One
# that cannot be set up ends the interpreter: what the profile says is never dropped in silence.
def guard(profile, allowed, blocklist, observe):
    import builtins
    import posix
    import sys

    here = __file__.rpartition("/")[0]
    notes = here.rpartition("/")[0] + "/.hotcell-notes"
    sys.path[:] = [p for p in sys.path if p != here]
    environ = sys.modules["os"].environ
    environ.pop("PYTHONPATH", None)
    for name in (__cached__, here + "/__pycache__", __file__, here):
        try:
            (posix.unlink if name.endswith((".py", ".pyc")) else posix.rmdir)(name)
        except OSError:
            pass  # somebody else's file is there as well, or nothing can be written: then it is seen
    modules, get_frame, module_type = sys.modules, sys._getframe, type(sys)
    write, open_file, close = posix.write, posix.open, posix.close
    flags = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_NOFOLLOW | posix.O_CLOEXEC
    # Who may import what it likes: the libraries. A runner of ours is the first __main__, the program's a second one.
    homes = ("/usr/", sys.prefix + "/", sys.base_prefix + "/")
    libraries = tuple({p + "/" for p in sys.path if p.startswith(homes)})
    runner = modules["__main__"].__dict__ if sys.orig_argv[1:2] == ["-c"] else None
    allowed, told, watched = frozenset(allowed) | ({"__future__"} if allowed else set()), set(), []
    blocked = {}
    for name, attribute in blocklist:
        blocked.setdefault(name, set()).add(attribute)
    visible = set(blocked)  # modules whose names are not hidden yet

    def caller():
        try:
            return get_frame(2)
        except ValueError:
            return None  # the interpreter itself: it reads the source line for a traceback, say

    def is_librarys(frame):
        if frame is None:
            return True
        space, file = frame.f_globals, frame.f_code.co_filename
        if space is runner or file.startswith("<frozen "):
            return True
        module = modules.get(space.get("__name__"))
        return file.startswith(libraries) and module is not None and module.__dict__ is space

    def tell(kind, name):
        data = str(name).encode("utf-8", "replace")[:128]
        if (kind, data) in told or len(told) == 64:
            return
        told.add((kind, data))
        if observe:
            kind += "-observed"
        try:
            file = open_file(notes, flags, 0o600)
            try:
                write(file, b"denial %s %d\n%s" % (kind.encode(), len(data), data))
            finally:
                close(file)
        except OSError:
            pass  # the refusal counts, not the account of it

    # These give back what is to be raised, so that a traceback has as little of ours as can be.
    def refuse_import(name):
        tell("import", name)
        if not observe:
            what = f"import of '{name}' is not allowed by profile {profile}; add it to imports.additional"
            return ImportError(what, name=name)

    def refuse_attribute(name, attribute):
        tell("attribute", f"{name}.{attribute}")
        if not observe:
            what = f"use of '{name}.{attribute}' is not allowed by profile {profile}: its blocklist has it"
            return PermissionError(what)

    def judge(name):
        top = name.partition(".")[0]
        if allowed and top not in allowed:
            return refuse_import(top)
        parent, _, last = name.rpartition(".")
        return refuse_attribute(parent, last) if last in blocked.get(parent, ()) else None

    # The library goes on as before; for the program the name has gone.
    def hide(name, module):
        visible.discard(name)
        space = module.__dict__
        values = {a: space.pop(a) for a in blocked[name] if a in space}
        other = space.get("__getattr__")

        def __getattr__(attribute):
            if attribute in values:
                error = None if is_librarys(caller()) else refuse_attribute(name, attribute)
                if error:
                    raise error
                return values[attribute]
            if other is not None:
                return other(attribute)
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")

        module.__getattr__ = __getattr__

    real_import = builtins.__import__

    # An import statement and not a call that came to import something of its own, as strptime does.
    def is_statement(frame):
        return frame.f_code.co_code[frame.f_lasti] == import_name

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):
        frame = caller()
        # How the interpreter's own C code asks, in the name of whoever called it.
        of_c = type(fromlist) is list and not fromlist and globals is locals is not None
        if is_librarys(frame) or of_c and not is_statement(frame):
            return real_import(name, globals, locals, fromlist, level)
        error = judge(name) if level == 0 and isinstance(name, str) else None
        if error:
            raise error
        module = real_import(name, globals, locals, fromlist, level)
        for wanted in fromlist or ():
            # `from typing import sys` is an import of sys.
            found = module.__dict__.get(wanted) if isinstance(module, module_type) else None
            if isinstance(found, module_type) and allowed and found.__name__.partition(".")[0] not in allowed:
                error = refuse_import(found.__name__.partition(".")[0])
                if error:
                    raise error
        for other in [v for v in visible if v in modules]:
            if not getattr(modules[other].__spec__, "_initializing", False):
                hide(other, modules[other])
        if not watched and hasattr(modules.get("importlib"), "import_module"):
            watch(modules["importlib"])
        return module

    def watch(importlib):
        real = importlib.import_module
        watched.append(real)

        def import_module(name, package=None):
            error = None if is_librarys(caller()) or name.startswith(".") else judge(name)
            if error:
                raise error
            return real(name, package)

        importlib.import_module = import_module

    # What else does not go through __import__; only modules that are not loaded yet come here.
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            frame, asked = get_frame(1), False
            while frame is not None and frame.f_code.co_filename.startswith(machinery):
                asked = asked or frame.f_code.co_name in ("_gcd_import", "import_module", "find_spec")
                frame = frame.f_back
            error = judge(name) if asked and not is_librarys(frame) else None
            if error:
                raise error

    # For a program that has put the first __import__ back: this one stays.
    def audit(event, arguments):
        if event == "import":
            frame = caller()
            ours = frame is not None and frame.f_code is import_code
            error = None if ours or is_librarys(frame) or not is_statement(frame) else judge(arguments[0])
            if error:
                raise error

    from opcode import opmap

    import_name, import_code = opmap["IMPORT_NAME"], __import__.__code__
    machinery = ("<frozen importlib", __file__, modules["os"].__file__.rpartition("/")[0] + "/importlib/")
    builtins.__import__ = __import__
    sys.meta_path.insert(0, Finder)
    sys.addaudithook(audit)


def start(**lists):
    try:
        guard(**lists)
    except BaseException as error:
        import posix

        posix.write(2, f"hotcell: the guard of profile {lists['profile']} cannot be set up: {error!r}\n".encode())
        posix._exit(125)
