# sitecustomize of a Python that was started before there was anything to run: it imports what the profile wants there,
# waits for its orders (hotcell/request.h, Runtime) and gets out of the way. The interpreter then goes on as it always
# does after site: it opens the script, and everything from __main__ to the exit code is as in any other run. Orders may
# also be those of `python3 -c RUNNER` (rich.py): then it goes on with that.
def wait():
    import gc
    import os
    import sys

    here = os.path.dirname(__file__)
    modules, before, kept = sys.modules, set(sys.modules), []

    # To take apart what was imported here costs more than many a program. After everything else that is to be done at exit
    # it is no longer among the modules, and lives on in a list that holds itself. Where the program has put something into
    # a module, that ends as it always does.
    def leave():
        for name, module, size in kept[1:]:
            if modules.get(name) is module and len(module.__dict__) == size:
                del modules[name]

    preimports = os.environ.pop("HOTCELL_PREIMPORT", "").split()
    if preimports:
        import atexit

        atexit.register(leave)  # the first, so it comes last
        if "atexit" not in before:
            del modules["atexit"]
    for name in preimports:
        try:
            __import__(name)
        except BaseException:  # the program meets the error itself, or does without
            pass
    kept.append(kept)
    kept += [(n, m, len(m.__dict__)) for n, m in modules.items() if n not in before and type(m) is type(sys)]
    # Compiled in advance, since that takes longer than many a program. Not there where nothing can be shown.
    runner, runner_code = None, None
    try:
        with open(here + "/rich.py", "rb") as file:
            runner = file.read()
        runner_code = compile(runner, "<string>", "exec")
    except OSError:
        pass
    gc.collect()
    gc.freeze()  # what is there now is there for good: no collection need look at it
    # But __main__ is the program's, and what it leaves in there is collected at the end.
    main = type(sys)("__main__")
    main.__dict__.update(sys.modules["__main__"].__dict__)
    sys.modules["__main__"] = main

    def take(count):
        got = b""
        while len(got) < count:
            piece = os.read(0, count - len(got))
            if not piece:
                os._exit(0)  # nobody wanted us
            got += piece
        return got

    os.write(1, b"\0")
    fields = iter(take(int(take(10))).split(b"\0"))
    arguments = [os.fsdecode(next(fields)) for _ in range(int(next(fields)))]
    os.chdir(next(fields))
    for name in list(os.environ):
        del os.environ[name]
    for _ in range(int(next(fields))):
        name, _, value = next(fields).partition(b"=")
        os.environb[name] = value
    sys.orig_argv[:] = [sys.orig_argv[0], *arguments]
    if arguments[0] == "-c":
        text = os.fsencode(arguments.pop(1))
        code = runner_code if text == runner else compile(text, "<string>", "exec")
        main.__name__ = "waiting"  # so that it does not begin yet
        exec(code, main.__dict__)
        main.__name__ = "__main__"
        # The interpreter was started for a script, and asks first whether that is an archive, which runpy would run. It is
        # told so, and given a runpy of ours: the call, the exception that comes out of it and the exit code are its own
        # business from there.
        script, modules, cache = sys.argv[0], sys.modules, sys.path_importer_cache
        before = modules.get("runpy")

        def command(*_):
            del modules["runpy"], cache[script]
            if before is not None:
                modules["runpy"] = before
            run()

        cache[script] = script
        modules["runpy"] = type(sys)("runpy")
        # In the place of the module that -c has: the same file and name, as many frames, names looked up there.
        as_module = command.__code__.replace(co_filename="<string>", co_name="<module>")
        ours = type(wait)(as_module, main.__dict__, "<module>", None, command.__closure__)
        modules["runpy"]._run_module_as_main = ours
    sys.argv[:] = arguments
    sys.path[:] = [p for p in sys.path if p != here]
    sys.path_importer_cache.pop(here, None)
    sys.dont_write_bytecode = False
    sys.modules.pop("gc", None)


wait()
del wait
