# sitecustomize of a Python that was started before there was anything to run: it imports what the profile wants there,
# waits for its orders (hotcell/request.h, Runtime) and gets out of the way. The interpreter then goes on as it always
# does after site: it opens the script, and everything from __main__ to the exit code is as in any other run.
def wait():
    import gc
    import os
    import sys

    for name in os.environ.pop("HOTCELL_PREIMPORT", "").split():
        try:
            __import__(name)
        except BaseException:  # the program meets the error itself, or does without
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
    sys.argv[:] = arguments
    sys.orig_argv[:] = [sys.orig_argv[0], *arguments]
    sys.path[:] = [p for p in sys.path if p != os.path.dirname(__file__)]
    sys.dont_write_bytecode = False
    sys.modules.pop("gc", None)


wait()
del wait
